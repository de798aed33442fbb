"""One MongoDB database as the moves see it: its collections, its time, its numbers; and what its errors mean here.

Writes are `w: majority, j: true` and reads `majority`: what one node has acted on, no failover takes back. A
move has `MOVE_SECONDS` and not more: after that the driver sends nothing for it any longer, however long its
process was stopped. Others rely on that (see `plans`).
"""

from collections.abc import Awaitable, Callable, Iterator, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from typing import Any, Concatenate, ParamSpec, TypeAlias, TypeVar
from urllib.parse import parse_qs, unquote, urlsplit

import pymongo
from bson import ObjectId
from pymongo import AsyncMongoClient, InsertOne, UpdateMany, UpdateOne
from pymongo.asynchronous.collection import AsyncCollection
from pymongo.errors import (
    BulkWriteError,
    ConfigurationError,
    ConnectionFailure,
    InvalidName,
    InvalidOperation,
    OperationFailure,
    PyMongoError,
    WriteConcernError,
)
from pymongo.read_concern import ReadConcern
from pymongo.read_preferences import ReadPreference
from pymongo.write_concern import WriteConcern

from ...core.errors import InputError, TickwiseError
from ..contract import StoreUnavailableError
from .definitions import DigestCache
from .notification import ChangeNumber

Document: TypeAlias = dict[str, Any]
Collection: TypeAlias = AsyncCollection[Document]
Write: TypeAlias = InsertOne[Document] | UpdateOne | UpdateMany
T = TypeVar("T")
P = ParamSpec("P")
MOVE_SECONDS = 30
DEFAULT_DATABASE, PREFIX = "tickwise", "tickwise_"
SCHEMA_VERSION, SCHEMA_NAME = 2, "0002_access"
OLDEST_SERVER, OLDEST_WIRE_VERSION = "5.0", 13
DUPLICATE = 11_000
EXAMPLE = "mongodb://USER:PASSWORD@HOST:27017/NAME"
_EPOCH, _MICROSECOND = datetime(1970, 1, 1, tzinfo=UTC), timedelta(microseconds=1)
_PATIENCE = {"serverSelectionTimeoutMS": 5_000, "connectTimeoutMS": 5_000}
_NOT_ALLOWED = {13, 18, 8_000}  # codes: unauthorized, wrong credentials
_GOING_AWAY = {
    6,
    7,
    89,
    91,
    189,
    9_001,
    10_107,
    11_600,
    11_602,
    13_435,
    13_436,
}  # shutdown, failover, lost network
_DURABLE, _LIGHT = WriteConcern("majority", j=True), WriteConcern(1)


class Mongo:
    """The database. It is connected by the first move; `clock` gives tests their own time, in microseconds."""

    def __init__(self, url: str, clock: Callable[[], int] | None = None) -> None:
        given = {key.lower() for key in parse_qs(urlsplit(url).query)}
        patience: Document = {key: value for key, value in _PATIENCE.items() if key.lower() not in given}
        name = unquote(urlsplit(url).path).removeprefix("/") or DEFAULT_DATABASE
        try:
            self.client: AsyncMongoClient[Document] = AsyncMongoClient(url, appname="tickwise", **patience)
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
        self.book = DigestCache(self.collection("definitions"))
        self.news = ChangeNumber(self.collection("counters").with_options(write_concern=_LIGHT))
        self.jobs = self.collection("jobs")
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
        self.schema = self.collection("schema")

    def collection(self, name: str) -> Collection:
        return self._database[PREFIX + name]

    async def now(self) -> int:
        """The server's time; its clock tells milliseconds."""
        if self._clock:
            return self._clock()
        hello = await self.client.admin.command("hello")
        return int((hello["localTime"].replace(tzinfo=UTC) - _EPOCH) / _MICROSECOND)

    async def ready(self) -> None:
        """Find out once whether this version can work with what is there."""
        if not self._is_ready:
            await self.check_server()
            if problem := unfit(await self.schema.find().to_list()):
                raise TickwiseError(f"the database {self.name} cannot be used: {problem}")
            self._is_ready = True

    async def check_server(self) -> None:
        """Who is not there is told soon, and not when the time of a move is over."""
        with pymongo.timeout(self.client.options.server_selection_timeout):
            hello = await self.client.admin.command("hello")
        if hello["maxWireVersion"] < OLDEST_WIRE_VERSION:
            raise InputError(
                f"this MongoDB server is too old: Tickwise needs {OLDEST_SERVER} or later, upgrade it"
            )

    async def numbers(self, count: int, what: str = "runs") -> list[int]:
        """Ids for new ones, in order."""
        if not count:
            return []
        before = await self.counters.find_one_and_update({"_id": what}, {"$inc": {"last": count}}, upsert=True)
        first = before["last"] + 1 if before else 1
        return list(range(first, first + count))

    async def write(self, collection: Collection, writes: Sequence[Write]) -> int:
        """One batch; how many documents matched. Who meets a unique key comes second: that is not an error."""
        if not writes:
            return 0
        try:
            done = await collection.bulk_write(writes, ordered=False)
        except BulkWriteError as error:
            details = error.details or {}
            others = [each for each in details["writeErrors"] if each["code"] != DUPLICATE]
            if others or details["writeConcernErrors"]:
                raise
            return int(details["nMatched"])
        return done.matched_count

    async def close(self) -> None:
        await self.news.close()
        await self.client.close()


