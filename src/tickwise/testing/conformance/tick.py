"""From due slots to runs: claimed, planned and committed in one move (S1-S8, S12, S33-S36, S47)."""
# ruff: noqa: S101  (a suite of tests asserts)

import asyncio
from collections.abc import Iterable
from typing import Any

import pytest

from ...core.change import Adopted
from ...core.cron import parse
from ...core.cron.calendar_days import OnCalendar
from ...core.cron.day_set import DaySet
from ...core.definition import Kind, Ticking
from ...core.model import Facts, Schedule, TickPlan, Trigger
from ...core.planner import plan
from ...core.requirements import NOTHING
from ...core.states import RunState
from ...stores.records import MICRO, Node, QueueLimit, Role, ScheduleFilter
from .snapshot import snapshot
from .stories import Stories
from .world import HOURLY, World, instant, job, once, schedule, worker_node


def rewritten(**changes: Any) -> Any:
    """The real planner, but each start of the job `a` is changed: as by a node that has lost a race."""

    def planner(now: int, due: Iterable[Schedule], facts: Facts) -> TickPlan:
        made = plan(now, due, facts)
        starts = (start._replace(**changes) if start.job == "a" else start for start in made.starts)
        return made._replace(starts=tuple(starts))

    return planner


class TickStories(Stories):
    async def test_a_due_slot_becomes_a_run(self, world: World) -> None:
        """The run carries its slot, its lane and its maker, and the cursor moved with it; no second comes (S1)."""
        await world.define(job("a", HOURLY, queue="other", priority=7, expires=90))
        world.go("01:00:02")
        ticked = await world.tick(node="t7")
        assert (ticked.now, ticked.jobs, ticked.runs, ticked.leases) == (world.micro, 1, 1, ())
        (run,) = await world.runs()
        assert (run.job, run.schedule, run.slot, run.trigger) == ("a", "a", instant("01:00"), Trigger.SCHEDULE)
        assert (run.state, run.queue, run.priority, run.lane) == (RunState.QUEUED, "other", 7, 0)
        assert (run.label, run.claimed_by, run.attempt, run.node) == (HOURLY, "t7", 0, None)
        assert (run.due_at, run.created_at) == (instant("01:00") * MICRO, world.micro)
        assert (run.expires_at, run.started_at, run.finished_at) == (world.micro + 90 * MICRO, None, None)
        assert (await world.schedule("a")).cursor == run.slot
        again = await world.tick()
        assert (again.jobs, again.runs, again.next_due) == (0, 0, instant("02:00"))

    async def test_times_on_the_days_of_a_calendar(self, world: World) -> None:
        """S61: they are kept with their days, and claimed on these; a new definition brings other days."""
        today = world.now // 86_400
        slot = ((today + 1) * 24 + 6) * 3_600
        loose = OnCalendar(parse("0 6 * * *"), "office")
        bound = loose.bound("v1", DaySet.of([today + 1], today, 9))
        await world.define(job("a", bound))
        known = await world.insights.schedule("a")
        assert known is not None
        assert (known.schedule.definition.times, known.next_slot) == (bound, slot)
        world.clock.advance(30 * 3_600 + 1)
        await world.tick()
        assert [run.slot for run in await world.runs()] == [slot]
        assert await world.define(job("a", loose.bound("v2", DaySet.of([today + 3], today, 9)))) == {"a"}
        after = await world.insights.schedule("a")
        assert after is not None
        assert after.next_slot == slot + 2 * 86_400

    async def test_many_tickers_make_one_run_each(self, world: World) -> None:
        """Passes side by side share the jobs out: none is planned twice, none is left (S1, S16)."""
        await world.define(*(job(f"j{n:02}", HOURLY) for n in range(20)))
        world.go("01:00")
        ticked = await asyncio.gather(*(world.tick(node=f"t{n}", limit=5) for n in range(8)))
        while (await world.tick()).runs:
            pass
        assert len(await world.runs()) == 20
        assert sum(each.runs for each in ticked) <= 20
        assert {run.schedule for run in await world.runs()} == {f"j{n:02}" for n in range(20)}

    async def test_passes_of_one_process_take_different_jobs(self, world: World) -> None:
        """What one is about to move the other leaves out, until it has failed (S16)."""
        await world.define(*(job(f"j{n}", HOURLY) for n in range(4)))
        world.go("01:00")

        def stopped(_now: int, _due: Iterable[Schedule], _facts: Facts) -> TickPlan:
            raise MemoryError

        failing = asyncio.create_task(world.tick(stopped, limit=2))
        assert (await world.tick(limit=2)).runs == 2
        with pytest.raises(MemoryError):
            await failing
        assert (await world.tick()).runs == 2
        world.go("02:00")
        await world.work()
        world.go("03:00")
        both = await asyncio.gather(*(world.tick(limit=2) for _ in range(2)))
        assert [each.runs for each in both] == [2, 2]

    async def test_a_slot_is_due_from_its_second_on(self, world: World) -> None:
        """A microsecond earlier nothing is decided (S3)."""
        await world.define(job("a", HOURLY))
        await world.tick()
        world.go("01:00")
        world.clock.advance(-0.000_001)
        assert (await world.tick()).jobs == 0
        world.go("01:00")
        assert (await world.tick()).runs == 1

    async def test_time_is_the_stores(self, world: World) -> None:
        """The planner gets the store's second, whatever the clock of its node says (S5)."""
        recorded = []

        def planner(now: int, due: Iterable[Schedule], facts: Facts) -> TickPlan:
            recorded.append(now)
            return plan(now, due, facts)

        await world.define(job("a", HOURLY))
        world.go("01:00:30")
        world.clock.advance(0.75)
        assert (await world.tick(planner)).now == await world.store.now() == world.micro
        assert recorded == [instant("01:00:30")]

    async def test_a_clock_that_goes_back_fires_nothing_again(self, world: World) -> None:
        """The cursor never moves back (S4)."""
        await world.define(job("a", HOURLY, overlap="allow"))
        await world.pass_time("03:00")
        world.go("00:30")
        await world.pass_time("03:30")
        assert await world.ran("a") == ["01:00", "02:00", "03:00"]

    async def test_a_leap_of_the_clock_is_an_outage(self, world: World) -> None:
        """Missed slots go through the catch-up policy, each is accounted for, and due now (S4, S7, S10)."""
        await world.define(
            job("once", HOURLY), job("skip", HOURLY, catchup="skip"), job("all", HOURLY, catchup="all")
        )
        world.go("03:30")
        await world.tick()
        assert {run.due_at for run in await world.runs()} == {world.micro}
        for _ in range(2):
            await world.work()
            await world.tick()
        assert (await world.ran("once"), await world.decided("once")) == (
            ["03:00 catchup"],
            ["coalesced 01:00 to 02:00 (2)"],
        )
        assert (await world.ran("skip"), await world.decided("skip")) == ([], ["missed 01:00 to 03:00 (3)"])
        assert await world.ran("all") == ["01:00 catchup", "02:00 catchup", "03:00 catchup"]

    async def test_the_earliest_jobs_go_first(self, world: World) -> None:
        """A pass takes as many jobs as it may, those that are due the longest, and says that there may be more."""
        await world.define(*(job(f"j{n}", f"{n} * * * *") for n in range(1, 5)))
        await world.tick()
        world.go("00:30")
        first, second = await world.tick(limit=3), await world.tick(limit=3)
        assert (first.jobs, first.more, second.jobs, second.more) == (3, True, 1, False)
        assert [run.job for run in (await world.runs())[3:]] == ["j4"]

    async def test_local_ticking_looks_at_named_jobs_only(self, world: World) -> None:
        """With `jobs`, no other job is claimed."""
        await world.define(job("a", HOURLY), job("b", HOURLY))
        world.go("01:00")
        assert (await world.tick(jobs=["b", "unknown"])).jobs == 1
        assert [run.job for run in await world.runs()] == ["b"]

    @pytest.mark.parametrize("taken", [{"slot": instant("01:00")}, {"lane": 0}])
    async def test_a_taken_key_keeps_the_job_due(self, world: World, taken: dict[str, int]) -> None:
        """A start whose slot or lane is taken moves nothing of its job; the others go on, and it is replanned."""
        await world.define(job("a", HOURLY, overlap="allow"), job("b", HOURLY, overlap="allow"))
        await world.pass_time("01:00")
        world.go("02:00")
        state = await world.schedule("a")
        ticked = await world.tick(rewritten(**taken))
        assert (ticked.jobs, ticked.runs, await world.ran("b")) == (1, 1, ["01:00", "02:00"])
        assert (await world.ran("a"), await world.schedule("a")) == (["01:00"], state)
        await world.tick()
        assert await world.ran("a") == ["01:00", "02:00"]

    async def test_a_planner_that_fails_changes_nothing(self, world: World) -> None:
        """A pass happens as a whole or not at all; the next one finds the jobs due."""

        def broken(_now: int, _due: Iterable[Schedule], _facts: Facts) -> TickPlan:
            raise ZeroDivisionError

        await world.define(job("a", HOURLY))
        world.go("01:00")
        before = await snapshot(world.store)
        with pytest.raises(ZeroDivisionError):
            await world.tick(broken)
        assert await snapshot(world.store) == before
        assert (await world.tick()).runs == 1

    async def test_a_job_is_planned_with_all_its_schedules(self, world: World) -> None:
        """Also those that are not due go to the planner: order, lanes and stops are per job (S12)."""
        seen: set[str] = set()

        def planner(now: int, due: Iterable[Schedule], facts: Facts) -> TickPlan:
            due = list(due)
            seen.update(state.name for state in due)
            return plan(now, due, facts)

        await world.define(job("a", HOURLY, also=[schedule("a2", "0 5 * * *")]), job("b", "0 5 * * *"))
        await world.tick()
        world.go("01:00")
        await world.tick(planner)
        assert seen == {"a", "a2"}

    async def test_what_nodes_tick_themselves_is_not_claimed(self, world: World) -> None:
        """A claim does not find a job that is ticked locally, but a pass that names it decides it as ever."""
        await world.define(job("a", HOURLY, ticking=Ticking.LOCAL), job("b", HOURLY))
        await world.tick()
        world.go("01:00")
        await world.tick()
        assert (await world.ran("a"), await world.ran("b")) == ([], ["01:00"])
        local = await world.insights.schedules(ScheduleFilter(local=True))
        assert [row.schedule.name for row in local.items] == ["a"]
        assert (await world.store.tick(plan, "node", jobs=["a"])).runs == 1
        assert await world.ran("a") == ["01:00"]

    async def test_a_schedule_changes_hands_without_a_gap(self, world: World) -> None:
        """Adopted by the store and given back in mid-stream: each slot runs once."""
        await world.define(job("a", HOURLY, ticking=Ticking.LOCAL, overlap="allow"))
        for hour, hands in ((1, Ticking.STORE), (2, None), (3, Ticking.STORE), (4, Ticking.LOCAL)):
            await world.store.change("a", Adopted(hands))
            world.go(f"0{hour}:00")
            await world.tick()
            await world.store.tick(plan, "node", jobs=["a"])
        assert await world.ran("a") == ["01:00", "02:00", "03:00", "04:00"]

    async def test_a_backlog_goes_behind_live_slots(self, world: World) -> None:
        """What one job catches up does not go before another job's slot of this second (S12)."""
        await world.define(job("late", HOURLY, catchup="all", overlap="allow"), job("live", "0 4 * * *"))
        await world.tick()
        world.go("04:00")
        await world.tick()
        (first,) = await world.lease(capacity=1)
        assert first.job.name == "live"

    async def test_equal_verdicts_are_one_record(self, world: World) -> None:
        """A row of skips is one decision that grows, with when it began and when it was last extended (S7)."""
        await world.define(job("a", "*/10 * * * *"))
        await world.pass_time("00:20")
        (first,) = (await world.insights.decisions()).items
        await world.pass_time("00:40")
        (grown,) = (await world.insights.decisions()).items
        assert await world.decided("a") == ["overlap 00:20 to 00:40 (3)"]
        assert (first.made_at, grown.made_at) == (instant("00:20") * MICRO,) * 2
        assert (first.extended_at, grown.extended_at) == (instant("00:20") * MICRO, instant("00:40") * MICRO)

    async def test_a_finished_schedule_is_never_due(self, world: World) -> None:
        """After `max_runs` or `until` there is no next time (S8, S34)."""
        await world.define(job("a", HOURLY, max_runs=2), job("b", HOURLY, until=instant("02:00")))
        for hour in ("01:00", "02:00", "03:00", "04:00"):
            await world.pass_time(hour)
            await world.work()
        assert (await world.ran("a"), await world.ran("b")) == (["01:00", "02:00"],) * 2
        assert {await world.next_slot("a"), await world.next_slot("b")} == {"never"}
        assert await world.insights.next_due() is None

    async def test_one_offs(self, world: World) -> None:
        """One is overdue after an outage and fires late, once; one first seen in its past never does (S33)."""
        await world.define(job("a", once("01:00")))
        world.go("00:30")
        await world.define(job("past", once("00:10")))
        world.go("05:00")
        await world.tick()
        assert (await world.ran("a"), await world.next_slot("a")) == (["01:00 catchup"], "never")
        assert (await world.ran("past"), await world.decided("past")) == ([], ["past_one_off 00:10"])

    async def test_overdue_one_offs_run_one_after_the_other(self, world: World) -> None:
        """Overlap drops none of them: each waits until the one before it has ended (A6, S33)."""
        await world.define(job("a", once("01:00", "02:00", "03:00")))
        world.go("05:00")
        for _ in range(3):
            await world.tick()
            await world.work()
        assert await world.ran("a") == ["01:00 catchup", "02:00 catchup", "03:00 catchup"]
        assert await world.decided("a") == []

    async def test_a_missed_start_is_not_caught_up_after_its_stop(self, world: World) -> None:
        """The record names the stop that has passed, also one that an earlier pass has decided (A3, S22, S47)."""
        for name, queue in (("a", "default"), ("b", "rare")):
            stop = schedule(f"{name}.stop", "0 18 * * *", kind=Kind.STOP)
            await world.define(job(name, "0 8 * * *", queue=queue, also=[stop]))
        for time in ("20:00", "20:01"):
            world.go(time)
            await world.tick()
        await world.store.beat(Node("w2", (Role.WORKER,), queues=("rare",), seconds=10**9))
        await world.pass_time("20:30")
        assert (await world.ran("a"), await world.ran("b")) == ([], [])
        assert await world.decided("a") == await world.decided("b") == ["stopped_since 08:00"]

    async def test_a_one_off_may_remove_itself(self, world: World) -> None:
        """With `auto_remove` the schedule is deleted once it is finished; its run stays (S33)."""
        await world.define(job("a", once("01:00"), auto_remove=True))
        await world.pass_time("01:00")
        assert (await world.insights.schedule("a"), await world.ran("a")) == (None, ["01:00"])
        assert (await world.job("a")).schedules == ()

    async def test_jitter_delays_the_run_and_not_the_slot(self, world: World) -> None:
        """A slot is due later by its jitter and keeps its nominal time (S36)."""
        await world.define(*(job(f"j{n}", HOURLY, jitter=1_800) for n in range(8)))
        await world.pass_time("01:30")
        runs = await world.runs()
        assert [run.slot for run in runs] == [instant("01:00")] * 8
        assert [run.due_at for run in runs] == [run.created_at for run in runs]
        assert len({run.due_at for run in runs}) > 1

    @pytest.mark.parametrize("silent", ["gone", "old", "elsewhere", "no worker"])
    async def test_without_a_worker_slots_are_held(self, world: World, silent: str) -> None:
        """While no live worker serves the queue the slot waits, and then goes on as after an outage (S47)."""
        node = Node("w2", (Role.WORKER,), queues=("rare",), seconds=90)
        await world.store.leave("w1")
        if silent == "old":
            await world.store.beat(node)
        elif silent == "elsewhere":
            await world.store.beat(Node("w2", (Role.WORKER,), queues=("default",), seconds=10**9))
        elif silent == "no worker":
            await world.store.beat(Node("w2", (Role.TICKER,), queues=("rare",), seconds=10**9))
        await world.define(job("a", HOURLY, queue="rare"))
        await world.pass_time("02:30")
        assert (await world.ran("a"), await world.decided("a", waits=True)) == ([], ["no_worker 01:00"])
        await world.store.beat(node)
        await world.pass_time("02:31")
        assert (await world.ran("a"), await world.decided("a")) == (["02:00 catchup"], ["coalesced 01:00"])


