"""Stores that are emptied for each example of a state machine, because that is faster than new ones."""

import asyncio
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from tickwise.stores.contract import Store
from tickwise.stores.mongo.store import MongoStore
from tickwise.stores.redis.store import RedisStore
from tickwise.stores.sql.driver import Pool
from tickwise.stores.sql.statement import Procedure, Statement
from tickwise.stores.sql.store import SqlStore
from tickwise.stores.url import open_store

from ..servers.valkey import forget_store
from .twins import FIRST_RUN, Emptied

_KEPT = {"tickwise_schema", "tickwise_definitions"}  # of a MongoDB database


def _wipe_sqlite() -> Procedure[None]:
    rows = yield Statement("SELECT name FROM sqlite_master WHERE name LIKE 'tickwise_%' AND type = 'table'")()
    for name in ("tickwise_logs", *(name for (name,) in rows if name != "tickwise_migrations")):
        yield Statement(f"DELETE FROM {name}")()
    yield Statement("DELETE FROM main.sqlite_sequence")()
    yield Statement("INSERT INTO main.sqlite_sequence VALUES ('tickwise_runs', :first)")(first=FIRST_RUN)


def _wipe_postgres() -> Procedure[None]:
    rows = yield Statement("SELECT tablename FROM pg_tables WHERE tablename LIKE 'tickwise_%'")()
    yield Statement(f"TRUNCATE {', '.join(name for (name,) in rows if name != 'tickwise_migrations')}")()
    yield Statement("SELECT setval('tickwise_runs_id_seq', :first)")(first=FIRST_RUN)


def _wipe_mysql() -> Procedure[None]:
    rows = yield Statement(
        "SELECT table_name FROM information_schema.tables "
        "WHERE table_schema = database() AND table_type = 'BASE TABLE'"
    )()
    for (name,) in rows:
        if name != "tickwise_migrations":
            yield Statement(f"DELETE FROM {name}")()
    yield Statement(f"ALTER TABLE tickwise_runs AUTO_INCREMENT = {FIRST_RUN + 1}")()


_WIPES = {"sqlite": _wipe_sqlite, "postgres": _wipe_postgres, "mysql": _wipe_mysql}


@contextmanager
def sql(loop: asyncio.Runner, url: str) -> Iterator[Emptied]:
    """A SQLite file, or a database of PostgreSQL or MySQL, whose rows go."""
    store = open_store(url)
    assert isinstance(store, SqlStore)
    driver, wipe = store.driver, _WIPES[store.driver.dialect.name]
    loop.run(store.schema.upgrade())

    async def empty(clock: Callable[[], int]) -> Store:
        driver.clock = clock
        await driver.run(wipe, Pool.OTHER)
        return SqlStore(driver)

    yield empty
    loop.run(store.close())


@contextmanager
def mongodb(loop: asyncio.Runner, url: str) -> Iterator[Emptied]:
    """A MongoDB database, whose documents go."""
    store = MongoStore(url)
    database = store.mongo.client[store.mongo.name]
    loop.run(store.schema.upgrade())

    async def empty(clock: Callable[[], int]) -> Store:
        store.mongo._clock = clock
        for name in set(await database.list_collection_names()) - _KEPT:
            await database[name].delete_many({})
        await store.mongo.counters.insert_one({"_id": "runs", "last": FIRST_RUN})
        return store

    yield empty
    loop.run(store.close())


@contextmanager
def redis(loop: asyncio.Runner, url: str) -> Iterator[Emptied]:
    """A store on Redis, whose keys go."""
    opened: list[Store] = []

    async def empty(clock: Callable[[], int]) -> Store:
        await _close(opened)
        forget_store(url)
        store = RedisStore(url, clock)
        opened.append(store)
        await store.schema.upgrade()
        await store.server.command("SET", store.server.key("number"), FIRST_RUN)
        return store

    yield empty
    loop.run(_close(opened))


async def _close(stores: list[Store]) -> None:
    while stores:
        await stores.pop().close()
