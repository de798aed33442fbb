"""Statistics: hours by schedule, minutes by job, and counts of what is live now or ended in the last hour.

Older rows are not read for the counts and the minutes.
"""

from collections import Counter, defaultdict
from typing import Any

from ...core.model import Trigger
from ...core.reasons import Reason
from ...core.states import ACTIVE, FINAL, RunState
from ..job_document import Document
from ..records import MICRO
from ..statistics import LATELY, NOT_RUN, Counts, HourlyStats, MinuteStats
from .base import Collection, Mongo
from .runs import SHOWN

_HOUR = 3_600


async def hourly_stats(mongo: Mongo, number: int, schedule: str | None) -> tuple[HourlyStats, ...]:
    since = (await mongo.now() // MICRO // _HOUR - number + 1) * _HOUR
    of_schedule = {} if schedule is None else {"schedule": schedule}
    runs: dict[tuple[str, int], Counter[RunState]] = defaultdict(Counter)
    triggers: dict[tuple[str, int], Counter[Trigger]] = defaultdict(Counter)
    sums: dict[tuple[str, int], Counter[str]] = defaultdict(Counter)
    async for group in await mongo.runs.aggregate(_of_runs({"slot": {"$gte": since}, **of_schedule})):
        key = group["_id"]["schedule"], group["_id"]["hour"]
        runs[key][RunState(group["_id"]["state"])] += group["count"]
        triggers[key][Trigger(group["_id"]["trigger"])] += group["count"]
        sums[key].update({name: value for name, value in group.items() if name != "_id"})
    decided: dict[tuple[str, int], dict[Reason, int]] = defaultdict(dict)
    async for group in await mongo.decisions.aggregate(_of_decisions({"last": {"$gte": since}, **of_schedule})):
        key = group["_id"]["schedule"], group["_id"]["hour"]
        decided[key][Reason.of(group["_id"]["reason"])] = group["count"]
    return tuple(
        HourlyStats(*key, dict(runs[key]), *_means(sums[key]), decided[key], dict(triggers[key]))
        for key in sorted({*runs, *decided})
    )


def _hour_of(field: str) -> Document:
    return {"$subtract": [field, {"$mod": [field, _HOUR]}]}


def _of_runs(which: Document) -> list[Document]:
    began, ended = {"$subtract": ["$started_at", "$due_at"]}, {"$subtract": ["$finished_at", "$started_at"]}
    return [
        {"$match": which},
        {
            "$group": {
                "_id": {
                    "schedule": "$schedule",
                    "hour": _hour_of("$slot"),
                    "state": "$state",
                    "trigger": "$trigger",
                },
                "count": {"$sum": 1},
                "claim": {"$sum": {"$subtract": ["$created_at", "$due_at"]}},
                "late": {"$sum": began},
                "started": {"$sum": _is_there(began)},
                "ran": {"$sum": ended},
                "finished": {"$sum": _is_there(ended)},
            }
        },
    ]


def _is_there(value: Document) -> Document:
    """1 for a number, 0 for none."""
    return {"$cond": [{"$isNumber": value}, 1, 0]}


def _of_decisions(which: Document) -> list[Document]:
    identity = {"schedule": "$schedule", "hour": _hour_of("$first"), "reason": "$reason"}
    return [{"$match": which}, {"$group": {"_id": identity, "count": {"$sum": "$count"}}}]


def _means(sums: Counter[str]) -> tuple[float | None, float | None, float | None]:
    """In milliseconds: from due to claimed, from due to started, from started to finished."""
    return (
        _mean(sums["claim"], sums["count"]),
        _mean(sums["late"], sums["started"]),
        _mean(sums["ran"], sums["finished"]),
    )


def _mean(total: int, number: int) -> float | None:
    return total / number / 1_000 if number else None


_LIVE = {"deleted_at": {"$exists": False}}
_MINUTE = 60 * MICRO


async def counts(mongo: Mongo) -> Counts:
    now = await mongo.now()
    active = {"state": {"$in": sorted(ACTIVE)}}  # one query: a run that moves between two is in neither
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
        unserved=await _numbers(mongo, "jobs", {"held": True, **_LIVE}, ["$queue", "$requires"]),
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


async def minute_stats(mongo: Mongo, number: int, *, by_job: bool) -> tuple[MinuteStats, ...]:
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
    return tuple(MinuteStats(*key, *(sums[key][kind] for kind in found)) for key in sorted(sums))


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
