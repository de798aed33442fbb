"""Sources: who has written which jobs and schedules, and what they have left behind (S50).

Nodes report the sources that they have, and which jobs of their app's source their code does not declare any more.
A job is orphaned if its app lives, and no node that has the app declares it: so a rolling upgrade makes no orphans
as long as an old node lives. The app of this process counts like a node's.
"""

import re
from collections import defaultdict
from collections.abc import Awaitable, Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from ..core.definition import NAME, JobDefinition
from ..core.errors import ConflictError, InputError, no_such
from ..stores.contract import Store
from ..stores.pages import all_pages
from ..stores.records import JobRow, Node, ScheduleRow
from .calendars import drop_calendars, reassign_calendars
from .worker_advice import is_live

APP, FOLDER = "app:", "folder:"
_SOURCE = re.compile(rf"api|{APP}.+|{FOLDER}(/.*|{NAME.pattern})")
_PAGE_SIZE = 1_000
_MAX_ORPHANS = 200  # that a node reports; once they are removed, it reports others after its next start


@dataclass(frozen=True, slots=True)
class SourceInfo:
    """A source, how much it has written, and which live nodes have it."""

    name: str
    jobs: int
    schedules: int
    nodes: tuple[str, ...] = ()
    orphans: tuple[str, ...] = ()  # jobs that its code does not declare any more


class DeclaredJobs(NamedTuple):
    """The jobs that the code of an app declares, and the source that they are of."""

    source: str
    names: frozenset[str]


NOTHING_DECLARED = DeclaredJobs("", frozenset())


class _Written(NamedTuple):
    """All jobs and schedules, the live nodes, and the app of this process."""

    jobs: list[JobRow]
    schedules: list[ScheduleRow]
    nodes: list[Node]
    own: DeclaredJobs = NOTHING_DECLARED

    def sources(self) -> list[SourceInfo]:
        jobs: defaultdict[str, int] = defaultdict(int)
        schedules: defaultdict[str, int] = defaultdict(int)
        for job in self.jobs:
            jobs[job.source] += 1
        for row in self.schedules:
            schedules[row.schedule.definition.source] += 1
        orphans = orphaned(self.jobs, self.nodes, self.own)
        served = {source for node in self.nodes for source in node.sources}
        return [
            SourceInfo(
                name, jobs[name], schedules[name], tuple(node.id for node in self.nodes if name in node.sources),
                tuple(job.definition.name for job in orphans if job.source == name),
            )
            for name in sorted({*jobs, *schedules, *served})
        ]  # fmt: skip

    def jobs_of(self, source: str) -> list[str]:
        """The jobs that a source has written, and those to which it has added a schedule."""
        added = {row.schedule.job for row in self.schedules if row.schedule.definition.source == source}
        return sorted({job.definition.name for job in self.jobs if job.source == source} | added)


class Sources:
    """Sources by name, as `list` names them."""

    def __init__(self, store: Callable[[], Awaitable[Store]], declared: Callable[[], DeclaredJobs]) -> None:
        self._store = store
        self._declared = declared

    async def list(self) -> list[SourceInfo]:
        """In order of their names."""
        return (await _written(await self._store()))._replace(own=self._declared()).sources()

    async def move(self, source: str, to: str, *, dry_run: bool = False) -> Sequence[str]:
        """Give another source all that a source has written; the names of the jobs."""
        if not _SOURCE.fullmatch(to):
            raise InputError(
                f"{to[:100]!r} cannot be a source: write folder:/PATH, folder:NAME (as served with --source), "
                "app:NAME or api"
            )
        store = await self._store()
        names = await _names(store, source)
        if not dry_run:
            await reassign_calendars(store, source, to)
        for name in [] if dry_run else names:
            await store.reassign(name, source, to)
        return names

    async def remove(self, source: str, *, dry_run: bool = False) -> Sequence[str]:
        """Delete all that a source has written, unless a live node has it; the names of the jobs."""
        store = await self._store()
        names = await _names(store, source)
        written = await _written(store)
        if nodes := [node.id for node in written.nodes if source in node.sources]:
            raise ConflictError(f"{source} is served by {', '.join(nodes)}: stop that first, or delete it there")
        owners = {job.definition.name: job.source for job in written.jobs}
        for name in [] if dry_run else names:
            if owners.get(name) == source:
                await store.remove(name, source)
            else:
                await store.extend(JobDefinition(name), source)
        if not dry_run:
            await drop_calendars(store, source)
        return names

    async def orphans(self) -> Sequence[str]:
        """Jobs that the code of their app does not declare any more."""
        return [job.definition.name for job in await find_orphans(await self._store(), self._declared())]

    async def remove_orphans(self, names: Iterable[str] | None = None) -> Sequence[str]:
        """Delete orphaned jobs: these, or all; the names of those that were deleted."""
        store = await self._store()
        found = {job.definition.name: job for job in await find_orphans(store, self._declared())}
        wanted = sorted(found) if names is None else list(dict.fromkeys(names))
        for name in wanted:
            if name not in found:
                raise ConflictError(f"{name} is not orphaned: its source has it, or no live node has that source")
        for name in wanted:
            await store.remove(name, found[name].source, over=found[name].version)
        return wanted


class OrphanCheck:
    """Finds the jobs of an app's source that its code does not declare, for the node that has the app."""

    def __init__(self, store: Store, source: str) -> None:
        self._store = store
        self._source = source
        self._declared: frozenset[str] = frozenset()
        self.found: tuple[str, ...] = ()

    async def look(self, declared: Iterable[str]) -> bool:
        """Look again if the code has declared more; whether it did."""
        names = frozenset(declared)
        if names == self._declared:
            return False
        written = {job.definition.name for job in await _jobs(self._store) if job.source == self._source}
        self.found, self._declared = tuple(sorted(written - names)[:_MAX_ORPHANS]), names
        return True


async def find_orphans(store: Store, own: DeclaredJobs = NOTHING_DECLARED) -> list[JobRow]:
    """Jobs that the code of their app does not declare any more."""
    nodes = await _live_nodes(store)
    if not own.names and not any(node.orphans for node in nodes):
        return []
    return orphaned(await _jobs(store), nodes, own)


def orphaned(jobs: Sequence[JobRow], nodes: Iterable[Node], own: DeclaredJobs) -> list[JobRow]:
    """Those that no live node of their app declares, and not the app of this process."""
    lists: defaultdict[str, list[frozenset[str]]] = defaultdict(list)
    for node in nodes:
        for source in node.sources:
            lists[source].append(frozenset(node.orphans))
    if own.names:
        written = {job.definition.name for job in jobs if job.source == own.source}
        lists[own.source].append(frozenset(written - own.names))
    gone = {source: frozenset.intersection(*found) for source, found in lists.items() if source.startswith(APP)}
    return [job for job in jobs if job.definition.name in gone.get(job.source, ())]


async def _names(store: Store, source: str) -> list[str]:
    written = await _written(store)
    if names := written.jobs_of(source):
        return names
    known = [one.name for one in written.sources() if one.jobs or one.schedules]
    raise no_such("source", source, known, ": see tickwise sources list")


async def _written(store: Store) -> _Written:
    schedules = await all_pages(lambda after: store.insights.schedules(after=after, limit=_PAGE_SIZE))
    return _Written(await _jobs(store), list(schedules), await _live_nodes(store))


async def _jobs(store: Store) -> list[JobRow]:
    return list(await all_pages(lambda after: store.insights.jobs(after=after, limit=_PAGE_SIZE)))


async def _live_nodes(store: Store) -> list[Node]:
    now = await store.now()
    return [node for node in await store.insights.nodes() if is_live(node, now)]
