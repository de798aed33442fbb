"""The document scheduler: locks the next due documents, passes them to the handler, writes the verdicts.

One scheduler runs up to `concurrency` handlers at once; several schedulers on one collection share the work. It
locks as many documents together as it has handlers free. While handlers run, their locks are renewed every third
of `lock_duration`. No exception of a handler, a hook or the store ends the scheduler: it goes to `on_error`, or to
the log. `stop` waits for the running handlers, and their results are written.
"""

import asyncio
from collections.abc import Callable, Coroutine, Sequence
from contextlib import suppress
from contextvars import ContextVar
from dataclasses import KW_ONLY, dataclass, field
from datetime import timedelta
from typing import Any, Self, TypeAlias

from ..core.errors import ConflictError, InputError
from ..log import get_logger
from .callbacks import CallbackRunner
from .contract import JobStore, Locked
from .decide import Rules
from .processor import RETRY_SECONDS, Document, DocumentProcessor

Hook: TypeAlias = Callable[[], Any]  # sync or async, as all callbacks

POLL_SECONDS = 1.0  # that an idle scheduler waits at most, if it has no idle_delay
_current: ContextVar["DocumentScheduler | None"] = ContextVar("document_scheduler", default=None)
_log = get_logger()


@dataclass(eq=False, slots=True)
class DocumentScheduler:
    """Processes the due documents of a store. All lengths are seconds."""

    store: JobStore
    on_document: Callable[[Document], Any]  # gets the document as it was before the lock
    _: KW_ONLY
    on_start: Hook | None = None
    on_stop: Hook | None = None
    on_idle: Hook | None = None  # once, when nothing is due any more
    on_error: Callable[[Exception, Document | None], Any] | None = None  # none: it concerns no document
    concurrency: int = 1  # how many handlers run at once
    next_delay: float = 0.0  # before each lock
    reprocess_delay: float = 0.0  # added to a recurring document's time before the next one is computed
    idle_delay: float = 0.0  # after nothing was due; 0: until something is, but at most a second
    lock_duration: float = 600.0
    timezone: str = "UTC"  # of intervals that name none
    is_running: bool = field(default=False, init=False)
    is_idle: bool = field(default=False, init=False)
    _rules: Rules = field(init=False, repr=False)
    _callbacks: CallbackRunner = field(init=False, repr=False)
    _stopping: asyncio.Event = field(init=False, repr=False)
    _has_ended: asyncio.Event = field(init=False, repr=False)  # a handler or a write, since it was last cleared
    _handling: int = field(default=0, init=False, repr=False)  # handlers that run
    _running: int = field(default=0, init=False, repr=False)  # documents, from the lock to the handler's end
    _unwritten: int = field(default=0, init=False, repr=False)  # from there until the verdict is written
    _task: asyncio.Task[None] | None = field(default=None, init=False, repr=False)

    def __post_init__(self) -> None:
        for name in ("next_delay", "reprocess_delay", "idle_delay"):
            if getattr(self, name) < 0:
                raise InputError(f"{name} is {getattr(self, name)}: give 0 or more seconds")
        if self.lock_duration <= 0:
            raise InputError(f"lock_duration is {self.lock_duration}: give more than 0 seconds")
        at_once: Any = self.concurrency
        if not isinstance(at_once, int) or at_once < 1:
            raise InputError(f"concurrency is {at_once!r}: give 1 or more handlers at once")
        self._rules = Rules(self.timezone, timedelta(seconds=self.reprocess_delay))

    @property
    def is_processing(self) -> bool:
        """Whether a handler runs."""
        return self._handling > 0

    async def start(self) -> None:
        """Start; returns after `on_start`. A problem with the store is raised here, with its fix."""
        if self._task is not None and not self._task.done() and not self._stopping.is_set():
            return
        await self.join()
        self._stopping, self._has_ended = asyncio.Event(), asyncio.Event()
        self._callbacks = CallbackRunner(self.concurrency)
        started = asyncio.Event()
        self._task = asyncio.create_task(self._run(started))
        await _wait_for_first(started.wait(), asyncio.shield(self._task))

    async def stop(self) -> None:
        """Lock no more documents; returns when the running handlers' results are written and `on_stop` done.

        If a handler or hook of this scheduler calls it, it returns at once: the scheduler waits for that to end.
        """
        self.request_stop()
        if not self.is_inside():
            await self.join()

    def request_stop(self) -> None:
        """As `stop`, without waiting; from any thread."""
        if self._task is None or self._task.done():
            return
        loop = self._task.get_loop()
        with suppress(RuntimeError):  # no loop runs in this thread
            if asyncio.get_running_loop() is loop:
                self._stopping.set()
                return
        with suppress(RuntimeError):  # the loop has just been closed
            loop.call_soon_threadsafe(self._stopping.set)

    async def join(self) -> None:
        """Wait until it has stopped."""
        if self.is_inside():
            raise ConflictError("a handler or hook cannot wait for the end of the scheduler that waits for it")
        if self._task is not None and not self._task.done():
            await asyncio.wait((self._task,))

    async def run(self) -> None:
        """Start, and run until `stop` is called or this is cancelled (by Ctrl-C under `asyncio.run`)."""
        async with self:
            await self.join()

    async def __aenter__(self) -> Self:
        await self.start()
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.stop()

    def is_inside(self) -> bool:
        """Whether the caller is a handler or hook of this scheduler."""
        return _current.get() is self

    async def _run(self, started: asyncio.Event) -> None:
        _current.set(self)
        try:
            async with self.store:
                self.is_running = True
                await self._call_hook(self.on_start)
                started.set()
                await self._process_documents()
        except Exception as error:
            if not started.is_set():
                raise
            await self._report_error(error, None)
        finally:
            self.is_running = self.is_idle = False
            if started.is_set():
                await self._call_hook(self.on_stop)
            self._callbacks.close()

    async def _process_documents(self) -> None:
        async with asyncio.TaskGroup() as tasks:
            processor = DocumentProcessor(
                store=self.store,
                handler=self._handle,
                report_error=self._report_error,
                pause=self._pause,
                rules=self._rules,
                lock_duration=timedelta(seconds=self.lock_duration),
                tasks=tasks,
            )
            async with processor.renewal():
                await self._lock_and_start(processor)
                while self._running + self._unwritten:
                    await self._wait_for_end()

    async def _lock_and_start(self, processor: DocumentProcessor) -> None:
        """Keep as many documents in process as may be, until the scheduler is stopped."""
        while not self._stopping.is_set():
            await self._wait_for_room()
            await self._pause(self.next_delay)
            for locked in await self._lock(processor.lock_duration):
                self.is_idle = False
                self._running += 1
                processor.tasks.create_task(self._process(processor, locked))

    async def _process(self, processor: DocumentProcessor, locked: Locked) -> None:
        try:
            try:
                run = await processor.run(locked)
            finally:
                self._running -= 1
                self._unwritten += 1
                self._has_ended.set()
            await processor.finish(run)
        except Exception as error:  # noqa: BLE001  (the other documents go on)
            await self._report_error(error, locked.document)
        finally:
            self._unwritten -= 1
            self._has_ended.set()

    async def _wait_for_room(self) -> None:
        while self._room() < 1:
            await self._wait_for_end()

    async def _wait_for_end(self) -> None:
        """Wait until another handler has returned, or another verdict is written."""
        self._has_ended.clear()
        await self._has_ended.wait()

    def _room(self) -> int:
        """How many documents may be locked now: as many as handlers are free; in all, twice as many as handlers.

        So the lock of a whole batch and a write may overlap. With one handler each verdict is written first.
        """
        at_most = 2 * self.concurrency if self.concurrency > 1 else 1
        return min(self.concurrency, at_most - self._unwritten) - self._running

    async def _lock(self, lock_duration: timedelta) -> Sequence[Locked]:
        """The next documents, as many as there are handlers free; none, after a wait, if none is due."""
        if self._stopping.is_set():
            return ()
        try:
            self._has_ended.clear()
            batch = await self.store.lock_many(self._room(), lock_duration)
            if not batch:
                await self._wait_for_due()
        except Exception as error:  # noqa: BLE001  (whatever a store raises, the scheduler continues)
            await self._report_error(error, None)
            await self._pause(RETRY_SECONDS)
            return ()
        return batch

    async def _wait_for_due(self) -> None:
        """Wait until a document may be due. The scheduler is idle only if none is in process either."""
        if not self._running + self._unwritten and not self.is_idle:
            self.is_idle = True
            await self._call_hook(self.on_idle)
        if self.idle_delay:
            look_again: Coroutine[Any, Any, Any] = asyncio.sleep(self.idle_delay)
        else:
            look_again = self.store.wait(POLL_SECONDS)
        await _wait_for_first(look_again, self._stopping.wait(), self._has_ended.wait())

    async def _pause(self, seconds: float) -> None:
        """Wait so long, or until the scheduler is stopped."""
        if seconds:
            with suppress(TimeoutError):
                await asyncio.wait_for(self._stopping.wait(), seconds)

    async def _handle(self, document: Document) -> None:
        self._handling += 1
        try:
            await self._callbacks.call(self.on_document, document)
        finally:
            self._handling -= 1

    async def _call_hook(self, hook: Hook | None) -> None:
        if hook is not None:
            try:
                await self._callbacks.call(hook)
            except Exception as error:  # noqa: BLE001  (a hook may raise anything)
                await self._report_error(error, None)

    async def _report_error(self, error: Exception, document: Document | None) -> None:
        if self.on_error is None:
            _log.error("document scheduler", error=str(error), kind=type(error).__name__)
            return
        try:
            await self._callbacks.call(self.on_error, error, document)
        except Exception as failure:  # noqa: BLE001  (a hook may raise anything)
            _log.error("on_error failed", error=str(failure), kind=type(failure).__name__, reported=str(error))


async def _wait_for_first(*waiting: "Coroutine[Any, Any, Any] | asyncio.Future[Any]") -> None:
    """Wait for the first of these, and raise its exception; the others are cancelled."""
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
