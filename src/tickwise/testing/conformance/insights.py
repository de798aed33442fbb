"""Reads for people: stable pages, filters and statistics."""
# ruff: noqa: S101  (a suite of tests asserts)

from ...core.change import Paused, Resumed
from ...core.model import Trigger
from ...core.reasons import Reason
from ...core.settle import Failed
from ...core.states import RunState
from ...core.time_limit import Deadline, TimeLimit
from ...stores.pages import all_pages
from ...stores.records import MICRO, DecisionFilter, Lease, Node, Role, RunFilter, ScheduleFilter
from ...stores.statistics import HourlyStats, MinuteStats
from .stories import Stories
from .world import HOURLY, World, instant, job, schedule

S = RunState
ENDING, BY_HAND = frozenset({S.RUNNING, S.CANCELLED}), frozenset({Trigger.MANUAL})
RUNS_BY = {
    RunFilter(): "abcd", RunFilter(job="one"): "abc", RunFilter(schedule="one"): "a", RunFilter(key="k"): "b",
    RunFilter(states=ENDING): "ac", RunFilter(triggers=BY_HAND): "c", RunFilter(queue="other"): "d",
    RunFilter(slot=instant("01:00")): "a", RunFilter(since=instant("01:00") * MICRO + 1): "bcd",
    RunFilter(until=instant("01:10") * MICRO): "a", RunFilter(job="one", states=frozenset({S.QUEUED})): "b",
    RunFilter(job="none"): "", RunFilter(key="none"): "", RunFilter(text="On"): "abc", RunFilter(text="w"): "d",
    RunFilter(text="%"): "", RunFilter(text="_"): "", RunFilter(text="$job"): "", RunFilter(text=""): "abcd",
    RunFilter(text="O", queue="other"): "d", RunFilter(jobs=frozenset({"two", "none"})): "d",
    RunFilter(jobs=frozenset()): "", RunFilter(schedules=frozenset({"one"})): "a",
    RunFilter(words=("ON*e",)): "abc",
    RunFilter(words=("one", "two")): "", RunFilter(words=("%",)): "", RunFilter(error="no"): "",
    RunFilter(words=("o",), jobs=frozenset({"one"}), triggers=BY_HAND): "c",
}  # fmt: skip
SCHEDULES_BY = {
    ScheduleFilter(): "etl-a etl-a.2 etl_b Report",
    ScheduleFilter(job="etl-a"): "etl-a etl-a.2", ScheduleFilter(job="etl-a.2"): "",
    ScheduleFilter(text="ETL-"): "etl-a etl-a.2", ScheduleFilter(text="a.2"): "etl-a.2",
    ScheduleFilter(text="_"): "etl_b", ScheduleFilter(text="%"): "", ScheduleFilter(text="t%l"): "",
    ScheduleFilter(text="$_id"): "", ScheduleFilter(text="!"): "", ScheduleFilter(text="REPORT"): "Report",
    ScheduleFilter(text="etl\0"): "", ScheduleFilter(text="x" * 1_000): "",
    ScheduleFilter(paused=True): "etl-a.2", ScheduleFilter(paused=False): "etl-a etl_b Report",
    ScheduleFilter(due_before=instant("01:00")): "", ScheduleFilter(due_before=instant("01:01")): "etl-a Report",
    ScheduleFilter(due_before=instant("03:01")): "etl-a etl_b Report",
    ScheduleFilter(label="team"): "etl-a etl-a.2 etl_b", ScheduleFilter(label="team=data"): "etl-a etl-a.2",
    ScheduleFilter(label="team="): "", ScheduleFilter(label="data"): "", ScheduleFilter(label="is"): "etl_b",
    ScheduleFilter(label="is=x=y"): "etl_b", ScheduleFilter(label="\0"): "",
    ScheduleFilter(source="other"): "Report", ScheduleFilter(source="x" * 5_000): "",
    ScheduleFilter(local=True): "", ScheduleFilter(names=frozenset()): "",
    ScheduleFilter(names=frozenset({"etl_b", "Report", "none", "\0"})): "etl_b Report",
    ScheduleFilter(names=frozenset({"etl-a", "etl_b"}), job="etl-a"): "etl-a",
    ScheduleFilter(label="team", paused=False, due_before=instant("02:00")): "etl-a",
    ScheduleFilter(text="etl", source="other"): "",
}  # fmt: skip
DECISIONS_BY = {
    DecisionFilter(): 3, DecisionFilter("a"): 2, DecisionFilter(reasons=frozenset({Reason.PAUSED})): 1,
    DecisionFilter(slot=instant("02:00")): 2, DecisionFilter(slot=instant("03:30")): 1,
    DecisionFilter(since=instant("03:10")): 2, DecisionFilter(until=instant("01:00")): 1,
    DecisionFilter("b", slot=instant("05:00")): 0, DecisionFilter("none"): 0,
}  # fmt: skip