class ReserveStories(Stories):
    """A node that fires a slot may lease the new run to itself in the same move."""

    async def test_new_runs_are_leased_in_the_pass(self, world: World) -> None:
        """With a reservation they are made as running, as many as it has room for."""
        await world.define(*(job(f"j{n}", HOURLY) for n in range(3)))
        world.go("01:00")
        ticked = await world.tick(reserve=world.reservation(2, "w5", seconds=45))
        assert (ticked.runs, len(ticked.leases)) == (3, 2)
        lease = ticked.leases[0]
        run = await world.run(lease.id)
        assert (run.state, run.node, run.attempt, lease.attempt) == (RunState.RUNNING, "w5", 1, 1)
        assert (run.started_at, run.lease_until) == (world.micro, world.micro + 45 * MICRO)
        assert (await world.store.beat(worker_node("w5"))).unknown == ticked.leases
        await world.end(lease)
        assert sorted(run.state for run in await world.runs()) == ["queued", "running", "succeeded"]

    async def test_the_most_urgent_new_runs_are_leased(self, world: World) -> None:
        """What is leased in the pass is chosen as a lease would: by the order of queues, priority and age."""
        await world.define(
            job("a", HOURLY, queue="other", priority=9), job("b", HOURLY), job("c", HOURLY, priority=5),
            job("d", HOURLY, catchup="all", priority=5),
        )  # fmt: skip
        world.go("01:00")
        ticked = await world.tick(reserve=world.reservation(3, queues=("default", "other")))
        assert {lease.job.name for lease in ticked.leases} == {"b", "c", "d"}
        world.go("02:00")
        for lease in ticked.leases:
            await world.end(lease)
        (rest,) = await world.lease(queues=("other",))
        await world.end(rest)
        ticked = await world.tick(reserve=world.reservation(2))
        assert {lease.job.name for lease in ticked.leases} == {"c", "d"}

    @pytest.mark.parametrize(
        "why", ["no room", "unknown", "other queue", "limited", "at_most_once", "others wait"]
    )
    async def test_what_is_not_leased_at_once(self, world: World, why: str) -> None:
        """Only what the node could lease next anyway, never around a limit, never `at_most_once` (S43, S46)."""
        await world.define(job("a", HOURLY, at_most_once=why == "at_most_once"), job("b"))
        if why == "others wait":
            await world.enqueue("b")
        if why == "limited":
            await world.store.limit(QueueLimit("default", concurrency=5))
        world.go("01:00")
        wanted: dict[str, dict[str, Any]] = {
            "no room": {"capacity": 0},
            "unknown": {"offers": NOTHING},
            "other queue": {"queues": ("other",)},
        }
        ticked = await world.tick(reserve=world.reservation(**wanted.get(why, {})))
        assert (ticked.runs, ticked.leases) == (1, ())
        assert [run.state for run in await world.runs(job="a")] == [RunState.QUEUED]
