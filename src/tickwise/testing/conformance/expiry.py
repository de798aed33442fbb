"""What vanished workers held, and what waited too long (S42-S44, S47)."""
# ruff: noqa: S101  (a suite of tests asserts)

from ...core.definition import RetryPolicy
from ...core.settle import Failed
from ...core.states import Event, RunState
from ...stores.records import Expired
from .stories import Stories
from .world import HOURLY, World, job


class ExpiryStories(Stories):
    async def test_a_lease_that_runs_out(self, world: World) -> None:
        """The run goes back to the queue, for another worker with another token; the old one is fenced (S42)."""
        await world.define(job("a"))
        await world.enqueue("a")
        (old,) = await world.lease(seconds=30)
        world.clock.advance(30)
        assert await world.store.expire() == Expired()
        world.clock.advance(0.001)
        assert await world.store.expire() == Expired(leases=1)
        run = await world.run(old.id)
        assert (run.state, run.losses, run.failures, run.lease_until) == (RunState.QUEUED, 1, 0, None)
        (attempt,) = await world.insights.attempts(old.id)
        assert (attempt.number, attempt.event, attempt.node) == (1, Event.LEASE_EXPIRED, "w1")
        (new,) = await world.lease(node="w2")
        assert (new.attempt, await world.is_fenced(old)) == (2, True)
        await world.end(new)

    async def test_the_third_loss_is_the_last(self, world: World) -> None:
        """Lost attempts do not use up retries; after three the run is lost, and says so (S44)."""
        await world.define(job("a", HOURLY, overlap="queue", retry=RetryPolicy(1, 1)))
        await world.pass_time("02:00")
        (run,) = await world.runs()
        for _ in range(3):
            await world.lease(seconds=30)
            world.clock.advance(31)
            assert (await world.store.expire()).leases == 1
        row = await world.run(run.id)
        assert (row.state, row.losses, row.failures, row.lane) == (RunState.LOST, 3, 0, None)
        assert [each.event for each in await world.insights.attempts(run.id)] == [Event.LEASE_EXPIRED] * 2
        await world.tick()
        assert await world.ran("a") == ["01:00", "02:00"]

    async def test_at_most_once_is_lost_at_once(self, world: World) -> None:
        """A started attempt is never repeated, a crash included, unless a person wants it to be (S41, S43)."""
        await world.define(job("a", at_most_once=True))
        run = await world.enqueue("a")
        await world.lease(seconds=30)
        world.clock.advance(31)
        await world.store.expire()
        assert ((await world.run(run)).state, await world.lease()) == (RunState.LOST, ())
        await world.store.retry(run)
        assert ((await world.run(run)).losses, (await world.start()).attempt) == (0, 2)
        assert [each.event for each in await world.insights.attempts(run)] == [Event.LOSS]

    async def test_a_run_that_waited_too_long(self, world: World) -> None:
        """It is not leased any more and ends as expired; its lane is free, and a slot is woken (S15, S47)."""
        await world.define(job("a", "*/10 * * * *", overlap="queue", expires=900))
        await world.pass_time("00:24:59")
        assert await world.store.expire() == Expired()
        world.go("00:25")
        assert (await world.lease(), await world.store.expire()) == ((), Expired(runs=1))
        (run,) = await world.runs()
        assert (run.state, run.finished_at, run.lane) == (RunState.EXPIRED, world.micro, None)
        assert (await world.store.expire(), await world.insights.next_due()) == (Expired(), world.now)
        await world.tick()
        assert await world.ran("a") == ["00:10", "00:20"]

    async def test_what_has_started_does_not_expire(self, world: World) -> None:
        """`expires` is about runs that were not started in that time, not about the wait for a retry (S47)."""
        await world.define(job("a", HOURLY, expires=600, retry=RetryPolicy(1, 3_600)))
        await world.pass_time("01:00")
        await world.work(Failed())
        world.go("02:30")
        assert await world.store.expire() == Expired()
        assert (await world.start()).attempt == 2
