"""A store that was set back, by a restored backup or a failover: what it tells, and what is said of it (S78)."""
# ruff: noqa: S101  (a suite of tests asserts)

from ...core.change import Restored
from ...core.states import RunState
from .stories import Stories
from .world import HOURLY, World, instant, job, worker_node


class SetBackStories(Stories):
    async def test_a_beat_says_which_beat_was_before(self, world: World) -> None:
        """So a node notices that the store has forgotten one; a node that left was never seen (S78)."""
        node, lives = worker_node("w9"), []
        for time in ("00:00:01", "00:00:02", "00:00:05"):
            world.go(time)
            renewed = await world.store.beat(node)
            lives.append((renewed.seen_before, renewed.seen_at))
        first, second, third = (instant(f"00:00:0{number}") * 1_000_000 for number in (1, 2, 5))
        assert lives == [(0, first), (first, second), (second, third)]
        await world.store.leave(node.id)
        assert (await world.store.beat(node)).seen_before == 0

    async def test_numbers_of_runs_are_skipped(self, world: World) -> None:
        """New runs have numbers that no run can have had; those that are there keep theirs (S78)."""
        await world.define(job("a", HOURLY))
        first = await world.store.skip_run_numbers()
        assert first >= world.micro // 1_000
        await world.enqueue("a")
        (early,) = [int(run.id) for run in (await world.insights.runs()).items]
        assert early == first
        await world.pass_time("01:30")
        again = await world.store.skip_run_numbers()
        await world.enqueue("a")
        await world.pass_time("02:30")
        ids = sorted(int(run.id) for run in (await world.insights.runs()).items)
        assert (ids[:2], ids[2] >= again > ids[1]) == ([early, early + 1], True)
        await world.work()
        assert {run.state for run in (await world.insights.runs()).items} == {RunState.SUCCEEDED}

    async def test_slots_of_a_lost_store_are_recorded(self, world: World) -> None:
        """They are decided, and never run; what came after them goes through catch-up (S78)."""
        await world.define(job("a", HOURLY))
        await world.pass_time("01:30")
        await world.work()
        world.go("05:30")
        state = await world.store.change("a", Restored(instant("03:30")))
        assert await world.schedule("a") == state
        await world.pass_time("05:40")
        assert await world.ran("a") == ["01:00", "05:00 catchup"]
        assert await world.decided("a") == ["restored 02:00 to 03:00 (2)", "coalesced 04:00"]
