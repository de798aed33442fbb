"""The way into the memory store: one operation at a time, from any thread, and news for who waits."""

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
    """Entered by one at a time. Whoever leaves with news wakes all who wait, each in its own event loop."""

    def __init__(self, memory: MemoryState) -> None:
        self.memory = memory
        self._lock = Lock()
        self._waiting: set[tuple[asyncio.AbstractEventLoop, asyncio.Future[None]]] = set()

    def __enter__(self) -> MemoryState:
        self._lock.acquire()
        return self.memory

    def __exit__(self, *_error: object) -> None:
        told = self._waiting if self.memory.news else set()
        if told:
            self._waiting = set()
        self.memory.news = False
        self._lock.release()
        for loop, future in told:
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


class LockedStore:
    """Something whose operations go through a gate."""

    def __init__(self, gate: OperationLock) -> None:
        self._gate = gate
        self._memory = gate.memory


_G = TypeVar("_G", bound=LockedStore)


def atomic(
    method: Callable[Concatenate[_G, _P], _T],
) -> Callable[Concatenate[_G, _P], Coroutine[Any, Any, _T]]:
    """One operation, run to its end inside the gate without waiting."""

    @wraps(method)
    async def operation(self: _G, /, *args: _P.args, **kwargs: _P.kwargs) -> _T:
        with self._gate:
            return method(self, *args, **kwargs)

    return operation
