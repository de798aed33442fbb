"""Which finished runs are removed, and what is still known of them (S51)."""
# ruff: noqa: S101  (a suite of tests asserts)

from ...core.backfill import BackfillAsked
from ...core.change import Paused, Reset
from ...core.definition import Keep, RetryPolicy
from ...core.errors import InputError
from ...core.settle import Failed
from ...core.states import RunState
from ...stores.records import LogPart, StepReport
from .stories import Stories
from .world import World, instant, job, short_time

DAILY = "0 6 * * *"


async def days(world: World, first: int, last: int) -> None:
    """What is due runs at once and succeeds, day by day."""
    for day in range(first, last + 1):
        await world.pass_time(f"{day}T06:00")
        await world.work()


async def kept(world: World, name: str = "a") -> list[str]:
    return [short_time(run.slot) for run in await world.runs(job=name)]


class RetentionStories(Stories):
    async def test_by_age(self, world: World) -> None:
        """Runs that ended longer ago than the given days go, the others stay."""
        await world.define(job("a", DAILY, keep=Keep(days=2)), job("b", DAILY))
        await days(world, 1, 5)
        world.go("5T12:00")
        assert await world.store.prune() == 3
        assert await kept(world) == ["4T06:00", "5T06:00"]
        assert len(await kept(world, "b")) == 5

    async def test_by_number(self, world: World) -> None:
        """The newest finished runs are kept, but none goes before it is a day old."""
        await world.define(job("a", DAILY, keep=Keep(runs=2)))
        await days(world, 1, 4)
        for _ in range(3):
            await world.enqueue("a")
        await world.work()
        world.go("4T07:00")
        assert await world.store.prune() == 3
        assert await kept(world) == ["4T06:00", "never", "never", "never"]

    async def test_by_default(self, world: World) -> None:
        """Jobs that do not say keep what the settings do: whichever of age and number keeps more (A31, S51)."""
        await world.define(job("a", DAILY), job("b", DAILY, keep=Keep(days=30)))
        await days(world, 1, 5)
        world.go("5T12:00")
        assert await world.store.prune(keep=Keep(days=2, runs=4)) == 1
        assert await kept(world) == ["2T06:00", "3T06:00", "4T06:00", "5T06:00"]
        world.go("7T12:00")
        assert await world.store.prune(keep=Keep(days=4, runs=1)) == 2
        assert await kept(world) == ["4T06:00", "5T06:00"]
        world.go("20T12:00")
        assert (await world.store.prune(), len(await kept(world, "b"))) == (0, 5)

    async def test_a_job_is_looked_at_when_a_run_can_go(self, world: World) -> None:
        """A young job is not looked at again before its oldest run can be removed; then it is (A31, S51)."""
        keep = Keep(days=90)
        await world.define(job("a", DAILY))
        assert await world.store.prune(keep=keep) == 0
        await days(world, 1, 3)
        world.clock.advance(86_400 * 80)
        assert await world.store.prune(keep=keep) == 0
        world.clock.advance(86_400 * 7)
        assert await world.store.prune(keep=keep) == 0
        world.clock.advance(86_400 * 2)
        assert await world.store.prune(keep=keep) == 1

    async def test_a_few_at_a_time(self, world: World) -> None:
        """No more than asked for are removed in one move, the oldest first."""
        await world.define(job("a", DAILY, keep=Keep(days=1)))
        await days(world, 1, 6)
        world.go("9T12:00")
        assert [await world.store.prune(most) for most in (2, 2, 100)] == [2, 2, 1]
        assert await kept(world) == ["6T06:00"]

    async def test_what_has_not_ended_stays(self, world: World) -> None:
        """Queued and running runs are never removed, however old."""
        await world.define(job("a", keep=Keep(runs=0)))
        await world.enqueue("a")
        await world.lease(seconds=10**7)
        await world.enqueue("a", at=instant("30T00:00"))
        world.go("20T00:00")
        assert (await world.store.prune(), len(await world.runs())) == (0, 2)

    async def test_the_newest_run_and_success_stay(self, world: World) -> None:
        """What guards ask for is not removed."""
        await world.define(job("a", DAILY, keep=Keep(days=1)))
        await days(world, 1, 2)
        for day in (3, 4):
            await world.pass_time(f"{day}T06:00")
            await world.work(Failed())
        await world.store.change("a", Paused())
        world.go("20T00:00")
        await world.store.prune()
        assert await kept(world) == ["2T06:00", "4T06:00"]

    async def test_what_the_cursor_has_not_passed_stays(self, world: World) -> None:
        """A slot that will be pending again is decided by its run, so the run must be there (S1)."""
        await world.define(job("a", DAILY, keep=Keep(days=1)))
        world.go("4T00:00")
        await world.tick()
        await world.work()
        await days(world, 4, 6)
        world.go("2T00:00")
        await world.store.change("a", Reset())
        await world.store.change("a", Paused())
        world.go("20T00:00")
        await world.store.prune()
        assert await kept(world) == ["3T06:00", "4T06:00", "5T06:00", "6T06:00"]

    async def test_a_backfill_knows_where_history_begins(self, world: World) -> None:
        """Below it slots may have lost their runs: to run them again must be asked for."""
        await world.define(job("a", DAILY, keep=Keep(days=1)))
        await days(world, 1, 4)
        world.go("4T12:00")
        assert await world.store.prune() == 3
        assert (await world.job("a")).history_from == instant("3T06:00") + 1
        async with world.refuses(InputError, "2026-01-03"):
            await world.store.change("a", BackfillAsked(instant("2T00:00"), instant("4T12:00")))
        await world.store.change("a", BackfillAsked(instant("2T00:00"), instant("4T12:00"), again=True))
        await world.tick()
        assert await kept(world) == ["4T06:00", "2T06:00"]

    async def test_all_of_a_run_goes(self, world: World) -> None:
        """Its attempts, steps and log go with it, and its key is free."""
        await world.define(job("a", keep=Keep(days=1), retry=RetryPolicy(1, 0)))
        run = await world.enqueue("a", key="k")
        await world.work(Failed())
        lease = await world.start()
        await world.store.report(run, lease.token, [StepReport("s", "done")], [LogPart("s", "out", "text", 0)])
        await world.end(lease)
        world.go("3T00:00")
        assert await world.store.prune() == 1
        seen = world.insights
        assert (await seen.run(run), await seen.attempts(run), await seen.steps(run)) == (None, (), ())
        assert (await seen.log(run)).items == ()
        assert await world.enqueue("a", key="k") != run
        assert (await seen.counts()).runs == {RunState.QUEUED: 1}
