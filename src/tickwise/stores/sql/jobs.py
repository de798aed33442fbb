"""A job and its schedules as rows: loaded as a `JobState` under the lock of the job, and written back."""

from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

from ...core.codec import decode_rest, encode_rest
from ...core.jobstate import EndedPause, JobState, ScheduleState, UnreadableSchedule
from ...core.model import Schedule
from ...core.payload import UnreadableText, clip
from ...core.reasons import Reason
from ..records import MICRO
from ..unreadable import log_unreadable
from ..validation import LONGEST_ERROR
from .definitions import DefinitionCache
from .statement import Procedure, Statement, Update

COLUMNS = """j.id, j.name, j.source, j.definition_id, j.version, j.queue, j.priority, j.requires, j.lanes,
    a.guarded, a.waiting, a.pause_seen, a.last_manual, a.last_success, j.history_from,
    j.deleted_at, a.wake_at, a.revision"""
JOBS = "tickwise_jobs j JOIN tickwise_job_state a ON a.job_id = j.id"
LOCK_JOB = Statement(f"SELECT {COLUMNS} FROM {JOBS} WHERE j.name = :name {{lock}}")

OF_SCHEDULE = """s.id, s.job_id, s.name, s.definition_id, s.cursor, s.last_seen_slot, s.last_missed_slot, s.edited,
    s.first_seen, s.runs_made, s.rest, s.last_slot, s.deleted, s.wake_at"""
_SCHEDULES = Statement(f"""
    SELECT {OF_SCHEDULE} FROM tickwise_schedule_state s
    WHERE s.job_id IN :jobs[bigint] AND (s.deleted IS NULL OR :all) ORDER BY s.id
""")
_PAUSES = Statement("""
    SELECT id, paused_at, until FROM tickwise_pauses WHERE until IS NOT NULL AND id > :seen ORDER BY id
""")
LATEST_PAUSE = "(SELECT coalesce(max(id), 0) FROM tickwise_pauses WHERE until IS NOT NULL)"
_WRITTEN = (
    "definition_id bigint", "cursor bigint", "last_seen_slot bigint", "last_missed_slot bigint", "edited bigint",
    "first_seen bigint", "runs_made bigint", "rest text", "last_slot bigint", "wake_at bigint", "paused boolean",
    "times text", "timezone text", "pause_reason text", "deleted bigint",
)  # fmt: skip
_WRITE = Update(
    "tickwise_schedules", f":rows[id bigint, {', '.join(_WRITTEN)}] AS v", {"id": "v.id"},
    {name: f"v.{name}" for name, _ in map(str.split, _WRITTEN)},
)  # fmt: skip
_WRITE_STATE = Update(
    "tickwise_job_state",
    """:rows[job bigint, wake_at bigint, waiting boolean, held boolean, local boolean, pause_seen bigint,
        ahead boolean] AS v""",
    {"job_id": "v.job"},
    {
        "wake_at": "v.wake_at", "idle": "v.wake_at IS NULL", "waiting": "v.waiting", "held": "v.held",
        "local": "v.local", "pause_seen": "v.pause_seen", "revision": "t.revision + 1",
        **{
            column: f"CASE WHEN v.ahead THEN t.{column} END"
            for column in ("cursor", "last_seen_slot", "last_slot", "runs_made")
        },
    },
)  # fmt: skip
_ADVANCE = Update(
    "tickwise_job_state",
    """:rows[job bigint, wake_at bigint, cursor bigint, last_seen_slot bigint, last_slot bigint,
        more bigint] AS v""",
    {"job_id": "v.job"},
    {
        "wake_at": "v.wake_at", "idle": "v.wake_at IS NULL", "waiting": "FALSE", "cursor": "v.cursor",
        "last_seen_slot": "v.last_seen_slot", "last_slot": "v.last_slot",
        "runs_made": "coalesce(t.runs_made, 0) + v.more",
    },
)  # fmt: skip
_RECORD = Statement("""
    INSERT INTO tickwise_decisions (schedule_id, first_slot, reason, last_slot, slots, detail, made_at,
        extended_at)
    SELECT schedule_id, first_slot, reason, last_slot, slots, detail,
        CAST(:now AS {bigint}), CAST(:now AS {bigint})
    FROM :rows[schedule_id bigint, first_slot bigint, reason text, last_slot bigint, slots bigint, detail text]
        AS v
    WHERE TRUE
    {upsert schedule_id, first_slot, reason: last_slot, slots, detail, extended_at}
""")