class PageStories(Stories):
    async def test_jobs_and_schedules_by_name(self, world: World) -> None:
        """Pages go on after the last name, whatever was added or removed before it meanwhile."""
        await world.define(*(job(name, HOURLY) for name in ("Zoe", "a-1", "a.2", "a_3", "b")))
        in_order = ["Zoe", "a-1", "a.2", "a_3", "b"]
        first = await world.insights.jobs(limit=2)
        assert [row.definition.name for row in first.items] == in_order[:2]
        page = await world.insights.schedules(limit=2)
        await world.store.remove("a-1", "app")
        await world.define(job("A", HOURLY))
        rest = await all_pages(lambda after: world.insights.jobs(after or first.after, limit=2))
        assert [row.definition.name for row in rest] == in_order[2:]
        others = await all_pages(lambda after: world.insights.schedules(after=after or page.after, limit=2))
        assert [row.schedule.name for row in others] == in_order[2:]

    async def test_jobs_by_some_names(self, world: World) -> None:
        """Those that there are, each once; one that was removed is none."""
        await world.define(job("a", HOURLY, labels={"team": "data"}), job("b"), job("c"), job("gone"))
        await world.store.remove("gone", "app")
        found = await world.insights.jobs_named(["c", "a", "none", "a", "gone", ""])
        assert sorted(found) == ["a", "c"]
        assert (found["a"].definition.labels, found["a"].schedules) == ({"team": "data"}, ("a",))
        assert await world.insights.jobs_named([]) == {}

    async def test_a_full_last_page_is_the_last(self, world: World) -> None:
        """A page says that more follows only if it does."""
        await world.define(job("a", HOURLY), job("b", HOURLY, also=[schedule("b2", HOURLY)]))
        jobs, schedules = await world.insights.jobs(limit=2), await world.insights.schedules(limit=3)
        assert (len(jobs.items), jobs.after, len(schedules.items), schedules.after) == (2, None, 3, None)
        assert [row.schedule.name for row in (await world.insights.schedules(ScheduleFilter("b"))).items] == [
            "b",
            "b2",
        ]

    async def test_runs_newest_first(self, world: World) -> None:
        """Pages do not shift while new runs come in."""
        await world.define(job("a"))
        runs = [await world.enqueue("a") for _ in range(5)]
        page = await world.insights.runs(limit=2)
        await world.enqueue("a")
        rest = await all_pages(lambda after: world.insights.runs(after=after or page.after, limit=2))
        assert [row.id for row in (*page.items, *rest)] == runs[::-1]

    async def test_decisions_hold_still_while_they_grow(self, world: World) -> None:
        """Newest slots first; a record that is extended between two pages is neither lost nor shown twice."""
        await world.define(*(job(f"j{n}", f"{n}-59/10 * * * *") for n in range(3)))
        await world.pass_time("00:35")
        page = await world.insights.decisions(limit=1)
        await world.pass_time("00:55")
        rest = await all_pages(lambda after: world.insights.decisions(after=after or page.after, limit=1))
        rows = [*page.items, *rest]
        assert sorted(row.schedule for row in rows) == ["j0", "j1", "j2"]
        assert [row.first for row in rows] == sorted((row.first for row in rows), reverse=True)


