"""Runs whose steps wait for what others do: they need no worker, and go on in the same attempt (S74, S75)."""
# ruff: noqa: S101  (a suite of tests asserts)

import asyncio

from ...core.errors import ConflictError
from ...core.model import Trigger
from ...core.settle import Cancelled, Failed, HandedBack, Waits
from ...core.states import RunState
from ...stores.records import MICRO, StepReport
from .finish import leased
from .stories import Stories
from .world import World, job, worker_node

MINUTE = Waits(60)
WHY = "step load: run 7"


class WaitStories(Stories):
    async def test_a_run_that_waits_needs_no_worker(self, world: World) -> None:
        """A run that waits is back in the queue, says what it waits for, and keeps its attempt and its start."""
        first = await leased(world)
        settled = await world.end(first, MINUTE, error=WHY)
        assert (settled.state, settled.not_before, settled.failures) == ("queued", world.now + 60, 0)
        run = await world.run(first.id)
        assert (run.state, run.waits_for, run.error, run.attempt) == ("queued", WHY, "", 1)
        assert await world.lease() == ()
        world.clock.advance(60)
        again = await world.start()
        run = await world.run(first.id)
        assert (again.attempt, again.started_at, run.waits_for) == (1, first.started_at, "")
        assert (run.started_at, run.due_at) == (first.started_at, first.started_at)
        await world.end(again)
        assert ((await world.run(first.id)).state, await world.insights.attempts(first.id)) == ("succeeded", ())

    async def test_a_wake_up_ends_the_wait(self, world: World) -> None:
        """A run that waits can be woken, and those who look for work hear of it; others stay as they are."""
        first = await leased(world)
        await world.store.wake(first.id)
        await world.end(first, MINUTE, error=WHY)
        assert await world.is_notified(lambda: world.store.wake(first.id))
        again = await world.start()
        await world.end(again, Failed(600))
        assert (await world.run(first.id)).state is RunState.FAILED
        await world.store.wake(first.id)
        await world.store.wake("12345678")
        assert (await world.run(first.id)).state is RunState.FAILED

    async def test_a_wake_up_ends_no_other_pause(self, world: World) -> None:
        """A run that waits for its next try is not woken."""
        first = await leased(world)
        await world.end(first, HandedBack())
        await world.enqueue("a", at=world.now + 600)
        (again,) = await world.lease()
        assert again.attempt == 2
        later = (await world.runs(job="a"))[-1].id
        await world.store.wake(later)
        assert await world.lease() == ()

    async def test_a_wait_between_attempts(self, world: World) -> None:
        """Attempts before and after a wait are counted as ever, and put on record without it."""
        first = await leased(world)
        await world.end(first, HandedBack(), error="shut down")
        (second,) = await world.lease()
        await world.end(second, MINUTE, error=WHY)
        world.clock.advance(60)
        (same,) = await world.lease(node="w2")
        await world.end(same, HandedBack(), error="again")
        (third,) = await world.lease()
        assert (second.attempt, same.attempt, third.attempt) == (2, 2, 3)
        assert [row.number for row in await world.insights.attempts(first.id)] == [1, 2]

    async def test_a_wait_holds_the_lane(self, world: World) -> None:
        """A run that waits keeps its lane; cancelled, it ends at once and its lane is free (S16)."""
        await world.define(job("a"))
        run = await world.trigger("a")
        await world.end(await world.start(), MINUTE, error=WHY)
        async with world.refuses(ConflictError, run):
            await world.trigger("a")
        assert await world.store.cancel(run) is RunState.CANCELLED
        assert (await world.run(run)).waits_for == ""
        await world.trigger("a")

    async def test_a_wait_that_is_to_end(self, world: World) -> None:
        """A run that was asked to end does not begin to wait."""
        lease = await leased(world)
        await world.store.cancel(lease.id)
        assert (await world.end(lease, MINUTE, error=WHY)).state is RunState.CANCELLED
        await world.store.retry(lease.id)
        assert (await world.start()).attempt == 2

    async def test_a_run_that_waits_does_not_expire(self, world: World) -> None:
        """What has begun is not too late, however long it waits (S47)."""
        await world.define(job("a", "0 1 * * *", expires=300))
        world.go("01:00")
        await world.tick()
        await world.end(await world.start(), Waits(7_200), error=WHY)
        world.go("02:00")
        await world.store.beat(worker_node("w1"))
        assert (await world.store.expire()).runs == 0
        world.go("03:01")
        assert (await world.start()).attempt == 1

    async def test_a_run_of_a_step_takes_a_lane(self, world: World) -> None:
        """A child holds a lane of its own job, or is refused; its key gives the same run again (S16, S48)."""
        await world.define(job("a"))
        child = await world.enqueue("a", trigger=Trigger.STEP, key="step:1")
        assert (await world.run(child)).lane == 0
        assert await world.enqueue("a", trigger=Trigger.STEP, key="step:1") == child
        async with world.refuses(ConflictError, child):
            await world.enqueue("a", trigger=Trigger.STEP, key="step:2")
        await world.end(await world.start(), Cancelled())
        other = await world.enqueue("a", trigger=Trigger.STEP, key="step:2")
        assert (await world.run(other)).trigger is Trigger.STEP
        assert (await world.run(other)).due_at == world.now * MICRO

    async def test_the_first_answer_counts(self, world: World) -> None:
        """Of all that answer a waiting run at once one is first; none counts once the run is over (S75)."""
        lease = await leased(world)
        await world.end(lease, MINUTE, error=WHY)
        answers = [StepReport("answer:1", "approved", outputs=f'{{"by":"p{n}"}}') for n in range(8)]
        counted = await asyncio.gather(*(world.store.answer_step(lease.id, one) for one in answers))
        assert sorted(counted) == [False] * 7 + [True]
        kept = [step for step in await world.insights.steps(lease.id) if step.name == "answer:1"]
        assert kept == [answers[counted.index(True)]]
        assert await world.store.answer_step(lease.id, answers[0]._replace(name="answer:2"))
        await world.store.cancel(lease.id)
        assert not await world.store.answer_step(lease.id, answers[0]._replace(name="answer:3"))
        assert not await world.store.answer_step("12345678", answers[0])

    async def test_answers_and_steps_are_kept_beside_each_other(self, world: World) -> None:
        """A worker that reports on its steps leaves an answer as it is, and so does a new attempt (S75)."""
        lease = await leased(world)
        step, said = StepReport("ship", "waiting"), StepReport("answer:1", "rejected", finished_at=7)
        await world.store.report(lease.id, lease.token, [step])
        assert await world.store.answer_step(lease.id, said)
        await world.store.report(lease.id, lease.token, [step, StepReport("other", "running")])
        await world.end(lease, Cancelled())
        await world.store.retry(lease.id, ["ship"])
        assert sorted(await world.insights.steps(lease.id)) == [said, StepReport("other", "running")]

    async def test_runs_that_wait_are_found(self, world: World) -> None:
        """Runs that wait for what others do, and neither those that run nor others that are queued (S74)."""
        waits, runs, later = [await leased(world) for _ in range(3)]
        await world.enqueue("a", at=world.now + 600)
        await world.end(waits, MINUTE, error=WHY)
        await world.end(later, HandedBack())
        assert [run.id for run in await world.runs(waits=True)] == [waits.id]
        assert [run.id for run in await world.runs(waits=True, job="b")] == []
        await world.store.wake(waits.id)
        await world.lease()
        assert await world.runs(waits=True) == []
        await world.end(runs)
