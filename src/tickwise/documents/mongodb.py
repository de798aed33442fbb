"""A collection of MongoDB. Times are dates, and whether one has come is the server's to say (`$$NOW`).

Every operation is one command on one document, acknowledged by a majority: no transaction is needed, and a lock
survives the loss of the primary. With `watch=True` a change stream tells idle schedulers of new documents at once;
that needs a replica set. Without it they look once a second.
"""

import asyncio
from collections.abc import Mapping
from contextlib import suppress
from datetime import UTC, timedelta
from typing import Any
from uuid import uuid4

from ..core.errors import InputError
from ..log import get_logger
from .connection import ConnectedStore, address, driver, too_old
from .contract import Locked, Renew
from .decide import Release, Sleep
from .fields import Fields
from .mongodb_commands import WITH_NOW, Commands
from .sql_rows import held, held_still
from .wakeup import Wakeup

OLDEST = 4, 4  # the first whose projections can show the server's now
_NONE: dict[str, Any] = {"_id": {"$in": []}}  # matches no document
_LISTEN_AGAIN = 1.0  # seconds
_log = get_logger()
_FIXES = {  # by the server's codes
    13: "give the user rights on it, db.grantRolesToUser('{user}', [{{role: 'readWrite', db: '{database}'}}])",
    18: "see the user and the password in the URL, and authSource=, the database that the user was made in",
}
_NOT_FOUND = "is the server running, and is the address right?"
_NO_SET = (
    " If it runs without a replica set, take replicaSet= out of the URL, or start mongod with --replSet and run "
    "rs.initiate() once"
)
_NEEDS_SET = (
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
        self._driver = driver("pymongo", "mongodb")
        super().__init__()
        self._url = url
        self._address = address(url)
        self._name = collection
        self._commands = Commands(fields or Fields(), condition or {})
        self._watch = watch
        self._bell = Wakeup()
        self._ears: asyncio.Task[None] | None = None
        self._client: Any = None
        self._collection: Any = None

    async def lock_next(self, lock_until: timedelta) -> Locked | None:
        owner, commands = uuid4().hex, self._commands
        found = await self._collection.find_one_and_update(
            commands.due(),
            commands.lock(owner, lock_until),
            projection=WITH_NOW,
            sort={commands.fields.sleep_until: 1},
        )
        if found is None:
            return None
        document = found["document"]
        return held(document, commands.fields, document["_id"], owner, found["now"])

    async def update(self, locked: Locked, change: Sleep | Release | Renew) -> Locked | None:
        commands = self._commands
        where = commands.untouched(locked) if isinstance(change, Sleep) else commands.ours(locked)
        done = await self._collection.update_one(where, commands.update(change))
        return None if done.matched_count else await self._still(locked)

    async def remove(self, locked: Locked) -> Locked | None:
        done = await self._collection.delete_one(self._commands.untouched(locked))
        return None if done.deleted_count else await self._still(locked)

    async def _still(self, locked: Locked) -> Locked | None:
        found = await self._collection.find_one({"_id": {"$eq": locked.facts.key}}, WITH_NOW)
        if found is None:
            return None
        return held_still(locked, found["document"], self._commands.fields, found["now"])

    async def next_due(self) -> float | None:
        commands = self._commands
        found = await self._collection.find_one(
            commands.later(), commands.seconds_left(), sort={commands.fields.sleep_until: 1}
        )
        return None if found is None else float(found["seconds"])

    async def wait(self, at_most: float) -> None:
        await self._bell.wait(self.next_due, at_most)

    async def create_index(self) -> None:
        """Make the sparse index that keeps lookups fast, if it is not there."""
        async with self, self._explaining():
            await self._collection.create_index(self._commands.fields.sleep_until, sparse=True)

    async def _connect(self) -> None:
        self._client = self._driver.AsyncMongoClient(self._url, tz_aware=True, tzinfo=UTC)
        self._collection = self._client.get_default_database().get_collection(
            self._name,
            read_preference=self._driver.ReadPreference.PRIMARY,
            write_concern=self._driver.WriteConcern("majority"),
        )
        await self._check()
        if self._watch:
            self._ears = asyncio.create_task(self._listen())

    async def _check(self) -> None:
        """The version, the rights (checked by the server before it looks for documents), the change stream."""
        version = (await self._client.server_info())["versionArray"]
        if tuple(version[:2]) < OLDEST:
            raise too_old("MongoDB", version, OLDEST)
        commands = self._commands
        lock = commands.lock("", timedelta())
        await self._collection.find_one_and_update({"$and": [_NONE, commands.due()]}, lock, projection=WITH_NOW)
        await self._collection.delete_one(_NONE)
        hello = await self._client.admin.command("hello")
        if self._watch and "setName" not in hello and hello.get("msg") != "isdbgrid":
            raise InputError(_NEEDS_SET)

    @property
    def _errors(self) -> tuple[type[Exception], ...]:
        return ValueError, self._driver.errors.PyMongoError

    def _explained(self, error: Exception) -> InputError:
        where = self._address
        fix = _FIXES.get(getattr(error, "code", None) or 0, "")
        if isinstance(error, self._driver.errors.ServerSelectionTimeoutError):
            fix = _NOT_FOUND + (_NO_SET if "replicaSet=" in where.query else "")
        elif isinstance(error, self._driver.errors.ConfigurationError):
            fix = "name the database at the end of the address, as in mongodb://localhost/shop"
        text = fix.format(user=where.username, database=where.path.strip("/"))
        return InputError(f"MongoDB, collection {self._name}: {error}" + (f". Fix: {text}" if text else ""))

    async def _close(self) -> None:
        ears, self._ears = self._ears, None
        if ears is not None:
            ears.cancel()
            with suppress(asyncio.CancelledError):
                await ears
        client, self._client = self._client, None
        if client is not None:
            await client.close()

    async def _listen(self) -> None:
        while True:
            try:
                async with await self._collection.watch(self._commands.news()) as stream:
                    async for _ in stream:
                        self._bell.ring()
            except self._driver.errors.PyMongoError as error:
                _log.warning("change stream lost", collection=self._name, error=str(error))
                await asyncio.sleep(_LISTEN_AGAIN)
