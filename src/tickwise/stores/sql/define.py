"""Definitions, and what people ask of one schedule: a `JobState` is changed under the lock of the job."""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

from ...core import job_sources
from ...core.change import Change
from ...core.codec import encode_job, encode_schedule
from ...core.definition import JobDefinition, ScheduleDefinition, jobs_needed
from ...core.errors import ConflictError, no_such, other_source
from ...core.job_sources import check_extension, restore, scheduled
from ...core.model import Schedule
from ...core.reasons import Reason
from ...core.requirements import requirements_of
from ...core.settle import Cancelled
from ..records import MICRO
from ..validation import check_needs, check_version, needed_schedules
from .definitions import DefinitionCache
from .finish import RunEnd, end
from .jobs import LATEST_PAUSE, LOCK_JOB, JobColumns, LoadedJob, ScheduleKey, load, write
from .statement import NOTIFY, Procedure, Query, Returning, Statement

_CIRCUMSTANCES = Statement(f"SELECT {{now}}, {LATEST_PAUSE}")
_NEW_JOB = Statement("""
    {insert_free} INTO tickwise_jobs (name, source, definition_id, version, queue, priority, requires, lanes,
        created_at, updated_at)
    VALUES (:name, :source, :definition, 0, '', 0, '', 1, :now, :now) {if_free}
""")
_NEW_JOB_STATE = Statement("""
    {insert_free} INTO tickwise_job_state (job_id, revision, idle, local, guarded, waiting, held, pause_seen)
    SELECT id, 0, TRUE, FALSE, FALSE, FALSE, FALSE, CAST(:pause_seen AS {bigint}) FROM tickwise_jobs
    WHERE name = :name
    {if_free}
""")
_WRITE_JOB = Statement("""
    UPDATE tickwise_jobs SET source = :source, definition_id = :definition, version = version + 1, queue = :queue,
        priority = :priority, requires = :requires, keep_days = :keep_days,
        keep_runs = :keep_runs, prune_at = :prune_at, deleted_at = NULL, updated_at = :now
    WHERE id = :job
""")
_GUARD = Statement("""
    UPDATE tickwise_job_state SET guarded = :guarded,
        last_success = coalesce(CASE WHEN CAST(:guarded AS {boolean}) THEN
            (SELECT max(coalesce(slot, started_at {div} 1000000)) FROM tickwise_runs
             WHERE job_id = :job AND state = 'succeeded'
                AND coalesce(slot, started_at {div} 1000000) > coalesce(tickwise_job_state.last_success, 0)) END,
            last_success)
    WHERE job_id = :job
""")
_VERSION = Statement("""
    INSERT INTO tickwise_versions (job_id, version, definition_id, made_at)
    SELECT id, version, definition_id, updated_at FROM tickwise_jobs WHERE id = :job
""")
_NEXT_VERSION = Statement("""
    UPDATE tickwise_jobs SET source = :source, version = version + 1, updated_at = :now WHERE id = :job
""")
_LANES = Statement("UPDATE tickwise_jobs SET lanes = :lanes WHERE id = :job AND lanes <> :lanes")
_DELETE_JOB = Statement("UPDATE tickwise_jobs SET deleted_at = :now WHERE id = :job")
_OWNERS = Statement("""
    SELECT s.name, j.name FROM tickwise_schedules s JOIN tickwise_jobs j ON j.id = s.job_id
    WHERE s.name IN :names[text] AND s.job_id <> :job AND s.deleted IS NULL
""")
_INHERIT = Statement("""
    {insert_free} INTO tickwise_dependencies (needed_job_id, job_id)
    SELECT DISTINCT CAST(:job AS {bigint}), n.job_id
    FROM tickwise_dependencies n JOIN tickwise_schedules s ON s.job_id = n.needed_job_id
    WHERE s.name IN :names[text] AND s.job_id <> :job AND s.deleted IS NOT NULL
    {if_free}
""")
_ADOPT = Statement("""
    UPDATE tickwise_schedules SET job_id = :job
    WHERE name IN :names[text] AND job_id <> :job AND deleted IS NOT NULL
""")
_NEW_SCHEDULE = Returning(
    """
    INSERT INTO tickwise_schedules (name, job_id, definition_id, "cursor", last_seen_slot,
        last_missed_slot, edited, first_seen, runs_made, paused, created_at, updated_at)
    VALUES (:name, :job, :definition, 0, 0, 0, 0, 0, 0, FALSE, :now, :now)
    """,
    "id",
    found="SELECT id FROM tickwise_schedules WHERE id = :first_id",
)
_TOUCH = Statement("UPDATE tickwise_schedules SET updated_at = :now WHERE id IN :ids[bigint]")
_MISSED = Statement("""
    SELECT first_slot, last_slot FROM tickwise_decisions
    WHERE schedule_id = :schedule AND reason = :reason AND last_slot >= :since
""")
_DELETE_UNREADABLE = Statement("""
    UPDATE tickwise_schedules SET deleted = coalesce(deleted, :second), wake_at = NULL WHERE id IN :ids[bigint]
""")
_QUEUED = Statement("""
    SELECT id FROM tickwise_runs WHERE schedule_id IN :schedules[bigint] AND queued = TRUE
    ORDER BY id {lock_free}
""")
_QUEUED_OF_JOB = Statement("""
    SELECT id FROM tickwise_runs WHERE job_id = :job AND queued = TRUE ORDER BY id {lock_free}
""")
_OF_SCHEDULE = Statement("""
    SELECT j.name FROM tickwise_schedules s JOIN tickwise_jobs j ON j.id = s.job_id
    WHERE s.name = :name AND s.deleted IS NULL
""")
_JOB_NAMES = Statement("SELECT name FROM tickwise_jobs WHERE deleted_at IS NULL ORDER BY name LIMIT 1000")
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
    SELECT job_id, CAST(:job AS {bigint}) FROM tickwise_schedules WHERE name IN :names[text]
    UNION SELECT id, CAST(:job AS {bigint}) FROM tickwise_jobs WHERE name IN :jobs[text]
