"""A store with jobs that are due every minute, and damage to what it keeps of one of them.

Damage is done behind everybody's back, and mended afterwards. Both times all that was read before is forgotten, as
if every process had started anew.
"""

from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from typing import Any, NamedTuple

from tickwise.core.change import Reset
from tickwise.core.settle import Failed
from tickwise.stores.mongo.definitions import MongoDefinitions
from tickwise.stores.mongo.store import MongoStore
from tickwise.stores.records import Lease, Node, Role
from tickwise.stores.sql.definitions import DefinitionCache
from tickwise.stores.sql.driver import Pool
from tickwise.stores.sql.statement import Procedure, Statement
from tickwise.stores.sql.store import SqlStore
from tickwise.testing.conformance.world import World, instant, job

GOOD = ("good-1", "good-2", "good-3")
_MINUTE = 60
_DECIDED = instant("00:01")
_SCHEDULE = "tickwise_schedules", "name = 'bad'"
_RUN = "tickwise_runs", "run_key = 'bad'"


BAD = job("bad", "* * * * *", description="bad", grace=59, overlap="allow")


_SETTLE = Statement("""
    UPDATE tickwise_schedules AS s SET cursor = a.cursor, last_seen_slot = a.last_seen_slot,
        runs_made = s.runs_made + a.runs_made,
        last_slot = a.last_slot, wake_at = a.wake_at
    FROM tickwise_job_state AS a WHERE a.job_id = s.job_id AND a.cursor IS NOT NULL AND s.deleted IS NULL
""")
_SETTLED = Statement("""
    UPDATE tickwise_job_state SET cursor = NULL, last_seen_slot = NULL, last_slot = NULL, runs_made = NULL
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
    rows: _Tables | _Documents = _Documents(store) if isinstance(store, MongoStore) else _Tables(store)
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
    """Rows of SQLite or PostgreSQL."""

    def __init__(self, store: SqlStore) -> None:
        self._store = store

    async def swap(self, field: Field, value: Any) -> Any:
        """The value that stood there before; how far a schedule has come is in its own row then, and counts."""
        table, which = field.row

        def protocol() -> Procedure[Any]:
            yield _SETTLE()
            yield _SETTLED()
            before = yield Statement(f"SELECT {field.column} FROM {table} WHERE {which}")()
            yield Statement(f"UPDATE {table} SET {field.column} = :value WHERE {which}")(value=value)
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
