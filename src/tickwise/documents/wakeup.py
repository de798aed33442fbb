"""Wakes whoever waits, from any thread."""

import asyncio
from collections.abc import Awaitable, Callable
from threading import Lock


class Wakeup:
    def __init__(self) -> None:
        self._lock = Lock()
        self._waiting: set[asyncio.Future[None]] = set()

    def ring(self) -> None:
        with self._lock:
            waiting, self._waiting = self._waiting, set()
        for future in waiting:
            future.get_loop().call_soon_threadsafe(_wake, future)

    async def wait(self, next_due: Callable[[], Awaitable[float | None]], at_most: float) -> None:
        """Until it rings, or something is due. It listens before it asks, so that nothing new is missed."""
        future: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        with self._lock:
            self._waiting.add(future)
        try:
            due = await next_due()
            await asyncio.wait((future,), timeout=at_most if due is None else min(due, at_most))
        finally:
            with self._lock:
                self._waiting.discard(future)


def _wake(future: "asyncio.Future[None]") -> None:
    if not future.done():
        future.set_result(None)
