"""The document scheduler: locks the next due document, hands it to the handler, writes what becomes of it.

One scheduler works on one document at a time; several on one collection share the work. While a handler runs, its
lock is renewed every third of `lock_duration`. Nothing that a handler, a hook or the store raises ends the
scheduler: it goes to `on_error`, or to the log. `stop` waits for the handler that runs, and its result is written.
"""

import asyncio
from collections.abc import Callable, Coroutine
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from contextvars import ContextVar, copy_context
from dataclasses import KW_ONLY, dataclass, field
from datetime import timedelta
from functools import partial
from inspect import isawaitable, iscoroutinefunction
from typing import Any, Self, TypeAlias

from ..core.errors import ConflictError, InputError, TickwiseError
from ..log import get_logger
from .contract import JobStore, Locked
from .decide import Rules
from .process_document import TRY_AGAIN, Document, DocumentProcessor

Hook: TypeAlias = Callable[[], Any]  # sync or async, like all of them

LOOK_EVERY = 1.0  # seconds that an idle scheduler waits at most, if it has no idle_delay
_inside: ContextVar["DocumentScheduler | None"] = ContextVar("document_scheduler", default=None)
_log = get_logger()


class HandlerCaller:
    """One call at a time. `close` when there will be no more."""

    def __init__(self) -> None:
        self._thread = ThreadPoolExecutor(1, "tickwise-documents")

    async def call(self, function: Callable[..., Any], *arguments: Any) -> None:
        try:
            if iscoroutinefunction(function):
                await function(*arguments)
                return
            work = partial(copy_context().run, function, *arguments)
            answer = await asyncio.get_running_loop().run_in_executor(self._thread, work)
            if isawaitable(answer):
                await answer
        except asyncio.CancelledError as error:
            task = asyncio.current_task()
            if task is not None and task.cancelling():
                raise
            raise TickwiseError("the handler was cancelled by something that it waited for") from error
        except SystemExit as error:
            raise TickwiseError(f"the handler asked for the end of the program ({error!r})") from error

    def close(self) -> None:
        self._thread.shutdown(wait=False)


