"""The fleet's limits on a queue, kept by documents and not by counting and hoping.

*Concurrency*: a run that is started takes a *seat* of its queue, under a unique key, and has it until the
attempt is over. Runs that were running when the limit came have none, and a limit that was lowered leaves some
on seats that are too high; those are counted as long as they last. *Starts per second*: a bucket of credit in
the queue's document, that time fills; credit is taken by compare-and-set before the runs, and what was not used
is given back.
"""

from collections.abc import Iterable
from itertools import islice

from ...core.states import RunState
from ..records import MICRO
from .base import Document, Mongo


async def limited(mongo: Mongo, queues: Iterable[str]) -> dict[str, Document]:
    """The limits on these queues, as they are now."""
    return {limit["_id"]: limit async for limit in mongo.queues.find({"_id": {"$in": list(queues)}})}


async def free_seats(mongo: Mongo, limit: Document, most: int) -> list[int]:
    """The lowest seats that are free, as many as may be taken."""
    concurrency = limit["concurrency"]
    running = mongo.runs.find({"queue": limit["_id"], "state": RunState.RUNNING}, {"seat": 1})
    held = [run.get("seat", concurrency) async for run in running]
    end = concurrency
    while end > 0 and end + sum(seat >= end for seat in held) > concurrency:
        end -= 1
    taken = set(held)
    return list(islice((seat for seat in range(end) if seat not in taken), most))


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
