"""The ticker: what is due is decided at once, and it knows how long it may sleep."""

import asyncio
from typing import Any, cast

import pytest

from tickwise.core.model import Pause
from tickwise.core.requirements import Offers
from tickwise.runtime.ticker import Ticker
from tickwise.stores.contract import Store, StoreUnavailableError
from tickwise.stores.records import Lease, LeaseRequest, TickResult
from tickwise.testing.conformance.world import HOURLY, World, job

from ..support.app import Shaky, new_world, patiently


class RoomyWorker:
    """A worker with so much room; keeps what it is handed."""

    def __init__(self, room: int, **knows: Any) -> None:
        self.concurrency = room
        self._wanted = LeaseRequest("w1", room, **knows) if room else None
        self.calls: list[str] = []
        self.leases: list[Lease] = []
        self.has_patience = True

    def wake(self) -> None:
        self.calls.append("wake")

    def reserve(self, limit: int) -> LeaseRequest | None:
        assert limit >= 1
        self.calls.append("reserve")
        return self._wanted

    def take(self, reserved: LeaseRequest | None, leases: tuple[Lease, ...]) -> None:
        assert reserved is self._wanted
        self.calls.append("take")
        self.leases += leases

    async def wait_for_room(self, least: int, seconds: float) -> bool:
        assert min(least, seconds) > 0
        self.calls.append("wait")
        return self.has_patience


class Answers:
    """A store whose passes end as the test says."""

    def __init__(self, *answers: TickResult) -> None:
        self._answers = list(answers)

    async def tick(self, *_: Any, **__: Any) -> TickResult:
        return self._answers.pop(0)


def ticker(*answers: TickResult, poll: float = 1.0) -> Ticker:
    return Ticker(cast(Store, Answers(*answers)), "t1", poll=poll)


async def due_at(world: World, time: str) -> None:
    world.go(time)
    await Ticker(world.store, "t1").turn()


@patiently
async def test_a_turn_decides_all_that_is_due() -> None:
    """However many jobs are due, one turn is enough; after its first pass it takes larger ones. All are told."""
    world = await new_world()
    await world.define(*(job(f"j{n}", HOURLY) for n in range(13)))
    passes: list[TickResult] = []
    ticker = Ticker(world.store, "t1", batch=3, on_pass=passes.append)
    await ticker.turn()
    passes.clear()
    world.go("01:00")
    await ticker.turn()
    assert len(await world.runs()) == 13
    assert [one.jobs for one in passes if one.jobs] == [3, 9, 1]


@patiently
async def test_a_burst_has_two_passes_under_way() -> None:
    """While the store works on some, another is planned; one that fails waits for the others to end."""
    all_, asked, ended = asyncio.Event(), 0, 0

    class Busy:
        async def tick(self, *_: Any, **__: Any) -> TickResult:
            nonlocal asked, ended
            asked += 1
            if asked == 3:
                all_.set()
            if asked > 1:
                await all_.wait()
            ended += 1
            if ended == 2:
                raise StoreUnavailableError("gone")
            return TickResult(10_000_000, jobs=3, more=ended == 1)

    with pytest.raises(StoreUnavailableError):
        await Ticker(cast(Store, Busy()), "t1").turn()
    assert (asked, ended) == (3, 3)


@patiently
async def test_it_sleeps_until_the_next_slot_but_not_longer_than_a_poll() -> None:
    """The delay is the time to the next due job, by the store's clock."""
    world = await new_world()
    await world.define(job("a", "*/30 * * * * *"))
    slow = Ticker(world.store, "t1", poll=3_600)
    assert await slow.turn() == 30
    world.clock.advance(29.75)
    assert await slow.turn() == 0.25
    assert await Ticker(world.store, "t1", poll=0.125).turn() == 0.125


@patiently
async def test_with_nothing_to_come_it_polls() -> None:
    """No schedule, or a pause of everything: there is nothing to wait for but news."""
    world = await new_world()
    ticker = Ticker(world.store, "t1", poll=7)
    assert await ticker.turn() == 7
    await world.define(job("a", "* * * * * *"))
    await world.store.pause(Pause(0))
    world.go("01:00")
    assert await ticker.turn() == 7
    assert await world.runs() == []


@pytest.mark.parametrize(
    ("ticked", "delay"),
    [
        (TickResult(10_000_000, jobs=1, next_due=9), 0.0),  # it became due meanwhile
        (TickResult(10_000_000, jobs=0, next_due=9), 0.05),  # another node has it in hand
        (TickResult(10_000_000, jobs=0, more=True), 0.05),  # its runs are just ending
        (TickResult(10_000_000, jobs=0, next_due=11), 1.0),
        (TickResult(10_990_000, jobs=0, next_due=11), 0.01),
    ],
)
@patiently
async def test_what_cannot_be_decided_now_is_not_asked_for_all_the_time(ticked: TickResult, delay: float) -> None:
    """A due job that nobody else lets go of does not keep the processor busy."""
    assert await ticker(ticked).turn() == pytest.approx(delay)


@patiently
async def test_a_machine_that_slept_goes_through_catch_up() -> None:
    """Three missed hours give one run, for the newest; nothing fires in a burst (S4, S10)."""
    world = await new_world()
    await world.define(job("a", HOURLY), job("b", HOURLY, catchup="skip"))
    await due_at(world, "00:30")
    await due_at(world, "03:30")
    assert await world.ran("a") == ["03:00 catchup"]
    assert await world.decided("a") == ["coalesced 01:00 to 02:00 (2)"]
    assert await world.ran("b") == []
    assert await world.decided("b") == ["missed 01:00 to 03:00 (3)"]


