"""The live workers, and the jobs whose slots are held until one of them may execute these (S47).

A worker may come alive while a pass plans without it. So whoever has written looks at the other side afterwards:
the worker's node for jobs that are held, the pass that has held a job for workers. One of them sees the other.
"""

from collections.abc import Iterable
from dataclasses import fields, replace

from ...core.requirements import NOTHING, LiveWorkers, Offers
from ..job_document import Document
from ..records import MICRO, Node, Role
from .base import Mongo

_DAY = 86_400 * MICRO
_TUPLES = frozenset({"queues", "roles", "problems", "sources", "orphans", "undelivered", "set_back"})
_KNOWN = frozenset(field.name for field in fields(Node)) - {"offers"}


async def live_workers(mongo: Mongo, now: int) -> LiveWorkers:
    """What they offer is read once of each digest: it may be long, and most of a fleet offer the same."""
    live = mongo.nodes.find({"is_worker": True, "live_until": {"$gt": now}}, {"serves": 1, "queues": 1})
    workers = await live.to_list()
    mongo.offers = await _offers(mongo, [worker["serves"] for worker in workers])
    return LiveWorkers((each["queues"], mongo.offers.get(each["serves"], NOTHING)) for each in workers)


async def _offers(mongo: Mongo, digests: Iterable[str]) -> dict[str, Offers]:
    wanted = set(digests)
    found = {digest: offers for digest, offers in mongo.offers.items() if digest in wanted}
    for digest in wanted - found.keys():
        if row := await mongo.nodes.find_one({"serves": digest}, {"offers": 1}):
            found[digest] = Offers.from_text(row["offers"])
    return found


async def nodes(mongo: Mongo) -> tuple[Node, ...]:
    """All nodes of the last day, with what their workers offer."""
    now = await mongo.now()
    found = await mongo.nodes.find({"seen_at": {"$gt": now - _DAY}}, {"offers": 0}).sort("_id").to_list()
    offers = await _offers(mongo, [each["serves"] for each in found if each["is_worker"]])
    return tuple(
        replace(_node(each), offers=offers.get(each["serves"], NOTHING)) if each["is_worker"] else _node(each)
        for each in found
    )


def _node(document: Document) -> Node:
    known = {name: tuple(v) if name in _TUPLES else v for name, v in document.items() if name in _KNOWN}
    roles = tuple(role for role in Role if role in document["roles"])  # a newer version may know others
    return Node(**{**known, "id": document["_id"], "roles": roles})


async def wake_held(mongo: Mongo, now: int) -> None:
    """Let passes look at once at jobs whose slots are held although a live worker may execute them by now."""
    second = now // MICRO
    which = {"held": True, "wake_at": {"$gt": second}}
    held = await mongo.jobs.find(which, {"queue": 1, "requires": 1}).to_list()
    if not held:
        return
    workers = await live_workers(mongo, now)
    served = [job["_id"] for job in held if not workers.missing(job["queue"], job["requires"])]
    if served:
        due_now = {"$inc": {"seq": 1}, "$min": {"wake_at": second}}
        await mongo.jobs.update_many({"_id": {"$in": served}, **which}, due_now)
        await mongo.news.tell()