@dataclass(eq=False, slots=True)
class DocumentScheduler:
    """Works off the due documents of a store. All lengths are seconds."""

    store: JobStore
    on_document: Callable[[Document], Any]  # gets the document as it was before the lock
    _: KW_ONLY
    on_start: Hook | None = None
    on_stop: Hook | None = None
    on_idle: Hook | None = None  # once, when nothing is due any more
    on_error: Callable[[Exception, Document | None], Any] | None = None  # none: it concerns no document
    next_delay: float = 0.0  # before each lock
    reprocess_delay: float = 0.0  # added to a recurring document's time before the next one is computed
    idle_delay: float = 0.0  # after nothing was due; 0: until something is, but at most a second
    lock_duration: float = 600.0
    timezone: str = "UTC"  # of intervals that name none
    is_running: bool = field(default=False, init=False)
    is_processing: bool = field(default=False, init=False)  # only while a handler runs
    is_idle: bool = field(default=False, init=False)
    _rules: Rules = field(init=False, repr=False)
    _calls: HandlerCaller = field(init=False, repr=False)
    _stopping: asyncio.Event = field(init=False, repr=False)
    _life: asyncio.Task[None] | None = field(default=None, init=False, repr=False)

    def __post_init__(self) -> None:
        for name in ("next_delay", "reprocess_delay", "idle_delay"):
            if getattr(self, name) < 0:
                raise InputError(f"{name} is {getattr(self, name)}: give 0 or more seconds")
        if self.lock_duration <= 0:
            raise InputError(f"lock_duration is {self.lock_duration}: give more than 0 seconds")
        self._rules = Rules(self.timezone, timedelta(seconds=self.reprocess_delay))

    async def start(self) -> None:
        """Begin; returns after `on_start`. What is wrong with the store is raised here, with the fix."""
        if self._life is not None and not self._life.done() and not self._stopping.is_set():
            return
        await self.join()
        self._stopping, self._calls = asyncio.Event(), HandlerCaller()
        started = asyncio.Event()
        self._life = asyncio.create_task(self._live(started))
        await _first(started.wait(), asyncio.shield(self._life))

    async def stop(self) -> None:
        """Take on no more; returns when the running handler has ended, its result is written and `on_stop` done.

        A handler or hook of this scheduler that calls it only asks, since the scheduler waits for it to end.
        """
        self.request_stop()
        if not self.is_inside():
            await self.join()

    def request_stop(self) -> None:
        """As `stop`, without waiting; from any thread."""
        if self._life is None or self._life.done():
            return
        loop = self._life.get_loop()
        with suppress(RuntimeError):  # no loop runs here
            if asyncio.get_running_loop() is loop:
                self._stopping.set()
                return
        with suppress(RuntimeError):  # the loop has just been closed
            loop.call_soon_threadsafe(self._stopping.set)

    async def join(self) -> None:
        """Wait until it has stopped."""
        if self.is_inside():
            raise ConflictError("a handler or hook cannot wait for the end of the scheduler that waits for it")
        if self._life is not None and not self._life.done():
            await asyncio.wait((self._life,))

    async def run(self) -> None:
        """Start, and live until `stop` is called or this is cancelled (by Ctrl-C under `asyncio.run`)."""
        async with self:
            await self.join()

    async def __aenter__(self) -> Self:
        await self.start()
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.stop()

    def is_inside(self) -> bool:
        """Whether a handler or hook of this scheduler asks."""
        return _inside.get() is self

    async def _live(self, started: asyncio.Event) -> None:
        _inside.set(self)
        try:
            async with self.store:
                self.is_running = True
                await self._hook(self.on_start)
                started.set()
                await self._work()
        except Exception as error:
            if not started.is_set():
                raise
            await self._report(error, None)
        finally:
            self.is_running = self.is_idle = False
            if started.is_set():
                await self._hook(self.on_stop)
            self._calls.close()

    async def _work(self) -> None:
        length = timedelta(seconds=self.lock_duration)
        processing = DocumentProcessor(self.store, self._handle, self._report, self._rest, self._rules, length)
        while not self._stopping.is_set():
            await self._rest(self.next_delay)
            if locked := await self._lock_next(length):
                self.is_idle = False
                await processing.process(locked)

    async def _lock_next(self, length: timedelta) -> Locked | None:
        """None if there was nothing to lock, after a while."""
        if self._stopping.is_set():
            return None
        try:
            locked = await self.store.lock_next(length)
            if locked is None:
                await self._be_idle()
        except Exception as error:  # noqa: BLE001  (whatever a store raises, the scheduler goes on)
            await self._report(error, None)
            await self._rest(TRY_AGAIN)
            return None
        return locked

    async def _be_idle(self) -> None:
        if not self.is_idle:
            self.is_idle = True
            await self._hook(self.on_idle)
        if self.idle_delay:
            await self._rest(self.idle_delay)
        else:
            await _first(self.store.wait(LOOK_EVERY), self._stopping.wait())

    async def _rest(self, seconds: float) -> None:
        """Wait so long, or until it is to stop."""
        if seconds:
            with suppress(TimeoutError):
                await asyncio.wait_for(self._stopping.wait(), seconds)

    async def _handle(self, document: Document) -> None:
        self.is_processing = True
        try:
            await self._calls.call(self.on_document, document)
        finally:
            self.is_processing = False

    async def _hook(self, hook: Hook | None) -> None:
        if hook is not None:
            try:
                await self._calls.call(hook)
            except Exception as error:  # noqa: BLE001  (a hook may raise anything)
                await self._report(error, None)

    async def _report(self, error: Exception, document: Document | None) -> None:
        if self.on_error is None:
            _log.error("document scheduler", error=str(error), kind=type(error).__name__)
            return
        try:
            await self._calls.call(self.on_error, error, document)
        except Exception as failure:  # noqa: BLE001  (a hook may raise anything)
            _log.error("on_error failed", error=str(failure), kind=type(failure).__name__, reported=str(error))


async def _first(*waiting: "Coroutine[Any, Any, Any] | asyncio.Future[Any]") -> None:
    """Wait for the first of these, and raise what it raised; the others are cancelled."""
    tasks = [asyncio.ensure_future(one) for one in waiting]
    try:
        await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
        for task in tasks:
            if task.done():
                task.result()
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)


# Calls a user's functions: async ones on the event loop, the others in a thread of the scheduler's own.
#
# Whatever a function raises comes out as an `Exception`, so that none of it can end the scheduler.
