"""Runs that somebody asks for: enqueued by code, triggered by hand, cancelled, retried."""

from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import Any

from ...core.errors import ConflictError, InputError, no_such
from ...core.model import Trigger
from ...core.payload import UnreadableText, encode_again
from ...core.settle import Cancelled
from ...core.states import ACTIVE, MOVES, Event, RunState
from ..records import MICRO, Enqueue, Enqueued
from .definitions import DefinitionCache
from .finish import LOCK_JOBS, RunEnd, end
from .fleet import clock
from .runs import ON_LANES
from .statement import NOTIFY, Procedure, Returning, Statement

_JOBS = Statement("""
    SELECT id, name, definition_id, queue, priority, requires, lanes, {now} FROM tickwise_jobs
    WHERE name IN :names[text] AND deleted_at IS NULL ORDER BY id
""")


_NAMES = Statement("SELECT name FROM tickwise_jobs WHERE deleted_at IS NULL ORDER BY name LIMIT 1000")


_LANES = Statement("SELECT lane, run_id FROM tickwise_active_runs WHERE job_id = :job AND lane >= 0 ORDER BY lane")


_INSERT_ENQUEUED = Returning(
    """
    {insert_free} INTO tickwise_runs (job_id, lane, run_key, trigger_name, state, definition_id, queue, priority,
        requires, params, due_at, created_at, requested_by, auto_remove, key_ttl, traceparent,
        attempt, failures, losses, cancelling)
    SELECT job_id, lane, run_key, trigger_name, 'queued', definition_id, queue, priority, requires,
        params, due_at, CAST(:now AS {bigint}), requested_by, auto_remove, key_ttl, traceparent,
        0, 0, 0, FALSE
    FROM :rows[n bigint, job_id bigint, lane bigint, run_key text, trigger_name text, definition_id bigint,
        queue text, priority bigint, requires text, params text, due_at bigint, requested_by text,
        auto_remove boolean, key_ttl bigint, traceparent text] AS v
    WHERE TRUE ORDER BY n {if_free}
    """,
    "id",
    table="tickwise_runs",
)


_BY_KEY = Statement("""
    SELECT id, CASE WHEN state = 'succeeded' THEN finished_at + key_ttl * 1000000 END FROM tickwise_runs
    WHERE job_id = :job AND held_key = :key
""")


_BY_KEY_NOW = Statement(f"{_BY_KEY.text} {{current}}")


_FREE_KEY = Statement("UPDATE tickwise_runs SET key_ttl = 0 WHERE id = :run AND state = 'succeeded'")


_RUN_OF_KEY = Statement("""
    SELECT id, job_id, state, trigger_name, run_key FROM tickwise_runs WHERE id = :run
""")


_LANES_OF = Statement("SELECT lanes FROM tickwise_jobs WHERE id = :job")


_LOCK_RUN = Statement("SELECT state FROM tickwise_runs WHERE id = :run {lock}")


_ASK_TO_END = Statement("UPDATE tickwise_runs SET cancelling = TRUE WHERE id = :run AND state = 'running'")


_WAITS = Statement(
    "SELECT id FROM tickwise_runs WHERE id = :run AND state = 'queued' AND waits_for IS NOT NULL {lock}"
)


_MAKE_DUE = Statement("""
    UPDATE tickwise_runs SET due_at = (SELECT {now})
    WHERE id = :run AND state = 'queued' AND waits_for IS NOT NULL AND due_at > (SELECT {now})
""")


_KEEP_ATTEMPT = Statement("""
    {insert_free} INTO tickwise_attempts (run_id, number, event, started_at, finished_at, node, error)
    SELECT id, attempt, CAST(:event AS {text}), started_at, finished_at, node, error FROM tickwise_runs WHERE id
        = :run AND
        attempt > 0
    {if_free}
""")


_PUT_BACK = Statement("""
    UPDATE tickwise_runs SET state = 'queued', lane = :lane, due_at = :now, failures = 0, losses = 0,
        cancelling = FALSE, finished_at = NULL, token = NULL, expires_at = NULL, error = NULL, waits_for = NULL
    WHERE id = :run
""")


_FORGET_STEPS = Statement("DELETE FROM tickwise_steps WHERE run_id = :run AND name IN :steps[text]")


_ENDED_BY = {RunState.FAILED: Event.FAILURE, RunState.LOST: Event.LOSS, RunState.CANCELLED: Event.CANCEL}


def enqueue(cache: DefinitionCache, asked: Sequence[Enqueue]) -> Procedure[tuple[Enqueued, ...]]:
    """All of them or none. Those without a key or a lane, which are most, take one statement together."""
    params = [None if one.params is None else encode_again(one.params) for one in asked]
    if not asked:
        return ()
    jobs = yield from _jobs(sorted({one.job for one in asked}))
    now = max(row[-1] for row in jobs.values())
    yield from _check_params(cache, asked, jobs)
    if on_lanes := sorted({jobs[one.job][0] for one in asked if one.trigger.takes_lane}):
        yield LOCK_JOBS(ids=on_lanes)
    found: dict[int, Enqueued] = {}
    plain: list[tuple[Any, ...]] = []
    for n, one in enumerate(asked):
        row = (n, *_enqueued_row(one, jobs[one.job], params[n], now))
        if one.key is None and (not one.trigger.takes_lane or one.allow_overlap):
            plain.append(row)
            continue
        found |= yield from _together(plain, now)
        plain.clear()
        found[n] = yield from _one(one, jobs[one.job], row, now)
    found |= yield from _together(plain, now)
    if any(one.new for one in found.values()):
        yield NOTIFY
    return tuple(found[n] for n in range(len(asked)))


