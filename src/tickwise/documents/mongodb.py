"""A collection of MongoDB. Times are dates, and the server decides whether one has come (`$$NOW`).

Every operation is one command on one document, acknowledged by a majority: no transaction is needed, and a lock
survives the loss of the primary. With `watch=True` a change stream wakes idle schedulers as soon as a document is
added or changed; that needs a replica set. Without it they poll once a second.
"""

import asyncio
from collections.abc import Mapping
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import uuid4

from ..core.errors import InputError
from ..log import get_logger
from .connection import ConnectedStore, load_driver, split_url, version_error
from .contract import Fields, Locked, Renew, Wakeup
from .decide import Release, Sleep

_OLDEST_VERSION = 4, 4  # the first whose projections can return the server's now
_EARLIEST = datetime(1, 1, 1, tzinfo=UTC)  # only dates compare greater, so other values are never due
_WITH_NOW = {"_id": 0, "document": "$$ROOT", "now": "$$NOW"}
_NO_DOCUMENT: dict[str, Any] = {"_id": {"$in": []}}  # matches none
_RECONNECT_DELAY = 1.0  # seconds, of a change stream
_log = get_logger()
_FIXES = {  # by the server's codes
    13: "give the user rights on it, db.grantRolesToUser('{user}', [{{role: 'readWrite', db: '{database}'}}])",
    18: "see the user and the password in the URL, and authSource=, the database that the user was made in",
}
_NO_SERVER = "is the server running, and is the address right?"
_NO_REPLICA_SET = (
    " If it runs without a replica set, take replicaSet= out of the URL, or start mongod with --replSet and run "
    "rs.initiate() once"
)
_NEEDS_REPLICA_SET = (
    "watch=True reads a change stream, and those need a replica set: start mongod with --replSet rs0 and run "
    "rs.initiate() once, or leave watch out (idle schedulers then look once a second)"
)


class MongoJobStore(ConnectedStore):
    """The documents of a collection; handlers see their dates in UTC."""

    def __init__(
        self,
        url: str,
        collection: str,
        *,
        fields: Fields | None = None,
        condition: Mapping[str, Any] | None = None,
        watch: bool = False,
    ) -> None:
        self._driver = load_driver("pymongo", "mongodb")
        super().__init__()
        self._url = url
        self._address = split_url(url)
        self._name = collection
        self._commands = _Commands(fields or Fields(), condition or {})
        self._watch = watch
        self._wakeup = Wakeup()
        self._listener: asyncio.Task[None] | None = None
        self._client: Any = None
        self._collection: Any = None

    async def lock_next(self, lock_until: timedelta) -> Locked | None:
        owner, commands = uuid4().hex, self._commands
        found = await self._collection.find_one_and_update(
            commands.due(),
            commands.lock(owner, lock_until),
            projection=_WITH_NOW,
            sort={commands.fields.sleep_until: 1},
        )
        if found is None:
            return None
        document = found["document"]
        return Locked.from_document(document, commands.fields, key=document["_id"], owner=owner, now=found["now"])

    async def update(self, locked: Locked, change: Sleep | Release | Renew) -> Locked | None:
        commands = self._commands
        where = commands.untouched(locked) if isinstance(change, Sleep) else commands.ours(locked)
        done = await self._collection.update_one(where, commands.update(change))
        return None if done.matched_count else await self._current(locked)

    async def remove(self, locked: Locked) -> Locked | None:
        done = await self._collection.delete_one(self._commands.untouched(locked))
        return None if done.deleted_count else await self._current(locked)

    async def _current(self, locked: Locked) -> Locked | None:
        found = await self._collection.find_one({"_id": {"$eq": locked.facts.key}}, _WITH_NOW)
        if found is None:
            return None
        return locked.refreshed(found["document"], self._commands.fields, found["now"])

    async def next_due(self) -> float | None:
        commands = self._commands
        found = await self._collection.find_one(
            commands.due_later(), commands.seconds_left(), sort={commands.fields.sleep_until: 1}
        )
        return None if found is None else float(found["seconds"])

    async def wait(self, at_most: float) -> None:
        await self._wakeup.wait(self.next_due, at_most)

    async def create_index(self) -> None:
        """Create the sparse index that keeps lookups fast, if it does not exist."""
        async with self, self._explained_errors():
            await self._collection.create_index(self._commands.fields.sleep_until, sparse=True)

    async def _connect(self) -> None:
        self._client = self._driver.AsyncMongoClient(self._url, tz_aware=True, tzinfo=UTC)
        self._collection = self._client.get_default_database().get_collection(
            self._name,
            read_preference=self._driver.ReadPreference.PRIMARY,
            write_concern=self._driver.WriteConcern("majority"),
        )
        await self._check_server()
        if self._watch:
            self._listener = asyncio.create_task(self._listen())

    async def _check_server(self) -> None:
        """Check the version, the rights (by commands that match no document), and the replica set."""
        version = (await self._client.server_info())["versionArray"]
        if tuple(version[:2]) < _OLDEST_VERSION:
            raise version_error("MongoDB", version, _OLDEST_VERSION)
        where = {"$and": [_NO_DOCUMENT, self._commands.due()]}
        lock = self._commands.lock("", timedelta())
        await self._collection.find_one_and_update(where, lock, projection=_WITH_NOW)
        await self._collection.delete_one(_NO_DOCUMENT)
        hello = await self._client.admin.command("hello")
        if self._watch and "setName" not in hello and hello.get("msg") != "isdbgrid":
            raise InputError(_NEEDS_REPLICA_SET)

    @property
    def _errors(self) -> tuple[type[Exception], ...]:
        return ValueError, self._driver.errors.PyMongoError

    def _explain(self, error: Exception) -> InputError:
        address = self._address
        fix = _FIXES.get(getattr(error, "code", None) or 0, "")
        if isinstance(error, self._driver.errors.ServerSelectionTimeoutError):
            fix = _NO_SERVER + (_NO_REPLICA_SET if "replicaSet=" in address.query else "")
        elif isinstance(error, self._driver.errors.ConfigurationError):
            fix = "name the database at the end of the address, as in mongodb://localhost/shop"
        text = fix.format(user=address.username, database=address.path.strip("/"))
        return InputError(f"MongoDB, collection {self._name}: {error}" + (f". Fix: {text}" if text else ""))

    async def _close(self) -> None:
        listener, self._listener = self._listener, None
        if listener is not None:
            listener.cancel()
            with suppress(asyncio.CancelledError):
                await listener
        client, self._client = self._client, None
        if client is not None:
            await client.close()

    async def _listen(self) -> None:
        while True:
            try:
                async with await self._collection.watch(self._commands.changes()) as stream:
                    async for _ in stream:
                        self._wakeup.notify()
            except self._driver.errors.PyMongoError as error:
                _log.warning("change stream lost", collection=self._name, error=str(error))
                await asyncio.sleep(_RECONNECT_DELAY)


