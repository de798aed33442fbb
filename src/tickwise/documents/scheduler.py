"""The document scheduler: locks the next due document, passes it to the handler, writes the verdict.

One scheduler processes one document at a time; several on one collection share the work. While a handler runs, its
lock is renewed every third of `lock_duration`. No exception of a handler, a hook or the store ends the scheduler:
it goes to `on_error`, or to the log. `stop` waits for the running handler, and its result is written.
"""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import asynccontextmanager, suppress
from contextvars import ContextVar, copy_context
from dataclasses import KW_ONLY, dataclass, field
from datetime import datetime, timedelta
from functools import partial
from inspect import isawaitable, iscoroutinefunction
from typing import Any, NamedTuple, Self, TypeAlias

from ..clock import monotonic
from ..core.errors import ConflictError, InputError, TickwiseError
from ..log import get_logger
from .contract import JobStore, Locked, LockLostError, Renew
from .decide import DocumentOutcome, Release, Remove, Rules, Verdict, decide

Document: TypeAlias = Mapping[str, Any]
ReportError: TypeAlias = Callable[[Exception, Document | None], Awaitable[None]]
Hook: TypeAlias = Callable[[], Any]  # sync or async, as all callbacks

POLL_SECONDS = 1.0  # that an idle scheduler waits at most, if it has no idle_delay
RETRY_SECONDS = 1.0  # after the store failed
_WRITE_TRIES = 3  # for the verdict
_current: ContextVar["DocumentScheduler | None"] = ContextVar("document_scheduler", default=None)
_log = get_logger()


class CallbackRunner:
    """Calls a user's callbacks, one at a time: async ones on the event loop, the others in a thread of its own.

    Everything that a callback raises is raised as an `Exception`, so that none of it can end the scheduler.
    """

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


class _StoreClock(NamedTuple):
    """The store's time, advanced by our monotonic clock since it was read."""

    read: datetime
    read_at: float

    def now(self) -> datetime:
        return self.read + timedelta(seconds=monotonic() - self.read_at)