""")


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
    cache: DefinitionCache, job: JobDefinition, source: str, over: int | None
) -> Procedure[tuple[Schedule, ...]]:
    """Write a job as its source has it. What is written already is left alone (S28)."""
    now, latest_pause = (yield _CIRCUMSTANCES())[0]
    definition = yield from cache.keep(job)
    row, known = yield from _locked(job.name, source, definition, latest_pause, now)
    check_version(job.name, row.version if known else 0, over)
    yield from _check_unique(row, [schedule.name for schedule in job.schedules])
    loaded = (yield from load(cache, [row], latest_pause, deleted=True))[0]
    before, second = loaded.state, now // MICRO
    if row.deleted_at is not None:
        before = restore(before, row.deleted_at // MICRO, row.source, second)
    missed = yield from _missed(loaded, before.reopened_by(job, second))
    after = before.redefine(job, source, second, missed)
    yield from _check_needs(cache, scheduled(after))
    changed = yield from _keep_definitions(cache, loaded._replace(state=after), job.schedules, now)
    if known and row.definition_id == definition and not (after.changed or after.cancel_queued):
        return ()
    yield from _write_job(row.id, job, source, definition, now)
    yield from _write_schedules(cache, loaded, changed, now)
    return tuple(after.schedules[name].schedule for name in after.changed)


def extend(
    cache: DefinitionCache, extra: JobDefinition, source: str, over: int | None
) -> Procedure[tuple[Schedule, ...]]:
    """Write the schedules that a source has added to a job of another."""
    now, latest_pause = (yield _CIRCUMSTANCES())[0]
    row = yield from _live_row(extra.name)
    if row is None:
        raise no_such("job", extra.name, [found[0] for found in (yield _JOB_NAMES())])
    check_extension(extra.name, row.source, source)
    check_version(extra.name, row.version, over)
    yield from _check_unique(row, [schedule.name for schedule in extra.schedules])
    loaded = (yield from load(cache, [row], latest_pause, deleted=True))[0]
    missed = yield from _missed(loaded, loaded.state.reopened_by(extra, now // MICRO))
    yield from cache.read([row.definition_id])
    enabled = replace(extra, enabled=cache.job(row.definition_id, extra.name).enabled)
    after = job_sources.extend(loaded.state, enabled, source, now // MICRO, missed)
    yield from _check_needs(cache, scheduled(after))
    changed = yield from _keep_definitions(cache, loaded._replace(state=after), extra.schedules, now)
    if after.changed or after.cancel_queued:
        yield _NEXT_VERSION(job=row.id, source=row.source, now=now)
        yield _VERSION(job=row.id)
        yield from _write_schedules(cache, loaded, changed, now)
    return tuple(after.schedules[name].schedule for name in after.changed)


def reassign(cache: DefinitionCache, name: str, source: str, to: str) -> Procedure[bool]:
    """Give another source what a source has written of a job."""
    now, latest_pause = (yield _CIRCUMSTANCES())[0]
    row = yield from _live_row(name)
    if row is None:
        return False
    loaded = (yield from load(cache, [row], latest_pause))[0]
    after = job_sources.reassign(loaded.state, source, to)
    if row.source != source and not after.changed:
        return False
    moved = [after.schedules[each].schedule.definition for each in sorted(after.changed)]
    changed = yield from _keep_definitions(cache, loaded._replace(state=after), moved, now)
    yield _NEXT_VERSION(job=row.id, source=to if row.source == source else row.source, now=now)
    yield _VERSION(job=row.id)
    yield from _write_changed(loaded, changed, now)
    yield NOTIFY
    return True


def _live_row(name: str) -> Procedure[JobColumns | None]:
    """The row of a job that is there, locked."""
    rows = yield LOCK_JOB(name=name)
    row = JobColumns._make(rows[0]) if rows else None
    return row if row and row.version > 0 and row.deleted_at is None else None


def _write_schedules(cache: DefinitionCache, before: LoadedJob, changed: LoadedJob, now: int) -> Procedure[None]:
    """Write a job whose schedules were redefined, with all that its row says about them."""
    job, after = changed.row.id, changed.state
    yield _LANES(job=job, lanes=after.lanes)
    yield _GUARD(job=job, guarded=any(s.definition.policy.skip_if_successful for s in after.live.values()))
    yield from _write_changed(before, changed, now)
    yield from _cancel_queued(
        cache, _QUEUED(schedules=[before.keys[name].id for name in after.cancel_queued]), now
    )
    yield _FORGET_NEEDS(job=job)
    if needed := after.needs:
        yield _NEED(job=job, names=needed, jobs=jobs_needed(needed))
    yield NOTIFY


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
        raise other_source(name, row.source, source)
    return row, known


def _check_unique(row: JobColumns, wanted: Sequence[str]) -> Procedure[None]:
    """A schedule belongs to one job (S26); one that another job has deleted is taken over."""
    for schedule, owner in (yield _OWNERS(names=sorted(wanted), job=row.id)):
        raise ConflictError(
            f"{schedule} is a schedule of the job {owner}: give the one of {row.name} another name"
        )
    yield _INHERIT(names=sorted(wanted), job=row.id)
    yield _ADOPT(names=sorted(wanted), job=row.id)


def _check_needs(cache: DefinitionCache, job: JobDefinition) -> Procedure[None]:
    """What `after` names must exist, and must not lead back (S35): followed as far as it goes."""
    known: dict[str, Sequence[str]] = {}
    own = {s.name for s in job.schedules}
    wanted = {need for s in job.schedules for need in needed_schedules(s)} - own
    while wanted:
        rows = yield _DEFINITIONS(names=sorted(wanted), job=job.name)
        yield from cache.read(row[1] for row in rows)
        for name, definition, owner, _ in rows:
            known[name] = needed_schedules(cache.schedule(definition, name, owner))
        found = {row[0] for row in rows}
        if missing := wanted - found:
            known |= {row[0]: () for row in (yield _SCHEDULE_NAMES()) if row[0] not in {*known, *missing}}
        wanted = {need for name in found for need in known[name]} - known.keys() - own
    check_needs(job, known)


def _missed(job: LoadedJob, needed: Mapping[str, int]) -> Procedure[dict[str, list[tuple[int, int]]]]:
    """Slots recorded as missed, by schedule, since a second."""
    found = {}
    for name, since in needed.items():
        rows = yield _MISSED(schedule=job.keys[name].id, reason=Reason.MISSED.code, since=since)
        found[name] = [(first, last) for first, last in rows]
    return found


def _keep_definitions(
    cache: DefinitionCache, job: LoadedJob, schedules: Iterable[ScheduleDefinition], now: int
) -> Procedure[LoadedJob]:
    """Write the texts of the schedules, and rows for those that have none yet."""
    keys = dict(job.keys)
    for schedule in schedules:
        name, kept = schedule.name, (yield from cache.keep(schedule))
        if name in keys:
            keys[name] = keys[name]._replace(definition_id=kept)
        else:
            new = yield _NEW_SCHEDULE(name=name, job=job.row.id, definition=kept, now=now)
            keys[name] = ScheduleKey(new[0][0], kept)
    return job._replace(keys=keys)


def _write_changed(before: LoadedJob, job: LoadedJob, now: int) -> Procedure[None]:
    """Write a changed job; schedules that cannot be read and are not defined any longer are deleted."""
    yield from write([job], now)
    known = job.state.schedules.keys() | job.state.unreadable.keys()
    gone = [job.keys[name].id for name in before.state.unreadable if name not in known]
    if gone:
        yield _DELETE_UNREADABLE(ids=gone, second=now // MICRO)
    if changed := sorted({*(job.keys[name].id for name in job.state.changed), *gone}):
        yield _TOUCH(ids=changed, now=now)


def _cancel_queued(cache: DefinitionCache, which: Query, now: int) -> Procedure[None]:
    """End queued runs. That is done last: it wakes what waits for them."""
    rows = yield which
    yield from end(cache, [RunEnd(row[0], Cancelled()) for row in rows], now)


def _write_job(id_: int, job: JobDefinition, source: str, definition: int, now: int) -> Procedure[None]:
    yield _WRITE_JOB(
        job=id_, source=source, definition=definition, queue=job.queue, priority=job.priority,
        requires=requirements_of(job),
        keep_days=job.keep.days, keep_runs=job.keep.runs, prune_at=now, now=now,
    )  # fmt: skip
    yield _VERSION(job=id_)


def remove(cache: DefinitionCache, name: str, source: str, over: int | None = None) -> Procedure[None]:
    """Delete a job with its schedules; one that is gone already is no error."""
    now, latest_pause = (yield _CIRCUMSTANCES())[0]
    row = yield from _live_row(name)
    if row is None:
        return
    if row.source != source:
        raise other_source(name, row.source, source)
    check_version(name, row.version, over)
    job = (yield from load(cache, [row], latest_pause))[0]
    yield from _write_changed(job, job._replace(state=job.state.remove(now // MICRO)), now)
    yield _DELETE_JOB(job=row.id, now=now)
    yield from _cancel_queued(cache, _QUEUED_OF_JOB(job=row.id), now)
    yield _FORGET_NEEDS(job=row.id)
    yield NOTIFY


def change(cache: DefinitionCache, name: str, wanted: Change) -> Procedure[Schedule]:
    """Do what a person asks of one schedule."""
    now, latest_pause = (yield _CIRCUMSTANCES())[0]
    rows = yield _OF_SCHEDULE(name=name)
    if not rows:
        names = [row[0] for row in (yield _SCHEDULE_NAMES())]
        raise no_such("schedule", name, names)
    row = JobColumns._make((yield LOCK_JOB(name=rows[0][0]))[0])
    job = (yield from load(cache, [row], latest_pause))[0]
    if name not in job.state.schedules:
        known = job.state.unreadable.get(name)
        raise ConflictError(known.problem if known else f"{name} was just deleted")
    after = job.state.change(name, wanted, now // MICRO)
    yield from _write_changed(job, job._replace(state=after), now)
    yield NOTIFY
    return after.schedules[name].schedule
