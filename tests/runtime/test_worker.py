"""The worker: takes what it has room for, and ends what others have an end to."""

import asyncio

import pytest

from tickwise.core.definition import Command, Handlers, JobDefinition, Step
from tickwise.core.requirements import Offers
from tickwise.core.states import RunState
from tickwise.runtime.worker import StopReason
from tickwise.stores.contract import StoreUnavailableError
from tickwise.stores.records import LeaseRequest, QueueLimit
from tickwise.testing.conformance.world import job, worker_node

from ..support.app import patiently
from ..support.worker import NODE, Blocked, Shop, noop, until

# Taking on.


@patiently
async def test_it_leases_as_much_as_it_has_room_for() -> None:
    """One question fills all free room, and a full worker asks for nothing."""
    blocked = Blocked()
    shop = await Shop.open(blocked.as_function(), concurrency=3)
    await shop.take(*["blocked"] * 5)
    assert (shop.worker.busy, shop.worker.free, shop.store.calls["lease"]) == (3, 0, 1)
    await shop.worker.turn()
    assert shop.store.calls["lease"] == 1
    blocked.let_go.set()
    await shop.store_ends()
    assert shop.worker.wake_event.is_set(), "who has room again asks for more"
    await shop.worker.turn()
    await shop.store_ends()
    assert {run.state for run in await shop.world.runs()} == {RunState.SUCCEEDED}


@patiently
async def test_many_runs_begin_in_slices(monkeypatch: pytest.MonkeyPatch) -> None:
    """The loop looks at what else there is in between; meanwhile all of them are held, and take up room."""
    monkeypatch.setattr("tickwise.runtime.worker._START_BATCH", 2)
    blocked = Blocked()
    shop = await Shop.open(blocked.as_function(), concurrency=7)
    runs = await shop.take(*["blocked"] * 5)
    begun = [len(shop.told)]
    assert (shop.worker.busy, shop.worker.free, sorted(shop.worker.held())) == (5, 2, sorted(runs))
    while len(shop.told) < 5:
        await asyncio.sleep(0)
        begun.append(len(shop.told))
    assert begun == [2, 4, 5]
    blocked.let_go.set()
    await shop.store_ends()
    assert {run.state for run in await shop.world.runs()} == {RunState.SUCCEEDED}


