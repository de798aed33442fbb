"""Definitions in the memory store: what a source writes and what people say becomes changes of schedules.

All changes of an operation are worked out before the first of them is kept, so a refusal leaves nothing behind.
"""

from collections.abc import Sequence
from dataclasses import replace
from typing import NamedTuple

from ...core.change import Added, BackfillAsked, Change, Deleted, Paused, Resumed, Updated, apply_change
from ...core.codec import decode_job, encode_job
from ...core.definition import Catchup, JobDefinition, ScheduleDefinition
from ...core.errors import ConflictError, no_such
from ...core.model import Decision, Pause, Schedule
from ...core.reasons import Reason
from ...core.states import RunState
from ..records import MICRO
from ..validation import check_change, check_needs, check_version, checked_job
from .state import JobEntry, MemoryState, ScheduleEntry

DISABLED = "enabled: false"  # the reason why the schedules of such a job are paused


class _Changed(NamedTuple):
    """A schedule as the changes of an operation leave it."""

    state: Schedule
    decisions: tuple[Decision, ...]
    cancel_queued: bool
    altered: bool  # and not as it was before


def define(memory: MemoryState, job: JobDefinition, source: str, over: int | None) -> tuple[Schedule, ...]:
    """Write a job as its source has it; what is written already is left alone (S28)."""
    job = checked_job(job, source)
    entry = memory.jobs.get(job.name)
    known = entry is not None and entry.deleted_at is None
    if entry and known and entry.source != source:
        raise ConflictError(_owned(job.name, entry.source))
    check_version(job.name, entry.version if entry and known else 0, over)
    _check_names(memory, job)
    now, text = memory.clock(), encode_job(job)
    changed = [_changed(memory, *each, now) for each in _changes(memory, job, entry if known else None, now)]
    if entry and known and not changed and entry.text == text:
        return ()
    definition = decode_job(text, job.name)
    if entry is None:
        entry = memory.jobs[job.name] = JobEntry(definition, text, source, now, now)
    entry.definition, entry.text, entry.source, entry.deleted_at = definition, text, source, None
    entry.most_active = max((schedule.policy.max_active_runs for schedule in job.schedules), default=1)
    entry.version, entry.updated_at = entry.version + 1, now
    for each in changed:
        _keep(memory, each, now)
    _end_pauses(memory, entry, now)
    return tuple(each.state for each in changed)


def _owned(name: str, owner: str) -> str:
    return (
        f"{name} was defined by {owner or 'another source'}: change or delete it there; from here it can be "
        "paused, triggered, rescheduled and backfilled"
    )


def _check_names(memory: MemoryState, job: JobDefinition) -> None:
    """A schedule belongs to one job (S26); one that another job has deleted can be had."""
    for name in (schedule.name for schedule in job.schedules):
        other = memory.schedules.get(name)
        if other and other.live and other.state.job != job.name:
            raise ConflictError(
                f"{name} is a schedule of the job {other.state.job}: give the one of {job.name} another name"
            )
    if any(schedule.policy.after for schedule in job.schedules):
        others = (e.state.definition for e in memory.schedules.values() if e.live and e.state.job != job.name)
        check_needs(job, {other.name: [after.schedule for after in other.policy.after] for other in others})


