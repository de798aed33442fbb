"""What workers do with runs: take them, keep them, report on them; and what happens when they do not."""

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from ...core.handover import HandOver
from ...core.model import Trigger
from ...core.payload import UnreadableText, decode
from ...core.requirements import Offers
from ...core.settle import Failed, LeaseExpired, Lost, TooLate
from ..records import LOG_HEAD, LOG_TAIL, MICRO, Expired, Lease, LeaseRequest, LogPart, Renewed, StepReport
from .definitions import DefinitionCache
from .finish import LOCK_JOBS, RunEnd, end
from .fleet import clock
from .handover import PATIENCE, RECORD_OF_RUN, unwatched, with_records
from .runs import RUNNING, SET_RUNNING
from .statement import Compound, Procedure, Returning, Statement, Update

_LIMITED = Statement(f"""
    SELECT name, concurrency, starts_per_second, credit, credited_at, paused_at, resumes_at,
        (SELECT count(*) FROM tickwise_runs WHERE {RUNNING} AND queue = q.name)
    FROM tickwise_queues q WHERE name = :queue
""")
_LOCK_LIMITS = Statement("""
    SELECT name FROM tickwise_queues WHERE name IN :queues[text] ORDER BY name {lock}
""")
_SPEND = Statement("UPDATE tickwise_queues SET credit = :credit, credited_at = :now WHERE name = :queue")
_LEASED = """id, job_id, lane, schedule_id, slot, trigger_name, definition_id, schedule_definition_id, params,
    token, attempt, due_at, started_at, priority, failures"""