def _jobs(names: list[str]) -> Procedure[dict[str, Any]]:
    jobs = {row[1]: row for row in (yield _JOBS(names=names))}
    for name in names:
        if name not in jobs:
            known = [row[0] for row in (yield _NAMES())]
            raise no_such("job", name, known, ": define it first")
    return jobs


def _check_params(cache: DefinitionCache, asked: Sequence[Enqueue], jobs: Mapping[str, Any]) -> Procedure[None]:
    yield from cache.read({row[2] for row in jobs.values()})
    for one in asked:
        with suppress(UnreadableText):  # then nobody knows what it takes
            definition = cache.job(jobs[one.job][2], one.job)
            definition.check_params(one.params or {})


def _enqueued_row(one: Enqueue, job: Any, params: str | None, now: int) -> tuple[object, ...]:
    due = now if one.at is None else max(now, one.at * MICRO)
    id_, _, definition, queue, priority, requires, *_ = job
    by = one.by or None
    queue, priority = one.queue or queue, priority if one.priority is None else one.priority
    return (
        id_, None, one.key, str(one.trigger), definition, queue, priority, requires, params, due, by,
        one.auto_remove, one.key_ttl, one.traceparent or None,
    )  # fmt: skip


def _together(rows: Sequence[tuple[Any, ...]], now: int) -> Procedure[dict[int, Enqueued]]:
    """Runs with neither a key nor a lane, by their numbers."""
    if not rows:
        return {}
    ids = sorted(row[0] for row in (yield _INSERT_ENQUEUED(rows=rows, now=now)))
    return {row[0]: _enqueued(id_, row, now) for row, id_ in zip(rows, ids, strict=True)}


def _enqueued(run: int, row: tuple[Any, ...], now: int) -> Enqueued:
    queue, priority = row[6:8]
    return Enqueued(str(run), True, now, queue, priority)


def _one(one: Enqueue, job: Any, row: tuple[Any, ...], now: int) -> Procedure[Enqueued]:
    """A run with a key, or on a lane; both can be taken."""
    lane = None
    if one.trigger.takes_lane and not one.allow_overlap:
        if (holder := (yield from _holder(job[0], one.key, now))) is not None:
            return Enqueued(str(holder), new=False)
        lane = yield from free_lane(job[0], job[6], one.job)
    for _ in range(2):  # again if the key was taken, and its time is over
        if made := (yield _INSERT_ENQUEUED(rows=[(*row[:2], lane, *row[3:])], now=now)):
            if lane is not None:
                yield ON_LANES(rows=[(job[0], lane, made[0][0], False)])
            return _enqueued(made[0][0], row, now)
        if (holder := (yield from _holder(job[0], one.key, now, _BY_KEY_NOW))) is not None:
            return Enqueued(str(holder), new=False)
    raise ConflictError(f"another run of {one.job} was enqueued at the same moment: try again")


def _holder(job: int, key: str | None, now: int, by_key: Statement = _BY_KEY) -> Procedure[int | None]:
    """The run that has a key (S48); one whose time is over gives it up."""
    if key is None or not (known := (yield by_key(job=job, key=key))):
        return None
    run, free_at = known[0]
    if free_at is None or free_at > now:
        return int(run)
    yield _FREE_KEY(run=run)
    return None


def free_lane(job: int, lanes: int, name: str) -> Procedure[int]:
    """The lowest lane that no run holds; the job's row is locked, so nobody takes it meanwhile."""
    held = dict((yield _LANES(job=job)))
    free = next((lane for lane in range(lanes) if lane not in held), None)
    if free is None:
        raise ConflictError(
            f"{name} is active: run {', '.join(map(str, held.values()))} is in the way; wait for it, cancel it, "
            f"or "
            "ask to run beside it"
        )
    return free


def cancel(cache: DefinitionCache, run: int) -> Procedure[RunState]:
    now = yield from clock()
    rows = yield _LOCK_RUN(run=run)
    if not rows:
        raise InputError(f"there is no run {run}")
    state = RunState(rows[0][0])
    if state is RunState.QUEUED:
        yield from end(cache, [RunEnd(run, Cancelled())], now)
        return RunState.CANCELLED
    if state in ACTIVE:
        yield _ASK_TO_END(run=run)
        yield NOTIFY
    return state


def wake(run: int) -> Procedure[None]:
    if (yield _WAITS(run=run)):
        yield _MAKE_DUE(run=run)
        yield NOTIFY


def retry(cache: DefinitionCache, run: int, again: Sequence[str]) -> Procedure[None]:
    now = yield from clock()
    rows = yield _RUN_OF_KEY(run=run)
    if not rows:
        raise InputError(f"there is no run {run}")
    _, job, _, trigger, key = rows[0]
    yield LOCK_JOBS(ids=[job])
    state = RunState((yield _LOCK_RUN(run=run))[0][0])
    if (state, Event.PUT_BACK) not in MOVES:
        raise ConflictError(f"run {run} is {state}: only a failed, lost or cancelled run can be put back")
    if (other := (yield from _holder(job, key, now))) is not None:
        raise ConflictError(f"run {other} has the key {key!r} meanwhile")
    yield from cache.read_names([job], ())
    lane = None
    if trigger != Trigger.ENQUEUE:
        lanes = (yield _LANES_OF(job=job))[0][0]
        lane = yield from free_lane(job, lanes, cache.job_names[job])
    yield _KEEP_ATTEMPT(run=run, event=str(_ENDED_BY[state]))
    yield _PUT_BACK(run=run, lane=lane, now=now)
    if again:
        yield _FORGET_STEPS(run=run, steps=again)
    if lane is not None:
        yield ON_LANES(rows=[(job, lane, run, False)])
    yield NOTIFY
