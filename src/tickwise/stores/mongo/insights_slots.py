"""Slots for people: the newest of some schedules, counts of them in bins, and which schedules ail."""

from collections import defaultdict
from collections.abc import Sequence

from ...core.reasons import Reason
from ...core.slot_history import AGAIN, Bins, RunCount
from ...core.states import RunState
from ..job_document import Document
from ..records import DecisionRow
from ..slot_rows import in_slot_order, recent_slots, slot_run
from ..statistics import AILING, NOT_FINAL, RecentSlots, SlotCounts
from .base import Mongo
from .insights import decision_row
from .runs import SHOWN

_OF_RUN = dict.fromkeys("slot state attempt due_at started_at finished_at error".split(), 1)
_FINAL = {"reason": {"$nin": sorted(reason.code for reason in NOT_FINAL)}}


async def _live(mongo: Mongo, names: Sequence[str]) -> list[str]:
    wanted = set(names)
    found = mongo.jobs.find({"names": {"$in": list(names)}}, {"names": 1})
    return sorted({name for job in await found.to_list() for name in job["names"]} & wanted)


async def recent(mongo: Mongo, names: Sequence[str], limit: int, before: int) -> dict[str, RecentSlots]:
    live = await _live(mongo, names)
    told = mongo.decisions.name
    own = {"$expr": {"$eq": ["$schedule", "$$name"]}}
    runs: list[Document] = [
        {"$match": {**own, "slot": {"$exists": True, "$lt": before}, **SHOWN}}, {"$sort": {"slot": -1}},
        {"$limit": limit}, {"$project": _OF_RUN},
    ]  # fmt: skip
    decisions: list[Document] = [
        {"$match": {**own, "first": {"$lt": before}, **_FINAL}}, {"$sort": {"first": -1}}, {"$limit": limit + 1},
    ]  # fmt: skip
    stages: list[Document] = [
        {"$match": {"names": {"$in": live}}}, {"$project": {"names": 1}}, {"$unwind": "$names"},
        {"$match": {"names": {"$in": live}}},
        {"$lookup": {"from": mongo.runs.name, "let": {"name": "$names"}, "pipeline": runs, "as": "runs"}},
        {"$lookup": {"from": told, "let": {"name": "$names"}, "pipeline": decisions, "as": "told"}},
    ]  # fmt: skip
    found: dict[str, RecentSlots] = {}
    async for each in await mongo.jobs.aggregate(stages):
        own_runs = [slot_run(run) for run in reversed(each["runs"])]
        slots = recent_slots(own_runs, map(decision_row, each["told"]), limit, before)
        if any(slots):
            found[each["names"]] = slots
    return found


async def slot_counts(mongo: Mongo, names: Sequence[str], bins: Bins) -> dict[str, SlotCounts]:
    live = await _live(mongo, names)
    which = {"schedule": {"$in": live}, "slot": {"$gte": bins.since, "$lt": bins.until}, **SHOWN}
    place = {"$floor": {"$divide": [{"$subtract": ["$slot", bins.since]}, bins.step]}}
    retried = {"$and": [{"$eq": ["$state", str(RunState.SUCCEEDED)]}, {"$gt": ["$attempt", 1]}]}
    kind = {"schedule": "$schedule", "bin": place, "state": "$state", "retried": retried}
    runs: dict[str, list[RunCount]] = defaultdict(list)
    stages: list[Document] = [{"$match": which}, {"$group": {"_id": kind, "runs": {"$sum": 1}}}]
    async for each in await mongo.runs.aggregate(stages):
        of = each["_id"]
        runs[of["schedule"]].append(RunCount(int(of["bin"]), RunState(of["state"]), of["retried"], each["runs"]))
    decisions: dict[str, list[DecisionRow]] = defaultdict(list)
    about = {"schedule": {"$in": live}, "first": {"$lt": bins.until}, "last": {"$gte": bins.since}, **_FINAL}
    for row in in_slot_order([decision_row(each) async for each in mongo.decisions.find(about)]):
        decisions[row.schedule].append(row)
    again: dict[str, list[int]] = defaultdict(list)
    late = {**which, "schedule": {"$in": sorted(decisions)}, "trigger": {"$in": sorted(map(str, AGAIN))}}
    async for run in mongo.runs.find(late, {"schedule": 1, "slot": 1}).sort("slot"):
        again[run["schedule"]].append(run["slot"])
    return {
        name: SlotCounts(tuple(sorted(runs.get(name, ()))), tuple(again[name]), tuple(decisions.get(name, ())))
        for name in {*runs, *decisions}
    }


async def ailing(mongo: Mongo, since: int, reasons: frozenset[Reason]) -> tuple[str, ...]:
    newest: list[Document] = [
        {"$match": {
            "$expr": {"$and": [{"$eq": ["$schedule", "$$name"]}, {"$eq": ["$slot", "$$slot"]}]},
            "state": {"$in": sorted(map(str, AILING))},
        }},
        {"$project": {"_id": 1}},
    ]  # fmt: skip
    stages: list[Document] = [
        {"$unwind": "$schedules"},
        {"$match": {"schedules.deleted_at": {"$exists": False}, "schedules.last_slot": {"$exists": True}}},
        {"$project": {"name": "$schedules.name", "slot": "$schedules.last_slot"}},
        {"$lookup": {"from": mongo.runs.name, "let": {"name": "$name", "slot": "$slot"}, "pipeline": newest,
                     "as": "runs"}},
        {"$match": {"runs": {"$ne": []}}},
    ]  # fmt: skip
    found = {each["name"] async for each in await mongo.jobs.aggregate(stages)}
    which = {"last": {"$gte": since}, "reason": {"$in": sorted(reason.code for reason in reasons)}}
    return tuple(sorted(found | {*await _live(mongo, await mongo.decisions.distinct("schedule", which))}))
