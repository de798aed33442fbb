"""What happens to documents between their lock and the verdict that is written.

Handlers run beside each other, their writes together: verdicts that are ready while a write is under way share the
next one, and one write renews all locks that are held.
"""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import KW_ONLY, dataclass, field
from datetime import datetime, timedelta
from typing import Any, NamedTuple, TypeAlias

from ..clock import monotonic
from ..core.errors import InputError, TickwiseError
from .contract import Ending, JobStore, Locked, LockLostError
from .decide import DocumentOutcome, Release, Rules, Verdict, decide

Document: TypeAlias = Mapping[str, Any]
ReportError: TypeAlias = Callable[[Exception, Document | None], Awaitable[None]]

RETRY_SECONDS = 1.0  # after the store failed
_WRITE_TRIES = 3  # for the verdict


class _StoreClock(NamedTuple):
    """The store's time, advanced by our monotonic clock since it was read."""

    read: datetime
    read_at: float

    def now(self) -> datetime:
        return self.read + timedelta(seconds=monotonic() - self.read_at)


class DocumentRun(NamedTuple):
    """A document whose handler has been called, or could not be."""

    locked: Locked
    clock: _StoreClock
    outcome: DocumentOutcome


class _WaitingEnding(NamedTuple):
    ending: Ending
    written: "asyncio.Future[Locked | None]"


@dataclass(slots=True)
class DocumentProcessor:
    """Processes locked documents, many at once. Its tasks are those of `tasks`."""

    _: KW_ONLY
    store: JobStore
    handler: Callable[[Document], Awaitable[None]]
    report_error: ReportError
    pause: Callable[[float], Awaitable[None]]
    rules: Rules
    lock_duration: timedelta
    tasks: asyncio.TaskGroup
    _held: dict[int, Locked] = field(default_factory=dict, init=False)  # those whose handlers run
    _waiting: list[_WaitingEnding] = field(default_factory=list, init=False)
    _is_writing: bool = field(default=False, init=False)

    async def run(self, locked: Locked) -> DocumentRun:
        """Run the handler, unless the document's times cannot be read."""
        run = DocumentRun(locked, _StoreClock(locked.now, monotonic()), DocumentOutcome.PROCESSED)
        if isinstance(self._decide(run, locked), Release):
            return run
        return run._replace(outcome=await self._run_handler(locked))

    async def finish(self, run: DocumentRun) -> None:
        """Write the verdict."""
        document = run.locked.document
        for tries_left in reversed(range(_WRITE_TRIES)):
            try:
                await self._write_verdict(run)
            except Exception as error:  # noqa: BLE001  (whatever a store raises, the scheduler continues)
                await self.report_error(error, document)
                if isinstance(error, LockLostError) or not tries_left:
                    return
                await self.pause(RETRY_SECONDS)
            else:
                return

    def _decide(self, run: DocumentRun, current: Locked) -> Verdict:
        return decide(current.facts, run.clock.now(), run.outcome, self.rules)

    async def _run_handler(self, locked: Locked) -> DocumentOutcome:
        self._held[id(locked)] = locked
        try:
            await self.handler(locked.document)
        except Exception as error:  # noqa: BLE001  (a handler may raise anything)
            await self.report_error(error, locked.document)
            return DocumentOutcome.FAILED
        finally:
            del self._held[id(locked)]
        return DocumentOutcome.PROCESSED

    async def _write_verdict(self, run: DocumentRun) -> None:
        """Write the verdict; if the facts have changed meanwhile, decide again from the new ones."""
        locked = run.locked
        current: Locked | None = locked
        while current is not None:
            verdict = self._decide(run, current)
            current = await self._write(Ending(current, verdict))
        if isinstance(verdict, Release) and verdict.error is not None:
            error = InputError(f"document {locked.facts.key!r}: {verdict.error}")
            await self.report_error(error, locked.document)

    async def _write(self, ending: Ending) -> Locked | None:
        written: asyncio.Future[Locked | None] = asyncio.get_running_loop().create_future()
        self._waiting.append(_WaitingEnding(ending, written))
        if not self._is_writing:
            self._is_writing = True
            self.tasks.create_task(self._write_waiting())
        return await written

    async def _write_waiting(self) -> None:
        """Write what waits, all at once, until nothing does."""
        try:
            while self._waiting:
                batch, self._waiting = self._waiting, []
                _resolve(batch, await self._finish([waiting.ending for waiting in batch]))
        finally:
            self._is_writing = False

    async def _finish(self, endings: list[Ending]) -> "list[Locked | Exception | None]":
        try:
            results = list(await self.store.finish_many(endings))
        except Exception as error:  # noqa: BLE001  (whatever a store raises, each document learns of it)
            return [error] * len(endings)
        if len(results) == len(endings):
            return results
        wrong = TickwiseError(f"finish_many returned {len(results)} results for {len(endings)} verdicts")
        return [wrong] * len(endings)

    @asynccontextmanager
    async def renewal(self) -> AsyncIterator[None]:
        """Renew the locks of all documents whose handlers run, every third of their length."""
        renewal = asyncio.create_task(self._renew())
        try:
            yield
        finally:
            renewal.cancel()
            await asyncio.gather(renewal, return_exceptions=True)

    async def _renew(self) -> None:
        """A lock that was lost is reported when its verdict is written."""
        while True:
            await asyncio.sleep(self.lock_duration.total_seconds() / 3)
            held = list(self._held.values())
            try:
                if held:
                    await self.store.renew_many(held, self.lock_duration)
            except Exception as error:  # noqa: BLE001  (it is tried again before the locks expire)
                self.tasks.create_task(self._report_each(error, held))

    async def _report_each(self, error: Exception, held: list[Locked]) -> None:
        for locked in held:
            await self.report_error(error, locked.document)


def _resolve(batch: list[_WaitingEnding], results: "list[Locked | Exception | None]") -> None:
    for (_, written), result in zip(batch, results, strict=True):
        if written.done():  # its task was cancelled
            continue
        if isinstance(result, Exception):
            written.set_exception(result)
        else:
            written.set_result(result)
