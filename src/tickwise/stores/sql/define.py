"""Changes of what is defined, and a person's word on a schedule: `apply_change` under the lock of the job."""

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import replace

from ...core.change import Added, BackfillAsked, Change, Deleted, Paused, Resumed, Updated, apply_change
from ...core.codec import encode_job, encode_schedule
from ...core.definition import Catchup, JobDefinition, ScheduleDefinition
from ...core.errors import ConflictError, InputError, nearest
from ...core.model import Decision, Schedule
from ...core.policy import catchup_mode
from ...core.reasons import Reason
from ...core.settle import Cancelled
from ..records import MICRO
from ..validation import check_needs, check_version
from .definitions import DefinitionCache
from .finish import RunEnd, end
from .jobs import LATEST_PAUSE, LOCK_JOB, JobColumns, LoadedJob, LoadedSchedule, load, write
from .statement import NOTIFY, Procedure, Query, Statement

_CIRCUMSTANCES = Statement(f"SELECT {{now}}, {LATEST_PAUSE}")
_NEW_JOB = Statement("""
    INSERT INTO tickwise_jobs (name, source, definition_id, version, queue, priority, lanes, created_at,
        updated_at)
    VALUES (:name, :source, :definition, 0, '', 0, 1, :now, :now) {ignore}
""")
_NEW_JOB_STATE = Statement("""
    INSERT INTO tickwise_job_state (job_id, revision, local, guarded, waiting, pause_seen)
    SELECT id, 0, FALSE, FALSE, FALSE, CAST(:pause_seen AS bigint) FROM tickwise_jobs WHERE name = :name
    {ignore}
""")
_WRITE_JOB = Statement("""
    UPDATE tickwise_jobs SET source = :source, definition_id = :definition, version = version + 1, queue = :queue,
        priority = :priority, function = :function, lanes = :lanes, keep_days = :keep_days,
        keep_runs = :keep_runs, prune_at = :prune_at, deleted_at = NULL, updated_at = :now
    WHERE id = :job
""")
_GUARD = Statement("""
    UPDATE tickwise_job_state SET guarded = :guarded,
        last_success = coalesce(CASE WHEN CAST(:guarded AS boolean) THEN
            (SELECT max(coalesce(slot, started_at / 1000000)) FROM tickwise_runs
             WHERE job_id = :job AND state = 'succeeded'
                AND coalesce(slot, started_at / 1000000) > coalesce(tickwise_job_state.last_success, 0)) END,
            last_success)
    WHERE job_id = :job
""")
_VERSION = Statement("""
    INSERT INTO tickwise_versions (job_id, version, definition_id, made_at)
    SELECT id, version, definition_id, updated_at FROM tickwise_jobs WHERE id = :job
""")
_DELETE_JOB = Statement("UPDATE tickwise_jobs SET deleted_at = :now WHERE id = :job")
_SLEEP = Statement("UPDATE tickwise_job_state SET wake_at = NULL WHERE job_id = :job")
_OWNERS = Statement("""
    SELECT s.name, j.name FROM tickwise_schedules s JOIN tickwise_jobs j ON j.id = s.job_id
    WHERE s.name IN :names[text] AND s.job_id <> :job AND s.deleted IS NULL
""")
_INHERIT = Statement("""
    INSERT INTO tickwise_dependencies (needed_job_id, job_id)
    SELECT DISTINCT CAST(:job AS bigint), n.job_id
    FROM tickwise_dependencies n JOIN tickwise_schedules s ON s.job_id = n.needed_job_id
    WHERE s.name IN :names[text] AND s.job_id <> :job AND s.deleted IS NOT NULL
    {ignore}
""")
_ADOPT = Statement("""
    UPDATE tickwise_schedules SET job_id = :job
    WHERE name IN :names[text] AND job_id <> :job AND deleted IS NOT NULL
""")
_NEW_SCHEDULE = Statement("""
    INSERT INTO tickwise_schedules (name, job_id, definition_id, cursor, last_seen_slot,
        last_missed_slot, edited, first_seen, runs_made, paused, created_at, updated_at)
    VALUES (:name, :job, :definition, 0, 0, 0, 0, 0, 0, FALSE, :now, :now) RETURNING id
""")
_TOUCH = Statement("UPDATE tickwise_schedules SET updated_at = :now WHERE id IN :ids[bigint]")
_MISSED = Statement("""
    SELECT first_slot, last_slot FROM tickwise_decisions
    WHERE schedule_id = :schedule AND reason = :reason AND last_slot >= :since
""")
_DELETE_UNREADABLE = Statement("""
    UPDATE tickwise_schedules SET deleted = coalesce(deleted, :second), wake_at = NULL WHERE id IN :ids[bigint]
""")
_QUEUED = Statement("""
    SELECT id FROM tickwise_runs WHERE schedule_id IN :schedules[bigint] AND queued
    ORDER BY id {lock_free}
""")
_QUEUED_OF_JOB = Statement("""
    SELECT id FROM tickwise_runs WHERE job_id = :job AND queued ORDER BY id {lock_free}
""")
_OF_SCHEDULE = Statement("""
    SELECT j.name FROM tickwise_schedules s JOIN tickwise_jobs j ON j.id = s.job_id
    WHERE s.name = :name AND s.deleted IS NULL
""")
_SCHEDULE_NAMES = Statement("SELECT name FROM tickwise_schedules WHERE deleted IS NULL ORDER BY name LIMIT 1000")
_DEFINITIONS = Statement("""
    SELECT s.name, s.definition_id, j.name, j.id FROM tickwise_schedules s JOIN tickwise_jobs j ON j.id = s.job_id
    WHERE s.name IN :names[text] AND s.deleted IS NULL AND j.name <> :job
""")
_WRITTEN = Statement("""
    SELECT j.name, d.body, s.name, t.body, s.rest
    FROM tickwise_jobs j JOIN tickwise_definitions d ON d.id = j.definition_id
    LEFT JOIN tickwise_schedules s ON s.job_id = j.id AND s.deleted IS NULL
    LEFT JOIN tickwise_definitions t ON t.id = s.definition_id
    WHERE j.name IN :names[text] AND j.source = :source AND j.version > 0 AND j.deleted_at IS NULL
""")
_FORGET_NEEDS = Statement("DELETE FROM tickwise_dependencies WHERE job_id = :job")
_NEED = Statement("""
    INSERT INTO tickwise_dependencies (needed_job_id, job_id)
    SELECT DISTINCT job_id, CAST(:job AS bigint) FROM tickwise_schedules WHERE name IN :names[text]
""")
DISABLED = "enabled: false"


