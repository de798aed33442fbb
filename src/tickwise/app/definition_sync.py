"""Taking in definitions: what sources say goes into the store, and what they no longer say goes out of it.

A source deletes only what it wrote itself, and a folder only when all of its files can be read: the job of a
broken file is still wanted. Code that no longer declares a job deletes nothing (S50).

What a source says is noted first and then written, and stays noted until the store has taken it. So an unreachable
store loses nothing. A definition that the store refuses (its name is taken, what it waits for does not exist yet)
is a problem that people see, and is tried again: with the others of its batch, which may be what it waits for, and
then now and then.
"""

import asyncio
from collections import defaultdict
from collections.abc import Collection, Iterable
from contextlib import suppress

from ..core.codec import encode_job
from ..core.definition import JobDefinition
from ..core.errors import ConflictError, TickwiseError
from ..log import get_logger
from ..sources.folder import FolderChange, FolderSource
from ..stores.contract import Store, StoreUnavailableError
from ..stores.validation import all_pages

_log = get_logger()
_AT_ONCE = 50
_TRY_AGAIN = 15.0  # seconds


class DefinitionSync:
    """The way of definitions into one store; it knows which texts its own sources have said."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._said: set[str] = set()
        self._noted: defaultdict[str, dict[str, JobDefinition | None]] = defaultdict(
            dict
        )  # by source; none: remove
        self._whole: dict[str, set[str]] = {}  # by source: all jobs that it has; whatever else it wrote is to go
        self._refused: dict[tuple[str, str], str] = {}  # source and job: what is wrong with it
        self._unread: dict[str, tuple[str, ...]] = {}  # by source: what it could not read
        self._writing = asyncio.Lock()

    @property
    def problems(self) -> tuple[str, ...]:
        return (*(text for texts in self._unread.values() for text in texts), *self._refused.values())

    def refusal(self, source: str, job: str) -> str:
        """Why the store does not take what a source says of a job; empty if it does."""
        return self._refused.get((source, job), "")

    def trusts(self, job: JobDefinition) -> bool:
        """Whether a source of this process has said this very definition."""
        return encode_job(job) in self._said

    async def define_all(self, jobs: Iterable[JobDefinition], source: str) -> None:
        """Write definitions; one that is refused is told, and holds up no other."""
        self._note(jobs, source)
        await self._write(source)

    async def follow(self, folder: FolderSource, stop: asyncio.Event, ready: asyncio.Event) -> None:
        """Keep the store as the folder is, until told to stop."""
        async for change in folder.changes(stop):
            self._note_change(folder.name, change)
            await self._write(folder.name)
            ready.set()

    async def turn(self) -> float:
        """Try again what could not be written."""
        for source in list(self._noted):
            await self._write(source)
        return _TRY_AGAIN

    def _note(self, jobs: Iterable[JobDefinition], source: str) -> None:
        for job in jobs:
            self._said.add(encode_job(job))
            self._noted[source][job.name] = job

    def _note_change(self, source: str, change: FolderChange) -> None:
        told = self._unread.get(source, ())
        self._unread[source] = tuple(str(error) for error in change.errors)
        for text in self._unread[source]:
            if text not in told:
                _log.warning("definition cannot be read", source=source, error=text)
        for name in change.removed:
            self._noted[source][name] = None
            self._refused.pop((source, name), None)
        jobs = [placed.job for placed in change.defined]
        self._note(jobs, source)
        if change.full:
            self._whole[source] = set()
        if source in self._whole:
            self._whole[source] |= {job.name for job in jobs}

    async def _write(self, source: str) -> None:
        """What is removed goes first, so that its names are free; then definitions, as long as some are taken."""
        async with self._writing:
            noted = self._noted[source]
            for name in [name for name, job in noted.items() if job is None]:
                await self._remove(name, source)
                if noted.get(name) is None:
                    noted.pop(name, None)
            if source in self._whole:
                for name in set(await jobs_of(self._store, source)) - self._whole[source]:
                    await self._remove(name, source)
                del self._whole[source]
            while noted and await self._define(source):
                pass

    async def _remove(self, name: str, source: str) -> None:
        with suppress(ConflictError):  # it is somebody else's by now
            await self._store.remove(name, source)

    async def _define(self, source: str) -> bool:
        """Write what is noted, many at a time; whether the store took any of it."""
        jobs = [job for job in self._noted[source].values() if job]
        taken = False
        for start in range(0, len(jobs), _AT_ONCE):
            batch = jobs[start : start + _AT_ONCE]
            known = await self._store.insights.as_written(batch, source)
            answers = await asyncio.gather(
                *(self._say(job, source, known) for job in batch), return_exceptions=True
            )
            failures = []
            for job, answer in zip(batch, answers, strict=True):
                match answer:
                    case TickwiseError() if not isinstance(answer, StoreUnavailableError):
                        self._refuse(job, source, str(answer))
                    case BaseException():
                        failures.append(answer)
                    case _:
                        taken = True
                        self._took(job, source)
            if failures:
                raise failures[0]
        return taken

    async def _say(self, job: JobDefinition, source: str, known: Collection[str]) -> None:
        if job.name not in known:
            await self._store.define(job, source)

    def _took(self, job: JobDefinition, source: str) -> None:
        self._refused.pop((source, job.name), None)
        if self._noted[source].get(job.name) is job:  # and not a newer one
            del self._noted[source][job.name]

    def _refuse(self, job: JobDefinition, source: str, why: str) -> None:
        text = f"{job.name}: {why}"
        if self._refused.get((source, job.name)) != text:
            _log.warning("definition refused", job=job.name, source=source, error=why)
        self._refused[source, job.name] = text


async def jobs_of(store: Store, source: str) -> list[str]:
    """The jobs that a source has written."""
    rows = await all_pages(lambda after: store.insights.jobs(after=after, limit=1_000))
    return [row.definition.name for row in rows if row.source == source]
