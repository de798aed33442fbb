"""The schema: indexes, and a mark that says which version made them.

The unique keys of the contract are partial indexes: they cover the documents that have the field. Each version
leaves its mark; `compatible_from` is the oldest version whose programs can work beside it.
"""

from contextlib import suppress

from pymongo import ASCENDING, DESCENDING, IndexModel
from pymongo.errors import DuplicateKeyError

from ...core.states import RunState
from ..job_document import Document
from .base import SCHEMA_NAME, SCHEMA_VERSION, Mongo, unfit

MARKS = (  # of this version, and of those before: their programs look for it
    {"_id": 1, "name": "0001_begin", "compatible_from": 1},
    {"_id": SCHEMA_VERSION, "name": SCHEMA_NAME, "compatible_from": 1},
)
UPGRADE_SECONDS = 3_600  # an index of very many documents takes its time
_QUEUED, _RUNNING = {"state": str(RunState.QUEUED)}, {"state": str(RunState.RUNNING)}


def _index(*fields: str, unique: bool = False, where: Document | None = None) -> IndexModel:
    """`-field` is in descending order."""
    keys = [(field.lstrip("-"), DESCENDING if field[0] == "-" else ASCENDING) for field in fields]
    return IndexModel(keys, unique=unique, **({"partialFilterExpression": where} if where else {}))


def _exists(field: str) -> Document:
    return {field: {"$exists": True}}


INDEXES = {
    "jobs": [
        _index("names", unique=True, where=_exists("names")),  # a schedule has one job (S26)
        _index("local", "wake_at", "idle"),
        _index("gone", where=_exists("gone")),
        _index("after", where=_exists("after")),
        _index("held", where=_exists("held")),
        _index("prune_at", where=_exists("prune_at")),
        _index("schedules.updated_at"),
    ],
    "runs": [
        _index("schedule", "slot", unique=True, where=_exists("slot")),  # S1
        _index("job", "lane", unique=True, where=_exists("lane")),  # S16
        _index("job", "held_key", unique=True, where=_exists("held_key")),  # S48
        _index("queue", "seat", unique=True, where=_exists("seat")),  # the fleet's limits
        _index("queue", "-priority", "due_at", "_id", where=_QUEUED),
        _index("lease_until", where=_RUNNING),
        _index("node", where=_RUNNING),
        _index("queue", where=_RUNNING),
        _index("expires_at", where={**_QUEUED, **_exists("expires_at")}),
        _index("job", "reference", where=_exists("reference")),
        _index("job", "_id"),
        _index("batch", where=_exists("batch")),
        _index("unwoken", where=_exists("unwoken")),
        _index("state", "queue"),
        _index("started_at"),
        _index("-started_at", where=_exists("waits_for")),
        _index("slot", where=_exists("slot")),
        _index("finished_at", where=_exists("finished_at")),
    ],
    "decisions": [
        _index("-first", "schedule", "reason"), _index("schedule", "-first"), _index("last"),
        _index("extended_at"),
    ],
    "tokens": [_index("digest", unique=True), _index("live_name", unique=True, where=_exists("live_name"))],
    "audit": [_index("subject", "-_id")],
    "claims": [_index("claimed_at")],
}  # fmt: skip


async def upgrade(mongo: Mongo) -> tuple[str, ...]:
    """Every caller creates the missing indexes, because no move may be made without them; one leaves the mark."""
    await mongo.check_server()
    for collection, indexes in INDEXES.items():
        await mongo.collection(collection).create_indexes(indexes)
    made: list[str] = []
    for mark in MARKS:
        with suppress(DuplicateKeyError):
            await mongo.schema.insert_one({**mark, "applied_at": await mongo.now()})
            made.append(str(mark["name"]))
    return tuple(made)


async def check(mongo: Mongo) -> tuple[str, ...]:
    """What keeps this version from working with what is there."""
    await mongo.check_server()
    if problem := unfit(await mongo.schema.find().to_list()):
        return (problem,)
    problems = []
    for collection, indexes in INDEXES.items():
        there = await mongo.collection(collection).index_information()
        missing = [index.document["name"] for index in indexes if index.document["name"] not in there]
        if missing:
            problems.append(f"{collection} lacks the indexes {', '.join(missing)}: run `tickwise store upgrade`")
    return tuple(problems)
