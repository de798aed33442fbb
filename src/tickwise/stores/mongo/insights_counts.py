"""Numbers for people: of what lives now, and of the last hour; what is older is not looked at."""

from collections import Counter, defaultdict
from typing import Any

from ...core.states import ACTIVE, FINAL, RunState
from ..records import MICRO
from ..tallies import LATELY, NOT_RUN, Counts, MinuteRow
from .base import Collection, Document, Mongo
from .runs import SHOWN

_LIVE = {"deleted_at": {"$exists": False}}
_MINUTE = 60 * MICRO


async def counts(mongo: Mongo) -> Counts:
    now = await mongo.now()
    active = {"state": {"$in": sorted(ACTIVE)}}  # one question: between two a run could change, and be in neither
    live = await _numbers(mongo, "runs", active, ["$state", "$queue"])
    waiting = {queue: number for (state, queue), number in live.items() if state == RunState.QUEUED}
    lately = {"state": {"$in": sorted(FINAL)}, "finished_at": {"$gte": now - LATELY * MICRO}}
    ended = await _numbers(mongo, "runs", lately, "$state")
    due = {"state": str(RunState.QUEUED), "due_at": {"$lte": now}}
    oldest = await mongo.runs.find(due, {"due_at": 1}).sort("due_at").limit(1).to_list()
    queued = sum(waiting.values())
    states = {RunState.QUEUED: queued, RunState.RUNNING: sum(live.values()) - queued, **ended}
    return Counts(
        **await _of_jobs(mongo, now),
        runs={RunState(state): number for state, number in states.items() if number},
        waiting=waiting,
        held=await _numbers(mongo, "jobs", {"waiting": True, **_LIVE}, "$queue"),
        oldest_due=oldest[0]["due_at"] if oldest else None,
        nodes=await mongo.nodes.count_documents({"live_until": {"$gt": now}}),
    )


async def _of_jobs(mongo: Mongo, now: int) -> Document:
    sums: Document = {
        "_id": None, "jobs": {"$sum": 1}, "schedules": {"$sum": {"$size": {"$ifNull": ["$names", []]}}},
        "paused": {"$sum": "$paused"},
        "overdue": {"$sum": {"$cond": [{"$lt": [{"$ifNull": ["$wake_at", now]}, now // MICRO]}, 1, 0]}},
    }  # fmt: skip
    found = await (await mongo.jobs.aggregate([{"$match": _LIVE}, {"$group": sums}])).to_list()
    return {name: value for each in found for name, value in each.items() if name != "_id"}


async def _numbers(mongo: Mongo, collection: str, which: Document, by: str | list[str]) -> dict[Any, int]:
    stages = [{"$match": which}, {"$group": {"_id": by, "count": {"$sum": 1}}}]
    found = await (await mongo.collection(collection).aggregate(stages)).to_list()
    return {tuple(key) if isinstance(key := each["_id"], list) else key: each["count"] for each in found}


async def minutes(mongo: Mongo, number: int, *, by_job: bool) -> tuple[MinuteRow, ...]:
    since = (await mongo.now() // _MINUTE - number + 1) * _MINUTE
    older = await mongo.runs.find({"created_at": {"$lt": since}}, {"_id": 1}).sort("_id", -1).limit(1).to_list()
    made = {**SHOWN, "_id": {"$gt": older[0]["_id"] if older else 0}, "created_at": {"$gte": since}}
    unrun = {"extended_at": {"$gte": since}, "reason": {"$in": [reason.code for reason in NOT_RUN]}}
    failed = {"state": {"$in": [str(RunState.FAILED), str(RunState.LOST)]}, "finished_at": {"$gte": since}}
    found = {
        "fired": await _by_minute(mongo.runs, made, "$created_at", "$job"),
        "skipped": await _by_minute(mongo.decisions, unrun, "$extended_at", "$schedule", "$count"),
        "failed": await _by_minute(mongo.runs, failed, "$finished_at", "$job"),
    }
    jobs = await _jobs_of(mongo, {each["_id"]["name"] for each in found["skipped"]}) if by_job else {}
    sums: dict[tuple[int, str], Counter[str]] = defaultdict(Counter)
    for kind, groups in found.items():
        for each in groups:
            name = each["_id"]["name"] if by_job else ""
            job = jobs.get(name, "") if kind == "skipped" else name
            sums[each["_id"]["minute"] // MICRO, job][kind] += each["sum"]
    return tuple(MinuteRow(*key, *(sums[key][kind] for kind in found)) for key in sorted(sums))


async def _by_minute(
    collection: Collection, which: Document, at: str, name: str, amount: int | str = 1
) -> list[Document]:
    minute = {"$subtract": [at, {"$mod": [at, _MINUTE]}]}
    groups = {"_id": {"minute": minute, "name": name}, "sum": {"$sum": amount}}
    return await (await collection.aggregate([{"$match": which}, {"$group": groups}])).to_list()


async def _jobs_of(mongo: Mongo, schedules: set[str]) -> dict[str, str]:
    """By schedule; deleted ones are remembered for a while."""
    which = {"$or": [{field: {"$in": sorted(schedules)}} for field in ("names", "gone")]}
    found = await mongo.jobs.find(which, {"names": 1, "gone": 1}).to_list()
    return {name: job["_id"] for job in found for name in (*job.get("gone", ()), *job.get("names", ()))}
