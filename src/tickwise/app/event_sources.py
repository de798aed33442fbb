"""What a ticker does for schedules that listen: it looks for ends of runs, and for files that have settled (S70).

Any number of nodes may do so at once. Each tells the store what it has found since the place that the schedule has
stored, and the schedule takes what it has not taken yet (`core.event_sources`). Polling is the guarantee; the end
of a run on this node makes a look sooner.
"""

import asyncio
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import TypeVar

from ..core.errors import ConflictError, InputError
from ..core.event_inbox import EventsReceived, InboxFullError
from ..core.event_sources import END_OVERLAP, Found, FoundEnds, FoundFiles, SettledFile, new_ends
from ..core.events import JobEnd, JobEnds, OnEvent, SettledFiles, TakenEvents
from ..core.model import Schedule
from ..log import get_logger
from ..sources.files import FileWatch
from ..stores.contract import Store
from ..stores.event_listeners import read_listeners
from ..stores.records import MICRO, RunRow

_log = get_logger()
_EVERY, _WITHOUT_LISTENERS = 1.0, 5.0  # seconds
_SAVE_EVERY = 600 * MICRO  # without ends the place is stored now and then, for nodes that start
_PAGE_SIZE, _MAX_PAGE_SIZE, _MAX_PAGES = 1_000, 10_000, 10
_BATCH_SIZE = 100  # that one move takes
_NOTHING = TakenEvents()
S = TypeVar("S", JobEnds, SettledFiles)
T = TypeVar("T", JobEnd, SettledFile)


class EventSources:
    """Looks for the events of all schedules of a store that listen."""

    def __init__(self, store: Store, files: FileWatch) -> None:
        self._store = store
        self._files = files
        self._read_from: dict[str, int] = {}  # by schedule: this node has told of all ends before
        self._jobs: frozenset[str] = frozenset()  # whose ends somebody waits for
        self._full: set[str] = set()  # schedules that took no more
        self.wake_event = asyncio.Event()

    @property
    def problems(self) -> tuple[str, ...]:
        return self._files.problems

    def ended(self, job: str) -> None:
        """A run has ended on this node."""
        if job in self._jobs:
            self.wake_event.set()

    async def end_turn(self) -> float:
        """Look for ends of runs."""
        rows = await read_listeners(self._store)
        listening = list(_of_kind([row.schedule for row in rows], JobEnds))
        self._jobs = frozenset(job for _, source in listening for job in source.jobs)
        self._read_from = {
            s.name: max(_taken_by(s).read_from, self._read_from.get(s.name, 0)) for s, _ in listening
        }
        for schedule, source in listening:
            await self._look_for_ends(schedule, source)
        return _EVERY if listening else _WITHOUT_LISTENERS

    async def file_turn(self) -> float:
        """Look for files."""
        rows = await read_listeners(self._store)
        listening = list(_of_kind([row.schedule for row in rows], SettledFiles))
        self._files.forget_others({schedule.name for schedule, _ in listening})
        for schedule, source in listening:
            if found := await self._files.look(schedule.name, source, _taken_by(schedule).keys):
                await self._tell(schedule.name, found.files, partial(_found_files, found.present))
        return _EVERY if listening else _WITHOUT_LISTENERS

    async def _look_for_ends(self, schedule: Schedule, source: JobEnds) -> None:
        name, now = schedule.name, await self._store.now()
        since, taken, late = self._read_from[name], _taken_by(schedule), now - END_OVERLAP
        ends, is_all = await self._ended(source.jobs, since)
        new = new_ends(source, taken, ends)
        if not await self._tell(name, new, lambda some: FoundEnds(some, min(late, some[-1].at))):
            return
        read_from = max(since, late if is_all else min(late, ends[-1].at))
        if read_from - taken.read_from > _SAVE_EVERY:
            await self._change(name, FoundEnds((), read_from))
        self._read_from[name] = read_from

    async def _tell(self, name: str, items: Sequence[T], found: Callable[[tuple[T, ...]], Found]) -> bool:
        """Let a schedule take what was found, in moves that it has room for; whether it took all."""
        for first in range(0, len(items), _BATCH_SIZE):
            if not await self._tell_some(name, tuple(items[first : first + _BATCH_SIZE]), found):
                return False
        self._full.discard(name)
        return True

    async def _tell_some(self, name: str, items: tuple[T, ...], found: Callable[[tuple[T, ...]], Found]) -> bool:
        try:
            return await self._change(name, found(items))
        except InboxFullError as error:
            if len(items) > 1:
                half = len(items) // 2
                return await self._tell_some(name, items[:half], found) and await self._tell_some(
                    name, items[half:], found
                )
            if name not in self._full:
                _log.warning("events wait at their source", schedule=name, problem=str(error))
            self._full.add(name)
            return False

    async def _change(self, name: str, found: Found) -> bool:
        """Whether the schedule is there and still listens."""
        try:
            await self._store.change(name, EventsReceived((), found=found))
        except InboxFullError:
            raise
        except (InputError, ConflictError) as error:
            _log.info("events are not wanted", schedule=name, problem=str(error))
            return False
        return True

    async def _ended(self, jobs: Sequence[str], since: int) -> tuple[list[JobEnd], bool]:
        """Ends since an instant, the oldest first, and whether these are all."""
        found: dict[str, JobEnd] = {}
        size = _PAGE_SIZE
        for _ in range(_MAX_PAGES):
            rows = await self._store.insights.ended(frozenset(jobs), since, size)
            ends = [_job_end(row) for row in rows]
            found |= {end.mark: end for end in ends}
            if len(ends) < size:
                return list(found.values()), True
            if ends[-1].at == since:
                size = min(2 * size, _MAX_PAGE_SIZE)  # so many have ended in one instant
            since = ends[-1].at
        return list(found.values()), False


def _of_kind(schedules: Sequence[Schedule], kind: type[S]) -> Iterator[tuple[Schedule, S]]:
    for schedule in schedules:
        times = schedule.definition.times
        if isinstance(times, OnEvent) and isinstance(times.source, kind):
            yield schedule, times.source


def _found_files(present: tuple[str, ...], files: tuple[SettledFile, ...]) -> Found:
    return FoundFiles(files, present)


def _taken_by(schedule: Schedule) -> TakenEvents:
    return schedule.inbox.taken or _NOTHING


def _job_end(run: RunRow) -> JobEnd:
    return JobEnd(run.job, run.id, run.attempt, str(run.state), run.finished_at or 0, run.slot)
