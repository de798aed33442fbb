"""The keeper of leases: a thread with a store of its own, that says the node is alive and renews what it holds.

Neither user code that blocks the event loop nor a connection that is busy can lose a lease (S42). If it cannot
renew for two thirds of a lease, it says so: the runs must stop, before somebody else may start them.
"""

import asyncio
from collections.abc import Callable, Mapping
from contextlib import suppress
from threading import Thread
from typing import NamedTuple

import structlog

from ..clock import monotonic
from ..stores.contract import Store
from ..stores.records import Node, Renewed

_log = structlog.get_logger("tickwise")
_OF_A_LEASE = 2 / 3
_SHORTEST = 0.25  # seconds between two looks, however often it is rung


class Upkeep(NamedTuple):
    """What the worker tells its keeper, and hears from it. All are called from the keeper's thread."""

    node: Callable[[], Node]
    passed: Callable[[], bool]  # whether its ticker has completed a pass since it was last asked
    held: Callable[[], Mapping[str, str]]  # run ids to tokens
    renewed: Callable[[Mapping[str, str], Renewed], None]  # what was asked for, what is
    lost: Callable[[], None]  # nothing could be renewed for too long


class Keeper:
    """The thread. `ring` makes it look now."""

    def __init__(self, open_store: Callable[[], Store], upkeep: Upkeep, *, every: float, lease: float) -> None:
        self._open_store = open_store
        self._upkeep = upkeep
        self._every = every
        self._patience = lease * _OF_A_LEASE
        self._lease = lease
        self._loop = asyncio.new_event_loop()
        self._stop = asyncio.Event()
        self._bell = asyncio.Event()
        self._thread = Thread(target=self._main, name="tickwise-keeper", daemon=True)

    def start(self) -> None:
        self._thread.start()

    def ring(self) -> None:
        with suppress(RuntimeError):  # it has ended
            self._loop.call_soon_threadsafe(self._bell.set)

    def close(self) -> None:
        """End the thread, after a last word to the store."""
        with suppress(RuntimeError):
            self._loop.call_soon_threadsafe(self._stop.set)
            self._loop.call_soon_threadsafe(self._bell.set)
        self._thread.join()

    def _main(self) -> None:
        asyncio.set_event_loop(self._loop)
        try:
            self._loop.run_until_complete(self._keep())
        finally:
            self._loop.close()

    async def _keep(self) -> None:
        store = self._open_store()
        renewed_at = monotonic()
        try:
            while not self._stop.is_set():
                self._bell.clear()
                try:
                    await self._renew(store)
                    renewed_at = monotonic()
                except Exception as error:  # noqa: BLE001  (it goes on trying)
                    _log.warning("cannot renew", error=str(error))
                    if monotonic() - renewed_at > self._patience:
                        self._upkeep.lost()
                with suppress(TimeoutError):
                    await asyncio.wait_for(self._stop.wait(), _SHORTEST)
                with suppress(TimeoutError):
                    await asyncio.wait_for(self._bell.wait(), self._every)
            with suppress(Exception):
                await store.leave(self._upkeep.node().id)
        finally:
            await store.close()

    async def _renew(self, store: Store) -> None:
        node, held = self._upkeep.node(), self._upkeep.held()
        asked_to_end = await store.beat(node, passed=self._upkeep.passed())
        renewed = await store.renew(node.id, held, int(self._lease))
        self._upkeep.renewed(held, renewed._replace(cancel=renewed.cancel | asked_to_end))
