"""Moves of the memory store: one at a time, from any thread, and notifications for waiting tasks."""

import asyncio
from collections.abc import Callable, Coroutine
from contextlib import suppress
from functools import wraps
from threading import Lock
from typing import Any, Concatenate, ParamSpec, TypeVar

from .state import MemoryState

_P = ParamSpec("_P")
_T = TypeVar("_T")


class OperationLock:
    """Held by one move at a time. A move that notifies wakes all waiting tasks, each in its own event loop."""

    def __init__(self, memory: MemoryState) -> None:
        self.memory = memory
        self._lock = Lock()
        self._waiting: set[tuple[asyncio.AbstractEventLoop, asyncio.Future[None]]] = set()

    def __enter__(self) -> MemoryState:
        self._lock.acquire()
        return self.memory

    def __exit__(self, *_error: object) -> None:
        woken = self._waiting if self.memory.news else set()
        if woken:
            self._waiting = set()
        self.memory.news = False
        self._lock.release()
        for loop, future in woken:
            with suppress(RuntimeError):  # the loop has been closed meanwhile
                loop.call_soon_threadsafe(_resolve, future)

    async def wait(self, seconds: float) -> bool:
        loop = asyncio.get_running_loop()
        waiter = (loop, loop.create_future())
        with self._lock:
            self._waiting.add(waiter)
        try:
            async with asyncio.timeout(seconds):
                await waiter[1]
        except TimeoutError:
            return False
        finally:
            with self._lock:
                self._waiting.discard(waiter)
        return True


def _resolve(future: "asyncio.Future[None]") -> None:
    if not future.done():
        future.set_result(None)


class MemoryMoves:
    """A part of the store: its moves hold the lock of the whole."""

    def __init__(self, lock: OperationLock) -> None:
        self._lock = lock
        self._memory = lock.memory


_M = TypeVar("_M", bound=MemoryMoves)


def atomic(
    method: Callable[Concatenate[_M, _P], _T],
) -> Callable[Concatenate[_M, _P], Coroutine[Any, Any, _T]]:
    """One move, which runs to its end under the lock and never waits inside."""

    @wraps(method)
    async def operation(self: _M, /, *args: _P.args, **kwargs: _P.kwargs) -> _T:
        with self._lock:
            return method(self, *args, **kwargs)

    return operation