def _changes(
    memory: MemoryState, job: JobDefinition, known: JobEntry | None, now: int
) -> list[tuple[str, list[Change]]]:
    """What a definition does to each schedule, by name; those that stay as they are left out."""
    wanted = {schedule.name: schedule for schedule in job.schedules}
    live = {entry.state.name: entry for entry in known.live_schedules} if known else {}
    same = known is not None and known.text == encode_job(job)
    found: dict[str, list[Change]] = {
        name: [Deleted(known.source)] for name in live if known and name not in wanted
    }
    for name, definition in wanted.items():
        changes = found[name] = list[Change]()
        entry = live.get(name)
        if entry is None:
            changes.append(Added(definition))
        elif entry.state.definition != definition:
            changes.append(Updated(definition, _missed(memory, entry.state, definition, now // MICRO)))
        if changes or not same:
            changes += _switch(job, _changed(memory, name, changes, now).state.paused)
    return [(name, changes) for name, changes in found.items() if changes]


def _switch(job: JobDefinition, paused: Pause | None) -> list[Change]:
    """A job that is not enabled has its schedules paused."""
    if not job.enabled and paused is None:
        return [Paused(job.schedules[0].source, DISABLED)]
    return [Resumed()] if job.enabled and paused is not None and paused.reason == DISABLED else []


def _missed(memory: MemoryState, state: Schedule, wanted: ScheduleDefinition, second: int) -> tuple[int, ...]:
    """Slots recorded as missed that a new window opens again (S25)."""
    found, since = set[int](), second - wanted.policy.catchup_window
    if wanted.policy.catchup is not Catchup.ALL:
        return ()
    for row in memory.decisions.values():
        if row.schedule == state.name and row.reason is Reason.MISSED:
            slot = state.definition.times.after(max(row.first, since) - 1)
            while slot is not None and slot <= row.last:
                found.add(slot)
                slot = state.definition.times.after(slot)
    return tuple(sorted(found))


def _changed(memory: MemoryState, name: str, changes: Sequence[Change], now: int) -> _Changed:
    """Apply changes one after the other; pauses of everything that have ended come first (S29)."""
    entry = memory.schedules.get(name)
    state, decisions = memory.after_pauses(entry) if entry else (None, ())
    before, cancel = state, False
    for change in changes:
        if isinstance(change, Added) and state:  # another job may have had it
            state = state._replace(definition=replace(state.definition, job=change.definition.job))
        applied = apply_change(state, change, now // MICRO)
        state, decisions = applied.schedules[0], decisions + applied.decisions
        cancel = cancel or applied.cancel_queued
    assert state is not None  # noqa: S101  (what is not there yet is added)
    return _Changed(state, decisions, cancel, state != before)


def _keep(memory: MemoryState, changed: _Changed, now: int) -> ScheduleEntry:
    """Make a change true; a schedule that it alters is looked at in the next pass."""
    state = changed.state
    entry = memory.schedules.get(state.name)
    if entry is None:
        entry = memory.schedules[state.name] = ScheduleEntry(state, now, now, 0)
    elif entry.state.job != state.job:
        del memory.jobs[entry.state.job].schedules[state.name]
    memory.jobs[state.job].schedules[state.name] = entry
    entry.state, entry.updated_at, entry.pauses_seen = state, now, memory.pauses_ended
    if not entry.live:
        entry.wake_at = None
    elif changed.altered:
        memory.wake(entry, now // MICRO)
    memory.record(changed.decisions, now)
    memory.need(state.name, [after.schedule for after in state.definition.policy.after])
    if changed.cancel_queued:
        for run in list(memory.active.values()):
            if run.schedule == state.name and run.state is RunState.QUEUED:
                memory.cancel(run, now)
    return entry


def _end_pauses(memory: MemoryState, job: JobEntry, now: int) -> None:
    """What has ended since reaches all schedules of a job together."""
    for entry in job.live_schedules:
        entry.state, decisions = memory.after_pauses(entry)
        entry.pauses_seen = memory.pauses_ended
        memory.record(decisions, now)


def remove(memory: MemoryState, name: str, source: str, over: int | None = None) -> None:
    """Delete a job with its schedules; one that is gone already is no error."""
    job = memory.jobs.get(name)
    if job is None or job.deleted_at is not None:
        return
    if job.source != source:
        raise ConflictError(_owned(name, job.source))
    check_version(name, job.version, over)
    now = memory.clock()
    for changed in [_changed(memory, e.state.name, [Deleted(source)], now) for e in job.live_schedules]:
        _keep(memory, changed, now)
    job.deleted_at = now
    for run in list(memory.active.values()):
        if run.job == name and run.state is RunState.QUEUED:
            memory.cancel(run, now)


def change(memory: MemoryState, name: str, wanted: Change) -> Schedule:
    """A person's word on one schedule."""
    check_change(wanted)
    entry = memory.schedules.get(name)
    if entry is None or not entry.live:
        known = [other for other, found in memory.schedules.items() if found.live]
        raise no_such("schedule", name, known)
    if isinstance(wanted, BackfillAsked):
        wanted = replace(wanted, history_from=memory.jobs[entry.state.job].history_from)
    now = memory.clock()
    kept = _keep(memory, _changed(memory, name, [wanted], now), now)
    _end_pauses(memory, memory.jobs[kept.state.job], now)
    return kept.state
