"""The end of attempts: a run goes where `settle` says, and who waited for it is woken.

Runs are locked first and jobs second, by a later statement whose snapshot sees what a pass has written about
waiting meanwhile (see `tick`). Successes, which are most ends, take one statement for all that returned nothing
under the same token, and one for the rest.
"""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from operator import itemgetter
from typing import Any, NamedTuple, TypeAlias

from ...core.definition import JobDefinition, RetryPolicy
from ...core.payload import clip
from ...core.settle import EndingRun, Outcome, Settled, Succeeded, settle
from ...core.states import ACTIVE, Event, RunState
from ..records import MICRO
from .definitions import DefinitionCache
from .fleet import clock
from .runs import DELETE_ACTIVE, SET_WAITING
from .statement import NOTIFY, Compound, Procedure, Returning, Statement, Update

_FIELDS = """id, job_id, schedule_id, slot, state, definition_id, attempt, failures, losses, cancelling, token,
    node, started_at, due_at, lane, auto_remove, error"""
_LOCK = Statement(f"SELECT {_FIELDS} FROM tickwise_runs WHERE id IN :ids[bigint] ORDER BY id {{lock}}")
_LOCK_FREE = Statement(f"SELECT {_FIELDS} FROM tickwise_runs WHERE id IN :ids[bigint] ORDER BY id {{lock_free}}")
_SUCCEEDED = "id, job_id, lane, coalesce(slot, started_at {div} 1000000), failures, losses, auto_remove"
_SUCCEED = Returning(
    """
    UPDATE tickwise_runs SET state = 'succeeded', lease_until = NULL, finished_at = (SELECT {now}),
        result = NULL, error = NULL
    WHERE id IN :ids[bigint] AND token = :token AND finished_at IS NULL
    """,
    f"{_SUCCEEDED}, finished_at, token",
    locked=f"""
    SELECT {_SUCCEEDED}, {{now}}, token FROM tickwise_runs
    WHERE id IN :ids[bigint] AND token = :token AND finished_at IS NULL ORDER BY id {{lock}}
    """,
)
_TOLD = ":rows[held bigint, held_by text, returned text, said text] AS v"
_SUCCEED_WITH = Returning(
    Update(
        "tickwise_runs", _TOLD, {"id": "v.held", "token": "v.held_by"},
        {
            "state": "'succeeded'", "lease_until": "NULL", "finished_at": "(SELECT {now})",
            "result": "v.returned", "error": "v.said",
        },
        "t.finished_at IS NULL",
    ),
    f"{_SUCCEEDED}, finished_at, token",
    locked=f"""
    SELECT {_SUCCEEDED}, {{now}}, token FROM {_TOLD} JOIN tickwise_runs r ON r.id = v.held AND r.token = v.held_by
    WHERE r.finished_at IS NULL {{lock}}
    """,
)  # fmt: skip
_SUCCEED_SILENTLY, _SUCCEED_TELLING = Compound(_SUCCEED, DELETE_ACTIVE), Compound(_SUCCEED_WITH, DELETE_ACTIVE)
_MOVE = Update(
    "tickwise_runs",
    """:rows[id bigint, state text, failures bigint, losses bigint, due_at bigint, finished_at bigint,
        token text, result text, error text, waits_for text] AS v""",
    {"id": "v.id"},
    {
        "state": "v.state", "failures": "v.failures", "losses": "v.losses", "due_at": "v.due_at",
        "finished_at": "v.finished_at", "token": "v.token", "lease_until": "NULL", "result": "v.result",
        "error": "v.error", "waits_for": "v.waits_for",
    },
)  # fmt: skip
_ATTEMPT = Statement("""
    INSERT INTO tickwise_attempts (run_id, number, event, started_at, finished_at, node, error)
    SELECT run_id, number, event, started_at, CAST(:now AS {bigint}), node, error
    FROM :rows[run_id bigint, number bigint, event text, started_at bigint, node text, error text] AS v WHERE TRUE
    {upsert run_id, number: event, error}
""")
_AFFECTED = Statement("""
    SELECT job_id, waiting, guarded FROM tickwise_job_state WHERE job_id IN :jobs[bigint] AND (waiting OR guarded)
    UNION ALL
    SELECT job_id, TRUE, FALSE FROM tickwise_dependencies WHERE needed_job_id IN :succeeded[bigint]
""")
LOCK_JOBS = Statement("""
    SELECT job_id FROM tickwise_job_state WHERE job_id IN :ids[bigint] ORDER BY job_id {lock}
""")
WAKE_JOBS = Compound(
    LOCK_JOBS,
    Update(
        "tickwise_job_state", ":made[job_id bigint] AS locked", {"job_id": "locked.job_id"},
        {"wake_at": "CASE WHEN t.wake_at < :second THEN t.wake_at ELSE :second END", "idle": "FALSE"},
    ),
)  # fmt: skip
NOTE_SUCCESS = Update(
    "tickwise_job_state", ":rows[job bigint, reference bigint] AS v", {"job_id": "v.job"},
    {"last_success": "v.reference"}, "(t.last_success IS NULL OR t.last_success < v.reference)",
)  # fmt: skip
FORGET = [
    Statement(f"DELETE FROM tickwise_{table} WHERE {column} IN :ids[bigint]")
    for table, column in (
        ("logs", "run_id"),
        ("steps", "run_id"),
        ("attempts", "run_id"),
        ("hand_overs", "run_id"),
        ("runs", "id"),
    )
]
_NO_RETRY = RetryPolicy()
_SUCCESS = Settled(Event.SUCCESS, RunState.SUCCEEDED)


