"""The heartbeat: a thread with a store of its own that reports the node as alive and renews its leases.

So neither user code that blocks the event loop nor a busy connection can lose a lease (S42). If nothing could be
renewed for two thirds of a lease, the heartbeat reports the leases as lost: the runs must stop before another
worker may start them. A store that does not answer counts as one that fails.
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
_LOST_AFTER = 2 / 3  # of a lease
_MIN_DELAY = 0.25  # seconds between two renewals, however often it is woken
_RETRY_DELAY = 1.0  # seconds after a renewal that failed
_LEAVE_TIMEOUT = 5.0  # seconds


class HeartbeatCallbacks(NamedTuple):
    """What the heartbeat asks its node, and reports to it. All are called from the heartbeat's thread."""

    node: Callable[[], Node]
    passed: Callable[[], bool]  # whether the ticker has completed a pass since the last call
    held: Callable[[], Mapping[str, str]]  # run ids to tokens
    on_renewed: Callable[[Mapping[str, str], Renewed], None]  # what was asked for, and the answer
    on_lost: Callable[[], None]  # nothing could be renewed for too long


class Heartbeat:
    """The thread. `wake` makes it renew now."""

    def __init__(
        self, open_store: Callable[[], Store], callbacks: HeartbeatCallbacks, *, every: float, lease: int
    ) -> None:
        self._open_store = open_store
        self._callbacks = callbacks
        self._every = every
        self._lease = lease
        self._lost_after = lease * _LOST_AFTER
        self._store: Store | None = None
        self._loop: asyncio.AbstractEventLoop | None = None
        self._stop = asyncio.Event()
        self._wake_event = asyncio.Event()
        self._ended: Future[None] = Future()

    def start(self) -> None:
        self._loop = asyncio.new_event_loop()
        Thread(target=self._main, args=(self._loop,), name="tickwise-heartbeat", daemon=True).start()

    def wake(self) -> None:
        self._set(self._wake_event)

    async def close(self) -> None:
        """End the thread, after it has told the store that the node leaves."""
        self._set(self._stop)
        self._set(self._wake_event)
        await asyncio.wrap_future(self._ended)

    def _set(self, event: asyncio.Event) -> None:
        if self._loop:
            with suppress(RuntimeError):  # the loop is closed
                self._loop.call_soon_threadsafe(event.set)

    def _main(self, loop: asyncio.AbstractEventLoop) -> None:
        try:
            loop.run_until_complete(self._beat())
        finally:
            loop.close()
            self._ended.set_result(None)

    async def _beat(self) -> None:
        """Renew until the heartbeat is closed."""
        renewed_at = monotonic()
        while not self._stop.is_set():
            self._wake_event.clear()
            asked_at, delay = monotonic(), self._every
            try:
                await self._renew_within(self._time_left(renewed_at))
                renewed_at = asked_at
            except Exception as error:  # noqa: BLE001  (it is tried again)
                _log.warning("cannot renew", error=str(error))
                if monotonic() - renewed_at >= self._lost_after:
                    self._callbacks.on_lost()
                delay = min(self._every, _RETRY_DELAY, self._time_left(renewed_at))
            with suppress(TimeoutError):
                await asyncio.wait_for(self._stop.wait(), min(_MIN_DELAY, delay))
            with suppress(TimeoutError):
                await asyncio.wait_for(self._wake_event.wait(), delay)
        await self._leave()

    def _time_left(self, renewed_at: float) -> float:
        """The seconds until the leases count as lost; once they do, the full time again."""
        left = renewed_at + self._lost_after - monotonic()
        return left if left > 0 else self._lost_after

    async def _renew_within(self, seconds: float) -> None:
        """Renew, or stop waiting: a connection that hangs may not even react to a cancellation."""
        renewal = asyncio.ensure_future(self._renew())
        done, _ = await asyncio.wait({renewal}, timeout=seconds)
        if not done:
            renewal.cancel()
            raise TimeoutError("the store does not answer")
        renewal.result()

    async def _renew(self) -> None:
        if self._store is None:
            self._store = self._open_store()
        node, held = self._callbacks.node(), self._callbacks.held()
        asked_to_end = await self._store.beat(node, passed=self._callbacks.passed())
        renewed = await self._store.renew(node.id, held, self._lease)
        self._callbacks.on_renewed(held, renewed._replace(cancel=renewed.cancel | asked_to_end))

    async def _leave(self) -> None:
        with suppress(Exception):
            async with asyncio.timeout(_LEAVE_TIMEOUT):
                if self._store:
                    await self._store.leave(self._callbacks.node().id)
                    await self._store.close()
