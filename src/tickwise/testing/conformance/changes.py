"""What is new since an instant: the change feed."""
# ruff: noqa: S101  (a suite of tests asserts)

from ...core.change import Paused
from ...core.definition import RetryPolicy
from ...core.reasons import Reason
from ...core.requirements import Offers
from ...core.settle import Failed
from .stories import Stories
from .world import HOURLY, World, instant, job, schedule


class ChangesSinceStories(Stories):
    async def test_runs_that_moved(self, world: World) -> None:
        """A run is reported when it is created, starts and ends, and not at other times; the latest last."""
        await world.define(job("a"), job("b"))
        moves = []
        for minute in (1, 2, 3):
            world.go(f"00:0{minute}")
            moves.append(world.micro)
            if minute == 1:
                first, second = await world.enqueue("a"), await world.enqueue("b")
            elif minute == 2:
                (lease,) = await world.lease(offers=Offers.of({"b"}))
            else:
                await world.end(lease)
                third = await world.enqueue("a")
        recorded = [
            [run.id for run in (await world.insights.changes_since(at)).runs] for at in (*moves, world.micro + 1)
        ]
        assert recorded == [[first, second, third], [second, third], [second, third], []]
        runs = (await world.insights.changes_since(0)).runs
        assert runs == tuple([await world.run(run) for run in (first, second, third)])

    async def test_runs_under_way_and_put_off(self, world: World) -> None:
        """A running one is reported by its start, also after it has gone back to the queue for another attempt."""
        await world.define(job("a", retry=RetryPolicy(limit=1, interval=60)), job("b"))
        run = await world.enqueue("a")
        await world.enqueue("b")
        world.go("00:10")
        began = world.micro
        (lease,) = await world.lease(offers=Offers.of({"a"}))
        assert [one.id for one in (await world.insights.changes_since(began)).runs] == [run]
        world.go("00:20")
        await world.end(lease, Failed())
        assert [one.id for one in (await world.insights.changes_since(began)).runs] == [run]
        assert (await world.insights.changes_since(began + 1)).runs == ()

    async def test_runs_that_never_ran(self, world: World) -> None:
        """A queued run that is cancelled has ended, too."""
        await world.define(job("a"))
        run, _ = await world.enqueue("a"), await world.enqueue("a")
        world.go("00:10")
        await world.store.cancel(run)
        assert [one.id for one in (await world.insights.changes_since(world.micro)).runs] == [run]

    async def test_decisions_that_grew(self, world: World) -> None:
        """A record is reported when it is made and whenever it is extended."""
        await world.define(job("a", "*/10 * * * *"), job("b", "5-59/10 * * * *"))
        await world.pass_time("00:30")
        at = world.micro
        await world.pass_time("00:35")
        recorded = (await world.insights.changes_since(at)).decisions
        assert [(row.schedule, row.reason, row.first) for row in recorded] == [
            ("a", Reason.OVERLAP, instant("00:20")), ("b", Reason.OVERLAP, instant("00:15")),
        ]  # fmt: skip
        assert [row.schedule for row in (await world.insights.changes_since(world.micro)).decisions] == ["b"]

    async def test_schedules_that_were_changed(self, world: World) -> None:
        """Defined, paused or deleted; a pass that finds nothing new in one changes nothing in it."""
        c = job("c", HOURLY)
        await world.define(job("a", HOURLY, also=[schedule("a2", HOURLY)]), job("b", HOURLY), c)
        assert (await world.insights.changes_since(world.micro)).schedules == ("a", "a2", "b", "c")
        world.go("00:10")
        since = world.micro
        await world.tick()
        await world.store.change("b", Paused())
        world.go("00:20")
        await world.define(job("a", HOURLY), c)
        world.go("00:30")
        await world.store.remove("a", "app")
        assert (await world.insights.changes_since(since)).schedules == ("b", "a2", "a")
        assert (await world.insights.changes_since(world.micro + 1)).schedules == ()

    async def test_so_much_and_no_more(self, world: World) -> None:
        """Of each kind the oldest are reported, so that the next poll from there misses none."""
        await world.define(*(job(f"j{n}", "*/10 * * * *") for n in range(4)))
        await world.pass_time("00:30")
        everything, some = await world.insights.changes_since(0), await world.insights.changes_since(0, limit=3)
        assert [len(kind) for kind in everything] == [4, 4, 4]
        assert [kind[:3] for kind in everything] == list(some)
        times = [run.created_at for run in everything.runs]
        assert times == sorted(times)

    async def test_instants_that_cannot_be(self, world: World) -> None:
        """Times that no calendar has, and pages of nothing, are refused."""
        assert await world.not_refused(world.insights.changes_since, (10**30, -(10**30))) == []
        assert await world.not_refused(lambda bad: world.insights.changes_since(0, bad), (0, -1, 10**9)) == []
