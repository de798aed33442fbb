"""How a worker shuts down: grace for what runs, and the rest handed back (S45)."""

import asyncio

from tickwise.core.definition import RetryPolicy
from tickwise.core.states import Event, RunState
from tickwise.stores.records import Finish
from tickwise.testing.conformance.world import SUCCESS, job

from ..support.app import patiently
from ..support.worker import NODE, Blocked, Shop, noop, until


@patiently
async def test_running_work_may_end_within_the_grace() -> None:
    """No new work is taken, and what ends in time ends as ever (S45)."""
    blocked = Blocked()
    shop = await Shop.open(noop, blocked.as_function())
    (run,) = await shop.take("blocked")
    closing = asyncio.create_task(shop.worker.close(1_000))
    await blocked.begun.wait()
    await shop.world.enqueue("noop")
    await shop.worker.turn()
    assert (shop.worker.busy, shop.worker.free) == (1, 0)
    blocked.let_go.set()
    await shop.store_ends()
    await closing
    assert (await shop.world.run(run)).state is RunState.SUCCEEDED


@patiently
async def test_after_the_grace_runs_are_handed_back() -> None:
    """They are queued again at once and have used up no try; what may run once only is lost (S43, S45)."""
    one, two = Blocked(), Blocked()

    async def once() -> str:
        return await two()

    jobs = (job("blocked", retry=RetryPolicy(limit=1)), job("once", at_most_once=True))
    shop = await Shop.open(one.as_function(), once, jobs=jobs)
    ids = await shop.take("blocked", "once")
    await one.begun.wait()
    await two.begun.wait()
    closing = asyncio.create_task(shop.worker.close(0))
    await shop.store_ends()
    await closing
    back, lost = [await shop.world.run(run) for run in ids]
    assert (back.state, back.failures, back.losses, back.due_at) == (RunState.QUEUED, 0, 0, back.created_at)
    assert [attempt.event for attempt in await shop.world.insights.attempts(back.id)] == [Event.HAND_BACK]
    assert (lost.state, lost.error) == (RunState.LOST, "its worker shut down")


@patiently
async def test_who_is_in_a_hurry_gets_no_more_grace() -> None:
    """The grace may be cut short while it lasts."""
    blocked = Blocked()
    shop = await Shop.open(blocked.as_function())
    (run,) = await shop.take("blocked")
    await blocked.begun.wait()
    closing = asyncio.create_task(shop.worker.close(1_000))
    await asyncio.sleep(0)
    shop.worker.end_grace()
    await shop.store_ends()
    await closing
    assert (await shop.world.run(run)).state is RunState.QUEUED


@patiently
async def test_a_lease_that_comes_after_the_grace_is_handed_back() -> None:
    """It was on its way when the worker shut down."""
    blocked = Blocked()
    shop = await Shop.open(blocked.as_function())
    await shop.world.enqueue("blocked")
    reserved = shop.worker.reserve()
    assert reserved
    leases = await shop.world.store.lease(reserved)
    closing = asyncio.create_task(shop.worker.close(0))
    await until(shop.worker._grace_over.is_set)
    shop.worker.take(reserved, leases)
    await shop.store_ends()
    await closing
    assert [run.state for run in await shop.world.runs()] == [RunState.QUEUED]
    assert not blocked.begun.is_set()


@patiently
async def test_a_handed_back_run_is_taken_by_another() -> None:
    """It begins there as its next attempt, and the old token finishes nothing."""
    blocked = Blocked()
    shop = await Shop.open(blocked.as_function())
    (run,) = await shop.take("blocked")
    await blocked.begun.wait()
    closing = asyncio.create_task(shop.worker.close(0))
    await shop.store_ends()
    await closing
    (lease,) = await shop.world.lease(node="w2")
    assert (lease.id, lease.attempt) == (run, 2)
    assert await shop.world.store.finish([Finish(run, f"{NODE}/1", SUCCESS)]) == (None,)
    await shop.world.end(lease)