class RunEnd(NamedTuple):
    """An attempt that ended, or a run that will not begin; with a token it must be the attempt that has it."""

    run: int
    outcome: Outcome
    token: str | None = None
    result: str | None = None
    error: str = ""


Attempt: TypeAlias = tuple[int, str | None]  # a run's id, and the token that ended it


class _Ended(NamedTuple):
    """What waking needs to know."""

    jobs: list[int]
    successes: list[tuple[int, int]]  # the job, and the slot, or when it started
    forgotten: set[int]  # jobs of which a run is removed now, so what guards need to know is noted


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
    error: str | None


def finish(cache: DefinitionCache, endings: Sequence[RunEnd]) -> Procedure[dict[Attempt, Settled]]:
    """End attempts by their tokens, each once: the first word on it counts. Old tokens are not in the answer."""
    silent: dict[str | None, list[int]] = defaultdict(list)
    telling, others = [], []
    for ending in {(e.run, e.token): e for e in reversed(endings)}.values():
        run, outcome, token, result, error = ending
        if not isinstance(outcome, Succeeded):
            others.append(ending)
        elif result is None and not error:
            silent[token].append(run)
        else:
            telling.append((run, token, result, error or None))
    settled: dict[Attempt, Settled] = {}
    ended = _Ended([], [], set())
    now = 0
    if silent or telling:
        now = yield from _succeed(silent, telling, settled, ended)
    if others:
        now = yield from clock()
        locked = yield _LOCK(ids=sorted(e.run for e in others))
        settled |= yield from _settle(cache, others, locked, now, ended)
    yield from _wake(ended, now)
    return settled


def _succeed(
    silent: Mapping[str | None, list[int]], telling: Sequence[tuple[object, ...]],
    settled: dict[Attempt, Settled], ended: _Ended,
) -> Procedure[int]:  # fmt: skip
    """Settle those whose token is still good; when that was."""
    rows: list[Any] = []
    for token, runs in silent.items():
        rows += yield _SUCCEED_SILENTLY(ids=runs, token=token)
    if telling:
        rows += yield _SUCCEED_TELLING(rows=sorted(telling, key=itemgetter(0)))  # all lock runs in this order
    unwanted, now = [], 0
    for run, job, _, reference, failures, losses, forgotten, finished_at, token in rows:
        tried = failures or losses
        settled[run, token] = _SUCCESS._replace(failures=failures, losses=losses) if tried else _SUCCESS
        ended.jobs.append(job)
        ended.successes.append((job, reference))
        now = max(now, finished_at)
        if forgotten:
            unwanted.append(run)
            ended.forgotten.add(job)
    if unwanted:
        for statement in FORGET:
            yield statement(ids=unwanted)
    return now


