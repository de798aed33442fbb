"""The end of an attempt: the next state of its run, and which tokens count (S41-S45)."""
# ruff: noqa: S101  (a suite of tests asserts)

import math
from typing import Any

import pytest

from ...core.definition import RetryPolicy
from ...core.errors import InputError
from ...core.settle import Cancelled, Failed, HandedBack, Outcome, Snoozed, Succeeded, TooLate, Unmet
from ...core.states import Event, RunState
from ...stores.records import MICRO, Finish
from .stories import Stories
from .world import World, job


async def leased(world: World, **fields: Any) -> Any:
    """A run of a new job, running."""
    await world.define(job("a", **fields))
    await world.enqueue("a")
    return await world.start()


class FinishStories(Stories):
    async def test_a_success(self, world: World) -> None:
        """The run is over, with its result and when it ended."""
        lease = await leased(world)
        world.clock.advance(2.5)
        settled = await world.end(lease, result={"rows": [1, "zwei", None]})
        assert (settled.event, settled.state, settled.not_before) == (Event.SUCCESS, RunState.SUCCEEDED, None)
        run = await world.run(lease.id)
        assert (run.state, run.result, run.error) == (RunState.SUCCEEDED, {"rows": [1, "zwei", None]}, "")
        assert (run.started_at, run.finished_at) == (lease.started_at, lease.started_at + 2_500_000)
        assert (run.lease_until, run.attempt, run.failures) == (None, 1, 0)

    async def test_an_old_token_is_refused(self, world: World) -> None:
        """A late worker changes nothing: not in the queue, nor in a second attempt, nor after the end (S42)."""
        old = await leased(world)
        await world.end(old, HandedBack())
        assert await world.is_fenced(old)
        (new,) = await world.lease(node="w2")
        assert await world.is_fenced(old)
        await world.end(new, result="right")
        assert await world.is_fenced(new)

    async def test_each_answer_stands_for_its_own(self, world: World) -> None:
        """Of several that end in one move, those with an old token are refused and the others end."""
        await world.define(job("a"))
        for _ in range(4):
            await world.enqueue("a")
        one, two, three, four = await world.lease()
        settled = await world.store.finish([
            Finish(four.id, four.token, Failed()), Finish(two.id, "w1/9", Succeeded()),
            Finish("12345678", "w1/1", Succeeded()), Finish(one.id, one.token, Succeeded()),
            Finish(three.id, three.token, Cancelled()),
        ])  # fmt: skip
        assert [each and str(each.state) for each in settled] == ["failed", None, None, "succeeded", "cancelled"]
        states = [(await world.run(lease.id)).state for lease in (one, two, three, four)]
        assert states == ["succeeded", "running", "cancelled", "failed"]

    async def test_a_failure_is_tried_again(self, world: World) -> None:
        """By the run's retry policy: it waits in the queue, and the attempt is on record (S44)."""
        lease = await leased(world, retry=RetryPolicy(1, 100))
        world.clock.advance(5)
        settled = await world.end(lease, Failed(), error="boom")
        assert (settled.event, settled.state, settled.failures) == (Event.RETRY, RunState.QUEUED, 1)
        wait = (settled.not_before or 0) - world.now
        assert 100 <= wait <= 110
        run = await world.run(lease.id)
        assert (run.state, run.due_at, run.lease_until) == (RunState.QUEUED, (world.now + wait) * MICRO, None)
        (attempt,) = await world.insights.attempts(lease.id)
        assert (attempt.number, attempt.event, attempt.node, attempt.error) == (1, Event.RETRY, "w1", "boom")
        assert (attempt.started_at, attempt.finished_at) == (lease.started_at, world.micro)
        world.clock.advance(wait - 0.001)
        assert await world.lease() == ()
        world.clock.advance(0.001)
        again = await world.start()
        assert (again.attempt, again.token != lease.token) == (2, True)
        assert (await world.end(again, Failed(), error="boom again")).event is Event.FAILURE
        run = await world.run(lease.id)
        assert (run.state, run.failures, run.error) == (RunState.FAILED, 2, "boom again")
        assert run.finished_at == world.micro
        assert len(await world.insights.attempts(lease.id)) == 1

    async def test_a_run_handed_back(self, world: World) -> None:
        """At a shutdown it goes to the queue at once, and keeps its place there; no try is used up (S45)."""
        lease = await leased(world, retry=RetryPolicy(1, 100))
        await world.enqueue("a")
        world.clock.advance(5)
        settled = await world.end(lease, HandedBack())
        assert (settled.event, settled.state, settled.failures) == (Event.HAND_BACK, RunState.QUEUED, 0)
        assert [each.event for each in await world.insights.attempts(lease.id)] == [Event.HAND_BACK]
        (first,) = await world.lease(capacity=1, node="w2")
        assert (first.id, first.attempt, first.token) == (lease.id, 2, "w2/2")

    @pytest.mark.parametrize(
        ("outcome", "state"),
        [(HandedBack(), RunState.LOST), (Failed(), RunState.FAILED), (Snoozed(5), RunState.QUEUED)],
    )
    async def test_at_most_once(self, world: World, outcome: Outcome, state: RunState) -> None:
        """A started attempt is never repeated: handed back it is lost, and failed it has failed (S43)."""
        lease = await leased(world, at_most_once=True, retry=RetryPolicy(5, 1))
        settled = await world.end(lease, outcome)
        assert (settled.state, (await world.run(lease.id)).state) == (state, state)

    @pytest.mark.parametrize("outcome", [Failed(), Snoozed(5), HandedBack(), Cancelled()])
    async def test_what_was_asked_to_end_is_not_repeated(self, world: World, outcome: Outcome) -> None:
        """However the attempt ends, the run is cancelled (S41)."""
        lease = await leased(world, retry=RetryPolicy(5, 1))
        await world.store.cancel(lease.id)
        await world.end(lease, outcome)
        assert (await world.run(lease.id)).state is RunState.CANCELLED
        assert await world.lease() == ()

    async def test_preconditions_that_are_not_met(self, world: World) -> None:
        """The run is skipped, although a worker had to take it to find out (S41)."""
        lease = await leased(world)
        settled = await world.end(lease, Unmet(), error="disk full")
        run = await world.run(lease.id)
        assert (settled.event, run.state, run.error) == (Event.UNMET, RunState.SKIPPED, "disk full")

    async def test_a_result_that_cannot_be_kept(self, world: World) -> None:
        """The success counts all the same; that its result was not kept is said in the error."""
        for result in (object(), {1, 2}, math.nan, "\ud800", "nul\0", "x" * 2_000_000, 2**64):
            lease = await leased(world)
            settled = await world.end(lease, result=result)
            run = await world.run(lease.id)
            assert (settled.state, run.state, run.result) == (RunState.SUCCEEDED, RunState.SUCCEEDED, None)
            assert "result" in run.error

    async def test_an_error_that_cannot_be_kept_whole(self, world: World) -> None:
        """Its head and its tail are kept, and characters that no store holds are replaced."""
        lease = await leased(world, retry=RetryPolicy(1, 1))
        await world.end(lease, Failed(), error="begin\0\ud800" + "x" * 100_000 + "the end")
        (attempt,) = await world.insights.attempts(lease.id)
        for error in (attempt.error, (await world.run(lease.id)).error):
            assert len(error) <= 10_000
            assert error.startswith("begin␀�x")
            assert error.endswith("xthe end")

    async def test_a_worker_does_not_say_that_a_run_is_too_late(self, world: World) -> None:
        """That is for the reaper to find; a run that a worker holds has started."""
        lease = await leased(world)
        async with world.refuses(InputError):
            await world.end(lease, TooLate())
