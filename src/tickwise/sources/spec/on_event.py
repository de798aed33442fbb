"""The schedule of a job that runs on events or a machine's start (S71), and the fields that do not go with it."""

from dataclasses import replace

from ...core.definition import Catchup, Overlap, Policy, ScheduleDefinition, Ticking, check_name
from ...core.errors import InputError
from ...core.events import (
    DEFAULT_SETTLE,
    DEFAULT_WINDOW,
    START_WINDOW,
    Coalesce,
    EndState,
    EventSource,
    JobEnds,
    MachineStart,
    OnEvent,
    SettledFiles,
    Webhook,
    causes_of,
)
from .error import ErrorList
from .event_schema import OnEventSpec
from .schema import JobSpec

EVENT_SUFFIX = ".event"  # of its name, where the job has times as well
_OF_TIMES_ONLY = (
    "skip_if_successful", "jitter", "from", "until", "max_runs", "auto_remove", "max_catchup", "shadow", "days",
    "roll", "nth", "deadline",
)  # fmt: skip


def build_event_schedules(
    spec: JobSpec, job: str, policy: Policy, errors: ErrorList
) -> tuple[ScheduleDefinition, ...]:
    """The schedule of the events of a job; none if there were errors."""
    field = "on_event" if spec.on_event else "on_start"
    if spec.on_event is None and not spec.on_start:
        return ()
    if spec.schedule is None:
        for name in _OF_TIMES_ONLY:
            if spec.given.get(name) is not None:
                errors.add((name,), "goes with a schedule, and this job runs on events only")
    name = job + EVENT_SUFFIX if spec.schedule is not None else job
    if spec.on_event and spec.on_start:
        errors.add(("on_start",), "goes without on_event: define a second job")
    with errors.at(field):
        check_name(name, "a schedule's name")
        if policy.ticking is Ticking.LOCAL:
            raise InputError("events are found in the store: leave out ticking, or write ticking: store")
        times = on_event(spec.on_event) if spec.on_event else OnEvent(MachineStart(), window=START_WINDOW)
        _check_no_circle(job, causes_of(times), {step.job for step in spec.steps or () if step.job})
        return (ScheduleDefinition(name, job, times, times.text, policy=_policy_of_events(spec, policy)),)
    return ()


def _check_no_circle(job: str, causes: tuple[str, ...], called: set[str]) -> None:
    again = [cause for cause in causes if cause == job or cause in called]
    if again:
        how = "it is the job itself" if again[0] == job else "it is a step of this job"
        raise InputError(f"the ends of {again[0]} would start this job again and again: {how}")


def on_event(spec: OnEventSpec) -> OnEvent:
    groups = spec.coalesce
    coalesce = Coalesce(groups.quiet, groups.at_most) if groups else None
    return OnEvent(_source(spec), coalesce, spec.window or DEFAULT_WINDOW)


def _source(spec: OnEventSpec) -> EventSource | None:
    if hook := spec.hook:
        return Webhook(hook.signed_with, hook.sender or "", hook.key or "")
    if file := spec.file:
        directory, _, names = file.path.rpartition("/")
        return SettledFiles(directory or "/", names or "*", file.settle or DEFAULT_SETTLE)
    state = spec.state or EndState.SUCCESS
    if spec.job:
        return JobEnds((spec.job,), state)
    if spec.jobs:
        return JobEnds(tuple(spec.jobs), state, spec.at_least or len(spec.jobs), spec.within or 0)
    return None


def _policy_of_events(spec: JobSpec, policy: Policy) -> Policy:
    """Each event has its run, one after the other, unless the job says otherwise."""
    policy = replace(
        policy, max_catchup=1_000, skip_if_successful=False, jitter=0, until=None, max_runs=None, auto_remove=False
    )
    if spec.catchup or spec.catchup_window is not None or policy.overlap in (Overlap.REPLACE, Overlap.LATEST):
        return policy
    overlap = spec.overlap or Overlap.QUEUE
    return replace(policy, catchup=Catchup.ALL, overlap=overlap)
