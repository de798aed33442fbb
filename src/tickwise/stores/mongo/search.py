"""Which schedules match a filter. MongoDB compares what is in the documents of their jobs.

Labels and sources are in the definitions and pauses in the encoded state, so these are compared here, batch by
batch.
"""

import re
from contextlib import suppress

from ...core.payload import UnreadableText
from ..filter_texts import has_label
from ..job_document import Document, present
from ..records import ScheduleFilter
from .base import Mongo

_BATCH_SIZE = 1_000  # schedules that are read to filter them here
_OF_SCHEDULES = {
    "definition": 1,
    **{f"schedules.{field}": 1 for field in ("name", "definition", "wake_at", "deleted_at", "paused")},
}


async def matching_names(mongo: Mongo, wanted: ScheduleFilter, which: Document | str, most: int) -> list[str]:
    """At most so many names, in order; `which` is what the name is compared with."""
    found: list[str] = []
    is_whole = wanted.label is None and wanted.paused is None and wanted.source is None
    batch_size = most if is_whole else _BATCH_SIZE
    while True:
        rows = await (await mongo.jobs.aggregate(_stages(wanted, which, batch_size))).to_list()
        await mongo.cache.read(row["definition"] for row in rows if wanted.label is not None)
        await mongo.cache.read(row["schedules"]["definition"] for row in rows if wanted.source is not None)
        found += [row["schedules"]["name"] for row in rows if _is_wanted(mongo, row, wanted)]
        if len(rows) < batch_size or len(found) >= most:
            return found[:most]
        which = {"$gt": rows[-1]["schedules"]["name"]}


def _stages(wanted: ScheduleFilter, which: Document | str, most: int) -> list[Document]:
    jobs = present({"_id": wanted.job, "local": wanted.local or None})
    own = {} if wanted.names is None else {"$and": [{"names": {"$in": sorted(wanted.names)}}]}
    schedules: Document = {"schedules.name": which, "schedules.deleted_at": {"$exists": False}}
    if wanted.names is not None:
        schedules["$and"] = [{"schedules.name": {"$in": sorted(wanted.names)}}]
    if wanted.due_before is not None:
        schedules["schedules.wake_at"] = {"$lt": wanted.due_before}
    if wanted.deadline:
        schedules["schedules.rest"] = {"$regex": '"deadlines":'}
    if wanted.text is not None:
        schedules["$expr"] = contains_text(wanted.text, "$schedules.name", "$_id")
    read = _OF_SCHEDULES | ({"schedules.rest": 1} if wanted.deadline else {})
    return [
        {"$match": {"names": which, **jobs, **own}}, {"$project": read}, {"$unwind": "$schedules"},
        {"$match": schedules}, {"$sort": {"schedules.name": 1}}, {"$limit": most},
    ]  # fmt: skip


def contains_text(text: str, *fields: str) -> Document:
    """Whether a text is part of one of these fields, in any case."""
    plain = {"$literal": text.lower()}
    return {"$or": [{"$gte": [{"$indexOfCP": [{"$toLower": field}, plain]}, 0]} for field in fields]}


def contains_pattern(pattern: str) -> Document:
    """What a field is compared with that has a pattern as its part, in any case; `*` stands for any text."""
    return {"$regex": ".*".join(map(re.escape, pattern.split("*"))), "$options": "is"}


def _is_wanted(mongo: Mongo, row: Document, wanted: ScheduleFilter) -> bool:
    with suppress(UnreadableText):
        if wanted.paused is not None and wanted.paused is not row["schedules"].get("paused", False):
            return False
        if wanted.source is not None and wanted.source != _source_of(mongo, row):
            return False
        return wanted.label is None or has_label(
            mongo.cache.job(row["definition"], row["_id"]).labels, wanted.label
        )
    return False


def _source_of(mongo: Mongo, row: Document) -> str:
    entry = row["schedules"]
    return mongo.cache.schedule(entry["definition"], entry["name"], row["_id"]).source