_AT = "(SELECT coalesce(CAST(:now AS {bigint}), {now}))"
_PICK = Statement(f"""
    SELECT id, requires, {_AT} FROM tickwise_runs
    WHERE queued = TRUE AND queue = :queue AND due_at <= {_AT}
        AND NOT requires IN :unmet[text]
        AND (expires_at IS NULL OR attempt > 0 OR expires_at > {_AT})
        AND (CAST(:now AS {{bigint}}) IS NOT NULL
            OR NOT EXISTS (SELECT 1 FROM tickwise_queues WHERE name = :queue))
    ORDER BY {{urgent_first}}, due_at, id LIMIT :most {{lock_free}}
""")
_REQUIREMENTS = Statement("SELECT DISTINCT requires FROM tickwise_runs WHERE queued = TRUE AND queue = :queue")
_NEXT_ATTEMPT = "CASE WHEN waits_for IS NULL THEN attempt + 1 ELSE attempt END"  # a wait is none of its own
_TO_RUNNING = Returning(  # the token first: not every database computes with the attempt as it was before
    f"""
    UPDATE tickwise_runs SET token = CAST(:node AS {{text}}) || '/' || CAST({_NEXT_ATTEMPT} AS {{text}}),
        state = 'running', node = :node, attempt = {_NEXT_ATTEMPT}, lease_until = :lease_until,
        due_at = CASE WHEN waits_for IS NULL THEN due_at ELSE started_at END,
        started_at = CASE WHEN waits_for IS NULL THEN :now ELSE started_at END, error = NULL, waits_for = NULL
    WHERE id IN :ids[bigint]
    """,
    _LEASED,
    found=f"SELECT {_LEASED} FROM tickwise_runs WHERE id IN :ids[bigint]",
)
_LEASE = Compound(_TO_RUNNING, SET_RUNNING)
_NOTE_MANUAL = Compound(
    LOCK_JOBS,
    Update(
        "tickwise_job_state", ":made[job_id bigint] AS locked", {"job_id": "locked.job_id"},
        {"last_manual": ":second"},
    ),
)  # fmt: skip
_RENEW = Compound(
    Statement("""
        SELECT id FROM tickwise_runs WHERE id IN :ids[bigint] AND token = :token AND finished_at IS NULL
        ORDER BY id {renew_free}
    """),
    Update("tickwise_runs", ":made[id bigint] AS locked", {"id": "locked.id"}, {"lease_until": ":lease_until"}),
)
_OF_NODE = Statement(f"""
    SELECT id, token, cancelling, lease_until > :now FROM tickwise_runs WHERE {RUNNING} AND node = :node
""")
_LEASES = Statement(f"""
    SELECT {_LEASED} FROM tickwise_runs WHERE id IN :ids[bigint] AND state = 'running' AND node = :node
""")
_ATTEMPT = Statement(f"SELECT {_LEASED} FROM tickwise_runs WHERE id = :run AND state = 'running'")
_FENCE = Statement("""
    SELECT id FROM tickwise_runs WHERE id = :run AND token = :token AND state = 'running' {fence}
""")
_LOCK_ACTIVE = Statement("SELECT id FROM tickwise_runs WHERE id = :run AND finished_at IS NULL {lock}")
_STEP = Statement("""
    INSERT INTO tickwise_steps (run_id, name, position, state, started_at, finished_at, attempt, error, outputs,
        waits_for)
    SELECT CAST(:run AS {bigint}), name, position, state, started_at, finished_at, attempt, error, outputs,
        waits_for
    FROM :rows[name text, position bigint, state text, started_at bigint, finished_at bigint, attempt bigint,
        error text, outputs text, waits_for text]
        AS v WHERE TRUE
    {upsert run_id, name: state, started_at, finished_at, attempt, error, outputs, waits_for}
""")
_PLACES = Statement("SELECT name, position FROM tickwise_steps WHERE run_id = :run")
_LOG_ENDS = Statement("""
    SELECT step, max(position + {length}(text)) FROM tickwise_logs WHERE run_id = :run GROUP BY step
""")
_LOG = Statement("""
    INSERT INTO tickwise_logs (run_id, step, position, stream, text, at)
    SELECT CAST(:run AS {bigint}), step, position, stream, text, at
    FROM :rows[n bigint, step text, position bigint, stream text, text text, at bigint] AS v WHERE TRUE ORDER BY n
""")
_LOG_TRIM = Statement("""
    DELETE FROM tickwise_logs WHERE run_id = :run AND step = :step AND position >= :head
        AND position + {length}(text) <= :tail
""")
_LAPSED = Statement(f"""
    SELECT id, {RECORD_OF_RUN} FROM tickwise_runs WHERE {RUNNING} AND lease_until + {PATIENCE} < :now
    ORDER BY lease_until LIMIT :most {{lock_free}}
""")
_WAITED = Statement("""
    SELECT id FROM tickwise_runs
    WHERE queued = TRUE AND expires_at IS NOT NULL AND expires_at <= :now AND attempt = 0
    ORDER BY expires_at LIMIT :most {lock_free}
""")
_EXPIRE_BATCH = 500  # what the reaper takes in one move


