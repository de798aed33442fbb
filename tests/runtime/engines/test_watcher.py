"""The watcher: id first, gate at the start, adopt instead of repeat, send again when in doubt (S52-S56)."""

import asyncio
from dataclasses import replace
from typing import Any, cast

import pytest

from tickwise.core.handover import WORK_LEASE, Alive, Began
from tickwise.core.settle import Cancelled, Failed, Succeeded
from tickwise.core.states import HandOverState, RunState
from tickwise.runtime.engines.contract import Order
from tickwise.runtime.engines.watcher import Watcher
from tickwise.runtime.worker import Worker, WorkerOptions
from tickwise.stores.contract import StoreUnavailableError
from tickwise.stores.records import MICRO, Finish
from tickwise.testing.engines.fake import FakeEngine, ForgetfulFakeEngine

from ...support.app import patiently
from ...support.engines.watch_post import JOB, OpenEngine, Post
from ...support.worker import until


@patiently
async def test_an_order_has_the_reference_and_no_params() -> None:
    """It is stored before it leaves, and people see where the work is; params are fetched by the work (S52)."""
    post = await Post.open(replace(JOB, params={"password": "x"}))
    run = await post.take()
    (order,) = post.deliveries.orders
    assert (order.reference, order.job) == (f"{run}.1", "a")
    assert order.environment.keys() == {"TICKWISE_API", "TICKWISE_ATTEMPT", "TICKWISE_TICKET"}
    assert "password" not in repr(order)
    record = (await post.row()).hand_over
    assert record is not None
    assert (record.engine, record.state, record.address) == ("gpu", HandOverState.ACCEPTED, f"fake://gpu/{run}.1")


@patiently
async def test_nothing_is_sent_before_the_reference_is_stored() -> None:
    """A store that does not answer is asked again; the engine has heard of nothing until it does (S52)."""
    post = await Post.open()
    answers = asyncio.Event()

    async def unavailable() -> None:
        if not answers.is_set():
            answers.set()
            assert post.deliveries.orders == []
            raise StoreUnavailableError("down")

    post.store.faults["hand_over"] = unavailable
    await post.take()
    assert answers.is_set()
    assert len(post.deliveries.orders) == 1


@patiently
async def test_an_answer_that_is_lost_is_asked_for_again() -> None:
    """The same reference is sent again; an engine that has it already says so: the work is there once (S52)."""
    post = await Post.open()
    post.cluster.faults.lost_answers = 1
    await post.take()
    assert [order.reference for order in post.deliveries.orders] == ["1.1"]


@patiently
async def test_an_engine_that_cannot_say_gets_the_order_again() -> None:
    """It may run twice there; the gate lets one begin (S53)."""
    post = await Post.open(kind=ForgetfulFakeEngine)
    post.cluster.faults.lost_answers = 1
    await post.take()
    assert [order.reference for order in post.deliveries.orders] == ["1.1", "1.1"]
    assert [await post.begin("one"), await post.begin("two")] == [True, False]


@patiently
async def test_what_the_engine_forgot_before_it_began_is_sent_again() -> None:
    """It never began, so nothing is repeated (S55)."""
    post = await Post.open()
    await post.take()
    post.cluster.forget("1.1")
    await until(lambda: len(post.deliveries.orders) == 2)
    assert (await post.row()).attempt == 1


@patiently
async def test_the_end_that_the_work_reports_ends_the_watch() -> None:
    """The store has it already: the watcher lets go, and the engine may forget (S56)."""
    post = await Post.open()
    run = await post.take()
    assert await post.begin()
    row = await post.row()
    assert row.hand_over is not None
    await post.world.store.finish([Finish(run, row.hand_over.token, Succeeded(), result=7)])
    assert post.cluster.has("1.1")
    await post.renew()
    await until(lambda: not post.worker.busy and not post.cluster.has("1.1"))
    assert ((await post.row()).state, (await post.row()).result) == (RunState.SUCCEEDED, 7)


