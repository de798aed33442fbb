"""Tickwise as a contender: the ticker, worker and execution of a node, and a job that does nothing."""

import asyncio
from collections.abc import Callable, Mapping
from contextlib import AbstractAsyncContextManager
from typing import Any

from tickwise.app.garbage_collector import tune_garbage_collector
from tickwise.runtime.execution import Execution
from tickwise.runtime.loop import Loop
from tickwise.runtime.ticker import Ticker
from tickwise.runtime.worker import Worker, WorkerOptions
from tickwise.stores.contract import Store

from ..postgres import vacuum
from .contender import Contender
from .prepared_store import PreparedStore

NODE = "bench"
CONCURRENCY = 2_400  # four passes of a burst: two in progress, and as much running and finished


async def do_nothing() -> None:
    """The job."""


class NodeRoles:
    """The roles of a node that take a run from its slot to its end."""

    def __init__(
        self,
        store: Store,
        functions: Mapping[str, Callable[..., Any]],
        options: WorkerOptions,
        on_ended: Callable[[], None],
    ) -> None:
        self._store = store
        worker = Worker(store, NODE, Execution(store, functions), options=options, on_ended=lambda *_: on_ended())
        ticker = Ticker(store, NODE, worker=worker)
        self._notified = [Loop("ticker", ticker.turn), Loop("worker", worker.turn, wake_event=worker.wake_event)]
        self._loops = [
            *self._notified,
            Loop("finisher", worker.finish_turn, wake_event=worker.finish_event),
            Loop("reporter", worker.flush_turn),
            Loop("notifications", self._wait_for_notification),
        ]

    async def _wait_for_notification(self) -> float:
        if await self._store.wait(1.0):
            for loop in self._notified:
                loop.wake()
        return 0.0

    def start(self) -> None:
        tune_garbage_collector()  # as `tickwise serve` does
        self._stop = asyncio.Event()
        self._tasks = [asyncio.create_task(loop.run(self._stop)) for loop in self._loops]

    async def stop(self) -> None:
        self._stop.set()
        self._tasks[-1].cancel()  # it may be waiting for a notification
        await asyncio.gather(*self._tasks, return_exceptions=True)


class TickwiseNode(Contender):
    """Fires, runs and finishes durably."""

    name = "Tickwise"

    def __init__(self, new_database: AbstractAsyncContextManager[str], due: int, *, alike: bool = True) -> None:
        super().__init__(due)
        self._new_database = new_database
        self._alike = alike
        self._functions = {f"job-{n}": do_nothing for n in range(due)}
        self._unfinished = 0
        self._all_ended = asyncio.Event()

    async def open(self) -> None:
        self._url = await self.stack.enter_async_context(self._new_database)
        self._prepared = await PreparedStore.create(self._url, stored=self.due, due=self.due, alike=self._alike)
        self.stack.push_async_callback(self._prepared.store.close)

    async def prepare(self) -> None:
        await self._prepared.make_due()
        await vacuum(self._url)
        self._unfinished = self.due
        self._all_ended.clear()
        self._roles = NodeRoles(self._prepared.store, self._functions, WorkerOptions(CONCURRENCY), self._ended)

    async def work(self) -> None:
        self._roles.start()
        await self._all_ended.wait()

    def _ended(self) -> None:
        self._unfinished -= 1
        if not self._unfinished:
            self._all_ended.set()

    async def done(self) -> int:
        await self._roles.stop()
        return await self._prepared.count_runs(finished=True)
