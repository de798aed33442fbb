"""Local ticking: a node finds due slots in its own index, beside nodes that ask the store."""

from typing import Any, cast

import pytest

from tickwise.core.change import Adopted, Paused, Rescheduled, Resumed
from tickwise.core.definition import Ticking
from tickwise.core.model import Pause
from tickwise.core.planner import plan
from tickwise.runtime.local_ticker import LocalTicker
from tickwise.runtime.ticker import Ticker
from tickwise.stores.contract import Store, StoreUnavailableError
from tickwise.stores.records import TickResult
from tickwise.testing.conformance.world import HOURLY, World, instant, job, once

from ..support.app import Shaky, new_world, patiently


class Local:
    """A local ticker whose steady clock goes with the store's."""

    def __init__(self, world: World, ticking: Ticking = Ticking.STORE, **given: Any) -> None:
        self.world = world
        self.store = Shaky(world.store)
        self.steady = 0.0
        store = cast(Store, self.store)
        ticker = Ticker(store, "n1")
        self.ticker = LocalTicker(store, ticker, lambda: self.steady, ticking=ticking, **given)

    async def at(self, time: str) -> float:
        """A turn at a time; both clocks have moved on."""
        before = self.world.now
        self.world.go(time)
        self.steady += self.world.now - before
        return await self.ticker.turn()


LOCAL: dict[str, Any] = {"ticking": Ticking.LOCAL, "overlap": "allow"}


@patiently
async def test_what_is_ticked_here_fires_on_time_without_a_claim() -> None:
    """No claim finds it, and each slot runs once; what the store ticks is left to that."""
    world = await new_world()
    await world.define(job("here", HOURLY, **LOCAL), job("there", HOURLY, overlap="allow"))
    local = Local(world)
    for time in ("00:00", "00:59:59", "01:00", "01:00:30", "02:00"):
        await local.at(time)
    assert (await world.ran("here"), await world.ran("there")) == (["01:00", "02:00"], [])
    await world.tick()
    assert await world.ran("there") == ["02:00"]


@patiently
async def test_by_the_nodes_setting_all_but_those_that_say_otherwise_are_ticked_here() -> None:
    """The setting is for schedules that say nothing; both ways go on side by side."""
    world = await new_world()
    await world.define(
        job("any", HOURLY, overlap="allow"),
        job("store", HOURLY, ticking=Ticking.STORE),
        job("here", HOURLY, **LOCAL),
    )
    local = Local(world, Ticking.LOCAL)
    await local.at("00:10")
    await local.at("01:00")
    assert [await world.ran(name) for name in ("any", "store", "here")] == [["01:00"], [], ["01:00"]]
    await world.tick()
    assert await world.ran("store") == ["01:00"]


@patiently
async def test_many_nodes_may_tick_the_same() -> None:
    """Each slot runs once, whoever finds it first (S1)."""
    world = await new_world()
    await world.define(job("a", "*/10 * * * *", **LOCAL), job("b", "*/10 * * * *", overlap="allow"))
    nodes = [Local(world, Ticking.LOCAL) for _ in range(3)]
    for minute in ("00:00", "00:10", "00:20"):
        for node in nodes:
            await node.at(minute)
            node.steady = (world.now - instant("00:00")) * 1.0
        await world.tick()
    assert (await world.ran("a"), await world.ran("b")) == (["00:10", "00:20"],) * 2


@patiently
async def test_it_sleeps_until_the_next_slot_but_not_longer_than_a_poll() -> None:
    """The delay comes from the index."""
    world = await new_world()
    await world.define(job("a", HOURLY, **LOCAL))
    slow = Local(world, poll=10_000, rebuild=10_000)
    assert await slow.at("00:30") == 1_800
    assert await Local(world, poll=0.5).at("00:45") == 0.5


@patiently
async def test_one_offs_and_moved_slots_fire_too_and_paused_ones_do_not() -> None:
    """Whatever a person says is in the index after the news of it."""
    world = await new_world()
    await world.define(
        job("once", once("00:20"), **LOCAL), job("moved", HOURLY, **LOCAL), job("paused", HOURLY, **LOCAL)
    )
    local = Local(world)
    await local.at("00:00")
    await world.store.change("moved", Rescheduled(instant("00:40")))
    await world.store.change("paused", Paused())
    local.ticker.changed()
    for time in ("00:20", "00:40", "01:00"):
        await local.at(time)
    assert await world.ran("once") == ["00:20"]
    assert await world.ran("moved") == ["00:40", "01:00"]
    assert await world.ran("paused") == []


@patiently
async def test_the_index_is_built_anew_on_news_but_not_all_the_time() -> None:
    """News that come in quick succession are one; meanwhile it sleeps a moment only."""
    world = await new_world()
    local = Local(world, poll=100, rebuild=10_000)
    await local.at("00:00")
    await world.define(job("a", "* * * * *", **LOCAL))
    local.ticker.changed()
    assert await local.ticker.turn() == 0.2
    assert await world.insights.next_due() is None
    local.steady += 0.2
    assert await local.ticker.turn() == 60
    await local.at("00:01")
    assert await world.ran("a") == ["00:01"]


@patiently
async def test_the_index_is_built_anew_now_and_then() -> None:
    """A change whose news were lost is met after half a minute, and then judged as ever."""
    world = await new_world()
    local = Local(world)
    await local.at("00:00")
    await world.define(job("a", "15 * * * * *", **LOCAL))
    await local.at("00:00:29")
    assert await world.ran("a") == []
    await local.at("00:00:30")
    assert await world.ran("a") == ["00:00:15"]


