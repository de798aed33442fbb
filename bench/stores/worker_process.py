"""A process of the measured fleet: in each round it claims due jobs, and reports how long each claim took.

Either its workers share one store, as in a node: a ticker claims for all of them, and they execute the runs. Or
each worker has a store and a connection of its own, and only claims.
"""

import asyncio
from contextlib import AsyncExitStack
from multiprocessing.connection import Connection
from multiprocessing.sharedctypes import Synchronized
from typing import Any, NamedTuple, TypeAlias, cast

from tickwise.clock import monotonic
from tickwise.runtime.ticker import Ticker
from tickwise.runtime.worker import WorkerOptions
from tickwise.stores.contract import Store
from tickwise.stores.records import TickResult

from .node import NODE, NodeRoles, do_nothing
from .prepared_store import open_sql_store

_POLL_INTERVAL = 0.005  # seconds
_SharedCounter: TypeAlias = "Synchronized[int]"


class WorkerProcess(NamedTuple):
    """The settings of one process of the fleet."""

    workers: int
    share: bool  # whether its workers share one store
    due: int  # in the whole fleet


class TimedClaim(NamedTuple):
    """A tick, by the monotonic clock that all processes of a machine share."""

    begun: float
    ended: float
    jobs: int


def run_worker_process(settings: WorkerProcess, url: str, unfinished: _SharedCounter, orders: Connection) -> None:
    """Do a round at each start time that is received; None ends the process."""
    asyncio.run(_run_rounds(settings, url, unfinished, orders))


async def _run_rounds(settings: WorkerProcess, url: str, unfinished: _SharedCounter, orders: Connection) -> None:
    async with AsyncExitStack() as stack:
        stores = [TimedStore(open_sql_store(url)) for _ in range(1 if settings.share else settings.workers)]
        for store in stores:
            stack.push_async_callback(store.close)
        await asyncio.gather(*(store.now() for store in stores))
        orders.send("ready")
        while (start := await asyncio.to_thread(orders.recv)) is not None:
            await asyncio.sleep(start - monotonic())
            if settings.share:
                await _run_all(stores[0], settings, unfinished)
            else:
                await asyncio.gather(*map(_claim_all, stores))
            orders.send([claim for store in stores for claim in store.take_claims()])


async def _claim_all(store: "TimedStore") -> None:
    """Claim until nothing is due."""
    ticker = Ticker(cast(Store, store), NODE)
    while (await ticker.once()).jobs:
        pass


async def _run_all(store: "TimedStore", settings: WorkerProcess, unfinished: _SharedCounter) -> None:
    """Claim, run and finish until the fleet has finished all runs."""

    def ended() -> None:
        with unfinished.get_lock():
            unfinished.value -= 1

    functions = {f"job-{n}": do_nothing for n in range(settings.due)}
    roles = NodeRoles(cast(Store, store), functions, WorkerOptions(settings.workers), ended)
    roles.start()
    while unfinished.value > 0:  # noqa: ASYNC110 (other processes count it down too)
        await asyncio.sleep(_POLL_INTERVAL)
    await roles.stop()


class TimedStore:
    """A store that times its ticks."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._claims: list[TimedClaim] = []

    def __getattr__(self, name: str) -> Any:
        return getattr(self._store, name)

    async def tick(self, *arguments: Any, **named: Any) -> TickResult:
        begun = monotonic()
        ticked = await self._store.tick(*arguments, **named)
        self._claims.append(TimedClaim(begun, monotonic(), ticked.jobs))
        return ticked

    def take_claims(self) -> list[TimedClaim]:
        claims, self._claims = self._claims, []
        return claims
