"""One document, from its lock to what becomes of it."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any, NamedTuple, TypeAlias

from ..clock import monotonic
from ..core.errors import InputError
from .contract import JobStore, Locked, LockLostError, Renew
from .decide import DocumentOutcome, Release, Remove, Rules, Verdict, decide

Document: TypeAlias = Mapping[str, Any]
Report: TypeAlias = Callable[[Exception, Document | None], Awaitable[None]]

TRY_AGAIN = 1.0  # seconds after the store failed
_TRIES = 3  # to write what a run came to


class _StoreTime(NamedTuple):
    """The store's clock, carried on at our own pace since it was read."""

    shown: datetime
    read_at: float

    def now(self) -> datetime:
        return self.shown + timedelta(seconds=monotonic() - self.read_at)


@dataclass(frozen=True, slots=True)
class DocumentProcessor:
    """How a scheduler deals with the documents it has locked."""

    store: JobStore
    handler: Callable[[Document], Awaitable[None]]
    report: Report
    rest: Callable[[float], Awaitable[None]]
    rules: Rules
    lock_duration: timedelta

    async def process(self, locked: Locked) -> None:
        """Run the handler, unless the document cannot be read; then write the verdict."""
        time = _StoreTime(locked.now, monotonic())
        outcome = DocumentOutcome.PROCESSED
        if not isinstance(self._decide(locked, time, outcome), Release):
            outcome = await self._run(locked)
        for left in reversed(range(_TRIES)):
            try:
                await self._write(locked, time, outcome)
            except Exception as error:  # noqa: BLE001  (whatever a store raises, the scheduler goes on)
                await self.report(error, locked.document)
                if isinstance(error, LockLostError) or not left:
                    return
                await self.rest(TRY_AGAIN)
            else:
                return

    def _decide(self, locked: Locked, time: _StoreTime, outcome: DocumentOutcome) -> Verdict:
        return decide(locked.facts, time.now(), outcome, self.rules)

    async def _run(self, locked: Locked) -> DocumentOutcome:
        try:
            async with self._renewed(locked):
                await self.handler(locked.document)
        except Exception as error:  # noqa: BLE001  (a handler may raise anything)
            await self.report(error, locked.document)
            return DocumentOutcome.FAILED
        return DocumentOutcome.PROCESSED

    @asynccontextmanager
    async def _renewed(self, locked: Locked) -> AsyncIterator[None]:
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
                return  # the end of the run will tell
            except Exception as error:  # noqa: BLE001  (it is tried again before the lock runs out)
                await self.report(error, locked.document)

    async def _write(self, locked: Locked, time: _StoreTime, outcome: DocumentOutcome) -> None:
        """Write the verdict; if somebody has changed the facts meanwhile, the verdict on what they are now."""
        current: Locked | None = locked
        while current is not None:
            verdict = self._decide(current, time, outcome)
            if isinstance(verdict, Remove):
                current = await self.store.remove(current)
            else:
                current = await self.store.update(current, verdict)
        if isinstance(verdict, Release) and verdict.error is not None:
            await self.report(InputError(f"document {locked.facts.key!r}: {verdict.error}"), locked.document)