class FilterStories(Stories):
    async def test_runs(self, world: World) -> None:
        """Each field narrows what is shown; what is not given does not matter."""
        await world.define(job("one", "0 1 * * *", overlap="allow"), job("two", queue="other"))
        await world.pass_time("01:00")
        await world.lease()
        world.go("01:10")
        await world.enqueue("one", key="k")
        await world.store.cancel(await world.trigger("one", allow_overlap=True))
        await world.enqueue("two")
        names = dict(zip((run.id for run in await world.runs()), "abcd", strict=True))
        for wanted, found in RUNS_BY.items():
            rows = (await world.insights.runs(wanted)).items
            assert (wanted, "".join(names[row.id] for row in reversed(rows))) == (wanted, found)

    async def test_a_run_by_its_id(self, world: World) -> None:
        """The text of a filter may be the id of a run, but never a part of it."""
        await world.define(job("a"))
        ids = [await world.enqueue("a") for _ in range(12)]
        assert [run.id for run in await world.runs(text=ids[4])] == [ids[4]]
        assert await world.runs(text="12345678") == []

    async def test_schedules(self, world: World) -> None:
        """Each field narrows what is shown; in a text every character stands for itself, in any case."""
        await world.define(
            job("etl-a", HOURLY, labels={"team": "data"}, also=[schedule("etl-a.2", HOURLY)]),
            job("etl_b", "0 3 * * *", labels={"team": "ops", "is": "x=y"}),
        )
        await world.define(job("Report", HOURLY), source="other")
        await world.store.change("etl-a.2", Paused())
        await world.tick()
        for wanted, found in SCHEDULES_BY.items():
            rows = (await world.insights.schedules(wanted)).items
            assert (wanted, sorted(row.schedule.name for row in rows)) == (wanted, sorted(found.split()))

    async def test_schedules_with_deadlines(self, world: World) -> None:
        """Those that watch deadlines since a pass has looked at them, and no others."""
        limit = Deadline(finish=TimeLimit(600))
        await world.define(job("a", HOURLY), job("b", HOURLY, deadline=limit), job("c", HOURLY, deadline=limit))
        await world.define(job("a", "30 * * * *"))
        await world.store.change("a", Paused("ann", 'no "deadlines": today'))
        await world.pass_time("01:00")
        wanted = ScheduleFilter(deadline=True)
        page = await world.insights.schedules(wanted, limit=1)
        rest = await world.insights.schedules(wanted, page.after, limit=1)
        assert [row.schedule.name for row in (*page.items, *rest.items)] == ["b", "c"]

    async def test_pages_of_what_is_rare(self, world: World) -> None:
        """A page is full unless it is the last, however few schedules have the label or are paused."""
        rare, names = {"rare": "yes"}, [f"j{n:02}" for n in range(12)]
        await world.define(*(job(name, HOURLY, labels={} if int(name[1:]) % 4 else rare) for name in names))
        for name in names[::4]:
            await world.store.change(name, Paused())
        for wanted in (ScheduleFilter(label="rare"), ScheduleFilter(paused=True)):
            page = await world.insights.schedules(wanted, limit=2)
            assert [row.schedule.name for row in page.items] == ["j00", "j04"]
            rest = await world.insights.schedules(wanted, page.after, limit=2)
            assert ([row.schedule.name for row in rest.items], rest.after) == (["j08"], None)

    async def test_decisions(self, world: World) -> None:
        """By schedule, reason, a slot in their range, or the time that their slots are about."""
        await world.define(job("a", HOURLY, catchup="skip"), job("b", "30 * * * *", catchup="skip"))
        world.go("03:50")
        await world.tick()
        await world.store.change("a", Paused())
        world.go("05:10")
        await world.store.change("a", Resumed())
        assert (await world.decided("a"))[-1] == "paused 04:00 to 05:00 (2)"
        for wanted, found in DECISIONS_BY.items():
            assert (wanted, len((await world.insights.decisions(wanted)).items)) == (wanted, found)


