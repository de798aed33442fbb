"""A store with jobs that are due every minute, and damage to what it keeps of one of them.

Damage is done behind everybody's back, and mended afterwards. Both times all that was read before is forgotten, as
if every process had started anew.
"""

import json
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from typing import Any, NamedTuple

from tickwise.core.change import Reset
from tickwise.core.settle import Failed
from tickwise.stores.mongo.definitions import MongoDefinitions
from tickwise.stores.mongo.store import MongoStore
from tickwise.stores.records import Lease, Node, Role
from tickwise.stores.redis.base import RedisDefinitions
from tickwise.stores.redis.plain_jobs import PlainJobs, apply_moved
from tickwise.stores.redis.store import RedisStore
from tickwise.stores.sql.definitions import DefinitionCache
from tickwise.stores.sql.driver import Pool
from tickwise.stores.sql.statement import Procedure, Statement, Update
from tickwise.stores.sql.store import SqlStore
from tickwise.testing.conformance.world import World, instant, job

GOOD = ("good-1", "good-2", "good-3")
_MINUTE = 60
_DECIDED = instant("00:01")
_SCHEDULE = "tickwise_schedules", "name = 'bad'"
_RUN = "tickwise_runs", "run_key = 'bad'"


BAD = job("bad", "* * * * *", description="bad", grace=59, overlap="allow")


_SETTLE = Update(
    "tickwise_schedules", "tickwise_job_state AS a", {"job_id": "a.job_id"},
    {
        "cursor": "a.cursor", "last_seen_slot": "a.last_seen_slot", "runs_made": "t.runs_made + a.runs_made",
        "last_slot": "a.last_slot", "wake_at": "a.wake_at",
    },
    "a.cursor IS NOT NULL AND t.deleted IS NULL",
)  # fmt: skip
_SETTLED = Statement("""
    UPDATE tickwise_job_state SET "cursor" = NULL, last_seen_slot = NULL, last_slot = NULL, runs_made = NULL
""")


class Field(NamedTuple):
    """Where a value of the bad job is kept: in a column of a table's row, and on a path in a document."""

    row: tuple[str, str]
    column: str
    collection: str
    document: Mapping[str, Any]
    path: str
    is_text: bool = True


def _definition(table: str, piece: str) -> Field:
    row = "tickwise_definitions", f"id = (SELECT definition_id FROM {table} WHERE name = 'bad')"
    return Field(row, "body", "definitions", {"body": {"$regex": piece}}, "body")


def _of_schedule(column: str, key: str = "", *, is_text: bool = False) -> Field:
    return Field(_SCHEDULE, column, "jobs", {"_id": "bad"}, f"schedules.0.{key or column}", is_text)


FIELDS = {
    "the definition of the schedule": _definition("tickwise_schedules", '"grace":59'),
    "the definition of the job": _definition("tickwise_jobs", '"description":"bad"'),
    "the state": _of_schedule("rest", is_text=True),
    "the cursor": _of_schedule("cursor"),
    "the newest slot seen": _of_schedule("last_seen_slot"),
    "the newest slot missed": _of_schedule("last_missed_slot"),
    "when it was first seen": _of_schedule("first_seen"),
    "how many runs it made": _of_schedule("runs_made"),
    "the params of a run": Field(_RUN, "params", "runs", {"key": "bad"}, "params"),
    "the result of a run": Field(_RUN, "result", "runs", {"key": "bad"}, "result"),
    "the trigger of a run": Field(_RUN, "trigger_name", "runs", {"key": "bad"}, "trigger"),
    "what another node says": Field(("tickwise_nodes", "id = 'n2'"), "facts", "nodes", {"_id": "n2"}, "roles"),
    "the reason of a decision": Field(
        ("tickwise_decisions", f"first_slot = {_DECIDED}"), "reason", "decisions", {"first": _DECIDED}, "reason"
    ),
}


def _of_job(column: str) -> Field:
    row = "tickwise_job_state", "job_id = (SELECT id FROM tickwise_jobs WHERE name = 'bad')"
    return Field(row, column, "jobs", {"_id": "bad"}, column, is_text=False)


FACTS = {  # that no query compares with a number, so that a pass is the first to stumble over them
    "the last run by hand": _of_job("last_manual"),
    "the last success": _of_job("last_success"),
    "the pauses that it knows": _of_job("pause_seen"),
    "the newest slot with a run": _of_schedule("last_slot"),
}


async def begin(world: World) -> None:
    """Define the jobs; something has been decided about the bad one."""
    await world.begin()
    await world.store.beat(Node("n2", (Role.WORKER,), queues=("default",), seconds=10**9))
    await world.define(BAD)
    await world.define(*(job(name, "* * * * *", overlap="allow") for name in GOOD))
    world.clock.advance(_MINUTE)
    await world.store.change("bad", Reset())
    await end(world, await minute(world))


async def minute(world: World) -> list[Lease]:
    """A minute passes, with one pass that hands out two runs at once; all runs that workers get then."""
    world.clock.advance(_MINUTE)
    ticked = await world.tick(reserve=world.reservation(2))
    return [*ticked.leases, *await world.lease()]


@asynccontextmanager
async def damaged(world: World, field: Field, value: Any) -> AsyncIterator[None]:
    """The value stands there instead of the right one; a run of the bad job waits meanwhile."""
    await world.enqueue("bad", params={"table": "orders"}, key="bad")
    store: Any = world.store
    rows = next(kind(store) for of, kind in _KINDS.items() if isinstance(store, of))
    before = await rows.swap(field, value)
    try:
        yield
    finally:
        await rows.swap(field, before)
        await end(world, await minute(world))