@pytest.mark.parametrize(
    ("set_to", "ran", "told"),
    [
        ("05:30", ["01:00", "05:00 catchup"], ["coalesced 02:00 to 04:00 (3)"]),
        ("00:30", ["01:00"], []),
    ],
)
@patiently
async def test_the_index_is_built_anew_when_the_clock_was_set(
    set_to: str, ran: list[str], told: list[str]
) -> None:
    """A machine that slept goes through catch-up; one whose clock went back fires nothing again (S4)."""
    world = await new_world()
    await world.define(job("a", HOURLY, **LOCAL))
    local = Local(world, rebuild=100_000, lookahead=100_000)
    await local.at("00:00")
    await local.at("01:00")
    world.go(set_to)  # and the steady clock has not moved
    await local.ticker.turn()
    assert (await world.ran("a"), await world.decided("a")) == (ran, told)
    assert local.ticker.forecast
    assert local.ticker.forecast.until == world.now + 100_000


@patiently
async def test_a_short_lookahead_is_built_anew_in_time() -> None:
    """No slot waits for the half minute because the index ends before it."""
    world = await new_world()
    await world.define(job("a", "*/5 * * * * *", **LOCAL))
    local = Local(world, lookahead=3, rebuild=10_000, poll=100)
    assert await local.at("00:00") == 3
    assert await local.at("00:00:03") == 2
    await local.at("00:00:05")
    assert await world.ran("a") == ["00:00:05"]


@patiently
async def test_a_slot_that_waits_is_looked_at_again() -> None:
    """What is pending stands in every new index, so the end of the run before it lets it start (S15)."""
    world = await new_world()
    await world.define(job("a", HOURLY, ticking=Ticking.LOCAL, overlap="queue"))
    local = Local(world)
    await local.at("01:00")
    lease = await world.start()
    await local.at("02:00")
    assert await world.ran("a") == ["01:00"]
    await world.end(lease)
    local.ticker.changed()
    await local.at("02:00:01")
    assert await world.ran("a") == ["01:00", "02:00"]


@patiently
async def test_what_could_not_be_decided_is_tried_again() -> None:
    """A pass that lost a race, and one that failed, leave nothing behind."""
    world = await new_world()
    await world.define(job("a", HOURLY, **LOCAL))
    local = Local(world, poll=100, rebuild=10_000)
    await local.at("00:30")

    async def lost(*_: Any, **__: Any) -> TickResult:
        return TickResult(world.micro, more=True)

    tick = world.store.tick
    world.store.tick = lost  # type: ignore[method-assign]  # a race
    assert await local.at("01:00") == 0.2
    world.store.tick = tick  # type: ignore[method-assign]  # as it was
    local.store.fail("tick")
    local.steady += 0.2
    for _ in range(2):
        with pytest.raises(StoreUnavailableError):
            await local.ticker.turn()
    local.store.mend()
    await local.ticker.turn()
    assert await world.ran("a") == ["01:00"]


@patiently
async def test_an_index_that_could_not_be_built_is_still_to_be_built() -> None:
    """The news that asked for it are not forgotten."""
    world = await new_world()
    local = Local(world)
    await local.at("00:00")
    await world.define(job("a", HOURLY, **LOCAL))
    local.ticker.changed()
    local.steady += 1
    schedules = world.insights.schedules

    async def fails(*_: Any, **__: Any) -> None:
        raise StoreUnavailableError("the cable is out")

    world.store.insights.schedules = fails  # type: ignore[method-assign, assignment]  # a fault
    with pytest.raises(StoreUnavailableError):
        await local.ticker.turn()
    world.store.insights.schedules = schedules  # type: ignore[method-assign]  # as it was
    await local.at("01:00")
    assert len(await world.ran("a")) == 1


@patiently
async def test_a_schedule_changes_hands_in_mid_stream() -> None:
    """Adopted by the store and given back, with both at work all the time: each slot runs once (S1)."""
    world = await new_world()
    await world.define(job("a", HOURLY, **LOCAL))
    local = Local(world)
    await local.at("00:00")
    for hour, hands in ((1, Ticking.STORE), (2, Ticking.LOCAL), (3, None), (4, Ticking.STORE)):
        await world.store.change("a", Adopted(hands))
        local.ticker.changed()
        await local.at(f"0{hour}:00")
        await world.tick()
    assert [told.split()[0] for told in await world.ran("a")] == ["01:00", "02:00", "03:00", "04:00"]


@patiently
async def test_a_pause_of_everything_holds_it() -> None:
    """Nothing is decided meanwhile, and what fell into it is judged afterwards (S29)."""
    world = await new_world()
    await world.define(job("a", HOURLY, **LOCAL))
    local = Local(world)
    await local.at("00:30")
    await world.store.pause(Pause(0))
    await local.at("01:00")
    assert await world.ran("a") == []
    await world.store.pause(None)
    local.ticker.changed()
    await local.at("01:30")
    await local.at("02:00")
    assert (await world.ran("a"), await world.decided("a")) == (["02:00"], ["paused 01:00"])


@patiently
async def test_a_resumed_schedule_is_ticked_again() -> None:
    """The change is news."""
    world = await new_world()
    await world.define(job("a", HOURLY, **LOCAL))
    local = Local(world)
    await world.store.change("a", Paused())
    await local.at("00:30")
    await world.store.change("a", Resumed())
    local.ticker.changed()
    await local.at("01:00")
    assert len(await world.ran("a")) == 1


@patiently
async def test_the_store_decides_what_is_due_not_the_index() -> None:
    """A job that is looked at too early is decided as ever, that is: not yet."""
    world = await new_world()
    await world.define(job("a", HOURLY, **LOCAL))
    await world.store.tick(plan, "n1", jobs=["a"])
    assert await world.runs() == []
