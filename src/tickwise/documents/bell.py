"""Wakes whoever waits, from any thread."""

import asyncio
from threading import Lock


class Bell:
    def __init__(self) -> None:
        self._lock = Lock()
        self._waiting: set[asyncio.Future[None]] = set()

    def ring(self) -> None:
        with self._lock:
            waiting, self._waiting = self._waiting, set()
        for future in waiting:
            future.get_loop().call_soon_threadsafe(_wake, future)

    def listen(self) -> "asyncio.Future[None]":
        """Done at the next ring. Whoever asks gives it back with `leave`."""
        future: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        with self._lock:
            self._waiting.add(future)
        return future

    def leave(self, future: "asyncio.Future[None]") -> None:
        with self._lock:
            self._waiting.discard(future)


def _wake(future: "asyncio.Future[None]") -> None:
    if not future.done():
        future.set_result(None)
