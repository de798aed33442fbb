"""A pool of daemon threads without a limit; idle threads are reused.

ThreadPoolExecutor does not fit: a thread that hangs would take one of its places for ever, and keep the program
from ending.
"""

from collections.abc import Callable
from queue import SimpleQueue
from threading import Thread
from typing import Any, TypeAlias

Work: TypeAlias = tuple[Callable[[], Any], Callable[[Any], None]]  # the call and its callback; neither raises


class Threads:
    """Grows with demand; the caller keeps the number of concurrent calls bounded."""

    def __init__(self) -> None:
        self._idle: list[SimpleQueue[Work | None]] = []
        self._closed = False

    def start(self, work: Callable[[], Any], on_result: Callable[[Any], None]) -> None:
        if self._idle:
            inbox = self._idle.pop()
        else:
            inbox = SimpleQueue()
            Thread(target=self._serve, args=(inbox,), name="tickwise-function", daemon=True).start()
        inbox.put((work, on_result))

    def close(self) -> None:
        """End the idle threads now, and the busy ones when their call returns."""
        self._closed = True
        while self._idle:
            self._idle.pop().put(None)

    def _serve(self, inbox: "SimpleQueue[Work | None]") -> None:
        while item := inbox.get():
            work, on_result = item
            result = work()
            if self._closed:
                inbox.put(None)
            else:
                self._idle.append(inbox)  # first, so that the callback finds an idle thread
            on_result(result)
