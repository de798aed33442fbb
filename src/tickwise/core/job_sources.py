"""What sources may do to a job besides defining it: add schedules to a job of another, and take over (S50)."""

from collections.abc import Mapping
from dataclasses import replace
from types import MappingProxyType

from .change import TOMBSTONE_SECONDS, Added, Switched
from .definition import JobDefinition
from .jobstate import JobState, Ranges, apply_to, begin_anew, with_schedules


def extend(
    job: JobState, extra: JobDefinition, source: str, now: int, missed: Mapping[str, Ranges] = MappingProxyType({})
) -> JobState:
    """Apply the schedules that a source has added to a job of another: only its own change.

    `extra` is the job with these schedules alone.
    """
    wanted = {schedule.name for schedule in extra.schedules}
    others = {name: each for name, each in job.unreadable.items() if name not in wanted}
    own = {name: each for name, each in job.unreadable.items() if name in wanted}
    after = with_schedules(begin_anew(job._replace(unreadable=own), wanted), extra, source, now, missed)
    for name in wanted:
        after = apply_to(after, name, Switched(extra.enabled), now)
    return after._replace(unreadable={**others, **after.unreadable})


def restore(job: JobState, removed_at: int, owner: str, now: int) -> JobState:
    """Bring back what others had added to a job that its owner has deleted, and that is defined again (S23)."""
    if now - removed_at > TOMBSTONE_SECONDS:
        return job
    after = job
    for name, each in job.schedules.items():
        definition = each.schedule.definition
        if each.schedule.deleted_at == removed_at and definition.source != owner:
            after = apply_to(after, name, Added(definition), now)
    return after


def reassign(job: JobState, source: str, to: str) -> JobState:
    """Give another source what a source has written; nothing else about it changes."""
    schedules, changed = dict(job.schedules), set[str]()
    for name, schedule in job.live.items():
        if schedule.definition.source == source:
            moved = schedule._replace(definition=replace(schedule.definition, source=to))
            schedules[name] = job.schedules[name]._replace(schedule=moved)
            changed.add(name)
    return job._replace(schedules=schedules, changed=job.changed | changed)