class InsightStories(Stories):
    async def test_a_schedule_and_its_last_run(self, world: World) -> None:
        """The newest run with its real start and state; a skipped slot changes neither."""
        await world.define(job("a", HOURLY))
        row = await world.row("a")
        assert (row.last_run_id, row.last_run_at, row.last_enqueued_at, row.last_state) == (None,) * 4
        world.go("01:00:01")
        await world.tick()
        world.go("01:00:02")
        lease = await world.start()
        await world.pass_time("02:00")
        row = await world.row("a")
        assert (row.last_run_id, row.last_state) == (lease.id, S.RUNNING)
        assert (row.last_enqueued_at, row.last_run_at) == (lease.started_at - MICRO, lease.started_at)

    async def test_a_schedule_that_moved_keeps_its_last_run(self, world: World) -> None:
        """A schedule that goes from one job to another shows the last run of its slots under the job it left."""
        await world.define(job("first", also=[schedule("x", HOURLY)]))
        await world.pass_time("01:00")
        await world.work()
        [run] = await world.runs()
        await world.define(job("first"))
        await world.define(job("second", also=[schedule("x", HOURLY)]))
        row = await world.row("x")
        assert (row.schedule.job, row.last_run_id, row.last_state) == ("second", run.id, S.SUCCEEDED)

    async def test_the_next_slot(self, world: World) -> None:
        """The oldest that is pending, if one is; else the next to come."""
        await world.define(job("a", HOURLY, overlap="queue"))
        assert await world.next_slot("a") == "01:00"
        await world.pass_time("03:30")
        assert await world.next_slot("a") == "02:00"

    async def test_nodes(self, world: World) -> None:
        """The store's clock says when a node was seen and when it completed a pass; one that left is gone (S5)."""
        await world.store.leave("w1")
        node = Node(
            id="n", roles=(Role.TICKER, Role.WORKER), host="host", pid=7, version="1.0", queues=("q",), capacity=4,
            busy=1, problems=("bad.yaml",), sources=("folder:/jobs", "app:a"), orphans=("old",),
            undelivered=("webhook: no answer",), seconds=30,
            started_at=5, seen_at=5, claims_fail="why",
        )  # fmt: skip
        await world.store.beat(node, passed=True)
        began = world.micro
        world.clock.advance(10)
        await world.store.beat(node)
        (seen,) = await world.insights.nodes()
        assert (seen.started_at, seen.seen_at, seen.passed_at) == (began, world.micro, began)
        assert (seen.roles, seen.host, seen.pid, seen.queues) == (node.roles, "host", 7, ("q",))
        assert (seen.version, seen.capacity, seen.busy, seen.seconds) == ("1.0", 4, 1, 30)
        assert (seen.problems, seen.claims_fail) == (("bad.yaml",), "why")
        assert (seen.sources, seen.orphans, seen.undelivered) == (node.sources, node.orphans, node.undelivered)
        world.go("2T00:00")
        assert ((await world.insights.counts()).nodes, len(await world.insights.nodes())) == (0, 1)
        world.go("2T00:01")
        assert await world.insights.nodes() == ()
        await world.store.beat(node)
        await world.store.leave("n")
        assert await world.insights.nodes() == ()

    async def test_counts(self, world: World) -> None:
        """How much there is of everything; deleted things do not count."""
        await world.define(
            job("a", HOURLY, also=[schedule("a2", HOURLY)]), job("b", queue="other"), job("gone", HOURLY)
        )
        await world.store.remove("gone", "app")
        await world.tick()
        await world.store.change("a2", Paused())
        for _ in range(3):
            await world.enqueue("b")
        await world.enqueue("a")
        await world.lease(capacity=1)
        await world.tick()
        counts = await world.insights.counts()
        assert (counts.jobs, counts.schedules, counts.paused, counts.nodes) == (2, 2, 1, 1)
        assert (counts.runs, counts.waiting) == ({S.RUNNING: 1, S.QUEUED: 3}, {"other": 3})
        assert counts.overdue == 0
        assert counts.oldest_due == world.micro
        world.go("01:00:01")
        assert (await world.insights.counts()).overdue == 1

    async def test_counts_of_what_has_ended(self, world: World) -> None:
        """A run that has ended is counted for an hour: what is older is not looked through."""
        await world.define(job("a"))
        await world.enqueue("a")
        await world.end(await world.start(), Failed())
        world.clock.advance(3_600)
        assert (await world.insights.counts()).runs == {S.FAILED: 1}
        world.clock.advance(1)
        assert (await world.insights.counts()).runs == {}

    async def test_counts_of_what_is_held(self, world: World) -> None:
        """Jobs with a slot that waits are counted by queue, for no worker too (S47)."""
        await world.store.leave("w1")
        await world.define(job("a", HOURLY), job("b", HOURLY, queue="other"), job("c", "0 0 * * *"))
        await world.pass_time("01:00")
        assert (await world.insights.counts()).held == {"default": 1, "other": 1}

    async def test_the_last_minutes(self, world: World) -> None:
        """What was made, did not run, and failed, each in its minute; by job, if that is asked."""
        await world.define(job("a", "*/2 * * * *"), job("b"))
        await world.pass_time("00:02")
        lease = await world.start()
        await world.enqueue("b")
        await world.pass_time("00:04")
        await world.end(lease, Failed())
        rows = [MinuteStats(instant("00:02"), "", 2), MinuteStats(instant("00:04"), "", 0, 1, 1)]
        assert list(await world.insights.minute_stats()) == rows
        assert list(await world.insights.minute_stats(by_job=True)) == [
            MinuteStats(instant("00:02"), "a", 1), MinuteStats(instant("00:02"), "b", 1),
            MinuteStats(instant("00:04"), "a", 0, 1, 1),
        ]  # fmt: skip
        assert list(await world.insights.minute_stats(2)) == rows[1:]

    async def test_the_timeline(self, world: World) -> None:
        """Runs that were under way between two instants, in order of their start; of too many, the last."""
        await world.define(job("a"))
        for _ in range(4):
            await world.enqueue("a")
        leases: list[Lease] = []
        for minute in (10, 20, 30):
            world.go(f"00:{minute}")
            leases += await world.lease(capacity=1)
            world.go(f"00:{minute + 5}")
            if minute < 30:
                await world.end(leases[-1])

        async def between(start: str, end: str, limit: int = 9) -> list[int]:
            rows = await world.insights.timeline(instant(start) * MICRO, instant(end) * MICRO, limit)
            return [[lease.id for lease in leases].index(row.id) for row in rows]

        assert await between("00:00", "00:10") == []
        assert await between("00:12", "00:21") == [0, 1]
        assert await between("00:16", "00:19") == []
        assert await between("00:00", "02:00") == [0, 1, 2]
        assert await between("00:00", "02:00", 2) == [1, 2]
        assert await between("00:00", "02:00", 1) == [2]
        assert await between("01:00", "02:00") == [2]

    async def test_the_last_hours(self, world: World) -> None:
        """What each hour of a schedule was like: what ran, how late and how long; and what did not run."""
        await world.define(job("a", "0,30 * * * *"), job("b", HOURLY))
        await world.pass_time("01:00")
        world.clock.advance(2)
        await world.tick()
        for lease in await world.lease():
            if lease.job.name == "a":
                world.clock.advance(3)
                await world.end(lease, Failed())
        await world.pass_time("01:45")
        rows = await world.insights.hourly_stats(2, "a")
        overlap, live = {Reason.OVERLAP: 1}, {Trigger.SCHEDULE: 1}
        assert rows == (
            HourlyStats("a", instant("00:00"), {S.FAILED: 1}, 0.0, 1_802_000.0, 3_000.0, triggers=live),
            HourlyStats("a", instant("01:00"), {S.QUEUED: 1}, 0.0, None, None, overlap, live),
        )
        assert {(row.schedule, row.hour) for row in await world.insights.hourly_stats(1)} == {
            ("a", instant("01:00")), ("b", instant("01:00")),
        }  # fmt: skip

    async def test_nothing_is_there(self, world: World) -> None:
        """What does not exist is none, not an error."""
        seen = world.insights
        assert (await seen.job("x"), await seen.schedule("x"), await seen.run("12345678")) == (None, None, None)
        assert (await seen.attempts("12345678"), await seen.steps("12345678")) == ((), ())
        assert (*(await seen.log("12345678")).items, *(await seen.decisions()).items) == ()
        assert (await seen.timeline(0, world.micro), await seen.hourly_stats(), await seen.next_due()) == (
            (),
            (),
            None,
        )
        assert (await seen.limits(), await seen.pauses()) == ((), ())

    async def test_the_schema_is_sound(self, world: World) -> None:
        """A store that is open has nothing to upgrade and nothing wrong; to upgrade again is harmless."""
        assert (await world.store.schema.upgrade(), await world.store.schema.check()) == ((), ())
