"""Actions and the graph of steps."""

from collections.abc import Sequence
from types import MappingProxyType
from typing import Any

from ...core.definition import (
    Action,
    Command,
    HttpCall,
    Outcome,
    Precondition,
    PythonCall,
    RetryPolicy,
    Script,
    Step,
)
from ...core.errors import did_you_mean, nearest_word
from .cycles import describe_cycle, find_cycle
from .error import ErrorList
from .schema import JobSpec
from .schema_parts import ACTIONS, ActionSpec, HttpSpec, PreconditionSpec, RetrySpec, StepSpec

ONLY_STEP = "main"  # the name of a job's single action


def steps_of(spec: JobSpec, faults: ErrorList) -> tuple[Step, ...]:
    """The steps of a job, or its single action as a step; none if a worker knows the job by its name."""
    single = spec.actions()
    if spec.steps is None:
        for extra in single[1:]:
            faults.add((extra,), f"a job has one action, and {single[0]} is given already: make them steps")
        return tuple(Step(ONLY_STEP, action_of(name, getattr(spec, name))) for name in single[:1])
    for name in single:
        faults.add((name,), f"goes with no steps: make the {name} one of them")
    _check_names(spec.steps, faults)
    return tuple(_step(step) for step in spec.steps)


def _check_names(steps: Sequence[StepSpec], faults: ErrorList) -> None:
    places: dict[str, int] = {}
    for i, step in enumerate(steps):
        if step.name in places:
            faults.add(("steps", i, "name"), f"a second step named {step.name}: each needs a name of its own")
        places.setdefault(step.name, i)
    for i, step in enumerate(steps):
        for place, name in _written_depends(step):
            if name not in places and not faults.are_many:
                near = nearest_word(name, places)
                problem = f"there is no step {name}{did_you_mean(near)}"
                faults.add(("steps", i, "depends", *place), problem, near)
    if cycle := find_cycle({name: _depends(steps[i]) for name, i in places.items()}):
        problem = f"the steps wait for each other: {describe_cycle(cycle)}"
        faults.add(("steps", places[cycle[0]], "depends"), problem)


def _written_depends(step: StepSpec) -> list[tuple[tuple[int, ...], str]]:
    """Each name, and its place if it stands in a list."""
    if isinstance(step.depends, str):
        return [((), step.depends)]
    return [((place,), name) for place, name in enumerate(step.depends or ())]


def _depends(step: StepSpec) -> tuple[str, ...]:
    return tuple(dict.fromkeys(name for _, name in _written_depends(step)))


def _step(spec: StepSpec) -> Step:
    (name,) = spec.actions()
    return Step(
        name=spec.name,
        action=action_of(name, getattr(spec, name)),
        depends=_depends(spec),
        env=MappingProxyType(spec.env or {}),
        dir=spec.dir,
        timeout=spec.timeout,
        retry=retry_of(spec.retry),
        continue_on=tuple(outcome for outcome in Outcome if outcome in (spec.continue_on or ())),
        preconditions=preconditions_of(spec.preconditions),
    )


def action_of(name: str, value: Any) -> Action:
    """The action that one of the four fields stands for."""
    match name:
        case "command":
            return Command(tuple(value))
        case "script":
            return Script(value)
        case "python":
            return PythonCall(value)
        case _:
            return _http(value)


def _http(value: str | HttpSpec) -> HttpCall:
    if isinstance(value, str):
        return HttpCall(value)
    return HttpCall(value.url, value.method or "GET", MappingProxyType(value.headers or {}), value.body)


def handler_of(handler: tuple[str, ...] | ActionSpec | None) -> Action | None:
    if isinstance(handler, ActionSpec):
        return next(action_of(name, getattr(handler, name)) for name in ACTIONS if name in handler.actions())
    return None if handler is None else Command(handler)


def preconditions_of(specs: Sequence[PreconditionSpec] | None) -> tuple[Precondition, ...]:
    return tuple(
        Precondition(
            PythonCall(spec.python) if spec.command is None else Command(tuple(spec.command)),  # type: ignore[arg-type]
            spec.expected,
        )
        for spec in specs or ()
    )


def retry_of(spec: RetrySpec | None) -> RetryPolicy:
    if spec is None:
        return RetryPolicy()
    plain = RetryPolicy()
    interval = spec.interval or plain.interval
    longest = spec.max_interval or max(plain.max_interval, interval)
    return RetryPolicy(spec.limit, interval, spec.backoff or plain.backoff, longest)
