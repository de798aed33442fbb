"""An event loop whose time is made up and whose interleavings are drawn from a seed.

Everything that happens belongs to somebody: a node, or the world around them. What one of them has to do is done
in order, as in a loop of its own; who goes next is drawn. Time stands still while anybody has something to do, and
then leaps to the next timer. Who is frozen does nothing for a while and then goes on, as a process that was
stopped; who is dead never does again, and nothing that it held is put in order, as after a kill.
"""

import asyncio
import heapq
from collections import deque
from collections.abc import Callable
from contextlib import suppress
from contextvars import ContextVar
from random import Random
from typing import Any

OWNER: ContextVar[str] = ContextVar("owner", default="world")


class SimulatedLoop(asyncio.BaseEventLoop):
    """Runs callbacks of several owners, one at a time, in an order that the seed decides."""

    _ready: deque[Any]  # asyncio's own: what is to be done now
    _scheduled: list[Any]  # and later

    def __init__(self, chance: Random) -> None:
        super().__init__()
        self._chance = chance
        self._now = 0.0
        self._to_do: dict[str, deque[Any]] = {}
        self._frozen: dict[str, float] = {}  # until when
        self._dead: set[str] = set()
        self._tasks: list[asyncio.Task[Any]] = []  # kept, so that none of them ends by being thrown away
        self.set_task_factory(self._made_task)
        self.steps = 0

    def _made_task(self, _loop: Any, coro: Any, context: Any = None) -> "asyncio.Task[Any]":
        task = asyncio.Task(coro, loop=self, context=context)
        task._log_destroy_pending = False  # type: ignore[attr-defined]  # (asyncio's own name for it)
        self._tasks.append(task)
        return task

    def bury(self) -> None:
        """What was killed, and what still lives, ends without a word."""
        for task in self._tasks:
            with suppress(BaseException):  # what a coroutine does when it is closed is nobody's concern any more
                task.get_coro().close()
        self.close()

    def time(self) -> float:
        return self._now

    def freeze(self, owner: str, seconds: float) -> None:
        self._frozen[owner] = max(self._frozen.get(owner, 0.0), self._now + seconds)

    def thaw(self) -> None:
        self._frozen.clear()

    def kill(self, owner: str) -> None:
        self._dead.add(owner)
        self._to_do.pop(owner, None)

    def run_in_executor(  # type: ignore[override]  # (whatever it returns)
        self, _executor: Any, func: Callable[..., Any], *args: Any
    ) -> "asyncio.Future[Any]":
        """There are no threads here: it is done at once."""
        future = self.create_future()
        try:
            future.set_result(func(*args))
        except Exception as error:  # noqa: BLE001  (as an executor would hand it on)
            future.set_exception(error)
        return future

    def _write_to_self(self) -> None:
        """Nobody sleeps."""

    def _process_events(self, _event_list: Any) -> None:
        """There is no world outside."""

    def _run_once(self) -> None:
        self._take_in()
        now, frozen = self._now, self._frozen
        able = [owner for owner, waiting in self._to_do.items() if waiting and frozen.get(owner, 0.0) <= now]
        if not able:
            self._leap()
            return
        waiting = self._to_do[able[0] if len(able) == 1 else self._chance.choice(sorted(able))]
        for _ in range(len(waiting)):
            handle = waiting.popleft()
            self.steps += 1
            if not handle._cancelled:
                handle._run()

    def _take_in(self) -> None:
        """Hand what has become due to whom it belongs."""
        timers, dead = self._scheduled, self._dead
        while timers and (timers[0]._cancelled or timers[0].when() <= self._now):
            timer = heapq.heappop(timers)
            timer._scheduled = False
            if not timer._cancelled:
                self._ready.append(timer)
        while self._ready:
            handle = self._ready.popleft()
            owner = handle._context.get(OWNER, "world")
            if owner not in dead:
                self._to_do.setdefault(owner, deque()).append(handle)

    def _leap(self) -> None:
        waking = [until for owner, until in self._frozen.items() if self._to_do.get(owner)]
        waking += [self._scheduled[0].when()] if self._scheduled else []
        if not waking:
            raise RuntimeError("nobody has anything to do, ever again")
        self._now = max(self._now, min(waking))
