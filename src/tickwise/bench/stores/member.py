"""A process of the fleet that is measured: it claims what is due, round after round, and tells how long each took.

Either its workers share one store, as in a node: a ticker claims for all of them, and their runs are executed. Or
each has a store with a connection of its own, and claims for itself.
"""

import asyncio
from contextlib import AsyncExitStack
from multiprocessing.connection import Connection
from multiprocessing.sharedctypes import Synchronized
from typing import Any, NamedTuple, cast

from ...clock import monotonic
from ...runtime.ticker import Ticker
from ...runtime.worker import WorkerOptions
from ...stores.contract import Store
from ...stores.records import TickResult
from .bed import opened
from .ours import NODE, Process, nothing

_LOOK_EVERY = 0.005  # seconds


class Member(NamedTuple):
    """What a process of the fleet is."""

    workers: int
    share: bool  # one store among them
    due: int  # in the whole fleet


class Claim(NamedTuple):
    """A tick, by the clock that all processes of a machine share."""

    begun: float
    ended: float
    jobs: int


def live(member: Member, url: str, left: "Synchronized[int]", orders: Connection) -> None:
    """Do a round for each starting time that comes, and end with None."""
    asyncio.run(_live(member, url, left, orders))


async def _live(member: Member, url: str, left: "Synchronized[int]", orders: Connection) -> None:
    async with AsyncExitStack() as stack:
        stores = [Timed(opened(url)) for _ in range(1 if member.share else member.workers)]
        for store in stores:
            stack.push_async_callback(store.close)
        await asyncio.gather(*(store.now() for store in stores))
        orders.send("ready")
        while (start := await asyncio.to_thread(orders.recv)) is not None:
            await asyncio.sleep(start - monotonic())
            if member.share:
                await _work(stores[0], member, left)
            else:
                await asyncio.gather(*map(_claim, stores))
            orders.send([claim for store in stores for claim in store.told()])


async def _claim(store: "Timed") -> None:
    """Claim until there is nothing more."""
    ticker = Ticker(cast(Store, store), NODE)
    while (await ticker.once()).jobs:
        pass


async def _work(store: "Timed", member: Member, left: "Synchronized[int]") -> None:
    """Claim, run and finish until the fleet has done all."""

    def ended() -> None:
        with left.get_lock():
            left.value -= 1

    functions = {f"job-{n}": nothing for n in range(member.due)}
    process = Process(cast(Store, store), functions, WorkerOptions(member.workers), ended)
    process.start()
    while left.value > 0:  # noqa: ASYNC110 (other processes count it down too)
        await asyncio.sleep(_LOOK_EVERY)
    await process.stop()


class Timed:
    """A store that notes its ticks."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._claims: list[Claim] = []

    def __getattr__(self, name: str) -> Any:
        return getattr(self._store, name)

    async def tick(self, *arguments: Any, **named: Any) -> TickResult:
        begun = monotonic()
        ticked = await self._store.tick(*arguments, **named)
        self._claims.append(Claim(begun, monotonic(), ticked.jobs))
        return ticked

    def told(self) -> list[Claim]:
        claims, self._claims = self._claims, []
        return claims
