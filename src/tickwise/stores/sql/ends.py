"""The end of attempts: a run goes where `settle` says, and who waited for it is woken.

Runs are locked first and jobs second, by a later statement whose snapshot sees what a pass has written about
waiting meanwhile (see `tick`). Successes, which are most ends, take one statement for all that returned nothing
under the same token, and one for the rest.
"""

from collections import defaultdict
from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple, TypeAlias

from ...core.definition import JobDefinition, Retry
from ...core.payload import clip
from ...core.settle import Outcome, Run, Settled, Succeeded, settle
from ...core.states import ACTIVE, Event, RunState
from ..records import MICRO
from .book import Book
from .fleet import clock
from .statement import WAKE, Protocol, Statement

_FIELDS = """id, job_id, schedule_id, slot, state, definition_id, attempt, failures, losses, cancelling, token,
    node, started_at, due_at, lane, auto_remove"""
_LOCK = Statement(f"SELECT {_FIELDS} FROM tickwise_runs WHERE id IN :ids[bigint] ORDER BY id FOR UPDATE")
_LOCK_FREE = Statement(
    f"SELECT {_FIELDS} FROM tickwise_runs WHERE id IN :ids[bigint] ORDER BY id FOR UPDATE SKIP LOCKED"
)
_SUCCEEDED = "id, job_id, slot, started_at, failures, losses, auto_remove, token, finished_at"
_SUCCEED = Statement(f"""
    UPDATE tickwise_runs SET state = 'succeeded', lane = NULL, lease_until = NULL, finished_at = (SELECT {{now}}),
        result = NULL, error = NULL
    WHERE id IN :ids[bigint] AND token = :token AND finished_at IS NULL RETURNING {_SUCCEEDED}
""")
_SUCCEED_WITH = Statement(f"""
    UPDATE tickwise_runs AS r SET state = 'succeeded', lane = NULL, lease_until = NULL,
        finished_at = (SELECT {{now}}), result = v.returned, error = v.said
    FROM :rows[held bigint, held_by text, returned text, said text] AS v
    WHERE r.id = v.held AND r.token = v.held_by AND r.finished_at IS NULL RETURNING {_SUCCEEDED}
""")
_MOVE = Statement("""
    UPDATE tickwise_runs AS r SET state = v.state, failures = v.failures, losses = v.losses, due_at = v.due_at,
        lane = v.lane, finished_at = v.finished_at, token = v.token, lease_until = NULL, result = v.result,
        error = v.error
    FROM :rows[id bigint, state text, failures bigint, losses bigint, due_at bigint, lane bigint, finished_at
        bigint,
        token text, result text, error text] AS v
    WHERE r.id = v.id
""")
_ATTEMPT = Statement("""
    INSERT INTO tickwise_attempts (run_id, number, event, started_at, finished_at, node, error)
    SELECT run_id, number, event, started_at, CAST(:now AS bigint), node, error
    FROM :rows[run_id bigint, number bigint, event text, started_at bigint, node text, error text] AS v WHERE TRUE
    ON CONFLICT (run_id, number) DO UPDATE SET event = excluded.event, error = excluded.error
""")
_AFFECTED = Statement("""
    SELECT id, waiting, guarded FROM tickwise_jobs WHERE id IN :jobs[bigint] AND (waiting OR guarded)
    UNION ALL
    SELECT job_id, TRUE, FALSE FROM tickwise_needs WHERE needed_job_id IN :succeeded[bigint]
""")
_WAKE_JOBS = Statement("""
    UPDATE tickwise_jobs SET wake_at = CASE WHEN wake_at < :second THEN wake_at ELSE :second END WHERE id IN (
        SELECT id FROM tickwise_jobs WHERE id IN :jobs[bigint] AND deleted_at IS NULL ORDER BY id FOR UPDATE)
""")
_LOCK_JOBS = Statement("SELECT id FROM tickwise_jobs WHERE id IN :ids[bigint] ORDER BY id FOR UPDATE")
NOTE_SUCCESS = Statement("""
    UPDATE tickwise_jobs AS j SET last_success = v.reference FROM :rows[id bigint, reference bigint] AS v
    WHERE j.id = v.id AND (j.last_success IS NULL OR j.last_success < v.reference)
""")
FORGET = [
    Statement(f"DELETE FROM tickwise_{table} WHERE {column} IN :ids[bigint]")
    for table, column in (("logs", "run_id"), ("steps", "run_id"), ("attempts", "run_id"), ("runs", "id"))
]
_NO_RETRY = Retry()


class Ending(NamedTuple):
    """An attempt that ended, or a run that will not begin; with a token it must be the attempt that has it."""

    run: int
    outcome: Outcome
    token: str | None = None
    result: str | None = None
    error: str = ""


Attempt: TypeAlias = tuple[int, str | None]  # a run's id, and the token that ended it


class _Ended(NamedTuple):
    """What waking needs to know."""

    job: int
    reference: int | None = None  # of a success: its slot, or when it started
    forgotten: bool = False  # the run is removed now, so what guards need to know is noted


class _Row(NamedTuple):
    id: int
    job_id: int
    schedule_id: int | None
    slot: int | None
    state: str
    definition_id: int
    attempt: int
    failures: int
    losses: int
    cancelling: bool
    token: str | None
    node: str | None
    started_at: int | None
    due_at: int
    lane: int | None
    auto_remove: bool


