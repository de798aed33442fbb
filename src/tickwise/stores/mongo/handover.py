"""Hand-overs of attempts to engines: a field of the run's document, which changes if the run is as it was read.

The lease of a handed-over run is its watcher's. When that has run out, another watcher adopts the run: node and
lease change, attempt and token stay as they are (S54). A new attempt begins without the record.
"""

import asyncio
from functools import partial

from ...core.handover import HandOver, HandOverChange, changed
from ...core.states import RunState
from ..compare_and_set import LostRaceError, persist
from ..job_document import Document
from ..records import MICRO, Lease, LeaseRequest
from ..run_document import hand_over_of
from .base import WHOLE_ANSWER, Mongo
from .lease import readable_leases, take_all
from .runs import FOR_LEASES, watched_by

_RUNNING = {"state": str(RunState.RUNNING)}


async def hand_over(mongo: Mongo, run: int, token: str, change: HandOverChange) -> HandOver | None:
    return await persist(partial(_change_record, mongo, run, token, change))


async def _change_record(mongo: Mongo, run: int, token: str, change: HandOverChange) -> HandOver | None:
    """`rev` is raised by a cancellation too, so the gate is decided by both or looked at again (S53)."""
    fields = {"rev": 1, "cancelling": 1, "hand_over": 1}
    found, now = await asyncio.gather(
        mongo.runs.find_one({"_id": run, "token": token, **_RUNNING}, fields), mongo.now()
    )
    if found is None:
        return None
    before = hand_over_of(found)
    record = changed(before, change, now, cancelling=found["cancelling"])
    if record is not None and record != before:
        kept = {"$set": {"hand_over": record.text, "patience": record.patience * MICRO}, "$inc": {"rev": 1}}
        if not (await mongo.runs.update_one({"_id": run, "rev": found["rev"]}, kept)).matched_count:
            raise LostRaceError
    return record


async def leave(mongo: Mongo, node: str) -> None:
    """Forget a node, and end its leases of handed-over runs."""
    now = await mongo.now()
    watched = {**_RUNNING, "node": node, "patience": {"$exists": True}, "lease_until": {"$gt": now}}
    await mongo.runs.update_many(watched, {"$set": {"lease_until": now}, "$inc": {"rev": 1}})
    await mongo.nodes.delete_one({"_id": node})


async def adopt(mongo: Mongo, wanted: LeaseRequest) -> tuple[Lease, ...]:
    now, adopted = await mongo.now(), list[Document]()
    while (left := wanted.capacity - len(adopted)) > 0:
        found = await _unwatched(mongo, wanted, left, now)
        got = await take_all(mongo, [(run, watched_by(wanted, now)) for run in found])
        adopted += got
        if len(got) == len(found):  # else somebody was faster: there may be others
            break
    return await readable_leases(mongo, adopted)


async def _unwatched(mongo: Mongo, wanted: LeaseRequest, most: int, now: int) -> list[Document]:
    """Handed-over runs whose watcher's lease has run out, the oldest lease first."""
    handed = {**_RUNNING, "lease_until": {"$lt": now}, "patience": {"$exists": True}}
    while True:
        met = {"queue": {"$in": list(wanted.queues)}, "requires": {"$nin": mongo.unmet.beyond(wanted.offers)}}
        runs = mongo.runs.find({**handed, **met}, FOR_LEASES, batch_size=WHOLE_ANSWER)
        found = await runs.sort([("lease_until", 1), ("_id", 1)]).limit(most).to_list()
        if not mongo.unmet.learn((run["requires"] for run in found), wanted.offers):
            return found
