"""Renewals on PostgreSQL go on beside reports, however slow the network is."""

import asyncpg

from tickwise.core.states import RunState
from tickwise.stores.records import LogPart
from tickwise.stores.sql.lease import report
from tickwise.stores.sql.store import SqlStore
from tickwise.stores.url import open_store
from tickwise.testing.conformance.world import World, job, worker_node

from ..support.app import Clock, patiently


@patiently
async def test_a_report_that_takes_long_delays_no_renewal(emptied_postgres: str) -> None:
    """While a job's log is being written, its lease is extended and nobody takes the run (E9, S42)."""
    clock = Clock()
    store = open_store(emptied_postgres, clock)
    assert isinstance(store, SqlStore)
    world = World(store, clock)
    await world.begin()
    await world.define(job("talks"))
    await world.enqueue("talks")
    (lease,) = await world.lease(seconds=30)
    connection = await asyncpg.connect(emptied_postgres)
    async with connection.transaction():
        line = LogPart("", "stdout", "a line", 0)
        assert await store.driver.run_inside(connection, report(int(lease.id), lease.token, [], [line]))
        clock.advance(31)
        assert (await store.expire()).leases == 0
        renewed = await store.beat(worker_node("w1"), {lease.id: lease.token})
        assert renewed.held == {lease.id}
    await connection.close()
    row = await world.run(lease.id)
    assert (row.state, row.lease_until) == (RunState.RUNNING, world.micro + 30_000_000)
    await store.close()
