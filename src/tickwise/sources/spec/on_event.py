"""The schedule of a job that runs on events or a machine's start (S71), and the fields that do not go with it."""

from dataclasses import replace

from ...core.definition import Catchup, Overlap, Policy, ScheduleDefinition, Ticking, check_name
from ...core.errors import InputError
from ...core.events import DEFAULT_WINDOW, START_WINDOW, Coalesce, MachineStart, OnEvent, Webhook
from .error import ErrorList
from .schema import JobSpec, OnEventSpec

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
        return (ScheduleDefinition(name, job, times, times.text, policy=_policy_of_events(spec, policy)),)
    return ()


def on_event(spec: OnEventSpec) -> OnEvent:
    hook, groups = spec.hook, spec.coalesce
    webhook = Webhook(hook.signed_with, hook.sender or "", hook.key or "") if hook else None
    coalesce = Coalesce(groups.quiet, groups.at_most) if groups else None
    return OnEvent(webhook, coalesce, spec.window or DEFAULT_WINDOW)


def _policy_of_events(spec: JobSpec, policy: Policy) -> Policy:
    """Each event has its run, one after the other, unless the job says otherwise."""
    policy = replace(
        policy, max_catchup=1_000, skip_if_successful=False, jitter=0, until=None, max_runs=None, auto_remove=False
    )
    if spec.catchup or spec.catchup_window is not None or policy.overlap in (Overlap.REPLACE, Overlap.LATEST):
        return policy
    overlap = spec.overlap or Overlap.QUEUE
    return replace(policy, catchup=Catchup.ALL, overlap=overlap)