@patiently
async def test_work_without_a_gate_ends_as_the_engine_says() -> None:
    """Its output is read from the engine, once, and the engine forgets it after the end was stored."""
    post = await Post.open(kind=OpenEngine)
    run = await post.take()
    post.cluster.begin("1.1")
    post.cluster.print("1.1", "half a ")
    await post.until(lambda row: row.hand_over is not None and row.hand_over.log_cursor == "7")
    post.cluster.print("1.1", "line\n")
    post.cluster.end("1.1", Failed(), "exit 3")
    ended = await post.ended()
    assert (ended.state, ended.error) == (RunState.FAILED, "exit 3")
    lines = await post.world.insights.log(run)
    assert "".join(part.text for part in lines.items) == "half a line\n"
    await until(lambda: not post.cluster.has("1.1"))


@patiently
async def test_work_without_a_gate_is_ended_when_its_time_is_over() -> None:
    """It does not keep its time by itself."""
    post = await Post.open(replace(JOB, timeout=60), kind=OpenEngine)
    await post.take()
    post.cluster.begin("1.1")
    await post.until(lambda row: row.hand_over is not None and row.hand_over.begun_at is not None)
    post.world.clock.advance(61)
    await until(lambda: bool(post.deliveries.cancelled))
    post.cluster.end("1.1", Cancelled())
    ended = await post.ended()
    assert (ended.state, ended.error) == (RunState.FAILED, "the run took longer than 1m")


@patiently
async def test_work_that_gives_no_sign_of_life_is_tried_again() -> None:
    """As for a worker that vanished (S44); a sign of life that the watcher has not seen yet counts."""
    post = await Post.open()
    run = await post.take()
    await post.begin()
    row = await post.row()
    assert row.hand_over is not None
    post.world.clock.advance(WORK_LEASE - 1)
    assert await post.world.store.hand_over(run, row.hand_over.token, Alive("claim"))
    post.world.clock.advance(WORK_LEASE)
    assert (await post.looks()).state is RunState.RUNNING
    post.world.clock.advance(1)
    ended = await post.ended()
    assert (ended.state, ended.losses) == (RunState.QUEUED, 1)


@patiently
async def test_an_engine_out_of_reach_is_waited_for() -> None:
    """`why` can say since when and in which words; after the patience the run is lost (S55)."""
    post = await Post.open(replace(JOB, timeout=600))
    await post.take()
    post.cluster.faults.gone = True
    silent = await post.until(lambda row: row.hand_over is not None and row.hand_over.silent_since is not None)
    assert silent.hand_over is not None
    assert "gpu does not answer" in silent.hand_over.silence
    await post.asks_for(599)
    assert (await post.looks()).state is RunState.RUNNING
    post.world.clock.advance(1)
    lost = await post.ended()
    assert lost.state is RunState.LOST
    assert "gpu has not answered for 10m" in lost.error


@patiently
async def test_a_silence_counts_only_while_the_engine_is_asked() -> None:
    """A node that stood still for an hour cannot know what the engine would have answered (S55)."""
    post = await Post.open(replace(JOB, timeout=600))
    await post.take()
    post.cluster.faults.gone = True
    await post.until(lambda row: row.hand_over is not None and row.hand_over.silent_since is not None)
    post.world.clock.advance(3_600)
    resumed = post.world.now * MICRO
    shown = await post.until(lambda row: row.hand_over is not None and row.hand_over.silent_since == resumed)
    assert shown.state is RunState.RUNNING
    await post.asks_for(599)
    assert (await post.looks()).state is RunState.RUNNING
    post.world.clock.advance(1)
    assert (await post.ended()).state is RunState.LOST


@patiently
async def test_a_watcher_that_dies_loses_nothing() -> None:
    """Another one adopts the reference and goes on; the work began once and is attempt 1 (S54)."""
    post = await Post.open()
    run = await post.take()
    await post.begin()
    other = post.beside("w2")
    await other.worker.turn()
    assert other.worker.busy == 0
    post.world.clock.advance(31)
    assert (await post.world.store.expire()).leases == 0
    await other.worker.turn()
    assert (other.worker.held(), len(post.deliveries.orders)) == ({run: "w1/1"}, 1)
    await post.renew()
    await until(lambda: not post.worker.busy)
    assert post.cluster.has("1.1"), "the first watcher forgets nothing that goes on"
    row = await post.row()
    assert (row.state, row.node, row.attempt) == (RunState.RUNNING, "w2", 1)


