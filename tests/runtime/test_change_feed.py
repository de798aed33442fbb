"""Following a store: everything that happens, and everything once."""

from typing import cast

import pytest

from tickwise.core.change import Paused
from tickwise.core.definition import RetryPolicy
from tickwise.core.settle import Failed
from tickwise.runtime import change_feed
from tickwise.runtime.change_feed import OVERLAP, ChangeFeed
from tickwise.stores.contract import Store, StoreUnavailableError
from tickwise.stores.insights_contract import Insights
from tickwise.stores.records import Changes
from tickwise.testing.conformance.world import HOURLY, World, job

from ..support.app import new_world, patiently


def states(changed: Changes) -> list[tuple[str, str]]:
    return [(run.id, str(run.state)) for run in changed.runs]


async def all_news(one: ChangeFeed) -> list[Changes]:
    found = [await one.poll()]
    while not one.caught_up:
        found.append(await one.poll())
    return found


@patiently
async def test_each_move_of_a_run_once() -> None:
    """A run is given when it is made, started and ended, also if the clock stands still, and never again."""
    world = await new_world()
    await world.define(job("a", retry=RetryPolicy(limit=1, interval=1)))
    follower = ChangeFeed(world.store, world.micro)
    run = await world.enqueue("a")
    assert states(await follower.poll()) == [(run, "queued")]
    lease = await world.start()
    assert states(await follower.poll()) == [(run, "running")]
    await world.end(lease, Failed())
    assert states(await follower.poll()) == [(run, "queued")], "for its second attempt"
    world.clock.advance(2)
    await world.work()
    assert states(await follower.poll()) == [(run, "succeeded")]
    world.clock.advance(2)
    assert await follower.poll() == Changes((), (), ())


@patiently
async def test_what_is_seen_late_is_given() -> None:
    """A move that bears an instant before the last look, because its commit took a while, is not lost."""
    world = await new_world()
    await world.define(job("a"))
    follower = ChangeFeed(world.store, world.micro)
    world.clock.advance(10)
    await follower.poll()
    world.clock.advance(-(OVERLAP // 1_000_000))
    late = await world.enqueue("a")
    world.clock.advance(OVERLAP // 1_000_000)
    assert states(await follower.poll()) == [(late, "queued")]


@patiently
async def test_a_clock_that_is_set_back() -> None:
    """What happens then is given, although it bears instants that lie before the last look (S4)."""
    world = await new_world()
    await world.define(job("a"))
    world.clock.advance(3_600)
    follower = ChangeFeed(world.store, world.micro)
    await follower.poll()
    world.clock.advance(-3_600)
    assert states(await follower.poll()) == []
    run = await world.enqueue("a")
    assert states(await follower.poll()) == [(run, "queued")]


@patiently
async def test_the_past_is_not_given() -> None:
    """It begins where it is told to."""
    world = await new_world()
    await world.define(job("a"))
    await world.enqueue("a")
    world.clock.advance(1)
    assert states(await ChangeFeed(world.store, world.micro).poll()) == []
    assert len(states(await ChangeFeed(world.store, 0).poll())) == 1


@patiently
async def test_a_record_is_given_as_it_grows() -> None:
    """A decision that the next slot extends is news again (S7)."""
    world = await new_world()
    await world.define(job("a", "*/10 * * * *"))
    follower = ChangeFeed(world.store, world.micro)
    grown = []
    for time in ("00:10", "00:20", "00:30", "00:31"):
        await world.pass_time(time)
        grown.append([row.count for row in (await follower.poll()).decisions])
    assert grown == [[], [1], [2], []]


@patiently
async def test_schedules_are_given_to_who_asks_for_them() -> None:
    """Defined, changed twice within a second, deleted: each once, and only with `schedules`."""
    world = await new_world()
    follower, other = ChangeFeed(world.store, world.micro, schedules=True), ChangeFeed(world.store, world.micro)
    told = []
    await world.define(job("a", HOURLY))
    told.append((await follower.poll()).schedules)
    world.clock.advance(1)
    await world.store.change("a", Paused())
    told.append((await follower.poll()).schedules)
    told.append((await follower.poll()).schedules)
    world.clock.advance(1)
    await world.store.remove("a", "app")
    told.append((await follower.poll()).schedules)
    world.clock.advance(1)
    told.append((await follower.poll()).schedules)
    assert told == [("a",), ("a",), (), ("a",), ()]
    assert (await other.poll()).schedules == ()


async def _many(world: World, number: int) -> list[str]:
    await world.define(job("a"))
    return [await world.enqueue("a") for _ in range(number)]


@pytest.mark.parametrize("at_one_instant", [True, False])
@patiently
async def test_more_than_an_answer_holds(at_one_instant: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    """What does not fit into one look comes with the next ones, also if all of it happened at once."""
    monkeypatch.setattr(change_feed, "_FIRST_LIMIT", 3)
    world = await new_world()
    follower = ChangeFeed(world.store, world.micro)
    await world.define(job("a"))
    made = []
    for _ in range(11):
        made.append(await world.enqueue("a"))
        world.clock.advance(0 if at_one_instant else 0.001)
    looks = await all_news(follower)
    assert [run for look in looks for run, _ in states(look)] == made
    assert len(looks) > 1


@patiently
async def test_an_instant_that_holds_more_than_can_be_asked_for(monkeypatch: pytest.MonkeyPatch) -> None:
    """It is stepped over, so that what comes after it is not lost with it."""
    monkeypatch.setattr(change_feed, "_FIRST_LIMIT", 2)
    monkeypatch.setattr(change_feed, "_MAX_LIMIT", 4)
    world = await new_world()
    follower = ChangeFeed(world.store, world.micro)
    made = await _many(world, 6)
    world.clock.advance(1)
    later = await world.enqueue("a")
    told = [run for look in await all_news(follower) for run, _ in states(look)]
    assert told == [*made[:4], later]


@patiently
async def test_memory_is_bounded() -> None:
    """Only what may come again is remembered."""
    world = await new_world()
    follower = ChangeFeed(world.store, world.micro)
    await _many(world, 100)
    await follower.poll()
    world.clock.advance(60)
    await follower.poll()
    await follower.poll()
    assert follower._returned == set()


class Unsteady:
    """A store that does not answer every second time."""

    def __init__(self, world: World) -> None:
        self._world, self._asked = world, 0
        self.now = world.store.now

    @property
    def insights(self) -> Insights:
        self._asked += 1
        if self._asked % 2:
            raise StoreUnavailableError("the cable is out")
        return self._world.insights


@patiently
async def test_a_look_that_failed_is_made_good() -> None:
    """However long the store was away, the next look gives what happened meanwhile."""
    world = await new_world()
    follower = ChangeFeed(cast(Store, Unsteady(world)), world.micro)
    made = await _many(world, 2)
    world.clock.advance(3_600)
    with pytest.raises(StoreUnavailableError):
        await follower.poll()
    assert [run for run, _ in states(await follower.poll())] == made
