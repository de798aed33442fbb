"""What tests of the scheduler share: a handler that keeps what it got, a store that keeps what it was asked."""

import asyncio
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Any

from tickwise.documents import (
    DocumentScheduler,
    Locked,
    MemoryJobStore,
    Release,
    Renew,
    Sleep,
)
from tickwise.testing import FakeClock

from .user_collections import run

NOON = datetime(2026, 3, 1, 12, tzinfo=UTC)
PAST = NOON - timedelta(hours=1)


class Desk:
    """A handler that keeps what it got, and events to wait for."""

    def __init__(self, work: Callable[[Any], Any] | None = None) -> None:
        self.documents: list[Any] = []
        self.errors: list[tuple[Exception, Any]] = []
        self.happened: list[str] = []
        self._work = work
        self._news = asyncio.Event()

    async def handle(self, document: Any) -> None:
        self.documents.append(document)
        self.note("document")
        if self._work:
            await self._work(document)

    def note(self, what: str) -> None:
        self.happened.append(what)
        self._news.set()

    async def failed(self, error: Exception, document: Any) -> None:
        self.errors.append((error, document))
        self.note("error")

    def hook(self, name: str) -> Callable[[], Any]:
        async def noting() -> None:
            self.note(name)

        return noting

    async def until(self, what: str, times: int = 1) -> None:
        """Wait until something has happened so often."""
        while self.happened.count(what) < times:
            self._news.clear()
            await self._news.wait()

    def scheduler(self, store: Any, **options: Any) -> DocumentScheduler:
        hooks = {name: self.hook(name.removeprefix("on_")) for name in ("on_start", "on_stop", "on_idle")}
        return DocumentScheduler(store, self.handle, **{**hooks, "on_error": self.failed, **options})


class Watched(MemoryJobStore):
    """Keeps what is asked of it; may be told to fail."""

    def __init__(self, *arguments: Any, **options: Any) -> None:
        self.locks = 0
        self.changes: list[Any] = []
        self.failures: dict[type, list[Exception]] = {}
        self.renewed = asyncio.Event()
        super().__init__(*arguments, **options)

    async def lock_next(self, lock_until: timedelta) -> Locked | None:
        self.locks += 1
        self._fail(Locked)
        return await super().lock_next(lock_until)

    async def update(self, locked: Locked, change: Sleep | Release | Renew) -> Locked | None:
        self._fail(type(change))
        self.changes.append(change)
        if isinstance(change, Renew):
            self.renewed.set()
        return await super().update(locked, change)

    def _fail(self, kind: type) -> None:
        if failures := self.failures.get(kind):
            raise failures.pop(0)


def memory(*documents: dict[str, Any], clock: FakeClock | None = None) -> Watched:
    return Watched(documents, clock=(clock or FakeClock(NOON)).now)


def worked_off(store: MemoryJobStore, desk: Desk | None = None, **options: Any) -> Desk:
    """Work until nothing is due."""
    desk = desk or Desk()

    async def work() -> None:
        async with desk.scheduler(store, **options):
            await desk.until("idle")

    run(work())
    return desk
