"""The fleet: nodes and what they serve, the fleet's limits on queues, and the pause of everything."""

from dataclasses import fields
from typing import NamedTuple

from pymongo import ReturnDocument
from pymongo.errors import DuplicateKeyError

from ...core.jobstate import EndedPause
from ...core.model import Pause
from ..job_document import Document, present
from ..records import MICRO, Node, PauseInterval, QueueLimit, Role
from .base import Mongo, changes
from .workers import wake_held

_OWN_FIELDS = frozenset({"id", "offers", "started_at", "seen_at", "passed_at"})
_FACTS = tuple(field.name for field in fields(Node) if field.name not in _OWN_FIELDS)

_TIMES, _AFTER = {"seen_at": 1, "seen_before": 1}, ReturnDocument.AFTER


async def record_alive(mongo: Mongo, node: Node, *, passed: bool) -> Document | None:
    """When it is seen, and when it was seen before.

    What a worker offers is written only when that is new, as it may be long; then held jobs are woken (S47).
    """
    now = mongo.as_of_now
    is_worker = Role.WORKER in node.roles
    serves = f"{node.offers.digest} {' '.join(node.queues)}" if is_worker else ""
    facts = {**{name: getattr(node, name) for name in _FACTS}, "is_worker": is_worker, "serves": serves}
    seen = {
        **{name: {"$literal": value} for name, value in facts.items()}, "seen_at": now, "seen_before": "$seen_at",
        "live_until": {"$add": [now, node.seconds * MICRO]}, **({"passed_at": now} if passed else {}),
    }  # fmt: skip
    as_before = {"_id": node.id, "serves": serves, "$expr": {"$gt": ["$live_until", now]}}
    times = await mongo.nodes.find_one_and_update(as_before, [{"$set": seen}], _TIMES, return_document=_AFTER)
    if times is None:
        new = {**seen, "offers": {"$literal": node.offers.text}, "started_at": {"$ifNull": ["$started_at", now]}}
        times = await mongo.nodes.find_one_and_update(
            {"_id": node.id}, [{"$set": new}], _TIMES, upsert=True, return_document=_AFTER
        )
        if is_worker:
            await wake_held(mongo, await mongo.now())
    return times


async def skip_run_numbers(mongo: Mongo) -> int:
    first = await mongo.now() // 1_000
    await mongo.counters.update_one({"_id": "runs"}, {"$set": {"last": first - 1}}, upsert=True)
    return first


async def limit(mongo: Mongo, wanted: QueueLimit) -> None:
    """Begin with a full bucket."""
    kept = {
        "concurrency": wanted.concurrency, "rate": wanted.starts_per_second,
        "credit": max(1.0, wanted.starts_per_second or 1.0), "credited_at": await mongo.now(),
    }  # fmt: skip
    await _change_queue(mongo, wanted.queue, kept)


async def pause_queue(mongo: Mongo, queue: str, wanted: Pause | None) -> None:
    at = await mongo.now() // MICRO
    kept = {"at": at, "by": wanted.by, "reason": wanted.reason, "until": wanted.until} if wanted else None
    await _change_queue(mongo, queue, {"pause": kept})


async def _change_queue(mongo: Mongo, queue: str, fields: Document) -> None:
    """Write these fields and leave the others; a queue without limits and pause has no document."""
    await mongo.queues.update_one({"_id": queue}, changes(fields), upsert=True)
    nothing = {name: {"$exists": False} for name in ("concurrency", "rate", "pause")}
    await mongo.queues.delete_one({"_id": queue, **nothing})
    await mongo.news.tell()


async def limits(mongo: Mongo) -> tuple[QueueLimit, ...]:
    found = mongo.queues.find().sort("_id")
    return tuple([_limit_of(each) async for each in found])


def _limit_of(document: Document) -> QueueLimit:
    pause = document.get("pause")
    kept = Pause(**pause) if pause else None
    return QueueLimit(document["_id"], document.get("concurrency"), document.get("rate"), kept)


class PauseState(NamedTuple):
    """How it stands with pauses of everything: whether one is open, and the number of the last that has ended."""

    paused: bool
    ended: int


async def pause_state(mongo: Mongo) -> PauseState:
    """They are numbered in order, and only the newest can be open."""
    newest = await mongo.pauses.find_one(sort=[("_id", -1)])
    if newest is None:
        return PauseState(paused=False, ended=0)
    return PauseState(paused="until" not in newest, ended=newest["_id"] - ("until" not in newest))


async def pause(mongo: Mongo, wanted: Pause | None) -> None:
    second, stands = await mongo.now() // MICRO, await pause_state(mongo)
    if wanted and not stands.paused:
        ends = present({"resumes_at": wanted.until})
        new = {"_id": stands.ended + 1, "at": second, "by": wanted.by, "reason": wanted.reason, **ends}
        try:
            await mongo.pauses.insert_one(new)
        except DuplicateKeyError:  # somebody was first, and one pause is enough
            return
    elif stands.paused:
        open_one = {"_id": stands.ended + 1, "until": {"$exists": False}}
        if wanted:
            await mongo.pauses.update_one(open_one, {"$set": {"resumes_at": wanted.until}})
            return
        await mongo.pauses.update_one(open_one, {"$set": {"until": second}, "$unset": {"resumes_at": ""}})
        await mongo.news.tell()


async def end_pause(mongo: Mongo) -> bool:
    over = {"until": {"$exists": False}, "resumes_at": {"$lte": await mongo.now() // MICRO}}
    ended = await mongo.pauses.update_one(
        over, [{"$set": {"until": "$resumes_at"}}, {"$unset": "resumes_at"}]
    )  # fmt: skip
    if ended.modified_count:
        await mongo.news.tell()
    return bool(ended.modified_count)


async def pauses(mongo: Mongo) -> tuple[PauseInterval, ...]:
    found = mongo.pauses.find().sort("_id", -1)
    return tuple(
        [
            PauseInterval(each["at"], each["by"], each["reason"], each.get("until"), each.get("resumes_at"))
            async for each in found
        ]
    )


async def ended_pauses(mongo: Mongo, after: int) -> list[EndedPause]:
    """In order, those with a higher number."""
    found = mongo.pauses.find({"_id": {"$gt": after}, "until": {"$exists": True}}).sort("_id")
    return [EndedPause(each["_id"], each["at"], each["until"]) async for each in found]
