"""One process of ours: the real ticker, worker and execution over a store, and a job that does nothing."""

import asyncio
from collections.abc import Callable, Mapping
from contextlib import AbstractAsyncContextManager
from typing import Any

from ...app.gc_tuning import spare_the_collector
from ...runtime.execution import Execution
from ...runtime.loop import Loop
from ...runtime.ticker import Ticker
from ...runtime.worker import Worker, WorkerOptions
from ...stores.contract import Store
from .bed import Bed
from .contender import Contender
from .databases import tidy

NODE = "bench"
CONCURRENCY = 2_400  # four passes of a burst: two may be under way, beside what runs and is finished


async def nothing() -> None:
    """The job."""


class Process:
    """The roles of a node that carry a run from its slot to its end."""

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
        self._rung = [Loop("ticker", ticker.turn), Loop("worker", worker.turn, wake_event=worker.wake_event)]
        self._loops = [
            *self._rung,
            Loop("finisher", worker.finish_turn, wake_event=worker.finish_event),
            Loop("reporter", worker.flush_turn),
            Loop("news", self._hear),
        ]

    async def _hear(self) -> float:
        if await self._store.wait(1.0):
            for loop in self._rung:
                loop.wake()
        return 0.0

    def start(self) -> None:
        spare_the_collector()  # as `tickwise serve` does
        self._stop = asyncio.Event()
        self._roles = [asyncio.create_task(loop.run(self._stop)) for loop in self._loops]

    async def stop(self) -> None:
        self._stop.set()
        self._roles[-1].cancel()  # it may wait for news for a while
        await asyncio.gather(*self._roles, return_exceptions=True)


class Ours(Contender):
    """Fire, run, and finish durably."""

    name = "Tickwise"

    def __init__(self, place: AbstractAsyncContextManager[str], due: int) -> None:
        super().__init__(due)
        self._place = place
        self._functions = {f"job-{n}": nothing for n in range(due)}
        self._left = 0
        self._all_ended = asyncio.Event()

    async def open(self) -> None:
        self._url = await self.stack.enter_async_context(self._place)
        self._bed = await Bed.laid(self._url, stored=self.due, due=self.due)
        self.stack.push_async_callback(self._bed.store.close)

    async def prepare(self) -> None:
        await self._bed.arm()
        await tidy(self._url)
        self._left = self.due
        self._all_ended.clear()
        self._process = Process(self._bed.store, self._functions, WorkerOptions(CONCURRENCY), self._ended)

    async def work(self) -> None:
        self._process.start()
        await self._all_ended.wait()

    def _ended(self) -> None:
        self._left -= 1
        if not self._left:
            self._all_ended.set()

    async def done(self) -> int:
        await self._process.stop()
        return await self._bed.runs(finished=True)
