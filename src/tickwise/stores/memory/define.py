"""Definitions in the memory store: what a source writes, and what people ask of one schedule."""

from collections.abc import Iterator
from dataclasses import replace

from ...core import job_sources
from ...core.change import Change
from ...core.codec import decode_job, encode_job
from ...core.definition import JobDefinition
from ...core.errors import ConflictError, no_such, other_source
from ...core.job_sources import check_extension, restore, scheduled
from ...core.jobstate import JobState, ScheduleState
from ...core.model import Schedule
from ...core.reasons import Reason
from ...core.states import RunState
from ..records import MICRO
from ..validation import check_needs, check_version, needed_schedules
from .entries import JobEntry, RunEntry, ScheduleEntry
from .state import MemoryState


def define(memory: MemoryState, job: JobDefinition, source: str, over: int | None) -> tuple[Schedule, ...]:
    """Write a job as its source has it; what is written already is left alone (S28)."""
    entry = memory.jobs.get(job.name)
    known = entry is not None and entry.deleted_at is None
    if entry and known and entry.source != source:
        raise other_source(job.name, entry.source, source)
    check_version(job.name, entry.version if entry and known else 0, over)
    _check_unique(memory, job)
    now, text = memory.clock(), encode_job(job)
    before = memory.load(entry) if entry else JobState(job.name, pauses_seen=memory.pauses_ended)
    before = before.inherit(_deleted_elsewhere(memory, job))
    second = now // MICRO
    if entry and entry.deleted_at is not None:
        before = restore(before, entry.deleted_at // MICRO, entry.source, second)
    missed = {name: _missed(memory, name) for name in before.reopened_by(job, second)}
    after = before.redefine(job, source, second, missed)
    _check_needs(memory, after)
    if entry and known and not after.changed and entry.text == text:
        return ()
    definition = decode_job(text, job.name)
    if entry is None:
        entry = memory.jobs[job.name] = JobEntry(definition, text, source, now, now)
    entry.definition, entry.text, entry.source, entry.deleted_at = definition, text, source, None
    entry.requires, entry.version, entry.updated_at = after.requires, entry.version + 1, now
    _save(memory, entry, after, now)
    return tuple(after.schedules[name].schedule for name in after.changed)


def extend(memory: MemoryState, extra: JobDefinition, source: str, over: int | None) -> tuple[Schedule, ...]:
    """Write the schedules that a source has added to a job of another."""
    entry = memory.jobs.get(extra.name)
    if entry is None or entry.deleted_at is not None:
        raise no_such("job", extra.name, [name for name, job in memory.jobs.items() if job.deleted_at is None])
    check_extension(extra.name, entry.source, source)
    check_version(extra.name, entry.version, over)
    _check_unique(memory, extra)
    now = memory.clock()
    before = memory.load(entry).inherit(_deleted_elsewhere(memory, extra))
    missed = {name: _missed(memory, name) for name in before.reopened_by(extra, now // MICRO)}
    enabled = replace(extra, enabled=entry.definition.enabled)
    after = job_sources.extend(before, enabled, source, now // MICRO, missed)
    _check_needs(memory, after)
    if after.changed:
        entry.version, entry.updated_at = entry.version + 1, now
        _save(memory, entry, after, now)
    return tuple(after.schedules[name].schedule for name in after.changed)


def reassign(memory: MemoryState, name: str, source: str, to: str) -> bool:
    """Give another source what a source has written of a job."""
    entry = memory.jobs.get(name)
    if entry is None or entry.deleted_at is not None:
        return False
    after = job_sources.reassign(memory.load(entry), source, to)
    if entry.source != source and not after.changed:
        return False
    entry.source = to if entry.source == source else entry.source
    now = memory.clock()
    entry.version, entry.updated_at = entry.version + 1, now
    _save(memory, entry, after, now)
    return True


def _check_unique(memory: MemoryState, job: JobDefinition) -> None:
    """A schedule belongs to one job (S26); one that another job has deleted is free."""
    for name in (schedule.name for schedule in job.schedules):
        other = memory.schedules.get(name)
        if other and other.live and other.state.job != job.name:
            raise ConflictError(
                f"{name} is a schedule of the job {other.state.job}: give the one of {job.name} another name"
            )


def _check_needs(memory: MemoryState, job: JobState) -> None:
    """What its schedules wait for must exist, and must not lead back (S35)."""
    if job.needs:
        others = (e.state.definition for e in memory.schedules.values() if e.live and e.state.job != job.name)
        known = {other.name: needed_schedules(other) for other in others}
        check_needs(scheduled(job), known)


def _deleted_elsewhere(memory: MemoryState, job: JobDefinition) -> Iterator[ScheduleState]:
    """Deleted schedules of other jobs that this one defines again (S23)."""
    for name in (schedule.name for schedule in job.schedules):
        entry = memory.schedules.get(name)
        if entry and entry.state.job != job.name:
            yield ScheduleState(entry.state, entry.wake_at, entry.last_slot)


def _missed(memory: MemoryState, name: str) -> list[tuple[int, int]]:
    rows = (row for row in memory.decisions.values() if row.schedule == name)
    return [(row.first, row.last) for row in rows if row.reason is Reason.MISSED]


def _save(memory: MemoryState, entry: JobEntry, job: JobState, now: int) -> None:
    """Write a changed job. Queued runs of deleted schedules end last: that wakes what waits for them."""
    for name in job.changed:
        schedule = job.schedules[name].schedule
        known = memory.schedules.get(name)
        if known is None:
            known = memory.schedules[name] = ScheduleEntry(schedule, now, now)
        elif known.state.job != job.name:
            del memory.jobs[known.state.job].schedules[name]
        entry.schedules[name] = known
        known.updated_at = now
        memory.need(name, [after.needed for after in schedule.definition.policy.after])
    memory.save(entry, job, now)
    memory.news = True
    _cancel_queued(memory, [run for run in memory.active.values() if run.schedule in job.cancel_queued], now)


def _cancel_queued(memory: MemoryState, runs: list[RunEntry], now: int) -> None:
    for run in runs:
        if run.state is RunState.QUEUED:
            memory.cancel(run, now)


def remove(memory: MemoryState, name: str, source: str, over: int | None = None) -> None:
    """Delete a job with its schedules; one that is gone already is no error."""
    entry = memory.jobs.get(name)
    if entry is None or entry.deleted_at is not None:
        return
    if entry.source != source:
        raise other_source(name, entry.source, source)
    check_version(name, entry.version, over)
    now = memory.clock()
    _save(memory, entry, memory.load(entry).remove(now // MICRO), now)
    entry.deleted_at = now
    _cancel_queued(memory, [run for run in memory.active.values() if run.job == name], now)


def change(memory: MemoryState, name: str, wanted: Change) -> Schedule:
    """Do what a person asks of one schedule."""
    entry = memory.schedules.get(name)
    if entry is None or not entry.live:
        known = [other for other, found in memory.schedules.items() if found.live]
        raise no_such("schedule", name, known)
    now, job = memory.clock(), memory.jobs[entry.state.job]
    _save(memory, job, memory.load(job).change(name, wanted, now // MICRO), now)
    return entry.state
