"""A thread with an event loop, for code that does not await."""

import asyncio
import os
from collections.abc import Coroutine
from threading import Lock, Thread, current_thread
from typing import Any, TypeVar

from ..core.errors import InputError, TickwiseError

T = TypeVar("T")


class LoopThread:
    """The thread and its loop, started when first needed; a forked process has none, and starts its own."""

    def __init__(self) -> None:
        self._lock = Lock()
        self._loop: asyncio.AbstractEventLoop | None = None
        self._thread: Thread | None = None
        self._pid = 0  # of the process that has the thread

    def call(self, coroutine: Coroutine[Any, Any, T]) -> T:
        """Run a coroutine on the loop and wait for it; what it raises is raised here."""
        if self._thread is current_thread():
            coroutine.close()
            raise TickwiseError("this is the scheduler's own thread: use AsyncTickwise inside async code")
        future = asyncio.run_coroutine_threadsafe(coroutine, self._start_loop())
        try:
            return future.result()
        except KeyboardInterrupt:
            future.cancel()
            raise

    def _start_loop(self) -> asyncio.AbstractEventLoop:
        with self._lock:
            if self._loop is None or self._pid != os.getpid():
                self._pid, self._loop = os.getpid(), asyncio.new_event_loop()
                self._thread = Thread(target=_run_loop, args=(self._loop,), name="tickwise", daemon=True)
                self._thread.start()
            return self._loop

    def close(self) -> None:
        with self._lock:
            loop, thread = self._loop, self._thread
            self._loop = self._thread = None
        if loop is not None and thread is not None:
            loop.call_soon_threadsafe(loop.stop)
            thread.join()


def _run_loop(loop: asyncio.AbstractEventLoop) -> None:
    try:
        loop.run_forever()
        loop.run_until_complete(loop.shutdown_default_executor())
    finally:
        loop.close()


def run_synchronously(work: Coroutine[Any, Any, T]) -> T:
    """The result of work that waits for nothing, in this thread."""
    try:
        work.send(None)
    except StopIteration as done:
        result: T = done.value
        return result
    work.close()
    raise InputError("this connection is awaited: use AsyncTickwise")