def as_written(jobs: Sequence[JobDefinition], source: str) -> Procedure[frozenset[str]]:
    """Those that `define` would leave alone, text by text.

    It is asked about many, so where `define` would look closer the answer is no: at a job that needs others, which
    may be gone, and at a schedule about which there is more to read than a definition.
    """
    written: dict[str, dict[str, str | None]] = defaultdict(dict)
    for job, text, schedule, times, rest in (yield _WRITTEN(names=sorted({j.name for j in jobs}), source=source)):
        written[job][""] = text
        if schedule is not None:
            written[job][schedule] = times if rest is None else None
    return frozenset(
        job.name for job in jobs
        if written.get(job.name) == {"": encode_job(job)} | {s.name: encode_schedule(s) for s in job.schedules}
        and not any(s.policy.after for s in job.schedules)
    )  # fmt: skip


def define(
    book: DefinitionCache, job: JobDefinition, source: str, over: int | None
) -> Procedure[tuple[Schedule, ...]]:
    """Write a job as its source has it. What is written already is left alone (S28)."""
    wanted = {s.name: s for s in job.schedules}
    now, latest_pause = (yield _CIRCUMSTANCES())[0]
    definition = yield from book.keep(job)
    row, known = yield from _locked(job.name, source, definition, latest_pause, now)
    check_version(job.name, row.version if known else 0, over)
    yield from _check_names(row, wanted)
    yield from _check_needs(book, job)
    held = (yield from load(book, [row], latest_pause, deleted=True))[0]
    same = known and row.definition_id == definition
    changed, dropped = yield from _apply(book, held, wanted, now)
    for each in held.schedules.values():
        if (each in changed or not same) and each.state.deleted_at is None:
            changed += [each] if _switch(held, each, source, now // MICRO, enabled=job.enabled) else []
    if not changed and same:
        return ()
    yield from _write_job(row.id, job, source, definition, now)
    yield from write([held], now)
    yield from _cancel_queued(book, _QUEUED(schedules=dropped), now)
    if changed:
        yield _TOUCH(ids=sorted({one.id for one in changed}), now=now)
    yield _FORGET_NEEDS(job=row.id)
    if needed := sorted({after.schedule for s in wanted.values() for after in s.policy.after}):
        yield _NEED(job=row.id, names=needed)
    yield NOTIFY
    return tuple({one.id: one.state for one in changed}.values())


def _locked(
    name: str, source: str, definition: int, pause_seen: int, now: int
) -> Procedure[tuple[JobColumns, bool]]:
    """The job's row, locked, and whether it was there; made if it was not."""
    rows = yield LOCK_JOB(name=name)
    if not rows:
        yield _NEW_JOB(name=name, source=source, definition=definition, now=now)
        yield _NEW_JOB_STATE(name=name, pause_seen=pause_seen)
        rows = yield LOCK_JOB(name=name)
    row = JobColumns._make(rows[0])
    known = row.version > 0 and row.deleted_at is None
    if known and row.source != source:
        raise ConflictError(
            f"{name} was defined by {row.source or 'another source'}: change or delete it there; from here it "
            f"can be "
            "paused, triggered, rescheduled and backfilled"
        )
    return row, known


def _check_names(row: JobColumns, wanted: dict[str, ScheduleDefinition]) -> Procedure[None]:
    """A schedule belongs to one job (S26); one that another job has deleted can be had."""
    for schedule, owner in (yield _OWNERS(names=sorted(wanted), job=row.id)):
        raise ConflictError(
            f"{schedule} is a schedule of the job {owner}: give the one of {row.name} another name"
        )
    yield _INHERIT(names=sorted(wanted), job=row.id)
    yield _ADOPT(names=sorted(wanted), job=row.id)


def _check_needs(book: DefinitionCache, job: JobDefinition) -> Procedure[None]:
    """What `after` names must exist, and must not lead back (S35): followed as far as it goes."""
    known: dict[str, Sequence[str]] = {}
    own = {s.name for s in job.schedules}
    wanted = {after.schedule for s in job.schedules for after in s.policy.after} - own
    while wanted:
        rows = yield _DEFINITIONS(names=sorted(wanted), job=job.name)
        yield from book.read(row[1] for row in rows)
        for name, definition, owner, _ in rows:
            known[name] = [after.schedule for after in book.schedule(definition, name, owner).policy.after]
        found = {row[0] for row in rows}
        if missing := wanted - found:
            known |= {row[0]: () for row in (yield _SCHEDULE_NAMES()) if row[0] not in {*known, *missing}}
        wanted = {need for name in found for need in known[name]} - known.keys() - own
    check_needs(job, known)


def _apply(
    book: DefinitionCache, job: LoadedJob, wanted: dict[str, ScheduleDefinition], now: int
) -> Procedure[tuple[list[LoadedSchedule], list[int]]]:
    """Added, updated, deleted: the schedules that changed, and the ids of those whose queued runs are to go."""
    second, changed = now // MICRO, list[LoadedSchedule]()
    dropped = yield from _drop_unreadable(job, wanted, second)
    for name, held in list(job.schedules.items()):
        if name not in wanted and held.state.deleted_at is None:
            _put(job, held, Deleted(held.state.definition.source), second)
            changed.append(held)
            dropped.append(held.id)
    for name, definition in wanted.items():
        held_or_none = job.schedules.get(name)
        if held_or_none is None:
            held = yield from _new_schedule(book, job, definition, now)
        else:
            held = held_or_none
            missed = yield from _missed(held, definition, second)
            again = held.state.deleted_at is None
            before = held.state
            _put(job, held, Updated(definition, missed) if again else Added(definition), second)
            held.definition_id = yield from book.keep(held.state.definition)
            if held.state == before:
                continue
        changed.append(held)
    return changed, dropped


def _drop_unreadable(job: LoadedJob, wanted: dict[str, ScheduleDefinition], second: int) -> Procedure[list[int]]:
    """Delete what cannot be read and is not wanted any longer."""
    gone = [job.unreadable.pop(name).id for name in list(job.unreadable) if name not in wanted]
    if gone:
        yield _DELETE_UNREADABLE(ids=gone, second=second)
    return gone


def _new_schedule(
    book: DefinitionCache, job: LoadedJob, definition: ScheduleDefinition, now: int
) -> Procedure[LoadedSchedule]:
    """A schedule seen for the first time; one that could not be read begins anew, and that is recorded (S2)."""
    kept, name = (yield from book.keep(definition)), definition.name
    known = job.unreadable.pop(name, None)
    if known is None:
        id_, last_slot = (yield _NEW_SCHEDULE(name=name, job=job.row.id, definition=kept, now=now))[0][0], None
    else:
        id_, last_slot = known.id, known.last_slot
        job.decisions.append(Decision(name, Reason.BROKEN, 0, 0, 1, known.problem))
    added = apply_change(None, Added(definition), now // MICRO)
    held = job.schedules[name] = LoadedSchedule(id_, kept, added.schedules[0], last_slot, now // MICRO)
    job.decisions += added.decisions
    return held


def _put(job: LoadedJob, held: LoadedSchedule, change: Change, second: int) -> None:
    """Apply a change to a schedule in hand; it is looked at in the next pass."""
    before = held.state
    changed = apply_change(held.state, change, second)
    held.state = changed.schedules[0]
    job.decisions += changed.decisions
    if held.state.deleted_at is not None:
        held.wake_at = None
    elif held.state != before:
        held.wake_at = second if held.wake_at is None else min(second, held.wake_at)


def _switch(job: LoadedJob, held: LoadedSchedule, source: str, second: int, *, enabled: bool) -> bool:
    """A job that is not enabled has its schedules paused."""
    paused = held.state.paused
    if not enabled and paused is None:
        _put(job, held, Paused(source, DISABLED), second)
        return True
    if enabled and paused is not None and paused.reason == DISABLED:
        _put(job, held, Resumed(), second)
        return True
    return False


def _missed(held: LoadedSchedule, definition: ScheduleDefinition, second: int) -> Procedure[tuple[int, ...]]:
    """Slots recorded as missed that turning catch-up on opens again (S25)."""
    policy = definition.policy
    if policy.catchup is not Catchup.ALL or catchup_mode(held.state) is not Catchup.SKIP:
        return ()
    since = second - policy.catchup_window
    rows = yield _MISSED(schedule=held.id, reason=Reason.MISSED.code, since=since)
    times = held.state.definition.times
    found: set[int] = set()
    for first, last in rows:
        slot = times.after(max(first, since) - 1)
        while slot is not None and slot <= last:
            found.add(slot)
            slot = times.after(slot)
    return tuple(sorted(found))


def _cancel_queued(book: DefinitionCache, which: Query, now: int) -> Procedure[None]:
    """The last thing that is done: it wakes who waits for those runs."""
    rows = yield which
    yield from end(book, [RunEnd(row[0], Cancelled()) for row in rows], now)


def _write_job(id_: int, job: JobDefinition, source: str, definition: int, now: int) -> Procedure[None]:
    keeps_all = job.keep.days is None and job.keep.runs is None
    yield _WRITE_JOB(
        job=id_, source=source, definition=definition, queue=job.queue, priority=job.priority,
        function=None if job.steps else job.name,
        lanes=max((s.policy.max_active_runs for s in job.schedules), default=1),
        keep_days=job.keep.days, keep_runs=job.keep.runs, prune_at=None if keeps_all else now, now=now,
    )  # fmt: skip
    yield _GUARD(job=id_, guarded=any(s.policy.skip_if_successful for s in job.schedules))
    yield _VERSION(job=id_)


def remove(book: DefinitionCache, name: str, source: str) -> Procedure[None]:
    """Delete a job with its schedules; one that is gone already is no error."""
    now, latest_pause = (yield _CIRCUMSTANCES())[0]
    rows = yield LOCK_JOB(name=name)
    row = JobColumns._make(rows[0]) if rows else None
    if row is None or row.deleted_at is not None:
        return
    if row.source != source:
        raise ConflictError(f"{name} was defined by {row.source or 'another source'}: delete it there")
    held = (yield from load(book, [row], latest_pause))[0]
    _, dropped = yield from _apply(book, held, {}, now)
    yield from write([held], now)
    yield _TOUCH(ids=dropped, now=now)
    yield _DELETE_JOB(job=row.id, now=now)
    yield _SLEEP(job=row.id)
    yield from _cancel_queued(book, _QUEUED_OF_JOB(job=row.id), now)
    yield _FORGET_NEEDS(job=row.id)
    yield NOTIFY


def change(book: DefinitionCache, name: str, wanted: Change) -> Procedure[Schedule]:
    """A person's word on one schedule."""
    now, latest_pause = (yield _CIRCUMSTANCES())[0]
    rows = yield _OF_SCHEDULE(name=name)
    if not rows:
        names = [row[0] for row in (yield _SCHEDULE_NAMES())]
        raise InputError(f"there is no schedule {name[:100]!r}{nearest(name, names)}")
    row = JobColumns._make((yield LOCK_JOB(name=rows[0][0]))[0])
    job = (yield from load(book, [row], latest_pause))[0]
    held = job.schedules.get(name)
    if held is None:
        known = job.unreadable.get(name)
        raise ConflictError(known.problem if known else f"{name} was just deleted")
    if isinstance(wanted, BackfillAsked) and wanted.history_from is None:
        wanted = replace(wanted, history_from=row.history_from)
    _put(job, held, wanted, now // MICRO)
    yield from write([job], now)
    yield _TOUCH(ids=[held.id], now=now)
    yield NOTIFY
    return held.state
