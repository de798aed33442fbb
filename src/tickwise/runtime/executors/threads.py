"""Daemon threads, as many as are busy at once, used again when they are free.

The standard pool would not do: a thread that hangs would hold one of its places, and the end of the program.
"""

from collections.abc import Callable
from queue import SimpleQueue
from threading import Thread
from typing import Any, TypeAlias

Work: TypeAlias = tuple[Callable[[], Any], Callable[[Any], None]]  # what to do, whom to tell; neither raises


class Threads:
    """Grows to what is asked of it; who asks keeps the bound."""

    def __init__(self) -> None:
        self._idle: list[SimpleQueue[Work | None]] = []
        self._closed = False

    def start(self, work: Callable[[], Any], tell: Callable[[Any], None]) -> None:
        if self._idle:
            inbox = self._idle.pop()
        else:
            inbox = SimpleQueue()
            Thread(target=self._serve, args=(inbox,), name="tickwise-function", daemon=True).start()
        inbox.put((work, tell))

    def close(self) -> None:
        """Let the idle threads end now, and the busy ones when they are done."""
        self._closed = True
        while self._idle:
            self._idle.pop().put(None)

    def _serve(self, inbox: "SimpleQueue[Work | None]") -> None:
        while found := inbox.get():
            work, tell = found
            result = work()
            if self._closed:
                inbox.put(None)
            else:
                self._idle.append(inbox)  # before it is told, so that who hears of it finds a free thread
            tell(result)