class _Commands:
    """The filters, updates and projections, for the documents that satisfy a condition."""

    def __init__(self, fields: Fields, condition: Mapping[str, Any]) -> None:
        self.fields = fields
        self._condition = dict(condition)
        self._sleep, self._lock = f"${fields.sleep_until}", f"${fields.lock_until}"

    def due(self) -> dict[str, Any]:
        unlocked = {"$lte": [{"$ifNull": [self._lock, _EARLIEST]}, "$$NOW"]}
        return self._where({"$and": [{"$lte": [self._sleep, "$$NOW"]}, unlocked]})

    def due_later(self) -> dict[str, Any]:
        return self._where({"$gt": [self._sleep, "$$NOW"]})

    def _where(self, expression: dict[str, Any]) -> dict[str, Any]:
        timed = {self.fields.sleep_until: {"$gt": _EARLIEST}, "$expr": expression}
        return {"$and": [timed, self._condition]}

    def seconds_left(self) -> dict[str, Any]:
        return {"_id": 0, "seconds": {"$divide": [{"$subtract": [self._sleep, "$$NOW"]}, 1000]}}

    def lock(self, owner: str, length: timedelta) -> list[dict[str, Any]]:
        fields, end = self.fields, _now_plus(length)
        return [
            {"$set": {fields.sleep_until: end, fields.lock_until: end, fields.lock_owner: {"$literal": owner}}}
        ]

    def ours(self, locked: Locked) -> dict[str, Any]:
        return {"_id": {"$eq": locked.facts.key}, self.fields.lock_owner: locked.owner}

    def untouched(self, locked: Locked) -> dict[str, Any]:
        """Still ours, with the facts as they were locked."""
        fields, facts = self.fields, locked.facts
        return self.ours(locked) | {
            fields.interval: {"$eq": facts.interval},
            fields.repeat_until: {"$eq": facts.repeat_until},
            fields.auto_remove: {"$eq": facts.auto_remove},
            "$expr": {"$eq": [self._sleep, self._lock]},
        }

    def update(self, change: Sleep | Release | Renew) -> dict[str, Any] | list[dict[str, Any]]:
        fields = self.fields
        if isinstance(change, Renew):
            end = _now_plus(change.lock_until)
            kept = {"$cond": [{"$eq": [self._sleep, self._lock]}, end, self._sleep]}
            return [{"$set": {fields.sleep_until: kept, fields.lock_until: end}}]
        unlocked = {fields.lock_owner: "", fields.lock_until: ""}
        if isinstance(change, Sleep):
            return {"$set": {fields.sleep_until: change.until}, "$unset": unlocked | {fields.error: ""}}
        if change.error is None:
            return {"$unset": unlocked | {fields.error: ""}}
        return {"$set": {fields.error: change.error}, "$unset": unlocked}

    def changes(self) -> list[dict[str, Any]]:
        """A change stream without the schedulers' own writes: those all touch the end of the lock."""
        changed = "$updateDescription"
        set_names = {"$objectToArray": {"$ifNull": [f"{changed}.updatedFields", {}]}}
        names = {
            "$concatArrays": [
                {"$map": {"input": set_names, "in": "$$this.k"}},
                {"$ifNull": [f"{changed}.removedFields", []]},
            ]
        }
        foreign = {"$not": [{"$in": [self.fields.lock_until, names]}]}
        kinds = {"operationType": {"$in": ["insert", "update", "replace"]}}
        return [{"$match": kinds | {"$expr": foreign}}, {"$project": {"_id": 1}}]


def _now_plus(length: timedelta) -> dict[str, Any]:
    return {"$add": ["$$NOW", round(length.total_seconds() * 1000)]}
