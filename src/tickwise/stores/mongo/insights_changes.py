"""The change feed: what is new since an instant, found without reading old documents.

New runs have the highest ids, so the search for the newest old one ends soon. Runs that started or ended since are
found by indexes. A run counts by its last instant: finished, else started, else created.
"""

from ..job_document import Document
from ..records import Changes, DecisionRow, RunRow
from .base import Mongo
from .insights import decision_row, run_rows
from .runs import SHOWN

_LATEST = {"$ifNull": ["$finished_at", "$started_at", "$created_at"]}


async def changes_since(mongo: Mongo, since: int, limit: int) -> Changes:
    return Changes(
        await _new_runs(mongo, since, limit),
        await _new_decisions(mongo, since, limit),
        await _changed_schedules(mongo, since, limit),
    )


async def _new_runs(mongo: Mongo, since: int, most: int) -> tuple[RunRow, ...]:
    old = await mongo.runs.find_one({"created_at": {"$lt": since}}, {"_id": 1}, sort=[("_id", -1)])
    new: Document = {"created_at": {"$gte": since}}
    if old:
        new["_id"] = {"$gt": old["_id"]}
    stages: list[Document] = [
        {"$match": {"$or": [new, {"started_at": {"$gte": since}}, {"finished_at": {"$gte": since}}]}},
        {"$match": SHOWN}, {"$set": {"latest": _LATEST}}, {"$sort": {"latest": 1, "_id": 1}}, {"$limit": most},
    ]  # fmt: skip
    found = await (await mongo.runs.aggregate(stages)).to_list()
    return tuple(await run_rows(mongo, found))


async def _new_decisions(mongo: Mongo, since: int, most: int) -> tuple[DecisionRow, ...]:
    found = mongo.decisions.find({"extended_at": {"$gte": since}})
    in_order = found.sort([("extended_at", 1), ("first", -1), ("schedule", 1), ("reason", 1)]).limit(most)
    return tuple([decision_row(row) async for row in in_order])


async def _changed_schedules(mongo: Mongo, since: int, most: int) -> tuple[str, ...]:
    new = {"schedules.updated_at": {"$gte": since}}
    stages: list[Document] = [
        {"$match": new}, {"$project": {"schedules.name": 1, "schedules.updated_at": 1}}, {"$unwind": "$schedules"},
        {"$match": new}, {"$group": {"_id": "$schedules.name", "at": {"$max": "$schedules.updated_at"}}},
        {"$sort": {"at": 1, "_id": 1}}, {"$limit": most},
    ]  # fmt: skip
    return tuple([found["_id"] async for found in await mongo.jobs.aggregate(stages)])