def unfit(marks: Sequence[Document]) -> str:
    """Why this version cannot work with what others have marked as theirs, if so."""
    if not any(mark["_id"] == SCHEMA_VERSION for mark in marks):
        return f"{SCHEMA_NAME} is not applied yet: run `tickwise store upgrade`"
    if max(mark["compatible_from"] for mark in marks) > SCHEMA_VERSION:
        return "a newer version upgraded it, which this one cannot work beside: update this one"
    return ""


def move_id() -> ObjectId:
    """A name for one move, by which it knows later what it has won."""
    return ObjectId()


def present(fields: Document) -> Document:
    """Only what there is: unique keys and indexes do not see fields that are left out."""
    return {name: value for name, value in fields.items() if value is not None}


def changes(fields: Document) -> Document:
    """The update that gives fields their values, and takes away those without one."""
    gone = {name: "" for name, value in fields.items() if value is None}
    return {"$set": present(fields), **({"$unset": gone} if gone else {})}


@contextmanager
def answered(seconds: float = MOVE_SECONDS) -> Iterator[None]:
    """A move: its time is limited, and what the driver raises is told in the words of the contract."""
    try:
        with pymongo.timeout(seconds):
            yield
    except PyMongoError as error:
        raise _told(error) from error


async def move(
    mongo: Mongo, protocol: Callable[Concatenate[Mongo, P], Awaitable[T]], *given: P.args, **named: P.kwargs
) -> T:
    """Make a move on a database that is ready for it."""
    with answered():
        await mongo.ready()
        return await protocol(mongo, *given, **named)


def _told(error: PyMongoError) -> TickwiseError:
    codes = set(_codes(error))
    if isinstance(error, InvalidOperation):
        return StoreUnavailableError(f"the store was closed: {_first_line(error)}")
    if codes & _NOT_ALLOWED:
        return InputError(
            f"MongoDB does not let this user in: {_first_line(error)}; check user, password and authSource in the "
            "store's URL, and give the user the role readWrite on the database"
        )
    if isinstance(error, ConnectionFailure | WriteConcernError) or error.timeout or codes & _GOING_AWAY:
        return StoreUnavailableError(
            f"MongoDB does not answer: {_first_line(error)}; check that it runs, and host, port and replicaSet in "
            "the store's URL"
        )
    if isinstance(error, ConfigurationError):
        return InputError(f"the store's URL cannot be used: {_first_line(error)}")
    return TickwiseError(f"MongoDB refused a command: {_first_line(error)}")


def _codes(error: PyMongoError) -> Iterator[int]:
    if isinstance(error, OperationFailure):
        details = error.details or {}
        yield from (
            each["code"] for kind in ("writeErrors", "writeConcernErrors") for each in details.get(kind, ())
        )
        yield error.code or 0


def _first_line(error: Exception) -> str:
    """Without the description of the whole topology that the driver adds."""
    return str(error).partition(", full error:")[0].partition(", Timeout:")[0][:300]