@patiently
async def test_an_adopted_order_that_nobody_answered_is_sent_again() -> None:
    """The ticket is the same, so either copy may begin (S52)."""
    post = await Post.open()
    post.cluster.faults.gone = True
    await post.world.enqueue("a")
    await post.worker.turn()
    await post.until(lambda row: row.hand_over is not None and row.hand_over.silent_since is not None)
    await post.worker.close(0)
    post.cluster.faults.gone = False
    post.world.clock.advance(31)
    other = post.beside("w2")
    await other.worker.turn()
    await until(lambda: bool(post.deliveries.orders))
    row = await post.row()
    assert row.hand_over is not None
    assert post.deliveries.orders[0].environment["TICKWISE_TICKET"] == row.hand_over.ticket


@pytest.mark.parametrize("stop", ["shutdown", "unrenewed"])
@patiently
async def test_a_watcher_that_stops_hands_nothing_back(stop: str) -> None:
    """The work goes on, so no second attempt may begin beside it (S54)."""
    post = await Post.open()
    await post.take()
    await post.begin()
    if stop == "shutdown":
        await post.worker.close(0)
    else:
        post.worker.on_leases_lost()
    await until(lambda: not post.worker.busy)
    row = await post.row()
    assert (row.state, row.attempt, post.cluster.has("1.1")) == (RunState.RUNNING, 1, True)


@patiently
async def test_a_run_that_is_cancelled_before_it_began() -> None:
    """The gate is shut, so the end is certain at once, whatever the engine does with the order (S56)."""
    post = await Post.open()
    run = await post.take()
    await post.world.store.cancel(run)
    await post.renew()
    assert (await post.ended()).state is RunState.CANCELLED
    assert post.deliveries.cancelled == ["1.1"]
    assert not await post.world.store.hand_over(
        run, "w1/1", Began(post.deliveries.orders[0].environment["TICKWISE_TICKET"])
    )


@patiently
async def test_a_cancellation_is_confirmed_or_the_run_stays() -> None:
    """Asked first, killed after ten seconds; until the engine says that it is over, the lane is held (S56)."""
    post = await Post.open(kind=OpenEngine)
    run = await post.take()
    post.cluster.begin("1.1")
    await post.until(lambda row: row.hand_over is not None and row.hand_over.begun_at is not None)
    await post.world.store.cancel(run)
    await post.renew()
    row = await post.until(lambda row: row.hand_over is not None and row.hand_over.state is HandOverState.ENDING)
    assert row.state is RunState.RUNNING
    post.world.clock.advance(9)
    assert (await post.looks()).state is RunState.RUNNING
    post.world.clock.advance(1)
    assert (await post.ended()).state is RunState.CANCELLED


@patiently
async def test_an_order_that_is_refused_fails() -> None:
    """Another order under the same reference is found out by its fingerprint."""
    post = await Post.open()
    other = Order("1.1", "another", "b", {})
    post.cluster.keep(other)
    await post.world.enqueue("a")
    await post.worker.turn()
    ended = await post.ended()
    assert (ended.state, ended.error) == (RunState.FAILED, "gpu has another order under 1.1")


@patiently
async def test_an_engine_that_cannot_be_opened_fails_the_run() -> None:
    """A library that is missing or a wrong setting is named; nothing was sent."""
    post = await Post.open()

    class Broken:
        def open(self) -> FakeEngine:
            raise ValueError("no such cluster")

    watcher = Watcher(cast(Any, post.store), cast(Any, {"gpu": Broken()}), api_url="http://api", look_every=0.0)
    post.worker = Worker(cast(Any, post.store), "w1", watcher, options=WorkerOptions())
    await post.world.enqueue("a")
    await post.worker.turn()
    ended = await post.ended()
    assert (ended.state, "no such cluster" in ended.error) == (RunState.FAILED, True)
