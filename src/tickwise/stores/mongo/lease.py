"""Leases: workers take runs within the fleet's limits, renew them and report on them; `expire` takes them back.

A handed-over run has a `patience`, in microseconds: for so long after its lease other watchers may adopt it
(see `handover`), and the renewal of one who had it before finds another node there.

A limit on a queue holds by its documents, whatever happens at the same time. *Concurrency*: a run that is started
takes a *seat* of its queue, under a unique key, and has it until the attempt is over. Runs that were running when
the limit was set have none, and a lowered limit leaves some on seats that are too high; those are counted as long
as they last. *Starts per second*: a bucket of credit in the queue's document that fills with time; credit is taken
by compare-and-set before the runs, and what was not used is given back.

A report is fenced by its run's document: that reserves places in the log, then the parts are written.
"""

import asyncio
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from functools import partial
from itertools import islice

from pymongo import InsertOne, UpdateMany, UpdateOne
from pymongo.errors import DuplicateKeyError

from ...core.model import Pause, Trigger
from ...core.payload import UnreadableText
from ...core.requirements import Offers
from ...core.settle import Failed, TooLate
from ...core.states import ACTIVE, RunState
from ..compare_and_set import LostRaceError, persist
from ..job_document import Document, present
from ..records import LOG_HEAD, LOG_TAIL, MICRO, Expired, Lease, LeaseRequest, LogPart, Renewed, StepReport
from ..run_document import digests, lapse_of, lease_of
from .base import WHOLE_ANSWER, Mongo, changes, move_id
from .enqueue import tidy_up
from .finish import RunEnding, end, has_token, lapsed_as, never_began, wake
from .intents import settle_late
from .runs import FOR_LEASES, FOR_MOVES, ids_of, taken_by, waiting

_BATCH_SIZE = 500  # what the reaper takes in one move
_RUNNING = {"state": str(RunState.RUNNING)}
_OF_ATTEMPT_BEFORE: Document = {"error": None, "hand_over": None, "patience": None, "waits_for": None}


