"""What workers do with runs: take them and keep them; and what happens when they do not."""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence

from pymongo import UpdateMany, UpdateOne

from ...core.model import Trigger
from ...core.payload import UnreadableText
from ...core.settle import Failed, LeaseExpired, TooLate
from ...core.states import RunState
from ..records import MICRO, Expired, Lease, LeaseRequest, Renewed
from .base import Document, Mongo, move_id, present
from .enqueue import tidy_up
from .finish import RunEnding, end, has_token, lapsed_by, never_began, wake
from .intents import SOON, apply_all
from .limits import free_seats, give_back, limited, spend
from .runs import FOR_LEASES, FOR_MOVES, digests, held_by, ids_of, lease_of, waiting

_AT_ONCE = 500  # what the reaper takes in one move
_RUNNING = {"state": str(RunState.RUNNING)}


async def lease(mongo: Mongo, wanted: LeaseRequest) -> tuple[Lease, ...]:
    """Queue by queue, in the order given, until the worker has enough."""
    now, runs = await mongo.now(), list[Document]()
    limits = await limited(mongo, wanted.queues)
    for queue in dict.fromkeys(wanted.queues):
        while (left := wanted.capacity - len(runs)) > 0:
            tried, taken = await _take(mongo, wanted, queue, limits.get(queue), left, now)
            runs += taken
            if len(taken) == tried:  # else somebody was faster: there may be others
                break
    if by_hand := sorted({run["job"] for run in runs if run["trigger"] == Trigger.MANUAL}):
        noted = {"$max": {"last_manual": now // MICRO}, "$inc": {"seq": 1}}
        await mongo.jobs.update_many({"_id": {"$in": by_hand}}, noted)
    return await _leases(mongo, runs, now)


async def _take(
    mongo: Mongo, wanted: LeaseRequest, queue: str, limit: Document | None, most: int, now: int
) -> tuple[int, list[Document]]:
    """Try to take runs of a queue, all in one batch: how many were tried, and those that were got."""
    limit = limit or {}
    seats = await free_seats(mongo, limit, most) if "concurrency" in limit else [None] * most
    known = {"function": {"$in": [None, *sorted(wanted.functions)]}}  # S46
    in_order = mongo.runs.find({**waiting([queue], now), **known}, FOR_LEASES).sort(_ORDER)
    found = await in_order.limit(len(seats)).to_list() if seats else []
    if "rate" in limit:
        found = found[: await spend(mongo, limit, len(found), now)]
    got = await _write(
        mongo,
        [
            (run, present({**held_by(wanted, now, run["attempt"]), "seat": seat}))
            for run, seat in zip(found, seats, strict=False)
        ],
    )
    if "rate" in limit:
        await give_back(mongo, queue, len(found) - len(got))
    return len(found), got


_ORDER = [("priority", -1), ("due_at", 1), ("_id", 1)]


async def _write(mongo: Mongo, taken: Sequence[tuple[Document, Document]]) -> list[Document]:
    """Take runs as they were read; those that were got, with their new fields."""
    move = move_id()
    updates = [
        UpdateOne(
            {"_id": run["_id"], "rev": run["rev"]},
            {"$set": {**new, "move": move}, "$unset": {"error": ""}, "$inc": {"rev": 1}},
        )
        for run, new in taken
    ]
    matched = await mongo.write(mongo.runs, updates)
    got = [run | new for run, new in taken]
    if matched == len(taken):
        return got
    ours = set(await ids_of(mongo.runs, {"_id": {"$in": [run["_id"] for run in got]}, "move": move}))
    return [run for run in got if run["_id"] in ours]


async def _leases(mongo: Mongo, runs: Sequence[Document], now: int) -> tuple[Lease, ...]:
    """Runs with their definitions. One whose definition cannot be read fails, and holds up nobody."""
    await mongo.book.read(digest for run in runs for digest in digests(run))
    leases, unreadable = [], []
    for run in runs:
        try:
            leases.append(lease_of(mongo.book, run))
        except UnreadableText as error:
            unreadable.append(RunEnding(run["_id"], Failed(), has_token(run["token"]), error=str(error)))
    await end(mongo, unreadable, now)
    return tuple(leases)


async def renew(mongo: Mongo, node: str, held: Mapping[int, str], seconds: int) -> Renewed:
    now = await mongo.now()
    by_token: dict[str, list[int]] = defaultdict(list)
    for run, token in held.items():
        by_token[token].append(run)
    extended = {"$set": {"lease_until": now + seconds * MICRO}, "$inc": {"rev": 1}}
    await mongo.write(
        mongo.runs,
        [
            UpdateMany({"_id": {"$in": runs}, "token": token, **_RUNNING}, extended)
            for token, runs in by_token.items()
        ],
    )
    which = {**_RUNNING, "$or": [{"node": node, "lease_until": {"$gt": now}}, {"_id": {"$in": list(held)}}]}
    running = await mongo.runs.find(which, FOR_LEASES).sort("_id").to_list()
    ours = [run for run in running if held.get(run["_id"]) == run["token"]]
    return Renewed(
        frozenset(str(run["_id"]) for run in ours),
        frozenset(str(run["_id"]) for run in ours if run["cancelling"]),
        await _leases(mongo, [run for run in running if run["_id"] not in held], now),
    )


async def expire(mongo: Mongo) -> Expired:
    """Take back what vanished workers hold, end what waited too long; before that, go on with what others left."""
    now = await mongo.now()
    await _go_on(mongo, now)
    lapsed = await ids_of(mongo.runs, {**_RUNNING, "lease_until": {"$lt": now}}, _AT_ONCE)
    too_late = {"state": str(RunState.QUEUED), "expires_at": {"$lte": now}, "attempt": 0}
    waited = await ids_of(mongo.runs, too_late, _AT_ONCE)
    gone = "its worker did not renew the lease"
    endings = [RunEnding(run, LeaseExpired(), lapsed_by(now), error=gone) for run in lapsed]
    settled = await end(mongo, [*endings, *(RunEnding(run, TooLate(), never_began) for run in waited)], now)
    return Expired(_count(settled, lapsed), _count(settled, waited))


async def _go_on(mongo: Mongo, now: int) -> None:
    """Fulfil plans, wake who waits and bring in what was enqueued, where a process died before it had."""
    left = mongo.jobs.find({"plan.at": {"$lt": now - SOON * MICRO}}).limit(_AT_ONCE)
    await apply_all(mongo, await left.to_list(), now)
    unwoken = mongo.runs.find({"unwoken": True}, FOR_MOVES).limit(_AT_ONCE)
    await wake(mongo, await unwoken.to_list(), now)
    await tidy_up(mongo, now)


def _count(settled: Mapping[int, object], runs: Iterable[int]) -> int:
    return sum(run in settled for run in runs)
