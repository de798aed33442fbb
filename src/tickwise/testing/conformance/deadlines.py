"""Deadlines: which slots miss theirs, and what becomes of their runs (S65)."""
# ruff: noqa: S101  (a suite of tests asserts)

from ...core.change import Paused, Resumed
from ...core.definition import RetryPolicy
from ...core.settle import Cancelled
from ...core.states import Event, RunState
from ...core.time_limit import Deadline, TimeLimit
from .stories import Stories
from .world import HOURLY, World, job

_FINISH = Deadline(finish=TimeLimit(600))
_BOTH = Deadline(TimeLimit(300), TimeLimit(600), cancel=True)


class DeadlineStories(Stories):
    async def test_work_in_time_is_not_recorded(self, world: World) -> None:
        """Of a run that is done by its deadline only the mark is kept up to which slots are judged (S65)."""
        await world.define(job("a", HOURLY, deadline=_BOTH))
        for hour in ("01", "02"):
            await world.pass_time(f"{hour}:01")
            await world.work()
            await world.pass_time(f"{hour}:30")
        assert await world.decided("a") == []
        state = await world.schedule("a")
        assert state.definition.policy.deadline == _BOTH
        assert state.deadlines is not None

    async def test_a_slot_that_is_late_is_recorded_once(self, world: World) -> None:
        """Whether its run goes on, waits for a worker, has failed, or never came to be (S65)."""
        await world.define(
            job("long", HOURLY, deadline=_FINISH), job("queued", HOURLY, deadline=_BOTH),
            job("skipped", "0,20 1 * * *", deadline=_FINISH), job("none", HOURLY),
        )  # fmt: skip
        await world.pass_time("01:00")
        for lease in await world.lease():
            if lease.job.name == "none":
                await world.end(lease)
        await world.pass_time("01:04")
        assert await world.decided("long") == []
        await world.pass_time("01:45")
        assert await world.decided("long") == ["late_finish 01:00"]
        assert await world.decided("skipped") == ["late_finish 01:00 to 01:20 (2)", "overlap 01:20"]
        assert await world.decided("none") == []

    async def test_a_run_that_nobody_takes_is_late_twice(self, world: World) -> None:
        """By the deadline of its beginning, and by that of its end; with `cancel` it never begins then (S65)."""
        await world.define(job("a", HOURLY, deadline=_BOTH))
        await world.pass_time("01:09")
        assert await world.decided("a") == ["late_start 01:00"]
        await world.pass_time("01:10")
        assert await world.decided("a") == ["late_start 01:00", "late_finish 01:00"]
        assert [run.state for run in await world.runs(schedule="a")] == [RunState.CANCELLED]

    async def test_an_overdue_run_ends_as_failed(self, world: World) -> None:
        """With `cancel` it is asked to end, and however that goes it has failed, for that reason (S65)."""
        await world.define(job("a", HOURLY, deadline=_BOTH, retry=RetryPolicy(limit=3)))
        await world.pass_time("01:00")
        lease = await world.start()
        await world.pass_time("01:10")
        run = await world.run(lease.id)
        assert (run.state, run.cancelling) == (RunState.RUNNING, True)
        settled = await world.end(lease, Cancelled(), error="it was asked to end")
        assert (settled.event, settled.state, settled.failures) == (Event.FAILURE, RunState.FAILED, 1)
        reason = "its work was not done by its deadline, 10m after its slot"
        assert (await world.run(lease.id)).error == settled.error == reason

    async def test_a_run_that_was_cancelled_by_hand_was_cancelled(self, world: World) -> None:
        """Although its deadline comes before it has ended (S65)."""
        await world.define(job("a", HOURLY, deadline=_BOTH))
        await world.pass_time("01:00")
        lease = await world.start()
        await world.store.cancel(lease.id)
        await world.pass_time("01:10")
        assert (await world.end(lease, Cancelled(), error="by hand")).state is RunState.CANCELLED
        assert (await world.run(lease.id)).error == "by hand"
        assert await world.decided("a") == ["late_finish 01:00"]

    async def test_an_overdue_run_that_is_done_all_the_same_has_succeeded(self, world: World) -> None:
        """What was faster than the word to end is as good as any other success (S65)."""
        await world.define(job("a", HOURLY, deadline=_BOTH))
        await world.pass_time("01:00")
        lease = await world.start()
        await world.pass_time("01:10")
        await world.end(lease)
        run = await world.run(lease.id)
        assert (run.state, run.error) == (RunState.SUCCEEDED, "")

    async def test_slots_of_a_pause_have_no_deadline(self, world: World) -> None:
        """Nobody wanted them; what ran before the pause is judged in it (S65, S29)."""
        await world.define(job("a", HOURLY, deadline=_FINISH))
        await world.pass_time("01:05")
        await world.store.change("a", Paused("ann"))
        await world.pass_time("03:30")
        assert await world.decided("a") == ["late_finish 01:00"]
        await world.store.change("a", Resumed())
        await world.pass_time("03:59")
        assert "late_finish 02:00" not in await world.decided("a")
