"""A job and its schedules as rows, read under a lock and written back: what `tick` and every change share."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from ...core.change import Resumed, apply_change
from ...core.codec import decode_rest, encode_rest
from ...core.model import Decision, Schedule
from ...core.payload import UnreadableText, clip
from ...core.reasons import Reason
from ..checks import LONGEST_ERROR
from ..records import MICRO
from .book import Book
from .statement import Protocol, Statement

COLUMNS = """id, name, source, definition_id, version, queue, priority, function, lanes, guarded, waiting,
    pause_seen, last_manual, last_success, history_from, deleted_at, wake_at"""
LOCK_JOB = Statement(f"SELECT {COLUMNS} FROM tickwise_jobs WHERE name = :name FOR UPDATE")
OF_SCHEDULE = """id, job_id, name, definition_id, cursor, met, missed, edited, first_seen, runs_made, rest,
    last_slot, deleted, wake_at"""
_SCHEDULES = Statement(f"""
    SELECT {OF_SCHEDULE} FROM tickwise_schedules
    WHERE job_id IN :jobs[bigint] AND (deleted IS NULL OR :all) ORDER BY id
""")
_PAUSES = Statement("""
    SELECT id, paused_at, until FROM tickwise_pauses WHERE until IS NOT NULL AND id > :seen ORDER BY id
""")
LATEST_PAUSE = "(SELECT coalesce(max(id), 0) FROM tickwise_pauses WHERE until IS NOT NULL)"
_WRITE = Statement("""
    UPDATE tickwise_schedules AS s
    SET definition_id = v.definition_id, cursor = v.cursor, met = v.met, missed = v.missed, edited = v.edited,
        first_seen = v.first_seen, runs_made = v.runs_made, rest = v.rest, last_slot = v.last_slot,
        wake_at = v.wake_at, paused = v.paused, deleted = v.deleted
    FROM :rows[id bigint, definition_id bigint, cursor bigint, met bigint, missed bigint, edited bigint,
        first_seen bigint, runs_made bigint, rest text, last_slot bigint, wake_at bigint, paused boolean,
        deleted bigint] AS v
    WHERE s.id = v.id
""")
_WRITE_JOBS = Statement("""
    UPDATE tickwise_jobs AS j
    SET wake_at = v.wake_at, waiting = v.waiting, local = v.local, pause_seen = v.pause_seen
    FROM :rows[id bigint, wake_at bigint, waiting boolean, local boolean, pause_seen bigint] AS v WHERE j.id = v.id
""")
_ADVANCE = Statement("""
    UPDATE tickwise_schedules AS s
    SET cursor = v.cursor, met = v.met, missed = v.missed, runs_made = v.runs_made, rest = v.rest,
        last_slot = v.last_slot, wake_at = v.wake_at, deleted = v.deleted
    FROM :rows[id bigint, cursor bigint, met bigint, missed bigint, runs_made bigint, rest text, last_slot bigint,
        wake_at bigint, deleted bigint] AS v
    WHERE s.id = v.id
""")
_ADVANCE_JOBS = Statement("""
    UPDATE tickwise_jobs AS j SET wake_at = v.wake_at, waiting = v.waiting
    FROM :rows[id bigint, wake_at bigint, waiting boolean] AS v WHERE j.id = v.id
""")
_RECORD = Statement("""
    INSERT INTO tickwise_decisions (schedule_id, first_slot, reason, last_slot, slots, detail, made_at,
        extended_at)
    SELECT schedule_id, first_slot, reason, last_slot, slots, detail, CAST(:now AS bigint), CAST(:now AS bigint)
    FROM :rows[schedule_id bigint, first_slot bigint, reason text, last_slot bigint, slots bigint, detail text]
        AS v
    WHERE TRUE
    ON CONFLICT (schedule_id, first_slot, reason) DO UPDATE SET last_slot = excluded.last_slot,
        slots = excluded.slots, detail = excluded.detail, extended_at = excluded.extended_at
""")


class JobRow(NamedTuple):
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


@dataclass(slots=True)
class Held:
    """A schedule in hand: its row's id, its state, and the newest slot that has a run."""

    id: int
    definition_id: int
    state: Schedule
    last_slot: int | None
    wake_at: int | None = None


class Unreadable(NamedTuple):
    """A schedule in hand that cannot be read: its row's id, what is wrong, and the newest slot that has a run."""

    id: int
    problem: str
    last_slot: int | None


@dataclass(slots=True)
class HeldJob:
    """A job in hand, with its schedules by name."""

    row: JobRow
    schedules: dict[str, Held] = field(default_factory=dict)
    unreadable: dict[str, Unreadable] = field(default_factory=dict)
    decisions: list[Decision] = field(default_factory=list)  # made on the way
    pause_seen: int = 0

    @property
    def states(self) -> Iterator[Schedule]:
        return (held.state for held in self.schedules.values())


