"""So many claim at a time in a fleet; who comes on top of that is turned away at once, and nothing is lost."""

import asyncio
from collections.abc import Iterable
from typing import Any

import asyncpg
import pytest

from tickwise.clock import monotonic
from tickwise.stores.sql.postgres_tickets import TICKET_LOCK
from tickwise.stores.sql.tickets import TICKETS
from tickwise.testing.conformance.world import HOURLY, World, job

from ..support.table_stories import PostgresStories

ALL = frozenset(range(TICKETS))


async def take(other: Any, numbers: Iterable[int]) -> None:
    """Have tickets until the transaction ends."""
    for number in numbers:
        await other.execute("SELECT pg_advisory_xact_lock($1, $2)", TICKET_LOCK, number)


class TestTickets(PostgresStories):
    """Who writes a SQLite file is alone: nobody is turned away there."""

    async def test_who_is_turned_away(self, world: World) -> None:
        """It decides nothing and says that there may be more; who names his jobs is not; then all goes on."""
        await world.define(job("a", HOURLY), job("b", HOURLY))
        await world.tick()
        world.go("01:00")
        other = await asyncpg.connect(self.url)
        try:
            async with other.transaction():
                await take(other, ALL)
                turned_away = await world.tick()
                assert (turned_away.jobs, turned_away.runs, turned_away.more) == (0, 0, True)
                assert turned_away.turned_away
                named = await world.tick(jobs=["a"])
                assert (named.jobs, named.runs) == (1, 1)
        finally:
            await other.close()
        ticked = await world.tick()
        assert (ticked.jobs, ticked.runs, ticked.more) == (1, 1, False)
        assert (await world.ran("a"), await world.ran("b")) == (["01:00"], ["01:00"])

    async def test_who_was_turned_away_for_long(self, world: World, monkeypatch: pytest.MonkeyPatch) -> None:
        """It waits in line, so that a busy fleet lets each node claim; if nobody goes on it is turned away."""
        await world.define(job("a", HOURLY))
        await world.tick()
        world.go("01:00")
        other = await asyncpg.connect(self.url)
        try:
            async with other.transaction():
                await take(other, ALL)
                assert (await world.tick()).turned_away
                monkeypatch.setattr("tickwise.stores.sql.tickets.monotonic", lambda: monotonic() + 1)
                assert (await world.tick()).turned_away
                waiting = asyncio.create_task(world.tick())
                while not await other.fetchval("SELECT count(*) FROM pg_locks WHERE NOT granted"):
                    pass
            assert (await waiting).runs == 1
        finally:
            await other.close()

    async def test_the_check_names_who_holds_them(self, world: World) -> None:
        """A session that holds a ticket for long is named, with the statement that ends it (A10)."""
        assert await world.store.schema.check() == ()
        other = await asyncpg.connect(self.url, server_settings={"application_name": "a script"})
        try:
            await other.execute("SELECT pg_advisory_lock($1, 0)", TICKET_LOCK)
            pid = other.get_server_pid()
            while not (found := await world.store.schema.check()):
                await world.store.wait(0.2)
            assert "'a script'" in found[0]
            assert f"pg_terminate_backend({pid})" in found[0]
        finally:
            await other.close()

    async def test_one_ticket_is_enough(self, world: World) -> None:
        """Whichever of them is left, it is found."""
        await world.define(job("a", HOURLY))
        other = await asyncpg.connect(self.url)
        try:
            for hour, left in enumerate((0, 1, TICKETS - 1), 1):
                world.go(f"0{hour}:00")
                async with other.transaction():
                    await take(other, ALL - {left})
                    assert (await world.tick()).runs == 1
                await world.end(await world.start())
        finally:
            await other.close()
