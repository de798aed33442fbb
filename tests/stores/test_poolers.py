"""PostgreSQL behind a pooler that lends a connection for one transaction: what was prepared on it is not there."""

from tickwise.stores.sql.postgres import PostgresDriver
from tickwise.stores.sql.store import SqlStore
from tickwise.stores.url import open_store
from tickwise.testing.conformance.world import HOURLY, World, job

from ..support.app import Clock, patiently


@patiently
async def test_forgotten_statements_cost_nothing_but_time(emptied_postgres: str) -> None:
    """The move is made again without them, and all that come later keep none."""
    clock = Clock()
    store = open_store(emptied_postgres, clock)
    assert isinstance(store, SqlStore)
    assert isinstance(store.driver, PostgresDriver)
    world = World(store, clock)
    await world.begin()
    await world.define(job("a", HOURLY))
    await world.tick()
    for hour in ("01:00", "02:00"):
        pool = await store.driver._connected()
        async with pool.acquire() as connection:
            await connection.execute("DEALLOCATE ALL")
        world.go(hour)
        await world.tick()
    assert await world.ran("a") == ["01:00"], "02:00 waits for it"
    assert store.driver._statements == 0
    await store.close()