class JobColumns(NamedTuple):
    """The columns of a job, as read."""

    id: int
    name: str
    source: str
    definition_id: int
    version: int
    queue: str
    priority: int
    requires: str
    lanes: int
    guarded: bool
    waiting: bool
    pause_seen: int
    last_manual: int | None
    last_success: int | None
    history_from: int | None
    deleted_at: int | None
    wake_at: int | None
    revision: int


class ScheduleKey(NamedTuple):
    """The row of a schedule: its ids, and the state as it was read."""

    id: int
    definition_id: int
    read: Schedule | None = None  # none if it is new, or cannot be read


class LoadedJob(NamedTuple):
    """A job whose row is locked: its columns, the rows of its schedules, and its state, which changes."""

    row: JobColumns
    keys: dict[str, ScheduleKey]  # by the name of the schedule
    state: JobState


def load(
    cache: DefinitionCache, jobs: Sequence[JobColumns], latest_pause: int, *, deleted: bool = False
) -> Procedure[list[LoadedJob]]:
    """The schedules of jobs whose rows are locked."""
    rows = yield _SCHEDULES(jobs=sorted(job.id for job in jobs), all=deleted)
    return (yield from assemble(cache, jobs, rows, latest_pause))


def assemble(
    cache: DefinitionCache, jobs: Sequence[JobColumns], rows: Sequence[Sequence[Any]], latest_pause: int
) -> Procedure[list[LoadedJob]]:
    """Jobs with the schedules that are theirs. Ends of pauses of everything reach them here (S29)."""
    own: dict[int, list[Sequence[Any]]] = {job.id: [] for job in jobs}
    for row in rows:
        if row[1] in own:
            own[row[1]].append(row)
    yield from cache.read(row[3] for some in own.values() for row in some)
    pauses: list[EndedPause] = []
    seen = min((job.pause_seen for job in jobs), default=latest_pause)
    if seen < latest_pause:
        pauses = [EndedPause._make(row) for row in (yield _PAUSES(seen=seen))]
    return [_loaded(cache, job, own[job.id], pauses) for job in jobs]


def _loaded(
    cache: DefinitionCache, job: JobColumns, rows: Sequence[Sequence[Any]], pauses: Sequence[EndedPause]
) -> LoadedJob:
    keys: dict[str, ScheduleKey] = {}
    schedules: dict[str, ScheduleState] = {}
    unreadable: dict[str, UnreadableSchedule] = {}
    for row in rows:
        id_, _, name, definition_id, *_, last_slot, deleted, wake_at = row
        try:
            schedule = _schedule_from_row(cache, job.name, row)
        except UnreadableText as error:
            keys[name] = ScheduleKey(id_, definition_id)
            unreadable[name] = UnreadableSchedule(str(error), last_slot, deleted is None)
            if deleted is None:
                log_unreadable(name, str(error))
        else:
            keys[name] = ScheduleKey(id_, definition_id, schedule)
            schedules[name] = ScheduleState(schedule, wake_at, last_slot)
    state = JobState(
        name=job.name, queue=job.queue, requires=job.requires, schedules=schedules, unreadable=unreadable,
        pauses_seen=job.pause_seen, woken_at=job.wake_at, last_manual_start=job.last_manual,
        last_success=job.last_success, history_from=job.history_from,
    )  # fmt: skip
    return LoadedJob(job, keys, state.end_pauses(pauses) if pauses else state)


