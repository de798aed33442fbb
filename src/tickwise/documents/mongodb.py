"""A collection of MongoDB. Times are dates, and the server decides whether one has come (`$$NOW`).

Every command is acknowledged by a majority and is atomic for each document: no transaction is needed, and a lock
survives the loss of the primary.

A lock reads which documents have been due the longest, and then locks those of them that are still due: what
another scheduler has locked in between is lost to it. After such a loss the store reads further ahead and locks a
part of that at random, so that many schedulers rarely want the same documents. After locks without a loss it comes
back to the oldest. A scheduler that is alone never loses, and keeps the order exactly. A store that locks single
documents and loses none reads only at every sixteenth lock, to notice when others have come.

With `watch=True` a change stream wakes idle schedulers as soon as a document is added or changed; that needs a
replica set. Without it they poll once a second.
"""

import asyncio
from collections.abc import Mapping, Sequence
from contextlib import aclosing, suppress
from datetime import timedelta
from secrets import randbelow
from typing import TYPE_CHECKING, Any
from uuid import uuid4

from ..core.errors import InputError
from ..log import get_logger
from .connection import ConnectedStore, version_error
from .contract import Ending, Fields, Locked, LockLostError, Renew, Wakeup
from .decide import Release, Remove, Sleep
from .mongo_collection import mongo_collection
from .mongo_commands import NOT_WRITTEN_CODE, WITH_NOW, MongoCommands

if TYPE_CHECKING:
    from pymongo.asynchronous.collection import AsyncCollection
    from pymongo.collection import Collection

_OLDEST_VERSION = 4, 4  # the first whose projections can return the server's now
_NO_DOCUMENT: dict[str, Any] = {"_id": {"$in": []}}  # matches none
_RECONNECT_DELAY = 1.0  # seconds, of a change stream
_MAX_LOOKAHEAD = 64  # batches
_TRIAL_WINS = 16  # locks without a loss, after which the store looks less far ahead
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


