"""Overlap, lanes, guards and dependencies (S14-S18, S21, S35)."""
# ruff: noqa: S101  (a suite of tests asserts)

import asyncio

import pytest

from ...core.definition import After, Kind, RetryPolicy
from ...core.errors import ConflictError, InputError
from ...core.settle import Cancelled, Failed, HandedBack, Outcome, Succeeded, Unmet
from ...core.states import RunState
from .stories import Stories
from .world import HOURLY, SUCCESS, World, instant, job, schedule, worker_node


class OverlapStories(Stories):
    async def test_skip_names_the_run_in_the_way(self, world: World) -> None:
        """While the job is active a slot is skipped, and the decision says because of which run (S14)."""
        await world.define(job("a", HOURLY))
        await world.pass_time("02:00")
        (run,) = await world.runs()
        (row,) = (await world.insights.decisions()).items
        assert (await world.decided("a"), row.detail) == (["overlap 02:00"], run.id)

    async def test_queue_goes_on_when_the_run_ends(self, world: World) -> None:
        """Slots run strictly one after the other; the end of a run makes its job due at once (S14, S15)."""
        await world.define(job("a", HOURLY, overlap="queue"))
        await world.pass_time("03:30")
        assert await world.ran("a") == ["01:00"]
        await world.tick()
        lease = await world.start()
        assert (await world.insights.next_due() or 0) > world.now
        await world.end(lease)
        assert await world.insights.next_due() == world.now
        await world.tick()
        await world.work()
        await world.tick()
        assert await world.ran("a") == ["01:00", "02:00", "03:00"]

    async def test_allow_fills_the_lanes(self, world: World) -> None:
        """Side by side up to `max_active_runs`; a lane that is free again is the next to be taken (S14, S16)."""
        await world.define(job("a", HOURLY, overlap="allow", max_active_runs=2))
        await world.pass_time("03:00")
        assert [run.lane for run in await world.runs()] == [0, 1]
        assert await world.decided("a") == ["lanes_full 03:00"]
        (first,) = await world.lease(capacity=1)
        await world.end(first)
        await world.pass_time("04:00")
        assert [(run.lane, run.state) for run in await world.runs()] == [
            (None, RunState.SUCCEEDED), (1, RunState.QUEUED), (0, RunState.QUEUED),
        ]  # fmt: skip

    async def test_replace_asks_the_running_run_to_end(self, world: World) -> None:
        """The worker hears of it, and the slot starts when the old run has ended (S14)."""
        await world.define(job("a", HOURLY, overlap="replace"))
        await world.pass_time("01:00")
        lease = await world.start()
        await world.pass_time("02:00")
        assert (await world.run(lease.id)).cancelling
        renewed = await world.store.beat(worker_node("w1"), {lease.id: lease.token})
        assert renewed.cancel == {lease.id} == (await world.store.beat(worker_node("w1"))).cancel
        assert await world.ran("a") == ["01:00"]
        await world.end(lease, Cancelled())
        await world.tick()
        assert await world.ran("a") == ["01:00", "02:00"]

    async def test_replace_ends_a_queued_run_at_once(self, world: World) -> None:
        """A run that no worker holds needs no asking; the slot goes on without waiting for a minute (S14, S15)."""
        await world.define(job("a", HOURLY, overlap="replace"))
        await world.pass_time("02:00")
        assert await world.ran("a") == ["01:00", "02:00"]
        assert [run.state for run in await world.runs()] == [RunState.CANCELLED, RunState.QUEUED]

    async def test_stop_and_restart(self, world: World) -> None:
        """A stop ends what is active, a restart ends and starts it; nothing to stop is recorded (S21)."""
        await world.define(
            job("a", "0 1 * * *", also=[
                schedule("a.stop", "0 2,3 * * *", kind=Kind.STOP),
                schedule("a.restart", "0 4,5 * * *", kind=Kind.RESTART),
            ])
        )  # fmt: skip
        await world.pass_time("01:00")
        first = await world.start()
        await world.pass_time("02:00")
        assert (await world.run(first.id)).cancelling
        await world.end(first, Cancelled())
        await world.pass_time("05:00")
        assert await world.decided("a.stop") == ["stopped 02:00", "nothing_to_stop 03:00"]
        assert await world.ran("a.restart") == ["04:00 restart", "05:00 restart"]
        assert [run.state for run in await world.runs()][1:] == [RunState.CANCELLED, RunState.QUEUED]

    @pytest.mark.parametrize("by", ["stop", "restart", "replace"])
    async def test_workers_hear_of_cancels_by_a_pass(self, world: World, by: str) -> None:
        """A pass that asks a running run to end announces that, as a person's cancel does (A2, S22)."""
        also = [] if by == "replace" else [schedule(f"a.{by}", "0 2 * * *", kind=Kind(by))]
        policy = {"overlap": "replace"} if by == "replace" else {}
        await world.define(job("a", HOURLY if by == "replace" else "0 1 * * *", also=also, **policy))
        await world.pass_time("01:00")
        lease = await world.start()
        world.go("02:00")
        assert await world.is_notified(world.tick)
        assert (await world.run(lease.id)).cancelling

    async def test_a_lane_is_held_between_retries(self, world: World) -> None:
        """A job is active while its run waits for its next attempt (S16)."""
        await world.define(job("a", HOURLY, retry=RetryPolicy(1, 7_200)))
        await world.pass_time("01:00")
        await world.work(Failed())
        await world.pass_time("02:00")
        assert (await world.ran("a"), await world.decided("a")) == (["01:00"], ["overlap 02:00"])

    @pytest.mark.parametrize(
        ("outcome", "state"),
        [
            (Succeeded(), RunState.SUCCEEDED), (Failed(), RunState.FAILED), (Cancelled(), RunState.CANCELLED),
            (Unmet(), RunState.SKIPPED), (HandedBack(), RunState.LOST),
        ],
    )  # fmt: skip
    async def test_every_end_frees_the_lane(self, world: World, outcome: Outcome, state: RunState) -> None:
        """However a run is over, its lane is free and a waiting slot starts (S15, S16)."""
        await world.define(job("a", HOURLY, overlap="queue", at_most_once=True))
        await world.pass_time("02:00")
        settled = await world.end(await world.start(), outcome)
        assert (settled.state, await world.insights.next_due()) == (state, world.now)
        await world.tick()
        assert await world.ran("a") == ["01:00", "02:00"]

    async def test_a_cancelled_queued_run_frees_the_lane(self, world: World) -> None:
        """A queued run that is cancelled wakes the slot that waited for it (S15)."""
        await world.define(job("a", HOURLY, overlap="queue"))
        await world.pass_time("02:00")
        (run,) = await world.runs()
        assert await world.store.cancel(run.id) is RunState.CANCELLED
        await world.tick()
        assert await world.ran("a") == ["01:00", "02:00"]

    async def test_a_lane_has_one_run(self, world: World) -> None:
        """Of many callers that trigger a job and tick at once, one gets the lane (S16, S30)."""
        await world.define(job("a", HOURLY))
        world.go("01:00")
        asked = [world.trigger("a") for _ in range(5)]
        answers = await asyncio.gather(*asked, world.tick(), world.tick(), return_exceptions=True)
        assert [run.lane for run in await world.runs()] == [0]
        assert sum(isinstance(answer, ConflictError) for answer in answers) >= 4

    async def test_a_success_and_a_start_in_one_moment(self, world: World) -> None:
        """Ends and passes side by side lose no slot: a waiting slot is woken (S15)."""
        names = [f"j{n}" for n in range(6)]
        await world.define(*(job(name, "*/10 * * * *", overlap="queue") for name in names))
        await world.pass_time("01:00")
        for _ in range(6):
            leases = await world.lease()
            await asyncio.gather(*(world.end(lease) for lease in leases), world.tick(), world.tick())
            while (await world.tick()).jobs:
                pass
        assert {tuple(await world.ran(name)) for name in names} == {
            ("00:10", "00:20", "00:30", "00:40", "00:50", "01:00")
        }
        assert (await world.insights.next_due() or 0) <= instant("01:10")