class _Limit(NamedTuple):
    queue: str
    concurrency: int | None
    rate: float | None
    credit: float
    credited_at: int
    paused_at: int | None
    resumes_at: int | None
    running: int

    def credit_at(self, now: int) -> float:
        rate = self.rate or 0.0
        return min(max(1.0, rate), self.credit + rate * max(0, now - self.credited_at) / MICRO)

    def allows(self, wanted: int, now: int) -> int:
        if self.paused_at is not None and (self.resumes_at is None or self.resumes_at > now // MICRO):
            return 0
        if self.concurrency is not None:
            wanted = min(wanted, self.concurrency - self.running)
        return max(0, wanted if self.rate is None else min(wanted, int(self.credit_at(now))))


def lease(cache: DefinitionCache, wanted: LeaseRequest) -> Procedure[tuple[Lease, ...]]:
    """Queue by queue, in the order given, until the worker has enough.

    Most queues have no limit. So first a queue is asked as if it had none, which gives nothing if it has one.
    """
    rows: list[Any] = []
    limited: set[str] | None = None  # their limits are locked, in one order for all who do so
    now = 0
    for queue in wanted.queues:
        left = wanted.capacity - len(rows)
        if left <= 0:
            break
        picked, limit = (yield from _picked(cache, wanted.offers, queue, left)), None
        if not picked.runs:
            if limited is None:
                limited = {row[0] for row in (yield _LOCK_LIMITS(queues=sorted(wanted.queues)))}
            if queue in limited:
                limit = _Limit(*(yield _LIMITED(queue=queue))[0])
                picked = yield from _allowed(cache, wanted.offers, limit, left)
        if not picked.runs:
            continue
        runs, now = picked
        taken = yield _LEASE(node=wanted.node, lease_until=now + wanted.seconds * MICRO, now=now, ids=runs)
        rows += sorted(taken, key=lambda row: (-row[13], row[11], row[0]))
        if limit and limit.rate is not None:
            yield _SPEND(queue=queue, credit=limit.credit_at(now) - len(taken), now=now)
    by_hand = sorted({row[1] for row in rows if row[5] == Trigger.MANUAL})
    if by_hand:
        yield _NOTE_MANUAL(ids=by_hand, second=now // MICRO)
    return (yield from _leases(cache, rows, now))


class _Picked(NamedTuple):
    """Runs to lease, and when that is."""

    runs: list[int]
    now: int


def _allowed(cache: DefinitionCache, offers: Offers, limit: _Limit, left: int) -> Procedure[_Picked]:
    """What a limit, which is locked, lets a worker have."""
    now = yield from clock()  # after the count: who had ended by then did so before
    most = limit.allows(left, now)
    return (yield from _picked(cache, offers, limit.queue, most, now)) if most > 0 else _Picked([], now)


def _picked(
    cache: DefinitionCache, offers: Offers, queue: str, most: int, now: int | None = None
) -> Procedure[_Picked]:
    """The next runs of a queue that the worker may execute (S46), and when: now, for a queue with a limit.

    A page with a run that it may not execute is asked for again, without such runs.
    """
    while True:
        rows = yield _PICK(queue=queue, now=now, most=most, unmet=cache.unmet.beyond(offers))
        if not cache.unmet.learn((row[1] for row in rows), offers):
            return _Picked([row[0] for row in rows], rows[0][2] if rows else 0)
        cache.unmet.learn([row[0] for row in (yield _REQUIREMENTS(queue=queue))], offers)


def _leases(cache: DefinitionCache, rows: Sequence[Any], now: int) -> Procedure[tuple[Lease, ...]]:
    """The rows with their definitions. A run whose definition cannot be read fails, and holds up nobody."""
    yield from cache.read({id_ for row in rows for id_ in (row[6], row[7]) if id_ is not None})
    yield from cache.read_names({row[1] for row in rows}, {row[3] for row in rows if row[3] is not None})
    leases, unreadable = [], []
    for row in rows:
        try:
            leases.append(_lease(cache, row))
        except UnreadableText as error:
            unreadable.append(RunEnd(row[0], Failed(), error=str(error)))
    yield from end(cache, unreadable, now)
    return tuple(leases)


def _lease(cache: DefinitionCache, row: Sequence[Any]) -> Lease:
    (
        run, job, _, schedule, slot, trigger, definition, times, params, token, attempt, due_at, started_at, _,
        failures,
    ) = row  # fmt: skip
    name, schedule = cache.job_names[job], None if schedule is None else cache.schedule_names[schedule]
    when = None if times is None or schedule is None else cache.schedule(times, schedule, name)
    return Lease(
        str(run), token, cache.job(definition, name), attempt, Trigger.of(trigger), schedule, slot,
        when.times if when else None, when.label if when else "",
        None if params is None else decode(params), due_at, started_at, failures,
    )  # fmt: skip


def renew(
    cache: DefinitionCache, node: str, held: Mapping[int, str], now: int, seconds: int
) -> Procedure[Renewed]:
    """Extend leases without waiting for anybody: a run that is locked is about to end, or renewed next time.

    A report, which may take long over a slow network, locks nothing that a renewal needs.
    """
    by_token: dict[str, list[int]] = defaultdict(list)  # the first attempts of all runs share one
    for run, token in held.items():
        by_token[token].append(run)
    for token, runs in by_token.items():
        yield _RENEW(ids=sorted(runs), token=token, lease_until=now + seconds * MICRO)
    ours = yield _OF_NODE(node=node, now=now)
    unknown = [run for run, _, _, is_leased in ours if is_leased and run not in held]
    rows = (yield _LEASES(ids=unknown, node=node)) if unknown else ()
    return Renewed(
        held=frozenset(str(run) for run, token, *_ in ours if held.get(run) == token),
        cancel=frozenset(str(run) for run, _, cancelling, _ in ours if cancelling),
        unknown=(yield from with_records((yield from _leases(cache, rows, now)))),
    )


def adopt(cache: DefinitionCache, wanted: LeaseRequest) -> Procedure[tuple[Lease, ...]]:
    ids = yield from unwatched(cache, wanted)
    rows = (yield _LEASES(ids=ids, node=wanted.node)) if ids else ()
    return (yield from with_records((yield from _leases(cache, rows, (yield from clock())))))


def attempt(cache: DefinitionCache, run: int) -> Procedure[Lease | None]:
    rows = yield _ATTEMPT(run=run)
    leases = yield from with_records((yield from _leases(cache, rows, (yield from clock()))))
    return leases[0] if leases else None


def report(run: int, token: str, steps: Sequence[StepReport], log: Sequence[LogPart]) -> Procedure[bool]:
    if not (yield _FENCE(run=run, token=token)):
        return False
    if steps:
        places = dict((yield _PLACES(run=run)))
        for step in steps:
            places.setdefault(step.name, len(places))
        latest = {step.name: step for step in steps}.values()
        yield _STEP(run=run, rows=[_step_row(step, places[step.name]) for step in latest])
    if log:
        ends = dict((yield _LOG_ENDS(run=run)))
        rows = list(_placed(log, ends))
        yield _LOG(run=run, rows=rows)
        for name in sorted({part.step for part in log}):
            if ends[name] > LOG_HEAD + LOG_TAIL:
                yield _LOG_TRIM(run=run, step=name, head=LOG_HEAD, tail=ends[name] - LOG_TAIL)
    return True


def _step_row(step: StepReport, place: int) -> tuple[object, ...]:
    return (step.name, place, *step[1:5], *(text or None for text in step[5:]))


def answer_step(run: int, given: StepReport) -> Procedure[bool]:
    """Whoever comes second waits for the lock of the run, and then finds the first."""
    if not (yield _LOCK_ACTIVE(run=run)):
        return False
    places = dict((yield _PLACES(run=run)))
    if given.name in places:
        return False
    yield _STEP(run=run, rows=[_step_row(given, len(places))])
    return True


def _placed(log: Sequence[LogPart], ends: dict[str, int]) -> Iterator[tuple[object, ...]]:
    """Each part with its place in all that its step has printed; `ends` moves on."""
    for number, part in enumerate(log):
        position = ends.get(part.step, 0)
        ends[part.step] = position + len(part.text)
        yield number, part.step, position, part.stream, part.text, part.at


def _lapsed(run: int, record: str | None) -> RunEnd:
    """The end of a run whose lease has run out: a worker's, or the last that a watcher had (S54)."""
    if record is None:
        return RunEnd(run, LeaseExpired(), error="its worker did not renew the lease")
    return RunEnd(run, Lost(), error=HandOver.from_text(record).unwatched)


def expire(cache: DefinitionCache) -> Procedure[Expired]:
    now = yield from clock()
    lapsed = [_lapsed(*row) for row in (yield _LAPSED(now=now, most=_EXPIRE_BATCH))]
    waited = [row[0] for row in (yield _WAITED(now=now, most=_EXPIRE_BATCH))]
    yield from end(cache, lapsed, now)
    yield from end(cache, [RunEnd(run, TooLate()) for run in waited], now)
    return Expired(len(lapsed), len(waited))
