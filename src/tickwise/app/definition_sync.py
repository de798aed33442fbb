"""Definition sync: writes what sources define into the store, and removes what they no longer define.

A source removes only jobs that it wrote itself, and a folder only when all of its files can be read, so that a
broken file does not delete its job. Code that no longer declares a job removes nothing (S50).

Changes are queued and then written; a change leaves the queue when the store has accepted it, so an unreachable
store loses nothing. A definition that the store refuses (its name is taken, or a schedule it waits for is missing)
is shown as a problem and tried again: after the others of its batch, which may be what it waits for, and then
every `_RETRY_SECONDS`.
"""

import asyncio
from collections import defaultdict
from collections.abc import Awaitable, Callable, Collection, Iterable
from contextlib import suppress
from typing import TYPE_CHECKING

from ..core.definition import JobDefinition
from ..core.errors import ConflictError, TickwiseError
from ..log import get_logger
from ..stores.contract import Store, StoreUnavailableError
from ..stores.pages import all_pages
from .calendar_sync import CalendarSync
from .calendars import bound_job, check_bound, uses_calendars
from .machine_start import on_start_schedules
from .trusted_commands import TrustedCommands

if TYPE_CHECKING:
    from ..sources.folder import FolderChange, FolderSource

_log = get_logger()
_BATCH_SIZE = 50
_RETRY_SECONDS = 15.0
_MAX_NAMES = 20  # of jobs, in a line of the log