@patiently
async def test_a_clock_that_goes_back_fires_nothing_again() -> None:
    """The cursor never moves back (S4)."""
    world = await new_world()
    await world.define(job("a", HOURLY, overlap="allow"))
    await due_at(world, "01:00")
    await due_at(world, "00:10")
    await due_at(world, "01:00")
    assert await world.ran("a") == ["01:00"]


@patiently
async def test_runs_that_fit_go_straight_to_the_worker() -> None:
    """Room is reserved before the claim, no more is claimed than fits, and each pass waits for room a moment."""
    world, worker = await _three_due_jobs(room=1)
    worker.has_patience = True
    await Ticker(world.store, "t1", batch=2, worker=worker).turn()
    assert [lease.job.name for lease in worker.leases] == ["j0", "j1", "j2"]
    assert worker.calls == ["reserve", "take", *["wait", "reserve", "take"] * 4]


@patiently
async def test_a_little_room_is_not_worth_a_pass() -> None:
    """A whole batch is claimed; what came beyond the room is rung for, and nobody waits for more."""
    world, worker = await _three_due_jobs(room=1)
    await Ticker(world.store, "t1", batch=16, worker=worker).turn()
    assert [lease.job.name for lease in worker.leases] == ["j0"]
    assert worker.calls == ["reserve", "take", "wake"]


@patiently
async def test_hands_that_kept_a_pass_waiting_is_not_waited_for_again() -> None:
    """Slow runs delay the decisions about others once in a turn, not in each pass; two wait at the same time."""
    world, worker = await _three_due_jobs(room=0)
    worker.concurrency, worker.has_patience = 10, False
    await Ticker(world.store, "t1", batch=1, worker=worker).turn()
    assert (worker.calls.count("wait"), worker.calls.count("reserve")) == (2, 3)
    assert [await world.ran(f"j{n}") for n in range(3)] == [["01:00"]] * 3


@pytest.mark.parametrize(("most", "limits", "at_once"), [(1, {2}, 1), (2, {8, 24}, 2)])
@patiently
async def test_a_small_worker_is_left_some_of_the_database(most: int, limits: set[int], at_once: int) -> None:
    """Who can take only a few has others execute the rest: passes are a quarter as large, one after the other.

    All others have a first pass of a batch, and then larger ones.
    """
    worker, store = RoomyWorker(0), BusyStore()
    worker.concurrency, worker.has_patience = most, True
    await Ticker(cast(Store, store), "t1", batch=8, worker=worker).turn()
    assert (set(store.limits), store.most_at_once) == (limits, at_once)


class BusyStore:
    """A store with ten passes' worth of due jobs, that notes how many are under way."""

    def __init__(self) -> None:
        self.limits: list[int] = []
        self.under_way = self.most_at_once = 0

    async def tick(self, *_: Any, limit: int, **__: Any) -> TickResult:
        self.limits.append(limit)
        self.under_way += 1
        self.most_at_once = max(self.most_at_once, self.under_way)
        await asyncio.sleep(0)
        self.under_way -= 1
        return TickResult(0, limit, limit, more=len(self.limits) < 10)


async def _three_due_jobs(room: int) -> tuple[World, RoomyWorker]:
    world = await new_world()
    await world.define(*(job(f"j{n}", HOURLY) for n in range(3)))
    await world.tick()
    world.go("01:00")
    return world, RoomyWorker(room, offers=Offers.of(world.jobs))


@patiently
async def test_a_worker_without_room_is_handed_nothing() -> None:
    """All runs are queued, and the worker is rung."""
    world = await new_world()
    await world.define(job("a", HOURLY))
    await world.tick()
    world.go("01:00")
    worker = RoomyWorker(0)
    await Ticker(world.store, "t1", worker=worker).turn()
    assert (worker.leases, worker.calls) == ([], ["reserve", "take", "wake"])


@patiently
async def test_a_pass_that_fails_gives_the_room_back_and_decides_nothing() -> None:
    """The next pass finds everything as it was."""
    world = await new_world()
    await world.define(job("a", HOURLY))
    await world.tick()
    world.go("01:00")
    shaky, worker = Shaky(world.store), RoomyWorker(1, offers=Offers.of("a"))
    shaky.fail("tick")
    ticker = Ticker(cast(Store, shaky), "t1", worker=worker)
    with pytest.raises(StoreUnavailableError):
        await ticker.turn()
    assert worker.calls == ["reserve", "take"]
    shaky.mend()
    await ticker.turn()
    assert await world.ran("a") == ["01:00"]


@patiently
async def test_a_finished_run_lets_a_waiting_slot_start_at_once() -> None:
    """A store tells of it as news, so the ticker need not wait for its poll (S15)."""
    world = await new_world()
    await world.define(job("a", HOURLY, overlap="queue"))
    await due_at(world, "01:00")
    lease = await world.start()
    await due_at(world, "02:00")
    waiting = asyncio.create_task(world.store.wait(60))
    await asyncio.sleep(0)
    await world.end(lease)
    assert await waiting
    await Ticker(world.store, "t1").turn()
    assert await world.ran("a") == ["01:00", "02:00"]
