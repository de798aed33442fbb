"""A worker under test: its turns are taken by hand, over a store on a moved clock that can be told to fail."""

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from typing import Any, Self, cast

from tickwise.core.definition import JobDefinition
from tickwise.core.requirements import ALL
from tickwise.core.settle import Settled
from tickwise.runtime.execution import Execution
from tickwise.runtime.executors.function import Isolated
from tickwise.runtime.step_context import Services
from tickwise.runtime.worker import Worker, WorkerOptions
from tickwise.stores.contract import Store
from tickwise.stores.records import Finish, Lease, Renewed, RunRow
from tickwise.testing.conformance.world import World, worker_node

from .app import Shaky, new_world

NODE = "w1"


async def noop() -> str:
    return "done"


class Blocked:
    """A job that goes on until it is let go."""

    def __init__(self) -> None:
        self.begun = asyncio.Event()
        self.let_go = asyncio.Event()
        self.cancelled = 0

    async def __call__(self) -> str:
        self.begun.set()
        try:
            await self.let_go.wait()
        except asyncio.CancelledError:
            self.cancelled += 1
            raise
        return "done"

    def as_function(self) -> Callable[[], Awaitable[str]]:
        async def blocked() -> str:
            return await self()

        return blocked


async def until(condition: Callable[[], bool]) -> None:
    """Let the others have their turns until it is so."""
    while not condition():  # noqa: ASYNC110  (nobody tells of it)
        await asyncio.sleep(0)


class Shop:
    """A worker, and what it tells."""

    def __init__(
        self, world: World, functions: Mapping[str, Callable[..., Any]], services: Services, **room: Any
    ) -> None:
        self.world = world
        self.store = Shaky(world.store)
        self.told: list[str] = []
        store = cast(Store, self.store)
        execution = Execution(store, functions, commands=lambda: (ALL,), services=services)
        self.worker = Worker(
            store, NODE, execution, options=WorkerOptions(**room), on_started=self._started, on_ended=self._ended
        )

    @classmethod
    async def open(
        cls, *functions: Callable[..., Any], jobs: tuple[JobDefinition, ...] = (),
        services: Services | None = None, isolated: frozenset[Callable[..., Any]] = frozenset(), **room: Any,
    ) -> Self:  # fmt: skip
        """Where each function is a job of its name, in a process of its own if isolated, and these are defined."""
        world = await new_world()
        known = {each.__name__: Isolated(each) if each in isolated else each for each in functions}
        defined = {job.name for job in jobs}
        await world.define(*jobs, *(JobDefinition(name) for name in known if name not in defined))
        return cls(world, known, services or Services(), **room)

    def _started(self, lease: Lease) -> None:
        self.told.append(f"{lease.job.name} started")

    def _ended(self, lease: Lease, finish: Finish, settled: Settled) -> None:
        self.told.append(f"{lease.job.name} {type(finish.outcome).__name__} {settled.state}")

    async def take(self, *jobs: str, **given: Any) -> list[str]:
        """Enqueue a run of each, and have the worker lease what it can; the ids of the runs."""
        ids = [await self.world.enqueue(job, **given) for job in jobs]
        await self.worker.turn()
        return ids

    async def store_ends(self) -> None:
        """Store ends as they come, until nothing is held."""
        while self.worker.busy:
            await self.worker.finish_event.wait()
            self.worker.finish_event.clear()
            await self.worker.finish_turn()

    async def work(self, *jobs: str, **given: Any) -> list[RunRow]:
        """The runs of these jobs, from the queue to the end of their first attempt."""
        ids = await self.take(*jobs, **given)
        await self.store_ends()
        return [await self.world.run(run) for run in ids]

    async def renew(self) -> Renewed:
        """What the keeper does: ask the store, and tell the worker."""
        held = self.worker.held()
        renewed = await self.world.store.beat(worker_node(NODE), held, self.worker.options.lease)
        self.worker.on_renewed(held, renewed)
        return renewed