class DependencyStories(Stories):
    async def test_a_run_by_hand_does_the_slot(self, world: World) -> None:
        """A slot is skipped if a run by hand started at or after it (S17)."""
        await world.define(job("a", HOURLY, grace=600))
        await world.tick()
        world.go("01:00:30")
        await world.trigger("a")
        await world.work()
        await world.tick()
        assert (await world.ran("a"), await world.decided("a")) == ([], ["already_done 01:00"])

    async def test_a_success_since_the_slot_before(self, world: World) -> None:
        """`skip_if_successful` sees successes by hand and for slots; failures do not count (S18)."""
        await world.define(job("a", HOURLY, skip_if_successful=True), job("b", HOURLY, skip_if_successful=True))
        await world.tick()
        world.go("00:30")
        await world.trigger("a")
        await world.trigger("b")
        for lease in await world.lease():
            await world.end(lease, Failed() if lease.job.name == "b" else SUCCESS)
        await world.pass_time("01:00")
        assert (await world.ran("a"), await world.decided("a")) == ([], ["already_successful 01:00"])
        assert await world.ran("b") == ["01:00"]

    async def test_a_success_from_before_the_guard(self, world: World) -> None:
        """A guard that is turned on knows what succeeded before it was (S18)."""
        await world.define(job("a", HOURLY))
        await world.tick()
        world.go("00:30")
        await world.trigger("a")
        await world.work()
        await world.define(job("a", HOURLY, skip_if_successful=True))
        await world.pass_time("01:00")
        assert (await world.ran("a"), await world.decided("a")) == ([], ["already_successful 01:00"])

    async def test_a_slot_waits_for_a_success(self, world: World) -> None:
        """It is held up to `wait_for`, and the success wakes it at once (S35)."""
        await world.define(job("a", HOURLY), job("b", HOURLY, after=(After("a", 600),), wait_for=1_200))
        await world.pass_time("01:00")
        assert (await world.ran("b"), await world.decided("b", waits=True)) == ([], ["waits_for_success 01:00"])
        await world.pass_time("01:05:30")
        await world.work()
        assert await world.insights.next_due() == world.now
        await world.tick()
        assert await world.ran("b") == ["01:00"]

    async def test_a_slot_waits_for_a_job(self, world: World) -> None:
        """Any success of it counts: of no schedule, by hand, of whichever schedule. It wakes at once (S35)."""
        also = (schedule("e2", "50 * * * *"),)
        await world.define(job("a"), job("c", HOURLY), job("e", "30 * * * *", also=also))
        await world.define(job("b", HOURLY, after=(After("", 1_200, "a"), After("c", 900)), wait_for=1_200))
        await world.define(job("d", HOURLY, after=(After("", 1_200, "e"),)))
        for time in ("00:35", "00:55"):
            await world.pass_time(time)
            await world.work()
        await world.enqueue("a")
        world.go("00:58")
        await world.work()
        await world.pass_time("01:00")
        assert await world.decided("b", waits=True) == ["waits_for_success 01:00"]
        assert await world.ran("d") == ["01:00"]
        await world.work()
        assert await world.insights.next_due() == world.now
        await world.tick()
        assert await world.ran("b") == ["01:00"]
        await world.pass_time("02:00")
        await world.work()
        await world.pass_time("02:20")
        assert (await world.ran("b"), await world.decided("b")) == (["01:00"], ["dependency_missing 02:00"])

    async def test_a_job_that_is_waited_for_wakes(self, world: World) -> None:
        """Its success lets the slot go on at once, also where it has no schedule (S35)."""
        await world.define(job("a"), job("b", HOURLY, after=(After("", 3_600, "a"),), wait_for=1_200))
        world.go("00:59")
        await world.enqueue("a")
        lease = await world.start()
        await world.pass_time("01:05")
        assert await world.decided("b", waits=True) == ["waits_for_success 01:00"]
        await world.end(lease)
        assert await world.insights.next_due() == world.now
        await world.tick()
        assert await world.ran("b") == ["01:00"]

    async def test_a_job_that_is_not_there(self, world: World) -> None:
        """It must exist, and must not wait for what waits for it (S35)."""
        await world.define(job("a"), job("b", HOURLY, after=(After("", 60, "a"),)))
        for missing, words in (
            ("x", "runs after the job 'x', which does not exist"),
            ("b", "wait for each other"),
        ):
            async with world.refuses(InputError, words):
                await world.store.define(job("a", HOURLY, after=(After("", 60, missing),)), "app")
        async with world.refuses(InputError, "wait for each other"):
            await world.store.define(job("c", HOURLY, after=(After("", 60, "c"),)), "app")

    async def test_a_success_counts_by_its_slot(self, world: World) -> None:
        """Only one whose slot, or whose start if by hand, lies within the given time counts (S35)."""
        await world.define(job("a", "30 * * * *"), job("b", HOURLY, after=(After("a", 1_800),)))
        for time in ("00:30", "01:00"):
            await world.pass_time(time)
            await world.work()
        assert (await world.ran("b"), await world.decided("b")) == ([], ["dependency_missing 01:00"])
        world.go("01:31")
        await world.trigger("a")
        await world.work()
        await world.pass_time("02:00")
        assert await world.ran("b") == ["02:00"]