async def end(world: World, leases: Sequence[Lease]) -> None:
    """They fail, which frees the key of the bad one's run (S48)."""
    for lease in leases:
        await world.end(lease, Failed())


class _Tables:
    """Rows of SQLite, PostgreSQL or MySQL."""

    def __init__(self, store: SqlStore) -> None:
        self._store = store

    async def swap(self, field: Field, value: Any) -> Any:
        """The value that stood there before; how far a schedule has come is in its own row then, and counts."""
        table, which = field.row

        def protocol() -> Procedure[Any]:
            yield _SETTLE()
            yield _SETTLED()
            before = yield Statement(f'SELECT "{field.column}" FROM {table} WHERE {which}')()
            yield Statement(f'UPDATE {table} SET "{field.column}" = :value WHERE {which}')(value=value)
            return before[0][0]

        cache = DefinitionCache()
        self._store.definitions = self._store.insights.definitions = cache
        return await self._store.driver.run(protocol, Pool.OTHER)


class _Documents:
    """Documents of MongoDB."""

    def __init__(self, store: MongoStore) -> None:
        self._mongo = store.mongo
        self._found: list[Any] = []

    async def swap(self, field: Field, value: Any) -> Any:
        """The value that stood there before; a field that was missing goes again."""
        collection = self._mongo.collection(field.collection)
        if not self._found:
            self._found = await collection.find(field.document, {"_id": 1}).to_list()
        ids = {"_id": {"$in": [found["_id"] for found in self._found]}}
        before: Any = await collection.find_one(ids)
        for step in field.path.split("."):
            before = before[int(step)] if step.isdigit() else before.get(step)
        change = {"$unset": {field.path: ""}} if value is None else {"$set": {field.path: value}}
        await collection.update_many(ids, change)
        self._mongo.cache = MongoDefinitions(self._mongo.collection("definitions"))
        return before


class _Keys:
    """Keys of Redis: hashes, some of which hold a document as JSON."""

    def __init__(self, store: RedisStore) -> None:
        self._server = store.server
        self._place = ("", "")  # the hash and the field of what is damaged, as far as it must be looked for

    async def swap(self, field: Field, value: Any) -> Any:
        """The value that stood there before; a field that was missing goes again."""
        kinds = {
            "definitions": self._swap_text, "jobs": self._swap_in_job, "runs": self._swap_text,
            "nodes": self._swap_in_node, "decisions": self._swap_reason,
        }  # fmt: skip
        before = await kinds[field.collection](field, value)
        self._server.cache, self._server.plain_jobs = RedisDefinitions(self._server), PlainJobs()
        return before

    async def _swap_text(self, field: Field, value: Any) -> Any:
        if not self._place[0]:
            self._place = await self._find(field)
        before = await self._server.command("HGET", *self._place)
        await self._server.command(*(("HDEL", *self._place) if value is None else ("HSET", *self._place, value)))
        return before

    async def _find(self, field: Field) -> tuple[str, str]:
        if field.collection == "runs":
            run = await self._server.command("HGET", self._server.key("keys", "bad"), "bad")
            return self._server.key("run", run), field.path
        texts = await self._server.command("HGETALL", self._server.key("definitions"))
        piece = field.document["body"]["$regex"]
        return self._server.key("definitions"), next(digest for digest, text in texts.items() if piece in text)

    async def _swap_in_job(self, field: Field, value: Any) -> Any:
        key = self._server.key("job", "bad")
        found = await self._server.command("HGETALL", key)
        document = json.loads(found["doc"])
        if "moved" in found:
            apply_moved(document, found["moved"])
        return await self._swap_in(key, document, field.path, value)

    async def _swap_in_node(self, field: Field, value: Any) -> Any:
        key = self._server.key("node", "n2")
        return await self._swap_in(
            key, json.loads(await self._server.command("HGET", key, "doc")), field.path, value
        )

    async def _swap_in(self, key: str, document: Any, path: str, value: Any) -> Any:
        *steps, last = path.split(".")
        inner = document
        for step in steps:
            inner = inner[int(step)] if step.isdigit() else inner[step]
        before = inner.pop(last, None)
        if value is not None:
            inner[last] = value
        await self._server.command("HSET", key, "doc", json.dumps(document))
        await self._server.command("HDEL", key, "moved")
        return before

    async def _swap_reason(self, field: Field, value: Any) -> Any:
        """The reason is in the name of a decision."""
        (first,) = field.document.values()
        key = self._server.key("decisions", "bad")
        texts = await self._server.command("HGETALL", key)
        name = next(name for name in texts if name.endswith(f" {first}"))
        renamed = f"{value} {first}"
        await self._server.command("HDEL", key, name)
        await self._server.command("HSET", key, renamed, texts[name])
        for index in ("decisions", "decisions_last", "decisions_touched"):
            score = await self._server.command("ZSCORE", self._server.key(index), f"bad {name}")
            await self._server.command("ZREM", self._server.key(index), f"bad {name}")
            await self._server.command("ZADD", self._server.key(index), score, f"bad {renamed}")
        return name.rpartition(" ")[0]


_KINDS: Mapping[type, Any] = {MongoStore: _Documents, RedisStore: _Keys, SqlStore: _Tables}