@dataclass(frozen=True, slots=True)
class DocumentProcessor:
    """Processes locked documents: from the lock to the verdict that is written."""

    store: JobStore
    handler: Callable[[Document], Awaitable[None]]
    report_error: ReportError
    pause: Callable[[float], Awaitable[None]]
    rules: Rules
    lock_duration: timedelta

    async def process(self, locked: Locked) -> None:
        """Run the handler, unless the document's times cannot be read; then write the verdict."""
        clock = _StoreClock(locked.now, monotonic())
        outcome = DocumentOutcome.PROCESSED
        if not isinstance(self._decide(locked, clock, outcome), Release):
            outcome = await self._run_handler(locked)
        for tries_left in reversed(range(_WRITE_TRIES)):
            try:
                await self._write_verdict(locked, clock, outcome)
            except Exception as error:  # noqa: BLE001  (whatever a store raises, the scheduler continues)
                await self.report_error(error, locked.document)
                if isinstance(error, LockLostError) or not tries_left:
                    return
                await self.pause(RETRY_SECONDS)
            else:
                return

    def _decide(self, locked: Locked, clock: _StoreClock, outcome: DocumentOutcome) -> Verdict:
        return decide(locked.facts, clock.now(), outcome, self.rules)

    async def _run_handler(self, locked: Locked) -> DocumentOutcome:
        try:
            async with self._renewal(locked):
                await self.handler(locked.document)
        except Exception as error:  # noqa: BLE001  (a handler may raise anything)
            await self.report_error(error, locked.document)
            return DocumentOutcome.FAILED
        return DocumentOutcome.PROCESSED

    @asynccontextmanager
    async def _renewal(self, locked: Locked) -> AsyncIterator[None]:
        renewal = asyncio.create_task(self._renew(locked))
        try:
            yield
        finally:
            renewal.cancel()
            await asyncio.gather(renewal, return_exceptions=True)

    async def _renew(self, locked: Locked) -> None:
        while True:
            await asyncio.sleep(self.lock_duration.total_seconds() / 3)
            try:
                await self.store.update(locked, Renew(self.lock_duration))
            except LockLostError:
                return  # reported when the verdict is written
            except Exception as error:  # noqa: BLE001  (it is tried again before the lock expires)
                await self.report_error(error, locked.document)

    async def _write_verdict(self, locked: Locked, clock: _StoreClock, outcome: DocumentOutcome) -> None:
        """Write the verdict; if the facts have changed meanwhile, decide again from the new ones."""
        current: Locked | None = locked
        while current is not None:
            verdict = self._decide(current, clock, outcome)
            if isinstance(verdict, Remove):
                current = await self.store.remove(current)
            else:
                current = await self.store.update(current, verdict)
        if isinstance(verdict, Release) and verdict.error is not None:
            error = InputError(f"document {locked.facts.key!r}: {verdict.error}")
            await self.report_error(error, locked.document)


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
    next_delay: float = 0.0  # before each lock
    reprocess_delay: float = 0.0  # added to a recurring document's time before the next one is computed
    idle_delay: float = 0.0  # after nothing was due; 0: until something is, but at most a second
    lock_duration: float = 600.0
    timezone: str = "UTC"  # of intervals that name none
    is_running: bool = field(default=False, init=False)
    is_processing: bool = field(default=False, init=False)  # only while a handler runs
    is_idle: bool = field(default=False, init=False)
    _rules: Rules = field(init=False, repr=False)
    _callbacks: CallbackRunner = field(init=False, repr=False)
    _stopping: asyncio.Event = field(init=False, repr=False)
    _task: asyncio.Task[None] | None = field(default=None, init=False, repr=False)

    def __post_init__(self) -> None:
        for name in ("next_delay", "reprocess_delay", "idle_delay"):
            if getattr(self, name) < 0:
                raise InputError(f"{name} is {getattr(self, name)}: give 0 or more seconds")
        if self.lock_duration <= 0:
            raise InputError(f"lock_duration is {self.lock_duration}: give more than 0 seconds")
        self._rules = Rules(self.timezone, timedelta(seconds=self.reprocess_delay))

    async def start(self) -> None:
        """Start; returns after `on_start`. A problem with the store is raised here, with its fix."""
        if self._task is not None and not self._task.done() and not self._stopping.is_set():
            return
        await self.join()
        self._stopping, self._callbacks = asyncio.Event(), CallbackRunner()
        started = asyncio.Event()
        self._task = asyncio.create_task(self._run(started))
        await _wait_for_first(started.wait(), asyncio.shield(self._task))

    async def stop(self) -> None:
        """Lock no more documents; returns when the running handler's result is written and `on_stop` done.

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
        lock_duration = timedelta(seconds=self.lock_duration)
        processor = DocumentProcessor(
            store=self.store,
            handler=self._handle,
            report_error=self._report_error,
            pause=self._pause,
            rules=self._rules,
            lock_duration=lock_duration,
        )
        while not self._stopping.is_set():
            await self._pause(self.next_delay)
            if locked := await self._lock_next(lock_duration):
                self.is_idle = False
                await processor.process(locked)

    async def _lock_next(self, lock_duration: timedelta) -> Locked | None:
        """The next document; none, after a wait, if none is due."""
        if self._stopping.is_set():
            return None
        try:
            locked = await self.store.lock_next(lock_duration)
            if locked is None:
                await self._wait_idle()
        except Exception as error:  # noqa: BLE001  (whatever a store raises, the scheduler continues)
            await self._report_error(error, None)
            await self._pause(RETRY_SECONDS)
            return None
        return locked

    async def _wait_idle(self) -> None:
        if not self.is_idle:
            self.is_idle = True
            await self._call_hook(self.on_idle)
        if self.idle_delay:
            await self._pause(self.idle_delay)
        else:
            await _wait_for_first(self.store.wait(POLL_SECONDS), self._stopping.wait())

    async def _pause(self, seconds: float) -> None:
        """Wait so long, or until the scheduler is stopped."""
        if seconds:
            with suppress(TimeoutError):
                await asyncio.wait_for(self._stopping.wait(), seconds)

    async def _handle(self, document: Document) -> None:
        self.is_processing = True
        try:
            await self._callbacks.call(self.on_document, document)
        finally:
            self.is_processing = False

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