def finish(book: Book, endings: Sequence[Ending]) -> Protocol[dict[Attempt, Settled]]:
    """End attempts by their tokens, each once: the first word on it counts. Old tokens are not in the answer."""
    once = {(e.run, e.token): e for e in reversed(endings)}.values()
    successes = [e for e in once if isinstance(e.outcome, Succeeded)]
    others = [e for e in once if not isinstance(e.outcome, Succeeded)]
    settled: dict[Attempt, Settled] = {}
    ended: list[_Ended] = []
    now = 0
    if successes:
        rows = yield from _succeed(successes)
        now = max((row[-1] for row in rows), default=now)
        for run, job, slot, started_at, failures, losses, forgotten, token, _ in rows:
            settled[run, token] = Settled(Event.SUCCESS, RunState.SUCCEEDED, None, failures, losses)
            ended.append(_Ended(job, started_at // MICRO if slot is None else slot, bool(forgotten)))
        if unwanted := [row[0] for row in rows if row[6]]:
            for statement in FORGET:
                yield statement(ids=unwanted)
    if others:
        now = yield from clock()
        locked = yield _LOCK(ids=sorted(e.run for e in others))
        settled |= yield from _settle(book, others, locked, now, ended)
    yield from _wake(ended, now)
    return settled


def _succeed(endings: Sequence[Ending]) -> Protocol[list[Any]]:
    """The rows of those whose token was still good."""
    silent: dict[str | None, list[int]] = defaultdict(list)
    telling = []
    for ending in endings:
        if ending.result is None and not ending.error:
            silent[ending.token].append(ending.run)
        else:
            telling.append((ending.run, ending.token, ending.result, ending.error or None))
    rows: list[Any] = []
    for token, runs in silent.items():
        rows += yield _SUCCEED(ids=runs, token=token)
    if telling:
        rows += yield _SUCCEED_WITH(rows=telling)
    return rows


def end(book: Book, endings: Sequence[Ending], now: int) -> Protocol[dict[Attempt, Settled]]:
    """End runs without a token: by a person's word, or because their time is up. What is locked is left alone."""
    if not endings:
        return {}
    ended: list[_Ended] = []
    locked = yield _LOCK_FREE(ids=sorted(e.run for e in endings))
    settled = yield from _settle(book, endings, locked, now, ended)
    yield from _wake(ended, now)
    return settled


def _settle(
    book: Book, endings: Iterable[Ending], locked: Sequence[Any], now: int, ended: list[_Ended]
) -> Protocol[dict[Attempt, Settled]]:
    rows = {row[0]: _Row._make(row) for row in locked}
    yield from book.read({row.definition_id for row in rows.values()})
    yield from book.read_names({row.job_id for row in rows.values()}, ())
    settled: dict[Attempt, Settled] = {}
    moves, attempts = [], []
    for ending in endings:
        row = rows.get(ending.run)
        if row is None or (ending.token is not None and (row.token, row.state) != (ending.token, "running")):
            continue
        if ending.token is None and row.state not in ACTIVE:
            continue
        move = settled[row.id, ending.token] = settle(_run(book, row), ending.outcome, now // MICRO)
        moves.append(_moved(row, move, ending, now))
        if move.state is RunState.QUEUED:
            attempts.append(
                (row.id, row.attempt, str(move.event), row.started_at, row.node, clip(ending.error, 10_000))
            )
        else:
            ended.append(_Ended(row.job_id))
    if moves:
        yield _MOVE(rows=moves)
    if attempts:
        yield _ATTEMPT(rows=attempts, now=now)
        yield WAKE
    return settled


def _run(book: Book, row: _Row) -> Run:
    definition = _definition(book, row)
    retry, once = (definition.retry, definition.at_most_once) if definition else (_NO_RETRY, False)
    return Run(str(row.id), RunState(row.state), row.failures, row.losses, retry, once, bool(row.cancelling))


def _definition(book: Book, row: _Row) -> JobDefinition | None:
    try:
        return book.job(row.definition_id, book.job_names[row.job_id])
    except Exception:  # noqa: BLE001  (a run whose definition cannot be read ends without retries)
        return None


def _moved(row: _Row, move: Settled, ending: Ending, now: int) -> tuple[object, ...]:
    again = move.state is RunState.QUEUED
    due = row.due_at if move.not_before is None else move.not_before * MICRO
    return (
        row.id, str(move.state), move.failures, move.losses, due, row.lane if again else None,
        None if again else now, None if again else row.token, ending.result, clip(ending.error, 10_000) or None,
    )  # fmt: skip


def _wake(ended: Sequence[_Ended], now: int) -> Protocol[None]:
    """Let the jobs be looked at whose slots wait for what has ended (S15, S35)."""
    if not ended:
        return
    newest: dict[int, int] = {}
    for job, reference, _ in ended:
        if reference is not None:
            newest[job] = max(reference, newest.get(job, reference))
    rows = yield _AFFECTED(jobs=sorted({e.job for e in ended}), succeeded=sorted(newest))
    remembering = {job for job, _, guarded in rows if guarded} | {e.job for e in ended if e.forgotten}
    noted = [(job, newest[job]) for job in sorted(remembering) if job in newest]
    affected = sorted({job for job, waiting, _ in rows if waiting})
    if noted:
        yield _LOCK_JOBS(ids=sorted({*affected, *(job for job, _ in noted)}))
        yield NOTE_SUCCESS(rows=noted)
    if affected:
        yield _WAKE_JOBS(jobs=affected, second=now // MICRO)
        yield WAKE
