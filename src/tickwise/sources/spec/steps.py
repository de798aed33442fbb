"""Builds the steps of a job: their actions, conditions, retries and dependencies."""

from collections.abc import Sequence
from typing import Any

from ...core.definition import (
    Action,
    Approval,
    Command,
    EngineUse,
    ForEach,
    HttpCall,
    JobCall,
    Outcome,
    Precondition,
    PythonCall,
    RetryPolicy,
    Script,
    Step,
    check_name,
    step_job_name,
)
from ...core.errors import did_you_mean, nearest_word
from ...core.parameters import ParamType
from ...core.read_only_dict import ReadOnlyDict
from ...core.step_outputs import checked_items
from .cycles import describe_cycle, find_cycle
from .engine import KnownEngines, build_engine
from .error import ErrorList
from .schema import ACTIONS, ActionSpec, HttpSpec, JobSpec, PreconditionSpec, RetrySpec, StepSpec

ONLY_STEP = "main"  # the name of a job's single action


def build_steps(spec: JobSpec, engines: KnownEngines, errors: ErrorList) -> tuple[Step, ...]:
    """The steps of a job, or its single action as a step; empty if a worker knows the job by its name."""
    single = spec.actions()
    if spec.steps is None:
        for extra in single[1:]:
            errors.add((extra,), f"a job has one action, and {single[0]} is given already: make them steps")
        return tuple(Step(ONLY_STEP, build_action(name, getattr(spec, name))) for name in single[:1])
    for name in single:
        errors.add((name,), f"goes with no steps: make the {name} one of them")
    _check_step_names(spec.steps, errors)
    return tuple(
        _build_step(step, build_engine(step.engine, ("steps", i, "engine"), engines, errors))
        for i, step in enumerate(spec.steps)
    )


def _check_step_names(steps: Sequence[StepSpec], errors: ErrorList) -> None:
    places: dict[str, int] = {}
    for i, step in enumerate(steps):
        if step.name in places:
            errors.add(("steps", i, "name"), f"a second step named {step.name}: each needs a name of its own")
        places.setdefault(step.name, i)
    for i, step in enumerate(steps):
        for place, name in _dependencies_as_written(step):
            if name not in places and not errors.are_many:
                near = nearest_word(name, places)
                problem = f"there is no step {name}{did_you_mean(near)}"
                errors.add(("steps", i, "depends", *place), problem, near)
    if cycle := find_cycle({name: _dependencies(steps[i]) for name, i in places.items()}):
        problem = f"the steps wait for each other: {describe_cycle(cycle)}"
        errors.add(("steps", places[cycle[0]], "depends"), problem)


def _dependencies_as_written(step: StepSpec) -> list[tuple[tuple[int, ...], str]]:
    """Each name, with its index if it is in a list."""
    if isinstance(step.depends, str):
        return [((), step.depends)]
    return [((place,), name) for place, name in enumerate(step.depends or ())]


def _dependencies(step: StepSpec) -> tuple[str, ...]:
    return tuple(dict.fromkeys(name for _, name in _dependencies_as_written(step)))


def check_waits(spec: JobSpec, name: str, errors: ErrorList) -> None:
    """Refuse steps that could not wait, or whose child could not end (S74, S75)."""
    for i, step in enumerate(spec.steps or ()):
        if step.job is not None and step.job == name:
            errors.add(("steps", i, "job"), "a job cannot be a step of itself")
        elif step.job is not None and spec.engine is not None:
            errors.add(("steps", i, "job"), "goes with no engine: only a worker waits for the runs of other jobs")
        elif step.approve is not None and spec.engine is not None:
            errors.add(("steps", i, "approve"), "goes with no engine: only a worker waits for people")
        elif step.queue is not None or step.engine is not None:
            _check_placed(spec, i, step, step_job_name(name, step.name), errors)


