"""`max_starts`: at most so many runs of slots in any time of a length (S77)."""
# ruff: noqa: S101  (a suite of tests asserts)

import asyncio

from ...core.definition import StartBudget
from .stories import Stories
from .world import HOURLY, World, job

_TWO_IN_FIVE_HOURS = StartBudget(2, 18_000)


class StartBudgetStories(Stories):
    async def test_a_budget_of_starts_holds(self, world: World) -> None:
        """A slot beyond it is skipped, or waits with `catchup: all`; what counts is kept with the cursor (S77)."""
        await world.define(
            job("a", HOURLY, max_starts=_TWO_IN_FIVE_HOURS), job("b", HOURLY, max_starts=_TWO_IN_FIVE_HOURS,
                catchup="all"), job("c", HOURLY),
        )  # fmt: skip
        for hour in range(1, 8):
            await world.pass_time(f"{hour:02}:00")
            await world.work()
        assert await world.ran("a") == ["01:00", "02:00", "06:00", "07:00"]
        assert await world.decided("a") == ["budget 03:00", "budget 04:00", "budget 05:00"]
        assert await world.ran("b") == ["01:00", "02:00", "03:00", "04:00"]
        assert await world.decided("b", waits=True) == [
            f"waits_for_budget {hour}:00" for hour in ("03", "04", "05")
        ]
        assert len(await world.ran("c")) == 7
        assert len((await world.schedule("a")).recent_starts) == 2

    async def test_a_budget_holds_for_passes_at_once(self, world: World) -> None:
        """Passes that come at the same moment do not use the same room twice (S77, S1)."""
        await world.define(
            job("a", "* * * * *", max_starts=_TWO_IN_FIVE_HOURS, catchup="all", overlap="allow", max_active_runs=8)
        )
        world.go("01:00")
        await asyncio.gather(*(world.tick() for _ in range(4)))
        for _ in range(3):
            await world.tick()
        assert await world.ran("a") == ["00:01 catchup", "00:02 catchup"]