def end(cache: DefinitionCache, endings: Sequence[RunEnd], now: int) -> Procedure[dict[Attempt, Settled]]:
    """End runs without a token: by a person's word, or because their time is up. What is locked is left alone."""
    if not endings:
        return {}
    ended = _Ended([], [], set())
    locked = yield _LOCK_FREE(ids=sorted(e.run for e in endings))
    settled = yield from _settle(cache, endings, locked, now, ended)
    yield from _wake(ended, now)
    return settled


def _settle(
    cache: DefinitionCache, endings: Iterable[RunEnd], locked: Sequence[Any], now: int, ended: _Ended
) -> Procedure[dict[Attempt, Settled]]:
    rows = {row[0]: _Row._make(row) for row in locked}
    yield from cache.read({row.definition_id for row in rows.values()})
    yield from cache.read_names({row.job_id for row in rows.values()}, ())
    settled: dict[Attempt, Settled] = {}
    moves, attempts, over, waiting = [], [], [], []
    for ending in endings:
        row = rows.get(ending.run)
        if row is None or (ending.token is not None and (row.token, row.state) != (ending.token, "running")):
            continue
        if ending.token is None and row.state not in ACTIVE:
            continue
        move = settled[row.id, ending.token] = settle(_run(cache, row), ending.outcome, now // MICRO)
        moves.append(_moved(row, move, ending, now))
        if move.state is not RunState.QUEUED or row.lane is None:
            over.append((row.id, row.job_id, row.lane))
        else:
            waiting.append((row.job_id, row.lane))
        if move.state is not RunState.QUEUED:
            ended.jobs.append(row.job_id)
        elif move.event is not Event.WAIT:
            attempts.append(
                (row.id, row.attempt, str(move.event), row.started_at, row.node, clip(ending.error, 10_000))
            )
    if moves:
        yield _MOVE(rows=moves)
        yield DELETE_ACTIVE(made=over)
    if waiting:
        yield SET_WAITING(rows=waiting)
    if attempts:
        yield _ATTEMPT(rows=attempts, now=now)
        yield NOTIFY
    return settled


def _run(cache: DefinitionCache, row: _Row) -> EndingRun:
    definition = _definition(cache, row)
    retry, once = (definition.retry, definition.at_most_once) if definition else (_NO_RETRY, False)
    failure = row.error or "" if row.cancelling else ""
    return EndingRun(
        str(row.id), RunState(row.state), row.failures, row.losses, retry, once, bool(row.cancelling), failure
    )


def _definition(cache: DefinitionCache, row: _Row) -> JobDefinition | None:
    try:
        return cache.job(row.definition_id, cache.job_names[row.job_id])
    except Exception:  # noqa: BLE001  (a run whose definition cannot be read ends without retries)
        return None


def _moved(row: _Row, move: Settled, ending: RunEnd, now: int) -> tuple[object, ...]:
    again, waits = move.state is RunState.QUEUED, move.event is Event.WAIT
    due = row.due_at if move.not_before is None else move.not_before * MICRO
    error = clip(move.error or ending.error, 10_000) or None
    return (
        row.id, str(move.state), move.failures, move.losses, due,
        None if again else now, None if again else row.token, ending.result,
        None if waits else error, error if waits else None,
    )  # fmt: skip


def _wake(ended: _Ended, now: int) -> Procedure[None]:
    """Let the jobs be looked at whose slots wait for what has ended (S15, S35)."""
    jobs, successes, forgotten = ended
    if not jobs:
        return
    rows = yield _AFFECTED(jobs=sorted(set(jobs)), succeeded=sorted({job for job, _ in successes}))
    remembering = {job for job, _, guarded in rows if guarded} | forgotten
    affected = sorted({job for job, waiting, _ in rows if waiting})
    noted: dict[int, int] = {}
    if remembering:
        noted = {job: reference for job, reference in sorted(successes) if job in remembering}  # the newest
    if noted:
        yield LOCK_JOBS(ids=sorted({*affected, *noted}))
        yield NOTE_SUCCESS(rows=list(noted.items()))
    if affected:
        yield WAKE_JOBS(ids=affected, second=now // MICRO)
        yield NOTIFY