def load(
    book: Book, jobs: Sequence[JobRow], latest_pause: int, *, deleted: bool = False
) -> Protocol[list[HeldJob]]:
    """The schedules of jobs whose rows are locked."""
    rows = yield _SCHEDULES(jobs=sorted(job.id for job in jobs), all=deleted)
    return (yield from hold(book, jobs, rows, latest_pause))


def hold(
    book: Book, jobs: Sequence[JobRow], rows: Sequence[Sequence[Any]], latest_pause: int
) -> Protocol[list[HeldJob]]:
    """Jobs in hand, with the schedules that are theirs. Ends of pauses of everything reach them here (S29)."""
    held = {job.id: HeldJob(job, pause_seen=job.pause_seen) for job in jobs}
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


def _put(book: Book, job: HeldJob, row: Sequence[Any]) -> None:
    id_, _, name, definition_id, cursor, met, missed, edited, first_seen, made, rest, last_slot, deleted, wake = (
        row
    )
    try:
        definition = book.schedule(definition_id, name, job.row.name)
        others = decode_rest(rest) if rest else {}
    except UnreadableText as error:
        job.unreadable[name] = Unreadable(id_, str(error), last_slot)
        return
    state = Schedule(
        definition, cursor, met, missed, edited, first_seen, runs_made=made, deleted_at=deleted, **others
    )
    job.schedules[name] = Held(id_, definition_id, state, last_slot, wake)


def _end_pauses(job: HeldJob, pauses: Sequence[tuple[int, int, int]]) -> None:
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


def write(jobs: Iterable[HeldJob], now: int, *, planned: bool = False) -> Protocol[None]:
    """Make what is in hand true, with the decisions made on the way. Only a pass lets a job be due later."""
    jobs = list(jobs)
    if planned and all(job.pause_seen == job.row.pause_seen for job in jobs):
        yield from _advance(jobs, now)
    else:
        rows = [_row(held) for job in jobs for held in job.schedules.values()]
        if rows:
            yield _WRITE(rows=rows)
        yield _WRITE_JOBS(
            rows=[
                (job.row.id, wake_at(job, now, planned=planned), waiting(job), local(job), job.pause_seen)
                for job in jobs
            ]
        )
    yield from record(jobs, now)


def _advance(jobs: Sequence[HeldJob], now: int) -> Protocol[None]:
    """Only what a pass changes, which is most of what is ever written."""
    rows = [
        (held.id, s.cursor, s.met, s.missed, s.runs_made, encode_rest(s), held.last_slot, held.wake_at,
        s.deleted_at) for job in jobs for held in job.schedules.values() for s in (held.state,)
    ]  # fmt: skip
    if rows:
        yield _ADVANCE(rows=rows)
    yield _ADVANCE_JOBS(rows=[(job.row.id, wake_at(job, now, planned=True), waiting(job)) for job in jobs])


def wake_at(job: HeldJob, now: int, *, planned: bool) -> int | None:
    """The least of its schedules'; one that cannot be read is tried again in a minute."""
    wakes = [held.wake_at for held in job.schedules.values()]
    if job.unreadable:
        wakes.append(now // MICRO + 60)
    if not planned:
        wakes.append(job.row.wake_at)
    return min((wake for wake in wakes if wake is not None), default=None)


def waiting(job: HeldJob) -> bool:
    return any(state.deferral is not None or state.backfill is not None for state in job.states)


def local(job: HeldJob) -> bool:
    """Whether all of it is ticked by nodes themselves: then no claim is to find it."""
    live = [state for state in job.states if state.deleted_at is None]
    return bool(live) and all(state.ticked_locally for state in live)


def record(jobs: Iterable[HeldJob], now: int) -> Protocol[None]:
    """Keep decisions; one with a known identity extends what is recorded (S7)."""
    rows = {}
    for job in jobs:
        for made in job.decisions:
            key = (job.schedules[made.schedule].id, made.first, made.reason.code)
            rows[key] = (*key, made.last, made.count, clip(made.detail, LONGEST_ERROR))
        for schedule, problem, _ in job.unreadable.values():
            key = (schedule, 0, Reason.BROKEN.code)
            rows[key] = (*key, 0, 1, clip(problem, LONGEST_ERROR))
    if rows:
        yield _RECORD(rows=list(rows.values()), now=now)


def _row(held: Held) -> tuple[object, ...]:
    state = held.state
    return (
        held.id, held.definition_id, state.cursor, state.met, state.missed, state.edited_at, state.first_seen,
        state.runs_made, encode_rest(state), held.last_slot, held.wake_at, state.paused is not None,
        state.deleted_at,
    )  # fmt: skip
