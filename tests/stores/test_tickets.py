"""So many claim at a time in a fleet; who comes on top of that is turned away at once, and nothing is lost."""

from collections.abc import Iterable
from typing import Any

import asyncpg

from tickwise.stores.sql.postgres import TICKET_LOCK, TICKETS
from tickwise.testing.conformance.world import HOURLY, World, job

from .tables import PostgresStories

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
                named = await world.tick(jobs=["a"])
                assert (named.jobs, named.runs) == (1, 1)
        finally:
            await other.close()
        ticked = await world.tick()
        assert (ticked.jobs, ticked.runs, ticked.more) == (1, 1, False)
        assert (await world.ran("a"), await world.ran("b")) == (["01:00"], ["01:00"])

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
