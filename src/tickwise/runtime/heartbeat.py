"""The keeper of leases: a thread with a store of its own, that says the node is alive and renews what it holds.

Neither user code that blocks the event loop nor a connection that is busy can lose a lease (S42). If it cannot
renew for two thirds of a lease, it says so: the runs must stop, before somebody else may start them. An answer
that does not come counts as none.
"""

import asyncio
from collections.abc import Callable, Mapping
from concurrent.futures import Future
from contextlib import suppress
from threading import Thread
from typing import NamedTuple

from ..clock import monotonic
from ..log import get_logger
from ..stores.contract import Store
from ..stores.records import Node, Renewed

_log = get_logger()
_OF_A_LEASE = 2 / 3
_SHORTEST = 0.25  # seconds between two looks, however often it is rung
_AGAIN = 1.0  # seconds before another try, if one fails
_LAST_WORD = 5.0  # seconds that it may take


class HeartbeatCallbacks(NamedTuple):
    """What the worker tells its keeper, and hears from it. All are called from the keeper's thread."""

    node: Callable[[], Node]
    passed: Callable[[], bool]  # whether its ticker has completed a pass since it was last asked
    held: Callable[[], Mapping[str, str]]  # run ids to tokens
    renewed: Callable[[Mapping[str, str], Renewed], None]  # what was asked for, what is
    lost: Callable[[], None]  # nothing could be renewed for too long


class Heartbeat:
    """The thread. `ring` makes it look now."""

    def __init__(
        self, open_store: Callable[[], Store], upkeep: HeartbeatCallbacks, *, every: float, lease: int
    ) -> None:
        self._open_store = open_store
        self._upkeep = upkeep
        self._every = every
        self._lease = lease
        self._patience = lease * _OF_A_LEASE
        self._store: Store | None = None
        self._loop: asyncio.AbstractEventLoop | None = None
        self._stop = asyncio.Event()
        self._bell = asyncio.Event()
        self._ended: Future[None] = Future()

    def start(self) -> None:
        self._loop = asyncio.new_event_loop()
        Thread(target=self._main, args=(self._loop,), name="tickwise-keeper", daemon=True).start()

    def ring(self) -> None:
        self._tell(self._bell)

    async def close(self) -> None:
        """End the thread, after a last word to the store."""
        self._tell(self._stop)
        self._tell(self._bell)
        await asyncio.wrap_future(self._ended)

    def _tell(self, event: asyncio.Event) -> None:
        if self._loop:
            with suppress(RuntimeError):  # it has ended
                self._loop.call_soon_threadsafe(event.set)

    def _main(self, loop: asyncio.AbstractEventLoop) -> None:
        try:
            loop.run_until_complete(self._keep())
        finally:
            loop.close()
            self._ended.set_result(None)

    async def _keep(self) -> None:
        renewed_at = monotonic()
        while not self._stop.is_set():
            self._bell.clear()
            asked_at, pause = monotonic(), self._every
            try:
                await self._renew_within(self._left(renewed_at))
                renewed_at = asked_at
            except Exception as error:  # noqa: BLE001  (it goes on trying)
                _log.warning("cannot renew", error=str(error))
                if monotonic() - renewed_at >= self._patience:
                    self._upkeep.lost()
                pause = min(self._every, _AGAIN, self._left(renewed_at))
            with suppress(TimeoutError):
                await asyncio.wait_for(self._stop.wait(), min(_SHORTEST, pause))
            with suppress(TimeoutError):
                await asyncio.wait_for(self._bell.wait(), pause)
        await self._leave()

    def _left(self, renewed_at: float) -> float:
        """How long it may still take; when all is lost, there is as much time as in the beginning."""
        left = renewed_at + self._patience - monotonic()
        return left if left > 0 else self._patience

    async def _renew_within(self, seconds: float) -> None:
        """Renew, or stop waiting for it: a connection that hangs may not even let itself be given up."""
        renewing = asyncio.ensure_future(self._renew())
        done, _ = await asyncio.wait({renewing}, timeout=seconds)
        if not done:
            renewing.cancel()
            raise TimeoutError("the store does not answer")
        renewing.result()

    async def _renew(self) -> None:
        if self._store is None:
            self._store = self._open_store()
        node, held = self._upkeep.node(), self._upkeep.held()
        asked_to_end = await self._store.beat(node, passed=self._upkeep.passed())
        renewed = await self._store.renew(node.id, held, self._lease)
        self._upkeep.renewed(held, renewed._replace(cancel=renewed.cancel | asked_to_end))

    async def _leave(self) -> None:
        with suppress(Exception):
            async with asyncio.timeout(_LAST_WORD):
                if self._store:
                    await self._store.leave(self._upkeep.node().id)
                    await self._store.close()
