"""A node that watches a fake engine, and its turns taken by hand."""

import asyncio
from collections.abc import Callable
from typing import Any, cast

from tickwise.core.definition import EngineUse, JobDefinition
from tickwise.core.handover import Began
from tickwise.core.states import HandOverState, RunState
from tickwise.runtime.engines.contract import Order
from tickwise.runtime.engines.watcher import EndOfAttempt, Watcher
from tickwise.runtime.worker import Worker, WorkerOptions
from tickwise.stores.records import RunRow
from tickwise.testing.conformance.world import World, worker_node
from tickwise.testing.engines.fake import FakeCluster, FakeEngine

from ..app import Shaky, new_world

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
        self.reported: list[EndOfAttempt] = []
        watcher = Watcher(
            cast(Any, self.store), engines, api_url="http://api", look_every=0.0,
            on_reported=self.reported.append,
        )  # fmt: skip
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

    async def asks_for(self, seconds: int) -> None:
        """Let time pass, with looks in between."""
        for _ in range(seconds):
            self.world.clock.advance(1)
            await self.looks()

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