class DefinitionSync:
    """Writes the definitions of this process's sources into one store, and knows which are its own."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._trusted = TrustedCommands(store)
        self._announced = self._trusted.digests
        self.announce: Callable[[], Awaitable[object]] = _announce_nothing  # called when `commands` has changed
        self._queued: defaultdict[str, dict[str, JobDefinition | None]] = defaultdict(
            dict
        )  # by source and job; none: remove
        self._complete: dict[str, set[str]] = {}  # by source: all jobs it has now; its others are removed
        self._refused: dict[tuple[str, str], str] = {}  # by source and job: why
        self._unread: dict[str, tuple[str, ...]] = {}  # by source: what it could not read
        self._started: dict[tuple[str, str], frozenset[str]] = {}  # by source and job: its schedules with on_start
        self._calendars = CalendarSync(store)
        self._write_lock = asyncio.Lock()

    @property
    def problems(self) -> tuple[str, ...]:
        unread = (text for texts in self._unread.values() for text in texts)
        return (*unread, *self._calendars.problems, *self._refused.values())

    def refusal(self, source: str, job: str) -> str:
        """Why the store refuses a job of a source; empty if it does not."""
        return self._refused.get((source, job), "")

    @property
    def commands(self) -> frozenset[str]:
        """The digests of definitions with commands that a source of this process has."""
        return self._trusted.digests

    @property
    def on_start(self) -> frozenset[str]:
        """The schedules of this process's sources that run when its machine starts."""
        return frozenset().union(*self._started.values())

    async def define_all(self, jobs: Iterable[JobDefinition], source: str) -> None:
        """Write definitions; one that is refused becomes a problem, and holds up no other."""
        self._queue(jobs, source)
        await self._write_queued(source)

    async def follow(self, folder: "FolderSource", stop: asyncio.Event, ready: asyncio.Event) -> None:
        """Keep the store as the folder is, until the stop event is set."""
        async for change in folder.changes(stop):
            self._queue_change(folder.name, change)
            await self._write_queued(folder.name)
            if ready.is_set():
                _log_change(folder.name, change)
            ready.set()

    async def turn(self) -> float:
        """Write again what could not be written, and trust no longer what no run needs any more."""
        for source in {*self._queued, *self._calendars.waiting}:
            await self._write_queued(source)
        await self._calendars.settle()
        return _RETRY_SECONDS

    def _queue(self, jobs: Iterable[JobDefinition], source: str) -> None:
        jobs = list(jobs)
        for job in jobs:
            self._trusted.add(source, job)
            self._queued[source][job.name] = job

    def _queue_change(self, source: str, change: "FolderChange") -> None:
        known = self._unread.get(source, ())
        self._unread[source] = tuple(str(error) for error in change.errors)
        for text in self._unread[source]:
            if text not in known:
                _log.warning("definition cannot be read", source=source, error=text)
        for name in change.removed:
            self._queued[source][name] = None
            self._refused.pop((source, name), None)
        jobs = [placed.job for placed in change.defined]
        self._queue(jobs, source)
        self._calendars.queue(source, change.calendars, full=change.full)
        if change.full:
            self._complete[source] = set()
        if source in self._complete:
            self._complete[source] |= {job.name for job in jobs}

    async def _write_queued(self, source: str) -> None:
        """Remove first, so that names are free; then define, as long as the store accepts some."""
        async with self._write_lock:
            await self._announce_commands()
            await self._calendars.write(source)
            queued = self._queued[source]
            for name in [name for name, job in queued.items() if job is None]:
                await self._remove(name, source)
                if queued.get(name) is None:
                    queued.pop(name, None)
                    self._trusted.on_removed(source, name)
                    self._started.pop((source, name), None)
            if source in self._complete:
                for name in set(await jobs_of(self._store, source)) - self._complete[source]:
                    await self._remove(name, source)
                del self._complete[source]
            while queued and await self._define_queued(source):
                pass
            await self._calendars.remove(source)
            await self._trusted.withdraw()
            await self._announce_commands()

    async def _announce_commands(self) -> None:
        """Let others know what this process may execute, before it is written: else slots would be held (S47)."""
        if self._announced != self.commands:
            commands = self.commands
            await self.announce()
            self._announced = commands

    async def _remove(self, name: str, source: str) -> None:
        with suppress(ConflictError):  # another source owns it by now
            await self._store.remove(name, source)

    async def _define_queued(self, source: str) -> bool:
        """Write what is queued, in batches; whether the store accepted any of it."""
        jobs = [job for job in self._queued[source].values() if job]
        accepted = False
        for start in range(0, len(jobs), _BATCH_SIZE):
            batch = jobs[start : start + _BATCH_SIZE]
            plain = [job for job in batch if not uses_calendars(job)]
            known = await self._store.insights.as_written(plain, source)
            results = await asyncio.gather(
                *(self._define_one(job, source, known) for job in batch), return_exceptions=True
            )
            failures = []
            for job, result in zip(batch, results, strict=True):
                match result:
                    case TickwiseError() if not isinstance(result, StoreUnavailableError):
                        self._refuse(job, source, str(result))
                    case BaseException():
                        failures.append(result)
                    case _:
                        accepted = True
                        self._accepted(job, source)
            if failures:
                raise failures[0]
        return accepted

    async def _define_one(self, job: JobDefinition, source: str, known: Collection[str]) -> None:
        if job.name not in known:
            bound = await bound_job(self._store, job)
            await self._store.define(bound, source)
            await check_bound(self._store, [bound])

    def _accepted(self, job: JobDefinition, source: str) -> None:
        self._refused.pop((source, job.name), None)
        self._started.pop((source, job.name), None)
        if names := on_start_schedules(job):
            self._started[source, job.name] = names
        if self._queued[source].get(job.name) is job:  # and not a newer one
            del self._queued[source][job.name]
            self._trusted.on_stored(source, job.name)

    def _refuse(self, job: JobDefinition, source: str, why: str) -> None:
        text = f"{job.name}: {why}"
        if self._refused.get((source, job.name)) != text:
            _log.warning("definition refused", job=job.name, source=source, error=why)
        self._refused[source, job.name] = text


async def _announce_nothing() -> None: ...


def _log_change(source: str, change: "FolderChange") -> None:
    """Confirm what has been read of a folder since the first time."""
    lists = {"defined": [placed.job.name for placed in change.defined], "removed": change.removed}
    names = {what: ", ".join(some[:_MAX_NAMES]) for what, some in lists.items() if some}
    if names:
        _log.info("jobs have changed", source=source, **names)


async def jobs_of(store: Store, source: str) -> list[str]:
    """The jobs that a source has written."""
    rows = await all_pages(lambda after: store.insights.jobs(after=after, limit=1_000))
    return [row.definition.name for row in rows if row.source == source]