async def lease(mongo: Mongo, wanted: LeaseRequest) -> tuple[Lease, ...]:
    """Queue by queue, in the order given, until the worker has enough."""
    now, limits = await asyncio.gather(mongo.now(), limited(mongo, wanted.queues))
    runs = list[Document]()
    for queue in dict.fromkeys(wanted.queues):
        while (left := wanted.capacity - len(runs)) > 0:
            tried, taken = await _take_some(mongo, wanted, queue, limits.get(queue), left, now)
            runs += taken
            if len(taken) == tried:  # else somebody was faster: there may be others
                break
    if by_hand := sorted({run["job"] for run in runs if run["trigger"] == Trigger.MANUAL}):
        noted = {"$max": {"last_manual": now // MICRO}, "$inc": {"seq": 1}}
        await mongo.jobs.update_many({"_id": {"$in": by_hand}}, noted)
    return await readable_leases(mongo, runs)


async def _take_some(
    mongo: Mongo, wanted: LeaseRequest, queue: str, limit: Document | None, most: int, now: int
) -> tuple[int, list[Document]]:
    """Try to take runs of a queue, all in one batch: how many were tried, and those that were got."""
    limit = limit or {}
    if (pause := limit.get("pause")) and not Pause(**pause).over(now // MICRO):
        return 0, []
    seats = await free_seats(mongo, limit, most) if "concurrency" in limit else [None] * most
    found = await _next(mongo, wanted.offers, queue, len(seats), now) if seats else []
    if "rate" in limit:
        found = found[: await spend(mongo, limit, len(found), now)]
    got = await take_all(
        mongo,
        [
            (run, {**taken_by(wanted, now, run), "seat": seat, **_OF_ATTEMPT_BEFORE})
            for run, seat in zip(found, seats, strict=False)
        ],
    )
    if "rate" in limit:
        await give_back(mongo, queue, len(found) - len(got))
    return len(found), got


_ORDER = [("priority", -1), ("due_at", 1), ("_id", 1)]


async def _next(mongo: Mongo, offers: Offers, queue: str, most: int, now: int) -> list[Document]:
    """The next runs of a queue that the worker may execute (S46).

    A page with a run that it may not execute is asked for again, without such runs.
    """
    while True:
        which = {**waiting([queue], now), "requires": {"$nin": mongo.unmet.beyond(offers)}}
        runs = mongo.runs.find(which, FOR_LEASES, batch_size=WHOLE_ANSWER).sort(_ORDER).limit(most)
        found = await runs.to_list()
        if not mongo.unmet.learn((run["requires"] for run in found), offers):
            return found
        queued = {"state": str(RunState.QUEUED), "queue": queue}
        mongo.unmet.learn(await mongo.runs.distinct("requires", queued), offers)


async def take_all(mongo: Mongo, taken: Sequence[tuple[Document, Document]]) -> list[Document]:
    """Take runs as they were read; those that were got, with their new fields. One without a value goes."""
    move = move_id()
    updates = [
        UpdateOne(
            {"_id": run["_id"], "rev": run["rev"]},
            {**changes({**new, "move": move}), "$inc": {"rev": 1}},
        )
        for run, new in taken
    ]
    matched = await mongo.write(mongo.runs, updates)
    got = [present(run | new) for run, new in taken]
    if matched == len(taken):
        return got
    ours = set(await ids_of(mongo.runs, {"_id": {"$in": [run["_id"] for run in got]}, "move": move}))
    return [run for run in got if run["_id"] in ours]


async def readable_leases(mongo: Mongo, runs: Sequence[Document]) -> tuple[Lease, ...]:
    """Runs with their definitions. One whose definition cannot be read fails, and the others go on."""
    await mongo.cache.read(digest for run in runs for digest in digests(run))
    leases, unreadable = [], []
    for run in runs:
        try:
            leases.append(lease_of(mongo.cache, run))
        except UnreadableText as error:
            unreadable.append(RunEnding(run["_id"], Failed(), has_token(run["token"]), error=str(error)))
    if unreadable:
        await end(mongo, unreadable, await mongo.now())
    return tuple(leases)


async def attempt(mongo: Mongo, run: int) -> Lease | None:
    leases = await readable_leases(mongo, await mongo.runs.find({"_id": run, **_RUNNING}, FOR_LEASES).to_list())
    return leases[0] if leases else None


async def renew(mongo: Mongo, node: str, held: Mapping[int, str], seconds: int) -> Renewed:
    """Which of its runs a node still holds is what the write has matched; what is read beside it says the rest."""
    extended, own = await asyncio.gather(_extend(mongo, node, held, seconds), _running(mongo, node, held))
    if extended < len(held):  # some are another's by now: see which
        own = await _running(mongo, node, held)
    ours = {run["_id"] for run in own if held.get(run["_id"]) == run["token"]}
    return Renewed(
        frozenset(map(str, ours if extended < len(held) else held)),
        frozenset(str(run["_id"]) for run in own if run["cancelling"]),
        await readable_leases(mongo, [run for run in own if run["_id"] not in held]),
    )


async def _extend(mongo: Mongo, node: str, held: Mapping[int, str], seconds: int) -> int:
    """Extend the leases of runs that the node still holds by these tokens; how many there were."""
    by_token: dict[str, list[int]] = defaultdict(list)
    for run, token in held.items():
        by_token[token].append(run)
    until = {"$add": [mongo.as_of_now, seconds * MICRO]}
    extended = [{"$set": {"lease_until": until, "rev": {"$add": ["$rev", 1]}}}]
    return await mongo.write(
        mongo.runs,
        [
            UpdateMany({"_id": {"$in": runs}, "token": token, "node": node, **_RUNNING}, extended)
            for token, runs in by_token.items()
        ],
    )


async def _running(mongo: Mongo, node: str, held: Mapping[int, str]) -> list[Document]:
    """What a node runs; what it does not know of only as long as its lease lasts."""
    not_over = {"$expr": {"$gt": ["$lease_until", mongo.as_of_now]}}
    which = {**_RUNNING, "node": node, "$or": [not_over, {"_id": {"$in": list(held)}}]}
    return await mongo.runs.find(which, FOR_LEASES, batch_size=WHOLE_ANSWER).sort("_id").to_list()


async def expire(mongo: Mongo) -> Expired:
    """Take back what vanished workers hold, end what waited too long; before that, go on with what others left."""
    now = await mongo.now()
    await _finish_interrupted(mongo, now)
    too_late = {"state": str(RunState.QUEUED), "expires_at": {"$lte": now}, "attempt": 0}
    lapsed, waited = await asyncio.gather(
        _lapsed(mongo, now),
        ids_of(mongo.runs, too_late, _BATCH_SIZE),
    )
    endings = list[RunEnding]()
    for run in lapsed:
        outcome, error = lapse_of(run)
        endings.append(RunEnding(run["_id"], outcome, lapsed_as(run, now), error=error))
    settled = await end(mongo, [*endings, *(RunEnding(run, TooLate(), never_began) for run in waited)], now)
    return Expired(_count(settled, (run["_id"] for run in lapsed)), _count(settled, waited))


async def _lapsed(mongo: Mongo, now: int) -> list[Document]:
    """Runs whose lease is over for good, with what is known of their hand-overs."""
    given_up_at = {"$add": ["$lease_until", {"$ifNull": ["$patience", 0]}]}
    which = {**_RUNNING, "lease_until": {"$lt": now}, "$expr": {"$lt": [given_up_at, now]}}
    found = mongo.runs.find(which, {"hand_over": 1}, batch_size=WHOLE_ANSWER)
    return await found.sort("lease_until").limit(_BATCH_SIZE).to_list()


async def _finish_interrupted(mongo: Mongo, now: int) -> None:
    """Apply plans, wake waiting jobs and announce enqueued runs that a process left when it died."""
    unwoken, _ = await asyncio.gather(
        mongo.runs.find({"unwoken": True}, FOR_MOVES).limit(_BATCH_SIZE).to_list(), settle_late(mongo, now)
    )
    await wake(mongo, unwoken, now)
    await tidy_up(mongo, now)  # a plan may hold drafts


def _count(settled: Mapping[int, object], runs: Iterable[int]) -> int:
    return sum(run in settled for run in runs)


async def limited(mongo: Mongo, queues: Iterable[str]) -> dict[str, Document]:
    """The limits on these queues, as they are now."""
    return {limit["_id"]: limit async for limit in mongo.queues.find({"_id": {"$in": list(queues)}})}


async def free_seats(mongo: Mongo, limit: Document, most: int) -> list[int]:
    """The lowest seats that are free, as many as may be taken."""
    concurrency = limit["concurrency"]
    running = mongo.runs.find({"queue": limit["_id"], "state": RunState.RUNNING}, {"seat": 1})
    held = [run.get("seat", concurrency) async for run in running]
    count = concurrency
    while count > 0 and count + sum(seat >= count for seat in held) > concurrency:
        count -= 1
    taken = set(held)
    return list(islice((seat for seat in range(count) if seat not in taken), most))


async def spend(mongo: Mongo, limit: Document, wanted: int, now: int) -> int:
    """Take credit for so many starts, or for as many as there is credit for."""
    while True:
        credit = _credit(limit, now)
        spent = min(wanted, int(credit))
        as_read = {name: limit[name] for name in ("_id", "rate", "credit", "credited_at")}
        new = {"credit": credit - spent, "credited_at": max(now, limit["credited_at"])}
        if not spent or (await mongo.queues.update_one(as_read, {"$set": new})).matched_count:
            return spent
        again = await mongo.queues.find_one({"_id": limit["_id"], "rate": {"$exists": True}})
        if again is None:  # it was lifted meanwhile
            return wanted
        limit = again


def _credit(limit: Document, now: int) -> float:
    """The bucket holds the starts of a second, and one at least."""
    rate, credit = float(limit["rate"]), float(limit["credit"])
    seconds: float = max(0, now - limit["credited_at"]) / MICRO
    return min(max(1.0, rate), credit + rate * seconds)


async def give_back(mongo: Mongo, queue: str, unused: int) -> None:
    if unused:
        await mongo.queues.update_one({"_id": queue, "rate": {"$exists": True}}, {"$inc": {"credit": unused}})


async def report(mongo: Mongo, run: int, token: str, steps: Sequence[StepReport], log: Sequence[LogPart]) -> bool:
    """False, and nothing kept, if the token is old (S42)."""
    return await persist(partial(_keep_report, mongo, run, token, steps, log))


async def _keep_report(
    mongo: Mongo, run: int, token: str, steps: Sequence[StepReport], log: Sequence[LogPart]
) -> bool:
    """Reserve places in the run's document, by compare-and-set, and put there what was reported."""
    mine = {"_id": run, "token": token, "state": str(RunState.RUNNING)}
    before = await mongo.runs.find_one(mine, {"parts": 1, "printed": 1})
    if before is None:
        return False
    parts, printed = before.get("parts", 0), dict(before.get("printed", ()))
    rows = list(_log_rows(run, log, parts, printed))
    count = len(rows) + len(steps)
    as_read = {**mine, "parts": before.get("parts", {"$exists": False})}
    after = {"parts": parts + count, "printed": list(printed.items())}
    if count and not (await mongo.runs.update_one(as_read, {"$set": after})).matched_count:
        raise LostRaceError
    await mongo.write(mongo.logs, [InsertOne(row) for row in rows])
    await mongo.write(mongo.steps, list(_step_updates(run, steps, parts + len(rows))))
    await _trim(mongo, run, {part.step: printed[part.step] for part in log})
    return True


async def answer_step(mongo: Mongo, run: int, given: StepReport) -> bool:
    """Of two who add a step of one name at once, the unique key refuses one."""
    if await mongo.runs.find_one({"_id": run, "state": {"$in": sorted(map(str, ACTIVE))}}, {"_id": 1}) is None:
        return False
    kept = {"number": 0, "report": present(given._asdict()), "place": 0}
    with suppress(DuplicateKeyError):
        added = await mongo.steps.update_one(
            {"_id": {"run": run, "name": given.name}}, {"$setOnInsert": kept}, upsert=True
        )
        return added.upserted_id is not None
    return False


def _log_rows(run: int, log: Sequence[LogPart], first: int, printed: dict[str, int]) -> Iterator[Document]:
    """Each part with its place in all that its step has printed; `printed` moves on."""
    for number, part in enumerate(log, first):
        start = printed.get(part.step, 0)
        end = printed[part.step] = start + len(part.text)
        yield {
            "_id": {"run": run, "number": number}, "step": part.step, "stream": part.stream, "text": part.text,
            "at": part.at, "start": start, "end": end,
        }  # fmt: skip


def _step_updates(run: int, steps: Sequence[StepReport], first: int) -> Iterator[UpdateOne]:
    """A later report on a step takes the place of the one before; it keeps its place in the row."""
    for number, step in {step.name: (n, step) for n, step in enumerate(steps, first)}.values():
        yield UpdateOne(
            {"_id": {"run": run, "name": step.name}, "number": {"$lt": number}},
            {"$set": {"number": number, "report": present(step._asdict())}, "$setOnInsert": {"place": number}},
            upsert=True,
        )


async def _trim(mongo: Mongo, run: int, printed: dict[str, int]) -> None:
    """Of a step that prints very much, whole parts between its head and its tail go."""
    for step, length in printed.items():
        if length > LOG_HEAD + LOG_TAIL:
            middle = {"start": {"$gte": LOG_HEAD}, "end": {"$lte": length - LOG_TAIL}}
            await mongo.logs.delete_many({"_id": numbered(run), "step": step, **middle})


def numbered(run: int, after: int = -1) -> Document:
    """Which parts of a run's log: those after a number."""
    return {"$gt": {"run": run, "number": after}, "$lt": {"run": run + 1, "number": 0}}


def steps_of(run: int) -> Document:
    """Which steps: those of a run."""
    return {"$gt": {"run": run, "name": ""}, "$lt": {"run": run + 1, "name": ""}}
