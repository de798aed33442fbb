"""Taking in definitions: what sources say goes into the store, and what they no longer say goes out of it.

A source deletes only what it wrote itself, and a folder only when all of its files can be read: the job of a
broken file is still wanted. Code that no longer declares a job deletes nothing (S50).
"""

import asyncio
from collections.abc import Iterable, Mapping

import structlog

from ..core.codec import encode_job
from ..core.definition import JobDefinition
from ..core.errors import TickwiseError
from ..sources.folder import FolderChange, FolderSource
from ..stores.contract import Store
from ..stores.paging import every

_log = structlog.get_logger("tickwise")
_AT_ONCE = 50


class Intake:
    """The way of definitions into one store; it knows which texts its own sources have said."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._said: set[str] = set()
        self._refused: dict[str, Mapping[str, str]] = {}  # by source: job to what is wrong with it
        self._unread: dict[str, tuple[str, ...]] = {}  # by source: what it could not read

    @property
    def problems(self) -> tuple[str, ...]:
        refused = [text for jobs in self._refused.values() for text in jobs.values()]
        return (*(text for texts in self._unread.values() for text in texts), *refused)

    def trusts(self, job: JobDefinition) -> bool:
        """Whether a source of this process has said this very definition."""
        return encode_job(job) in self._said

    async def define_all(self, jobs: Iterable[JobDefinition], source: str) -> None:
        """Write definitions, many at a time; one that is refused is told, and holds up no other."""
        jobs = list(jobs)
        refused = dict(self._refused.get(source, {}))
        for start in range(0, len(jobs), _AT_ONCE):
            batch = jobs[start : start + _AT_ONCE]
            for job in batch:
                self._said.add(encode_job(job))
                refused.pop(job.name, None)
            results = await asyncio.gather(
                *(self._store.define(job, source) for job in batch), return_exceptions=True
            )
            for job, result in zip(batch, results, strict=True):
                if isinstance(result, TickwiseError):
                    refused[job.name] = f"{job.name}: {result}"
                    _log.warning("definition refused", job=job.name, source=source, error=str(result))
                elif isinstance(result, BaseException):
                    raise result
        self._refused[source] = refused

    async def follow(self, folder: FolderSource, stop: asyncio.Event, ready: asyncio.Event) -> None:
        """Keep the store as the folder is, until told to stop. What could not be applied is tried again."""
        async for change in folder.changes(stop):
            self._unread[folder.name] = tuple(str(error) for error in change.errors)
            await self._apply(folder.name, change)
            ready.set()

    async def _apply(self, source: str, change: FolderChange) -> None:
        for error in change.errors:
            _log.warning("definition cannot be read", error=str(error))
        for name in change.removed:
            await self._store.remove(name, source)
        await self.define_all((placed.job for placed in change.defined), source)
        if change.full:  # nothing is in doubt: what else the source wrote went while nobody watched
            standing = {placed.job.name for placed in change.defined}
            for name in await jobs_of(self._store, source):
                if name not in standing:
                    await self._store.remove(name, source)


async def jobs_of(store: Store, source: str) -> list[str]:
    """The jobs that a source has written."""
    rows = await every(lambda after: store.insights.jobs(after=after, limit=1_000))
    return [row.definition.name for row in rows if row.source == source]