def _schedule_from_row(cache: DefinitionCache, job: str, row: Sequence[Any]) -> Schedule:
    _, _, name, definition_id, cursor, seen, missed, edited, first_seen, runs_made, rest, _, deleted, _ = row
    definition = cache.schedule(definition_id, name, job)
    others = decode_rest(rest) if rest else {}
    return Schedule(
        definition, cursor, seen, missed, edited, first_seen, runs_made=runs_made, deleted_at=deleted, **others
    )


def write(jobs: Iterable[LoadedJob], now: int, *, planned: bool = False) -> Procedure[None]:
    """Write jobs with what was decided about them; `planned` by a pass, which most often moves cursors only."""
    whole, advanced, jobs = list[LoadedJob](), list[tuple[object, ...]](), list(jobs)
    for job in jobs:
        if row := _advanced(job) if planned else None:
            advanced.append(row)
        else:
            whole.append(job)
    if advanced:
        yield _ADVANCE(rows=advanced)
    if rows := [
        _schedule_values(job.keys[name], each) for job in whole for name, each in job.state.schedules.items()
    ]:
        yield _WRITE(rows=rows)
    if whole:
        yield _WRITE_STATE(
            rows=[
                (job.row.id, state.wake_at(now // MICRO), state.waiting, state.held, state.is_local,
                state.pauses_seen, bool(state.unreadable)) for job in whole for state in (job.state,)
            ]
        )  # fmt: skip
    yield from _record(jobs, now)


def _advanced(job: LoadedJob) -> tuple[object, ...] | None:
    """The row of a job whose only schedule has come further, and nothing else is new; most that is ever written.

    No slot up to its cursor is left to decide then.
    """
    state = job.state
    if len(state.schedules) != 1 or state.unreadable or state.pauses_seen != job.row.pause_seen:
        return None
    [(name, (schedule, wake_at, last_slot))] = state.schedules.items()
    read, cursor = job.keys[name].read, schedule.cursor
    if read is None or max(schedule.last_seen_slot, last_slot or cursor) > cursor:
        return None
    moved = read._replace(cursor=cursor, last_seen_slot=schedule.last_seen_slot, runs_made=schedule.runs_made)
    if moved != schedule or state.waiting or encode_rest(schedule):
        return None
    return job.row.id, wake_at, cursor, schedule.last_seen_slot, last_slot, schedule.runs_made - read.runs_made


def _schedule_values(key: ScheduleKey, state: ScheduleState) -> tuple[object, ...]:
    schedule, wake_at, last_slot = state
    definition, pause = schedule.definition, schedule.paused
    return (
        key.id, key.definition_id, schedule.cursor, schedule.last_seen_slot, schedule.last_missed_slot,
        schedule.edited_at, schedule.first_seen, schedule.runs_made, encode_rest(schedule), last_slot, wake_at,
        pause is not None, definition.label, definition.times.zone.name, pause and pause.reason,
        schedule.deleted_at,
    )  # fmt: skip


def _record(jobs: Iterable[LoadedJob], now: int) -> Procedure[None]:
    """Keep decisions; one with a known identity extends what is recorded (S7)."""
    rows = [
        (job.keys[made.schedule].id, made.first, made.reason.code, made.last, made.count,
         clip(made.detail, LONGEST_ERROR))
        for job in jobs for made in job.state.recorded
    ]  # fmt: skip
    if rows:
        yield _RECORD(rows=rows, now=now)


def record_broken(schedules: Iterable[tuple[int, str]], now: int) -> Procedure[None]:
    """Keep that they cannot be decided, and why."""
    code = Reason.BROKEN.code
    yield _RECORD(rows=[(id_, 0, code, 0, 1, clip(problem, LONGEST_ERROR)) for id_, problem in schedules], now=now)
