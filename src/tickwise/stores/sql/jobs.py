"""A job and its schedules as rows, read under a lock and written back: what `tick` and every change share."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from ...core.change import Resumed, apply_change
from ...core.codec import decode_rest, encode_rest
from ...core.model import Decision, Schedule
from ...core.payload import UnreadableText, clip
from ...core.reasons import Reason
from ..records import MICRO
from ..validation import LONGEST_ERROR
from .definitions import DefinitionCache
from .statement import Procedure, Statement

COLUMNS = """j.id, j.name, j.source, j.definition_id, j.version, j.queue, j.priority, j.function, j.lanes,
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
_WRITE = Statement("""
    UPDATE tickwise_schedules AS s
    SET definition_id = v.definition_id, cursor = v.cursor, last_seen_slot = v.last_seen_slot,
        last_missed_slot = v.last_missed_slot, edited = v.edited, first_seen = v.first_seen,
        runs_made = v.runs_made, rest = v.rest, last_slot = v.last_slot, wake_at = v.wake_at,
        paused = v.paused, deleted = v.deleted
    FROM :rows[id bigint, definition_id bigint, cursor bigint, last_seen_slot bigint, last_missed_slot bigint,
        edited bigint, first_seen bigint, runs_made bigint, rest text, last_slot bigint, wake_at bigint,
        paused boolean, deleted bigint] AS v
    WHERE s.id = v.id
""")
_WRITE_STATE = Statement("""
    UPDATE tickwise_job_state AS a
    SET wake_at = v.wake_at, waiting = v.waiting, local = v.local, pause_seen = v.pause_seen,
        revision = a.revision + 1, cursor = CASE WHEN v.ahead THEN a.cursor END,
        last_seen_slot = CASE WHEN v.ahead THEN a.last_seen_slot END,
        last_slot = CASE WHEN v.ahead THEN a.last_slot END,
        runs_made = CASE WHEN v.ahead THEN a.runs_made END
    FROM :rows[job bigint, wake_at bigint, waiting boolean, local boolean, pause_seen bigint, ahead boolean] AS v
    WHERE a.job_id = v.job
""")
_ADVANCE = Statement("""
    UPDATE tickwise_job_state AS a
    SET wake_at = v.wake_at, waiting = FALSE, cursor = v.cursor, last_seen_slot = v.last_seen_slot,
        last_slot = v.last_slot, runs_made = coalesce(a.runs_made, 0) + v.more
    FROM :rows[job bigint, wake_at bigint, cursor bigint, last_seen_slot bigint, last_slot bigint,
        more bigint] AS v
    WHERE a.job_id = v.job
""")
_RECORD = Statement("""
    INSERT INTO tickwise_decisions (schedule_id, first_slot, reason, last_slot, slots, detail, made_at,
        extended_at)
    SELECT schedule_id, first_slot, reason, last_slot, slots, detail, CAST(:now AS bigint), CAST(:now AS bigint)
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
    function: str | None
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


@dataclass(slots=True)
class LoadedSchedule:
    """A schedule in hand: its row's id, its state, and the newest slot that has a run."""

    id: int
    definition_id: int
    state: Schedule
    last_slot: int | None
    wake_at: int | None = None
    read: Schedule | None = None  # the state as it was read


class UnreadableSchedule(NamedTuple):
    """A schedule in hand that cannot be read: its row's id, what is wrong, and the newest slot that has a run."""

    id: int
    problem: str
    last_slot: int | None


@dataclass(slots=True)
class LoadedJob:
    """A job in hand, with its schedules by name."""

    row: JobColumns
    schedules: dict[str, LoadedSchedule] = field(default_factory=dict)
    unreadable: dict[str, UnreadableSchedule] = field(default_factory=dict)
    decisions: list[Decision] = field(default_factory=list)  # made on the way
    pause_seen: int = 0

    @property
    def states(self) -> Iterator[Schedule]:
        return (held.state for held in self.schedules.values())


def load(
    book: DefinitionCache, jobs: Sequence[JobColumns], latest_pause: int, *, deleted: bool = False
) -> Procedure[list[LoadedJob]]:
    """The schedules of jobs whose rows are locked."""
    rows = yield _SCHEDULES(jobs=sorted(job.id for job in jobs), all=deleted)
    return (yield from hold(book, jobs, rows, latest_pause))


def hold(
    book: DefinitionCache, jobs: Sequence[JobColumns], rows: Sequence[Sequence[Any]], latest_pause: int
) -> Procedure[list[LoadedJob]]:
    """Jobs in hand, with the schedules that are theirs. Ends of pauses of everything reach them here (S29)."""
    held = {job.id: LoadedJob(job, pause_seen=job.pause_seen) for job in jobs}
    own = [row for row in rows if row[1] in held]
    yield from book.read(row[3] for row in own)
    for row in own:
        _put(book, held[row[1]], row)
    behind = [job for job in held.values() if job.row.pause_seen < latest_pause]
    if behind:
        pauses = yield _PAUSES(seen=min(job.row.pause_seen for job in behind))
        for job in behind:
            _end_pauses(job, pauses)
    return list(held.values())


def _put(book: DefinitionCache, job: LoadedJob, row: Sequence[Any]) -> None:
    id_, _, name, definition_id, cursor, met, missed, edited, first_seen, made, rest, last_slot, deleted, wake = (
        row
    )
    try:
        definition = book.schedule(definition_id, name, job.row.name)
        others = decode_rest(rest) if rest else {}
    except UnreadableText as error:
        job.unreadable[name] = UnreadableSchedule(id_, str(error), last_slot)
        return
    state = Schedule(
        definition, cursor, met, missed, edited, first_seen, runs_made=made, deleted_at=deleted, **others
    )
    job.schedules[name] = LoadedSchedule(id_, definition_id, state, last_slot, wake, state)


def _end_pauses(job: LoadedJob, pauses: Sequence[tuple[int, int, int]]) -> None:
    for pause, at, until in pauses:
        if pause <= job.row.pause_seen:
            continue
        job.pause_seen = pause
        for held in job.schedules.values():
            since = max(at, held.state.first_seen)
            if held.state.deleted_at is None and since < until:
                changed = apply_change(held.state, Resumed(since=since), until)
                held.state = changed.schedules[0]
                job.decisions += changed.decisions


def write(jobs: Iterable[LoadedJob], now: int, *, planned: bool = False) -> Procedure[None]:
    """Make what is in hand true, with the decisions made on the way. Only a pass lets a job be due later."""
    whole, advanced, jobs = list[LoadedJob](), list[tuple[object, ...]](), list(jobs)
    for job in jobs:
        if row := _advanced(job) if planned else None:
            advanced.append(row)
        else:
            whole.append(job)
    if advanced:
        yield _ADVANCE(rows=advanced)
    if rows := [_row(held) for job in whole for held in job.schedules.values()]:
        yield _WRITE(rows=rows)
    if whole:
        yield _WRITE_STATE(
            rows=[
                (job.row.id, wake_at(job, now, planned=planned), waiting(job), local(job), job.pause_seen,
                bool(job.unreadable)) for job in whole
            ]
        )  # fmt: skip
    yield from record(jobs, now)


def _advanced(job: LoadedJob) -> tuple[object, ...] | None:
    """The row of a job whose only schedule has come further, and nothing else is new; most that is ever written.

    None up to its cursor is left to decide then.
    """
    if len(job.schedules) != 1 or job.unreadable or job.pause_seen != job.row.pause_seen:
        return None
    [held] = job.schedules.values()
    state, read = held.state, held.read
    if read is None or state.last_seen_slot > state.cursor or (held.last_slot or state.cursor) > state.cursor:
        return None
    if read._replace(
        cursor=state.cursor, last_seen_slot=state.last_seen_slot, runs_made=state.runs_made
    ) != state or encode_rest(state):
        return None
    more = state.runs_made - read.runs_made
    return job.row.id, held.wake_at, state.cursor, state.last_seen_slot, held.last_slot, more


def wake_at(job: LoadedJob, now: int, *, planned: bool) -> int | None:
    """The least of its schedules'; one that cannot be read is tried again in a minute."""
    wakes = [held.wake_at for held in job.schedules.values()]
    if job.unreadable:
        wakes.append(now // MICRO + 60)
    if not planned:
        wakes.append(job.row.wake_at)
    return min((wake for wake in wakes if wake is not None), default=None)


def waiting(job: LoadedJob) -> bool:
    return any(state.deferral is not None or state.backfill is not None for state in job.states)


def local(job: LoadedJob) -> bool:
    """Whether all of it is ticked by nodes themselves: then no claim is to find it."""
    live = [state for state in job.states if state.deleted_at is None]
    return bool(live) and all(state.ticked_locally for state in live)


def record(jobs: Iterable[LoadedJob], now: int) -> Procedure[None]:
    """Keep decisions; one with a known identity extends what is recorded (S7)."""
    rows, broken = {}, list[tuple[int, str]]()
    for job in jobs:
        for made in job.decisions:
            key = (job.schedules[made.schedule].id, made.first, made.reason.code)
            rows[key] = (*key, made.last, made.count, clip(made.detail, LONGEST_ERROR))
        broken += [(schedule, problem) for schedule, problem, _ in job.unreadable.values()]
    if rows:
        yield _RECORD(rows=list(rows.values()), now=now)
    if broken:
        yield from record_broken(broken, now)


def record_broken(schedules: Iterable[tuple[int, str]], now: int) -> Procedure[None]:
    """Keep that they cannot be decided, and why."""
    code = Reason.BROKEN.code
    yield _RECORD(rows=[(id_, 0, code, 0, 1, clip(problem, LONGEST_ERROR)) for id_, problem in schedules], now=now)


def _row(held: LoadedSchedule) -> tuple[object, ...]:
    state = held.state
    return (
        held.id, held.definition_id, state.cursor, state.last_seen_slot, state.last_missed_slot,
        state.edited_at, state.first_seen,
        state.runs_made, encode_rest(state), held.last_slot, held.wake_at, state.paused is not None,
        state.deleted_at,
    )  # fmt: skip