def _check_placed(spec: JobSpec, i: int, step: StepSpec, job: str, errors: ErrorList) -> None:
    """Refuse a queue or an engine of its own for a step that cannot become a job (S74)."""
    field = "queue" if step.engine is None else "engine"
    if spec.engine is not None:
        errors.add(("steps", i, field), "goes with no engine of the job: only a worker waits for its steps")
    with errors.at("steps", i, "name"):
        check_name(job, "the name of the job that a step with a queue or an engine becomes")


def check_item_params(spec: JobSpec, errors: ErrorList) -> None:
    """Refuse `foreach` over a param that is no list (S73)."""
    params = spec.params or {}
    for i, step in enumerate(spec.steps or ()):
        name = step.foreach.removeprefix("params.") if isinstance(step.foreach, str) else ""
        if name in params:
            with errors.at("steps", i, "foreach"):
                checked_items(params[name], f"${{params.{name}}}")
        elif (kind := (spec.param_types or {}).get(name, ParamType.ARRAY)) is not ParamType.ARRAY:
            errors.add(("steps", i, "foreach"), f"needs a list, and the param {name} is declared as {kind}")


def _build_step(spec: StepSpec, engine: EngineUse | None) -> Step:
    (name,) = spec.actions()
    return Step(
        name=spec.name,
        action=_build_step_action(spec, name),
        depends=_dependencies(spec),
        env=ReadOnlyDict(spec.env or {}),
        dir=spec.dir,
        timeout=spec.timeout,
        retry=build_retry(spec.retry),
        continue_on=tuple(outcome for outcome in Outcome if outcome in (spec.continue_on or ())),
        preconditions=build_preconditions(spec.preconditions),
        foreach=_build_foreach(spec),
        queue=spec.queue,
        engine=engine,
    )


def _build_step_action(spec: StepSpec, name: str) -> Action:
    if spec.job is not None:
        return JobCall(spec.job, ReadOnlyDict(spec.params or {}))
    if isinstance(spec.approve, str):
        return Approval(spec.approve)
    if spec.approve is not None:
        given = ("role", "timeout", "on_timeout")
        return Approval(**{field: value for field in given if (value := getattr(spec.approve, field)) is not None})
    return build_action(name, getattr(spec, name))


def _build_foreach(spec: StepSpec) -> ForEach | None:
    if spec.foreach is None:
        return None
    most = spec.max_parallel or ForEach().max_parallel
    if isinstance(spec.foreach, str):
        return ForEach(reference=spec.foreach, max_parallel=most)
    return ForEach(items=tuple(spec.foreach), max_parallel=most)


def build_action(name: str, value: Any) -> Action:
    """The action in one of the four fields."""
    match name:
        case "command":
            return Command(tuple(value))
        case "script":
            return Script(value)
        case "python":
            return PythonCall(value)
        case _:
            return _build_http_call(value)


def _build_http_call(value: str | HttpSpec) -> HttpCall:
    if isinstance(value, str):
        return HttpCall(value)
    return HttpCall(value.url, value.method or "GET", ReadOnlyDict(value.headers or {}), value.body)


def build_handler(handler: tuple[str, ...] | ActionSpec | None) -> Action | None:
    if isinstance(handler, ActionSpec):
        return next(build_action(name, getattr(handler, name)) for name in ACTIONS if name in handler.actions())
    return None if handler is None else Command(handler)


def build_preconditions(specs: Sequence[PreconditionSpec] | None) -> tuple[Precondition, ...]:
    return tuple(
        Precondition(
            PythonCall(spec.python) if spec.command is None else Command(tuple(spec.command)),  # type: ignore[arg-type]
            spec.expected,
        )
        for spec in specs or ()
    )


def build_retry(spec: RetrySpec | None) -> RetryPolicy:
    if spec is None:
        return RetryPolicy()
    default = RetryPolicy()
    interval = spec.interval or default.interval
    longest = spec.max_interval or max(default.max_interval, interval)
    return RetryPolicy(
        limit=spec.limit, interval=interval, backoff=spec.backoff or default.backoff, max_interval=longest,
        jitter=default.jitter if spec.jitter is None else spec.jitter,
    )  # fmt: skip
