"""The watcher: id first, gate at the start, adopt instead of repeat, send again when in doubt (S52-S56)."""

import asyncio
from collections.abc import Callable
from dataclasses import replace
from typing import Any, cast

import pytest

from tickwise.core.definition import EngineUse, JobDefinition
from tickwise.core.handover import WORK_LEASE, Alive, Began
from tickwise.core.settle import Cancelled, Failed, Succeeded
from tickwise.core.states import HandOverState, RunState
from tickwise.runtime.engines.contract import Order
from tickwise.runtime.engines.watcher import Watcher
from tickwise.runtime.worker import Worker, WorkerOptions
from tickwise.stores.contract import StoreUnavailableError
from tickwise.stores.records import Finish, RunRow
from tickwise.testing.conformance.world import World, worker_node
from tickwise.testing.engines.fake import FakeCluster, FakeEngine, ForgetfulFakeEngine

from ...support.app import Shaky, new_world, patiently
from ...support.worker import until

JOB = JobDefinition("a", engine=EngineUse("gpu"))


class Deliveries:
    """What reached the engine's workers."""

    def __init__(self) -> None:
        self.orders: list[Order] = []
        self.cancelled: list[str] = []

    def start(self, order: Order) -> None:
        self.orders.append(order)

    def cancel(self, reference: str) -> None:
        self.cancelled.append(reference)


class OpenEngine(FakeEngine):
    """Work on it asks no gate, as a plain image on Kubernetes."""

    @classmethod
    def asks_gate(cls, options: Any) -> bool:  # noqa: ARG003
        return False


class ReadyEngine:
    """An engine of the settings that is open already."""

    def __init__(self, engine: FakeEngine) -> None:
        self._engine = engine

    def open(self) -> FakeEngine:
        return self._engine


class Post:
    """A node that watches one engine, over a store with a moved clock; its turns are taken by hand."""

    def __init__(self, world: World, cluster: FakeCluster, node: str, kind: type[FakeEngine]) -> None:
        self.world = world
        self.cluster = cluster
        self.node = node
        self.store = Shaky(world.store)
        engines = cast(Any, {"gpu": ReadyEngine(kind(cluster, "gpu"))})
        watcher = Watcher(cast(Any, self.store), engines, api_url="http://api", look_every=0.0)
        self.worker = Worker(cast(Any, self.store), node, watcher, options=WorkerOptions(concurrency=100))

    @classmethod
    async def open(cls, job: JobDefinition = JOB, kind: type[FakeEngine] = FakeEngine) -> "Post":
        world = await new_world()
        await world.define(job)
        return cls(world, FakeCluster(Deliveries()), "w1", kind)

    def beside(self, node: str) -> "Post":
        """Another node over the same store and engine."""
        return Post(self.world, self.cluster, node, FakeEngine)

    @property
    def deliveries(self) -> Deliveries:
        return cast(Deliveries, self.cluster.worker)

    async def take(self) -> str:
        """Have a run of the job leased and ordered; its id."""
        run = await self.world.enqueue("a")
        await self.worker.turn()
        await self.until(
            lambda row: row.hand_over is not None and row.hand_over.state is not HandOverState.INTENDED
        )
        return run

    async def row(self) -> RunRow:
        (row,) = await self.world.runs()
        return row

    async def until(self, seen: Callable[[RunRow], bool]) -> RunRow:
        """Let the watch go on until the run is so."""
        while not seen(row := await self.row()):
            if self.worker.finish_event.is_set():
                self.worker.finish_event.clear()
                await self.worker.finish_turn()
            await asyncio.sleep(0)
        return row

    async def ended(self) -> RunRow:
        return await self.until(lambda row: row.state is not RunState.RUNNING)

    async def looks(self, number: int = 20) -> RunRow:
        """Let some looks pass."""
        for _ in range(number):
            await asyncio.sleep(0)
        return await self.row()

    async def begin(self, claim: str = "claim") -> bool:
        """The work of the newest order asks the gate."""
        row, order = await self.row(), self.deliveries.orders[-1]
        assert row.hand_over is not None
        began = Began(order.environment["TICKWISE_TICKET"], claim)
        self.cluster.begin(order.reference)
        return await self.world.store.hand_over(row.id, row.hand_over.token, began) is not None

    async def renew(self) -> None:
        held = self.worker.held()
        renewed = await self.world.store.beat(worker_node(self.node), held, self.worker.options.lease)
        self.worker.on_renewed(held, renewed)


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
    post.world.clock.advance(599)
    assert (await post.looks()).state is RunState.RUNNING
    post.world.clock.advance(1)
    lost = await post.ended()
    assert lost.state is RunState.LOST
    assert "gpu has not answered for 10m" in lost.error


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