class _Lookahead:
    """How many batches a lock reads to choose one: twice as many after a loss, half after wins in a row."""

    def __init__(self) -> None:
        self.batches = 1
        self._wins = 0

    def count_lock(self, *, is_won: bool) -> None:
        self._wins = self._wins + 1 if is_won else 0
        if not is_won:
            self.batches = min(self.batches * 2, _MAX_LOOKAHEAD)
        elif self.is_trial_due():
            self.batches = max(self.batches // 2, 1)

    def is_trial_due(self) -> bool:
        return self._wins % _TRIAL_WINS == 0


class MongoJobStore(ConnectedStore):
    """The documents of a collection; handlers see their dates in UTC."""

    def __init__(
        self,
        source: "str | Collection[Any] | AsyncCollection[Any]",
        collection: str | None = None,
        *,
        fields: Fields | None = None,
        condition: Mapping[str, Any] | None = None,
        watch: bool = False,
    ) -> None:
        """Take a URL and the name of a collection, or a collection object of pymongo."""
        self._collection = mongo_collection(source, collection)
        super().__init__()
        self._commands = MongoCommands(fields or Fields(), condition or {})
        self._watch = watch
        self._wakeup = Wakeup()
        self._listener: asyncio.Task[None] | None = None
        self._lookahead = _Lookahead()

    async def lock_next(self, lock_until: timedelta) -> Locked | None:
        return next(iter(await self.lock_many(1, lock_until)), None)

    async def lock_many(self, count: int, lock_until: timedelta) -> list[Locked]:
        lookahead = self._lookahead
        if count == 1 and lookahead.batches == 1 and not lookahead.is_trial_due():
            lookahead.count_lock(is_won=True)
            return await self._lock_one({}, lock_until)
        while batch := await self._choose(count):
            locked = await self._lock_batch(batch, lock_until)
            lookahead.count_lock(is_won=len(locked) == len(batch))
            if locked:
                return locked
        return []

    async def _choose(self, count: int) -> list[dict[str, Any]]:
        """Which documents to lock, as they are before the lock."""
        commands = self._commands
        found = await self._collection.find(
            commands.due(),
            commands.before_lock(),
            sort={commands.fields.sleep_until: 1},
            limit=count * self._lookahead.batches,
        )
        first = count * randbelow(-(-len(found) // count)) if len(found) > count else 0
        return found[first : first + count]

    async def _lock_one(self, which: Mapping[str, Any], lock_until: timedelta) -> list[Locked]:
        """Lock the oldest of those that are due and match."""
        owner, commands = uuid4().hex, self._commands
        found = await self._collection.call(
            "find_one_and_update",
            {**which, **commands.due()},
            commands.lock(owner, lock_until),
            projection=WITH_NOW,
            sort={commands.fields.sleep_until: 1},
        )
        return [] if found is None else [self._locked(found, owner)]

    async def _lock_batch(self, batch: list[dict[str, Any]], lock_until: timedelta) -> list[Locked]:
        """Lock those of the batch that are still due."""
        keys = {"_id": {"$in": [before["_id"] for before in batch]}}
        if len(batch) == 1:
            return await self._lock_one(keys, lock_until)
        owner, commands = uuid4().hex, self._commands
        lock = commands.lock(owner, lock_until)
        done = await self._collection.call("update_many", {**keys, **commands.due()}, lock)
        if not done.modified_count:
            return []
        found = await self._collection.find({**keys, commands.fields.lock_owner: owner}, WITH_NOW)
        locked = []
        for before in batch:
            for each in found:
                if each["document"]["_id"] == before["_id"]:
                    commands.restore(each["document"], before)
                    locked.append(self._locked(each, owner))
        return locked

    def _locked(self, found: Mapping[str, Any], owner: str) -> Locked:
        document = found["document"]
        return Locked.from_document(
            document, self._commands.fields, key=document["_id"], owner=owner, now=found["now"]
        )

    async def update(self, locked: Locked, change: Sleep | Release | Renew) -> Locked | None:
        commands = self._commands
        where = commands.untouched(locked) if isinstance(change, Sleep) else commands.ours(locked)
        done = await self._collection.call("update_one", where, commands.update(change))
        return None if done.matched_count else await self._current(locked)

    async def remove(self, locked: Locked) -> Locked | None:
        done = await self._collection.call("delete_one", self._commands.untouched(locked))
        return None if done.deleted_count else await self._current(locked)

    async def finish_many(self, endings: Sequence[Ending]) -> "Sequence[Locked | Exception | None]":
        if len(endings) == 1:
            return [await self._finish(endings[0])]
        removed, errors = await self._write_all([self._operation(ending) for ending in endings])
        removals = [place for place, ending in enumerate(endings) if isinstance(ending.verdict, Remove)]
        unclear = removals if removed < len(removals) else []
        results: list[Locked | Exception | None] = [None] * len(endings)
        for place, refusal in errors.items():
            if refusal["code"] == NOT_WRITTEN_CODE:
                unclear.append(place)
            else:
                write_error = self._collection.driver.errors.WriteError
                results[place] = write_error(refusal["errmsg"], refusal["code"], refusal)
        for place in unclear:
            results[place] = await self._current_or_lost(endings[place].locked)
        return results

    async def _write_all(self, operations: list[Any]) -> tuple[int, dict[int, Any]]:
        """How many documents were removed, and the errors by the place of their operation."""
        try:
            done = await self._collection.call("bulk_write", operations, ordered=False)
        except self._collection.driver.errors.BulkWriteError as error:
            return error.details["nRemoved"], {each["index"]: each for each in error.details["writeErrors"]}
        return done.deleted_count, {}

    def _operation(self, ending: Ending) -> Any:
        (locked, verdict), driver = ending, self._collection.driver
        if isinstance(verdict, Remove):
            return driver.DeleteOne(self._commands.untouched(locked))
        update = self._commands.update_or_fail(locked, verdict)
        return driver.UpdateOne({"_id": {"$eq": locked.facts.key}}, update)

    async def renew_many(self, held: Sequence[Locked], lock_until: timedelta) -> None:
        keys = {"$in": [locked.facts.key for locked in held]}
        owners = {"$in": list({locked.owner for locked in held})}
        where = {"_id": keys, self._commands.fields.lock_owner: owners}
        await self._collection.call("update_many", where, self._commands.update(Renew(lock_until)))

    async def _current(self, locked: Locked) -> Locked | None:
        found = await self._collection.call("find_one", {"_id": {"$eq": locked.facts.key}}, WITH_NOW)
        if found is None:
            return None
        return locked.refreshed(found["document"], self._commands.fields, found["now"])

    async def _current_or_lost(self, locked: Locked) -> Locked | LockLostError | None:
        try:
            return await self._current(locked)
        except LockLostError as error:
            return error

    async def next_due(self) -> float | None:
        commands = self._commands
        found = await self._collection.call(
            "find_one", commands.due_later(), commands.seconds_left(), sort={commands.fields.sleep_until: 1}
        )
        return None if found is None else float(found["seconds"])

    async def wait(self, at_most: float) -> None:
        await self._wakeup.wait(self.next_due, at_most)

    async def create_index(self) -> None:
        """Create the sparse index that keeps lookups fast, if it does not exist."""
        async with self, self._explained_errors():
            await self._collection.call("create_index", self._commands.fields.sleep_until, sparse=True)

    async def _connect(self) -> None:
        await self._collection.open()
        await self._check_server()
        if self._watch:
            self._listener = asyncio.create_task(self._listen())

    async def _check_server(self) -> None:
        """Check the version, the rights (by commands that match no document), and the replica set."""
        version = (await self._collection.command("buildInfo"))["versionArray"]
        if tuple(version[:2]) < _OLDEST_VERSION:
            raise version_error("MongoDB", version, _OLDEST_VERSION)
        where = {"$and": [_NO_DOCUMENT, self._commands.due()]}
        lock = self._commands.lock("", timedelta())
        await self._collection.call("find_one_and_update", where, lock, projection=WITH_NOW)
        await self._collection.call("delete_one", _NO_DOCUMENT)
        hello = await self._collection.command("hello")
        if self._watch and "setName" not in hello and hello.get("msg") != "isdbgrid":
            raise InputError(_NEEDS_REPLICA_SET)

    @property
    def _errors(self) -> tuple[type[Exception], ...]:
        return ValueError, self._collection.driver.errors.PyMongoError

    def _explain(self, error: Exception) -> InputError:
        collection = self._collection
        errors = collection.driver.errors
        fix = _FIXES.get(getattr(error, "code", None) or 0, "")
        if isinstance(error, errors.ServerSelectionTimeoutError):
            fix = _NO_SERVER + (_NO_REPLICA_SET if "replicaSet=" in collection.query else "")
        elif isinstance(error, errors.ConfigurationError):
            fix = "name the database at the end of the address, as in mongodb://localhost/shop"
        text = fix.format(user=collection.user, database=collection.database)
        return InputError(f"MongoDB, collection {collection.name}: {error}" + (f". Fix: {text}" if text else ""))

    async def _close(self) -> None:
        listener, self._listener = self._listener, None
        if listener is not None:
            listener.cancel()
            with suppress(asyncio.CancelledError):
                await listener
        await self._collection.close()

    async def _listen(self) -> None:
        while True:
            try:
                async with aclosing(self._collection.changes(self._commands.changes())) as changes:
                    async for _ in changes:
                        self._wakeup.notify()
            except self._collection.driver.errors.PyMongoError as error:
                _log.warning("change stream lost", collection=self._collection.name, error=str(error))
                await asyncio.sleep(_RECONNECT_DELAY)
