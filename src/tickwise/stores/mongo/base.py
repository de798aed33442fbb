"""One MongoDB database: its collections, its time, its ids, and which versions can work with it.

Writes are `w: majority, j: true` and reads `majority`, so no failover takes back what a node has acted on. A move
has `MOVE_SECONDS`: after that the driver sends nothing more for it, however long its process was stopped. Other
nodes rely on that (see `intents`).
"""

import asyncio
from collections.abc import Callable, Sequence
from datetime import UTC, datetime, timedelta
from typing import TypeAlias
from urllib.parse import parse_qs, unquote, urlsplit

import pymongo
from bson import ObjectId
from pymongo import AsyncMongoClient, InsertOne, UpdateMany, UpdateOne
from pymongo.asynchronous.collection import AsyncCollection
from pymongo.errors import (
    BulkWriteError,
    ConfigurationError,
    InvalidName,
)
from pymongo.read_concern import ReadConcern
from pymongo.read_preferences import ReadPreference
from pymongo.write_concern import WriteConcern

from ...core.errors import InputError, TickwiseError
from ...core.requirements import Offers
from ..job_document import Document, present
from ..unmet import UnmetRequirements
from .definitions import MongoDefinitions
from .notification import ChangeNumber

Collection: TypeAlias = AsyncCollection[Document]
Write: TypeAlias = InsertOne[Document] | UpdateOne | UpdateMany
MOVE_SECONDS = 30
DEFAULT_DATABASE, PREFIX = "tickwise", "tickwise_"
SCHEMA_VERSION, SCHEMA_NAME = 2, "0002_access"
OLDEST_SERVER, OLDEST_WIRE_VERSION = "5.0", 13
DUPLICATE = 11_000
WHOLE_ANSWER = 10_000  # documents of a batch: unasked, the server sends a hundred at first
EXAMPLE = "mongodb://USER:PASSWORD@HOST:27017/NAME"
_EPOCH, _MICROSECOND = datetime(1970, 1, 1, tzinfo=UTC), timedelta(microseconds=1)
_SERVER_TIME: Document = {"$multiply": [{"$toLong": "$$NOW"}, 1_000]}
_TIMEOUTS = {"serverSelectionTimeoutMS": 5_000, "connectTimeoutMS": 5_000}
_DURABLE, LIGHT = WriteConcern("majority", j=True), WriteConcern(1)


class Mongo:
    """The database. It is connected by the first move; `clock` gives tests their own time, in microseconds."""

    def __init__(self, url: str, clock: Callable[[], int] | None = None) -> None:
        given = {key.lower() for key in parse_qs(urlsplit(url).query)}
        timeouts: Document = {key: value for key, value in _TIMEOUTS.items() if key.lower() not in given}
        name = unquote(urlsplit(url).path).removeprefix("/") or DEFAULT_DATABASE
        try:
            self.client: AsyncMongoClient[Document] = AsyncMongoClient(url, appname="tickwise", **timeouts)
            self._database = self.client.get_database(
                name,
                read_preference=ReadPreference.PRIMARY,
                write_concern=_DURABLE,
                read_concern=ReadConcern("majority"),
            )
        except (ConfigurationError, InvalidName, ValueError) as error:
            raise InputError(f"the store's URL cannot be used: {error}; write {EXAMPLE}") from None
        self.name = name
        self._clock = clock
        self._is_ready = False
        self.cache = MongoDefinitions(self.collection("definitions"))
        self.unmet = UnmetRequirements()
        self.claiming = asyncio.Lock()  # one pass of this process claims at a time
        self.claimed: set[str] = set()  # by passes of this process that have not ended
        self.offers: dict[str, Offers] = {}  # of live workers, by what they serve
        self.news = ChangeNumber(self.collection("counters").with_options(write_concern=LIGHT))
        self.jobs = self.collection("jobs")
        self.intents = self.collection("intents")  # the log
        self.runs = self.collection("runs")
        self.batches = self.collection("batches")  # of runs that are enqueued together
        self.decisions = self.collection("decisions")
        self.steps = self.collection("steps")
        self.logs = self.collection("logs")
        self.nodes = self.collection("nodes")
        self.queues = self.collection("queues")
        self.pauses = self.collection("pauses")
        self.counters = self.collection("counters")
        self.tokens = self.collection("tokens")
        self.audit = self.collection("audit")
        self.claims = self.collection("claims")
        self.texts = self.collection("texts")
        self.calendars = self.collection("calendars")
        self.schema = self.collection("schema")

    def collection(self, name: str) -> Collection:
        return self._database[PREFIX + name]

    async def now(self) -> int:
        """The server's time, in steps of milliseconds."""
        if self._clock:
            return self._clock()
        hello = await self.client.admin.command("hello")
        return int((hello["localTime"].replace(tzinfo=UTC) - _EPOCH) / _MICROSECOND)

    @property
    def as_of_now(self) -> int | Document:
        """The time at which the server executes an update, for its pipeline: no other answer is needed first."""
        return self._clock() if self._clock else _SERVER_TIME

    async def ready(self) -> None:
        """Check once that this version can work with the database."""
        if not self._is_ready:
            await self.check_server()
            if problem := unfit(await self.schema.find().to_list()):
                raise TickwiseError(f"the database {self.name} cannot be used: {problem}")
            self._is_ready = True

    async def check_server(self) -> None:
        """Fail soon if the server cannot be reached, and not only when the time of a move is over."""
        with pymongo.timeout(self.client.options.server_selection_timeout):
            hello = await self.client.admin.command("hello")
        if hello["maxWireVersion"] < OLDEST_WIRE_VERSION:
            raise InputError(
                f"this MongoDB server is too old: Tickwise needs {OLDEST_SERVER} or later, upgrade it"
            )

    async def numbers(self, count: int, what: str = "runs") -> list[int]:
        """New ids, in order."""
        if not count:
            return []
        before = await self.counters.find_one_and_update({"_id": what}, {"$inc": {"last": count}}, upsert=True)
        first = before["last"] + 1 if before else 1
        return list(range(first, first + count))

    async def write(self, collection: Collection, writes: Sequence[Write]) -> int:
        """Write one batch; how many documents matched or are new. A key that is taken already is no error."""
        if not writes:
            return 0
        try:
            done = await collection.bulk_write(writes, ordered=False)
        except BulkWriteError as error:
            details = error.details or {}
            others = [each for each in details["writeErrors"] if each["code"] != DUPLICATE]
            if others or details["writeConcernErrors"]:
                raise
            return int(details["nMatched"] + details["nInserted"])
        return done.matched_count + done.inserted_count

    async def close(self) -> None:
        await self.news.close()
        await self.client.close()


def unfit(marks: Sequence[Document]) -> str:
    """Why this version cannot work with a database that has these marks; empty if it can."""
    if not any(mark["_id"] == SCHEMA_VERSION for mark in marks):
        return f"{SCHEMA_NAME} is not applied yet: run `tickwise store upgrade`"
    if max(mark["compatible_from"] for mark in marks) > SCHEMA_VERSION:
        return "a newer version upgraded it, which this one cannot work beside: update this one"
    return ""


def move_id() -> ObjectId:
    """The id of one move, by which it recognises its own writes later."""
    return ObjectId()


def changes(fields: Document) -> Document:
    """The update that sets fields to their values, and removes those without one."""
    gone = {name: "" for name, value in fields.items() if value is None}
    return {"$set": present(fields), **({"$unset": gone} if gone else {})}
