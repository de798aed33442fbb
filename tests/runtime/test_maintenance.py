"""Clearing up after others: what vanished workers held, what waited too long, what is not kept."""

from dataclasses import replace
from math import inf
from typing import cast

from tickwise.core.blackout import Blackout, begun
from tickwise.core.codec import encode_blackouts
from tickwise.core.cron import parse
from tickwise.core.definition import Keep
from tickwise.core.model import Pause
from tickwise.core.states import Event, RunState
from tickwise.runtime.maintenance import Pruner, Reaper, upkeep
from tickwise.stores.contract import Store
from tickwise.stores.records import Expired
from tickwise.testing.conformance.world import HOURLY, job, worker_node

from ..support.app import new_world, patiently


@patiently
async def test_what_a_vanished_worker_held_is_queued_again_when_its_lease_is_over() -> None:
    """It looks every second; the loss is on the attempt, and uses up no try (E2, S42, S44)."""
    world = await new_world()
    await world.define(job("a"))
    run = await world.enqueue("a")
    await world.lease(seconds=30)
    reaper = Reaper(world.store, lease=30)
    assert await reaper.turn() == 1
    assert (await world.run(run)).state is RunState.RUNNING
    world.clock.advance(31)
    await reaper.turn()
    found = await world.run(run)
    assert (found.state, found.failures, found.losses) == (RunState.QUEUED, 0, 1)
    assert [attempt.event for attempt in await world.insights.attempts(run)] == [Event.LEASE_EXPIRED]


@patiently
async def test_living_workers_renew_first_after_an_outage() -> None:
    """Leases that ended while nobody could renew are left alone until beats are steady for a third of one (E6)."""
    world = await new_world()
    await world.define(job("a"))
    run = await world.enqueue("a")
    (lease,) = await world.lease(seconds=30)
    steady = 0.0
    reaper = Reaper(world.store, lease=30, steady_for=lambda: steady)
    world.clock.advance(31)
    assert await reaper.turn() == 10
    steady = 4.0
    assert await reaper.turn() == 6
    await world.store.beat(worker_node("w1"), {lease.id: lease.token})
    steady = 10.0
    assert await reaper.turn() == 1
    assert (await world.run(run)).state is RunState.RUNNING


@patiently
async def test_what_waited_too_long_expires() -> None:
    """A run that was queued but not started in its time has ended (S47)."""
    world = await new_world()
    await world.define(job("a", HOURLY, expires=60))
    await world.pass_time("01:00")
    world.clock.advance(61)
    await Reaper(world.store, lease=30).turn()
    assert [run.state for run in await world.runs()] == [RunState.EXPIRED]


@patiently
async def test_it_goes_on_until_nothing_is_left() -> None:
    """A store takes back so many at once; a crash of many workers is not made good drop by drop."""

    class Rows:
        left = [Expired(500), Expired(0, 3), Expired()]  # noqa: RUF012  (of one test)

        async def expire(self) -> Expired:
            return self.left.pop(0)

        async def end_pause(self) -> bool:
            return False

    reaper = Reaper(cast(Store, Rows()), lease=30)
    assert [await reaper.turn() for _ in range(3)] == [0.0, 0.0, 1.0]


@patiently
async def test_a_pause_of_everything_ends_by_itself() -> None:
    """S66: the reaper of any node ends it, as of its time."""
    world = await new_world()
    await world.store.pause(Pause(0, "ann", "", world.now + 600))
    reaper = Reaper(world.store, lease=30)
    await reaper.turn()
    assert [one.until for one in await world.insights.pauses()] == [None]
    end = world.now + 600
    world.go("00:10:30")
    await reaper.turn()
    assert [one.until for one in await world.insights.pauses()] == [end]


@patiently
async def test_runs_that_are_not_kept_any_longer_go() -> None:
    """Never what is unfinished, younger than a day, or a schedule's newest (S51)."""
    world = await new_world()
    await world.define(replace(job("a", HOURLY), keep=Keep(runs=1)))
    for hour in ("01:00", "02:00", "03:00"):
        await world.pass_time(hour)
        await world.work()
    pruner = Pruner(world.store, keep=Keep(), every=60)
    assert await pruner.turn() == 60
    assert len(await world.runs()) == 3, "they are younger than a day"
    await world.pass_time("3T00:00")
    await pruner.turn()
    assert await world.ran("a") == ["03:00", "04:00"], "the newest success, and what has not ended"


@patiently
async def test_retention_goes_in_small_moves() -> None:
    """As long as a move removes as much as it may, the next follows at once."""

    class Rows:
        left = [1_000, 1_000, 5]  # noqa: RUF012  (of one test)

        async def prune(self, most: int, keep: Keep) -> int:
            assert (most, keep) == (1_000, Keep(days=90))
            return self.left.pop(0)

    pruner = Pruner(cast(Store, Rows()), keep=Keep(days=90), every=60)
    assert [await pruner.turn() for _ in range(3)] == [0.0, 0.0, 60.0]


@patiently
async def test_a_node_brings_blackouts_into_force_whose_writer_vanished() -> None:
    """S62: the list was written, and no schedule had it yet."""
    world = await new_world()
    await world.define(job("a", HOURLY))
    nights = begun(Blackout("nights", parse("0 2 * * *"), 3_600, ("*",)), world.now)
    assert await world.store.access.replace_text("blackouts", encode_blackouts((nights,)), 0)
    turns = upkeep(world.store, lease=30, keep=Keep(), steady_for=lambda: inf)
    assert await turns["blackouts"]() > 0
    assert (await world.schedule("a")).blackouts == (nights,)
    assert await turns["blackouts"]() > 0