@pytest.mark.parametrize("how", ["cancelled", "lost", "closed"])
@patiently
async def test_runs_that_are_next_can_be_ended(how: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """S42, S45: what ends runs from outside ends these too; only a shutdown with its grace lets them begin."""
    monkeypatch.setattr("tickwise.runtime.worker._START_BATCH", 1)
    blocked = Blocked()
    shop = await Shop.open(blocked.as_function())
    runs = await shop.take(*["blocked"] * 3)
    if how == "cancelled":
        for run in reversed(runs):
            shop.worker.stop(run, StopReason.CANCELLED)
        await shop.store_ends()
    elif how == "lost":
        shop.worker.on_leases_lost()
        await shop.store_ends()
    else:
        storing = asyncio.create_task(shop.store_ends())
        await shop.worker.close(0)
        await storing
    assert (shop.worker.busy, blocked.begun.is_set()) == (0, how == "closed")
    states = {"cancelled": RunState.CANCELLED, "lost": RunState.QUEUED, "closed": RunState.QUEUED}
    assert [(await shop.world.run(run)).state for run in runs] == [states[how]] * 3


@patiently
async def test_room_that_was_set_aside_is_not_leased() -> None:
    """What a pass may hand over at once has its room reserved; who was turned away meanwhile is rung again."""
    shop = await Shop.open(noop, concurrency=2)
    reserved = shop.worker.reserve()
    assert reserved is not None
    assert (reserved.capacity, shop.worker.free, shop.worker.reserve()) == (2, 0, None)
    await shop.take("noop")
    assert shop.worker.busy == 0
    shop.worker.wake_event.clear()
    shop.worker.take(reserved, ())
    assert (shop.worker.free, shop.worker.wake_event.is_set()) == (2, True)


@patiently
async def test_who_waits_for_room_goes_on_when_there_is_some() -> None:
    """Waiting is over when a run ends and the queues have been looked at, or when the patience is."""
    blocked = Blocked()
    shop = await Shop.open(blocked.as_function(), concurrency=1)
    assert not await shop.worker.wait_for_room(2, 1_000), "there never is so much"
    assert await shop.worker.wait_for_room(1, 1_000)
    await shop.take("blocked")
    assert not await shop.worker.wait_for_room(1, 0.01)
    waiting = asyncio.create_task(shop.worker.wait_for_room(1, 1_000))
    await asyncio.sleep(0)
    blocked.let_go.set()
    await shop.store_ends()
    assert not await shop.worker.wait_for_room(1, 0.01), "what may be queued goes before"
    await shop.worker.turn()
    assert await waiting


@patiently
async def test_who_waits_for_room_waits_for_an_end_that_is_being_stored() -> None:
    """However long the store takes for it: the room is about to be free, and nobody need queue."""
    shop = await Shop.open(noop, concurrency=1)
    await shop.world.enqueue("noop")
    shop.worker.take(None, await shop.world.lease())
    stored = asyncio.Event()
    shop.store.faults["finish"] = stored.wait
    await shop.worker.finish_event.wait()
    storing = asyncio.create_task(shop.worker.finish_turn())
    waiting = asyncio.create_task(shop.worker.wait_for_room(1, 0.05))
    await asyncio.wait((waiting,), timeout=0.12)
    assert not waiting.done()
    stored.set()
    await storing
    assert await waiting


@patiently
async def test_ends_are_stored_while_slots_are_decided() -> None:
    """A pass that has set room aside keeps no end waiting."""
    shop = await Shop.open(noop, concurrency=4)
    await shop.take("noop")
    reserved = shop.worker.reserve(1)
    await shop.store_ends()
    assert (shop.store.calls["finish"], shop.worker.busy) == (1, 0)
    shop.worker.take(reserved, ())


@patiently
async def test_a_worker_asks_again_only_if_there_may_be_more() -> None:
    """A run that had waited may have left others waiting behind it; one that was handed over has not."""
    shop = await Shop.open(noop, concurrency=3)
    await shop.take("noop")
    shop.worker.wake_event.clear()
    await shop.store_ends()
    assert shop.worker.wake_event.is_set()
    await shop.worker.turn()
    await shop.world.enqueue("noop")
    reserved = shop.worker.reserve()
    assert reserved is not None
    shop.worker.wake_event.clear()
    shop.worker.take(reserved, await shop.world.store.lease(reserved))
    await shop.store_ends()
    assert (shop.worker.busy, shop.worker.wake_event.is_set()) == (0, False)


@patiently
async def test_a_limit_on_a_queue_does_not_make_a_worker_sleep() -> None:
    """What a limit kept waiting is asked for when a run of its queue has ended, and not at the next poll."""
    shop = await Shop.open(noop, concurrency=3)
    await shop.world.store.limit(QueueLimit("default", concurrency=1))
    await shop.take(*["noop"] * 3)
    for waiting in (2, 1, 0):
        assert sum(run.state is RunState.QUEUED for run in await shop.world.runs()) == waiting
        shop.worker.wake_event.clear()
        await shop.store_ends()
        assert shop.worker.wake_event.is_set()
        await shop.worker.turn()


@patiently
async def test_a_lease_that_fails_gives_the_room_back() -> None:
    """A store that is away costs no room."""
    shop = await Shop.open(noop, concurrency=2)
    shop.store.fail("lease")
    with pytest.raises(StoreUnavailableError):
        await shop.take("noop")
    assert shop.worker.free == 2


@patiently
async def test_queues_are_served_in_order_and_runs_by_priority() -> None:
    """A worker of two queues takes the first first; in a queue what matters more goes first."""
    jobs = (job("low"), job("high", priority=5), job("elsewhere", queue="other", priority=9))
    ran: list[str] = []

    async def low() -> None:
        ran.append("low")

    async def high() -> None:
        ran.append("high")

    async def elsewhere() -> None:
        ran.append("elsewhere")

    shop = await Shop.open(low, high, elsewhere, jobs=jobs, concurrency=1, queues=("default", "other"))
    for name in ("elsewhere", "low", "high"):
        await shop.world.enqueue(name)
    for _ in range(3):
        await shop.worker.turn()
        await shop.store_ends()
    assert ran == ["high", "low", "elsewhere"]


@patiently
async def test_a_queue_that_it_does_not_serve_is_left_alone() -> None:
    """Its runs wait for a worker that does."""
    shop = await Shop.open(noop, jobs=(job("noop", queue="other"),))
    await shop.take("noop")
    assert shop.worker.busy == 0


@patiently
async def test_the_limits_of_the_fleet_hold() -> None:
    """However much room a worker has, of a limited queue it gets no more than that allows."""
    blocked = Blocked()
    shop = await Shop.open(blocked.as_function())
    await shop.world.store.limit(QueueLimit("default", concurrency=2))
    await shop.take(*["blocked"] * 3)
    assert shop.worker.busy == 2


@patiently
async def test_a_job_that_it_does_not_know_is_left_for_others() -> None:
    """A function of another app stays queued (S46)."""
    shop = await Shop.open(noop, jobs=(job("unknown"),))
    await shop.take("unknown", "noop")
    await shop.store_ends()
    assert [run.state for run in await shop.world.runs()] == [RunState.QUEUED, RunState.SUCCEEDED]


# Ended from outside.


@patiently
async def test_a_run_that_is_asked_to_end_is_cancelled() -> None:
    """A person's word reaches it with the next renewal, and is said once however often it is heard (S41)."""
    blocked = Blocked()
    shop = await Shop.open(blocked.as_function())
    (run,) = await shop.take("blocked")
    await blocked.begun.wait()
    await shop.world.store.cancel(run)
    await shop.renew()
    await shop.renew()
    await shop.store_ends()
    found = await shop.world.run(run)
    assert (found.state, found.error, blocked.cancelled) == (RunState.CANCELLED, "it was asked to end", 1)


@patiently
async def test_a_run_can_be_cancelled_before_it_has_begun() -> None:
    """Its task exists, but has not had its first turn."""
    blocked = Blocked()
    shop = await Shop.open(blocked.as_function())
    (run,) = await shop.take("blocked")
    shop.worker.stop(run, StopReason.CANCELLED)
    await shop.store_ends()
    assert (await shop.world.run(run)).state is RunState.CANCELLED
    assert not blocked.begun.is_set()


@patiently
async def test_what_is_to_be_done_after_a_cancelled_run_is_done() -> None:
    """`on: exit` runs to its end, whatever else is heard meanwhile, and sees how the run ended."""
    step = Step("only", Command(("sh", "-c", "sleep 1000")))
    on = Handlers(exit=Command(("sh", "-c", "echo after $TICKWISE_OUTCOME")))
    shop = await Shop.open(jobs=(JobDefinition("pipe", steps=(step,), on=on),))
    (run,) = await shop.take("pipe")
    while not (await shop.world.insights.steps(run)):
        await asyncio.sleep(0)
        await shop.worker.flush_turn()
    await shop.world.store.cancel(run)
    while shop.worker.busy and not shop.worker.finish_event.is_set():
        await shop.renew()
        await asyncio.sleep(0)
    await shop.store_ends()
    assert (await shop.world.run(run)).state is RunState.CANCELLED
    log = (await shop.world.insights.log(run)).items
    assert ("on:exit", "after cancelled\n") in [(part.step, part.text) for part in log]


@patiently
async def test_a_run_that_is_not_ours_any_longer_is_stopped() -> None:
    """Its lease ran out and somebody else has it: nothing is told, and a late result is refused (S42)."""
    blocked = Blocked()
    shop = await Shop.open(blocked.as_function())
    (run,) = await shop.take("blocked")
    await blocked.begun.wait()
    shop.world.clock.advance(31)
    await shop.world.store.expire()
    (other,) = await shop.world.lease(node="w2")
    await shop.renew()
    await until(lambda: not shop.worker.busy)
    assert (blocked.cancelled, shop.store.calls["finish"]) == (1, 0)
    assert (await shop.world.run(run)).node == "w2"
    await shop.world.end(other)


@patiently
async def test_a_result_that_comes_too_late_is_refused() -> None:
    """The worker learns of the loss only when it tells how the run ended (S42)."""
    shop = await Shop.open(noop)
    (run,) = await shop.take("noop")
    await shop.worker.finish_event.wait()
    shop.world.clock.advance(31)
    await shop.world.store.expire()
    await shop.store_ends()
    assert (await shop.world.run(run)).state is RunState.QUEUED
    assert shop.told == ["noop started"]


@patiently
async def test_if_no_lease_can_be_renewed_all_runs_stop() -> None:
    """Somebody else may start them soon (S42); what is still ours when the store is back is handed back (E6)."""
    blocked = Blocked()
    shop = await Shop.open(blocked.as_function())
    run, taken = await shop.take("blocked", "blocked")
    await until(lambda: len(shop.told) == 2 and blocked.begun.is_set())
    shop.store.fail("finish")
    shop.worker.on_leases_lost()
    await until(lambda: blocked.cancelled == 2)
    await shop.worker.finish_event.wait()
    with pytest.raises(StoreUnavailableError):
        await shop.worker.finish_turn()
    assert {run.state for run in await shop.world.runs()} == {RunState.RUNNING}
    await shop.world.store.beat(worker_node(NODE), {run: f"{NODE}/1"}, 60)
    shop.world.clock.advance(31)
    await shop.world.store.expire()
    shop.store.mend()
    await shop.store_ends()
    rows = [await shop.world.run(each) for each in (run, taken)]
    assert [(row.state, row.losses) for row in rows] == [(RunState.QUEUED, 0), (RunState.QUEUED, 1)]


@patiently
async def test_code_that_goes_on_after_its_lease_was_lost_is_left_behind() -> None:
    """Its room stays taken until it is over, and what it returns then is dropped (S42)."""
    go_on = asyncio.Event()
    deaf = 0

    async def does_not_listen() -> str:
        nonlocal deaf
        while not go_on.is_set():
            try:
                await go_on.wait()
            except asyncio.CancelledError:
                deaf += 1
        return "at last"

    shop = await Shop.open(does_not_listen, concurrency=2, cancel_grace=0.01)
    (run,) = await shop.take("does_not_listen")
    while not deaf:
        await asyncio.sleep(0)
        shop.worker.stop(run, StopReason.LOST)
    await until(lambda: not shop.worker.busy)
    assert shop.worker.free == 1
    go_on.set()
    await until(lambda: shop.worker.free == 2)
    assert not shop.worker.finish_event.is_set()


# Adopting.


@patiently
async def test_a_lease_whose_answer_was_lost_is_adopted() -> None:
    """The store says that the node holds a run that it does not know: it runs it on a renewed lease (S42)."""
    shop = await Shop.open(noop)
    run = await shop.world.enqueue("noop")
    await shop.world.store.lease(LeaseRequest(NODE, 1, offers=Offers.of({"noop"})))
    shop.world.clock.advance(29)
    await shop.renew()
    assert shop.worker.busy == 0
    await shop.renew()
    shop.world.clock.advance(29)
    await shop.world.store.expire()
    await shop.store_ends()
    assert (await shop.world.run(run)).state is RunState.SUCCEEDED


@patiently
async def test_a_lease_that_ran_out_meanwhile_is_not_adopted() -> None:
    """What was taken back before it could be renewed never begins here (S42)."""
    shop = await Shop.open(noop)
    await shop.world.enqueue("noop")
    await shop.world.store.lease(LeaseRequest(NODE, 1, offers=Offers.of({"noop"})))
    await shop.renew()
    shop.world.clock.advance(31)
    await shop.world.store.expire()
    await shop.renew()
    assert (shop.worker.busy, shop.worker.held()) == (0, {})


@patiently
async def test_what_was_stopped_while_a_renewal_was_under_way_is_not_adopted() -> None:
    """The lease seemed lost, and the late answer renews it: it is not begun twice under one token (S43)."""
    blocked = Blocked()
    shop = await Shop.open(blocked.as_function())
    await shop.take("blocked")
    asked = shop.worker.held()
    late = await shop.world.store.beat(worker_node(NODE), asked)
    shop.worker.on_leases_lost()
    shop.worker.on_renewed(asked, late)
    await shop.store_ends()
    shop.worker.on_renewed(asked, late)
    for _ in range(3):
        await shop.renew()
    assert (shop.worker.busy, shop.told) == (0, ["blocked started", "blocked HandedBack queued"])


@patiently
async def test_a_lease_that_may_be_on_its_way_is_not_adopted() -> None:
    """While a question is under way, its answer is what counts."""
    shop = await Shop.open(noop)
    await shop.world.enqueue("noop")
    reserved = shop.worker.reserve()
    leases = await shop.world.store.lease(LeaseRequest(NODE, 1, offers=Offers.of({"noop"})))
    await shop.renew()
    assert shop.worker.busy == 0
    shop.worker.take(reserved, leases)
    await shop.store_ends()
    assert shop.told == ["noop started", "noop Succeeded succeeded"]


@patiently
async def test_a_run_that_ended_while_the_keeper_asked_does_not_run_again() -> None:
    """The keeper's answer is older than what has happened since."""
    shop = await Shop.open(noop)
    held = shop.worker.held()
    (run,) = await shop.take("noop")
    heard = await shop.world.store.beat(worker_node(NODE), held)
    assert [lease.id for lease in heard.unknown] == [run]
    await shop.store_ends()
    shop.worker.on_renewed(held, heard)
    assert (shop.worker.busy, shop.told) == (0, ["noop started", "noop Succeeded succeeded"])


@patiently
async def test_a_run_that_was_stopped_as_lost_does_not_begin_again_here() -> None:
    """The store may come back before the lease has run out, but what may start at most once is lost then (S43)."""
    blocked = Blocked()
    shop = await Shop.open(blocked.as_function(), jobs=(job("blocked", at_most_once=True),))
    (run,) = await shop.take("blocked")
    await blocked.begun.wait()
    shop.worker.on_leases_lost()
    await shop.renew()
    await shop.store_ends()
    await shop.renew()
    assert (shop.worker.busy, (await shop.world.run(run)).state) == (0, RunState.LOST)
