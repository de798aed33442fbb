"""What one person may see of a store. What they do not see does not exist for them."""

from collections.abc import Awaitable, Callable, Collection, Iterable, Mapping, Sequence
from contextlib import suppress
from datetime import datetime
from typing import Any, NamedTuple, TypeVar

from ..core.cron.zone import Zone
from ..core.definition import Step
from ..core.errors import InputError, NotFoundError, did_you_mean, nearest_word
from ..core.slot_history import Bins
from ..core.timeparse import ceil_second
from ..sources.defaults import Defaults
from ..stores.contract import Store
from ..stores.records import (
    MICRO,
    AttemptRow,
    DecisionFilter,
    DecisionRow,
    JobRow,
    LogPart,
    Node,
    Page,
    PauseInterval,
    RunFilter,
    RunRow,
    ScheduleFilter,
    ScheduleRow,
    StepReport,
)
from ..stores.statistics import HourlyStats, RecentSlots
from .definitions import StoredJob, stored_job
from .events import EventInfo, list_events
from .explain import Explanation, why, why_run
from .late_slots import LateSlots, late_slots
from .replay import ReplayedPast, replay_schedule
from .ribbons import RibbonPage, ribbons
from .run_search import RunOrder, RunSearch, sees_all
from .slots import LISTED_SLOTS, SlotInfo, SlotMark, SlotReader
from .values import RunInfo, ScheduleDetail, ScheduleItem, is_due
from .what_if import WhatIf, what_if
from .worker_advice import is_live

T = TypeVar("T")
_MAX_NAMES = 1_000  # that are compared to find the nearest; of more, those that begin alike
_PREFIX_LENGTH = 4
_LISTED_RUNS = 12  # states of runs of each schedule in a list
_MAX_READS = 20  # pages that are read to fill one page of what is seen


class StoredSchedule(NamedTuple):
    """A schedule and its job, as they were read: all that an edit needs."""

    row: ScheduleRow
    job: StoredJob


class View:
    """Reads of a store; `sees` says whether the person may see a job."""

    def __init__(self, store: Store, sees: Callable[[str], bool] = sees_all) -> None:
        self._store = store
        self._insights = store.insights
        self._sees = sees

    async def schedules(self, filters: ScheduleFilter, after: str | None, limit: int) -> Page[ScheduleItem]:
        """In order of their names."""
        due = filters.due_before
        page = await self._page(
            lambda key, most: self._insights.schedules(filters, key, most),
            lambda row: self._sees(row.schedule.job) and (due is None or is_due(row, due)),
            after, limit,
        )  # fmt: skip
        recent = await self._insights.recent([row.schedule.name for row in page.items], LISTED_SLOTS)
        reader = await self._slot_reader()
        late = await late_slots(self._store, page.items, _oldest_slot(recent.values(), reader.now))
        return Page(
            tuple(
                _item(row, recent.get(row.schedule.name, RecentSlots()), reader, late[row.schedule.name])
                for row in page.items
            ),
            page.after,
        )

    async def _slot_reader(self) -> SlotReader:
        return SlotReader(await self._store.now() // MICRO, await self._insights.pauses())

    async def slots(self, name: str, since: int, before: int | None, limit: int) -> Page[SlotInfo]:
        """Slots of one schedule since an instant, the newest first; without an end, up to now."""
        row, reader = await self.schedule(name), await self._slot_reader()
        until = await self._store.now() // MICRO + 1 if before is None else before
        recent = await self._insights.recent([name], limit + 1, until)
        records = reader.newest(row, recent.get(name, RecentSlots()), since, until, limit + 1)
        key = str(records[limit - 1].slot) if len(records) > limit else None
        late = await late_slots(self._store, [row], min((record.slot for record in records), default=until))
        return Page(
            tuple(SlotInfo.of(record, late=late[name].has(record.slot)) for record in records[:limit]), key
        )

    async def ribbons(self, filters: ScheduleFilter, bins: Bins, after: str | None, limit: int) -> RibbonPage:
        """Slots of schedules in bins, the worst schedules first."""
        return await ribbons(self._store, self._sees, filters, bins, after, limit)

    async def schedule(self, name: str) -> ScheduleRow:
        row = await self._insights.schedule(name)
        if row is None or not self._sees(row.schedule.job):
            page = await self._insights.schedules(limit=_MAX_NAMES)
            if page.after is not None:
                page = await self._insights.schedules(ScheduleFilter(text=name[:_PREFIX_LENGTH]), limit=_MAX_NAMES)
            known = [one.schedule.name for one in page.items if self._sees(one.schedule.job)]
            raise _not_found("schedule", name, known)
        return row

    async def events(self, name: str, limit: int) -> list[EventInfo]:
        """The newest events of a schedule, and what became of each."""
        return await list_events(self._store, await self.schedule(name), limit)

    async def stored_schedule(self, name: str) -> StoredSchedule:
        row = await self.schedule(name)
        stored = await stored_job(self._store, row.schedule.job)
        return StoredSchedule(stored.schedule(name) or row, stored)

    async def schedule_detail(self, known: StoredSchedule) -> ScheduleDetail:
        fields = known.job.fields(known.row.schedule.name)
        return detail_of(known.row, fields, await self._store.now())

    async def why(self, name: str, slot: datetime | None = None, zone: Zone | None = None) -> Explanation:
        """Why a slot ran or did not; without one, the newest that is due."""
        await self.schedule(name)
        return await why(self._store, name, None if slot is None else ceil_second(slot), zone)

    async def what_if(self, name: str, slot: datetime | None = None) -> WhatIf:
        """What would have let a slot run; without one, the newest that is due."""
        stored = (await self.stored_schedule(name)).job
        return await what_if(self._store, stored, name, None if slot is None else ceil_second(slot))

    async def replay(
        self, name: str, start: int, end: int | None, changes: Mapping[str, Any], defaults: Defaults
    ) -> ReplayedPast:
        """How the past of a schedule would have gone with other fields; up to now, if no end is given."""
        stored = (await self.stored_schedule(name)).job
        until = await self._store.now() // MICRO + 1 if end is None else end
        return await replay_schedule(self._store, stored, name, start, until, changes, defaults)

    async def runs(self, filters: RunFilter, after: str | None, limit: int) -> Page[RunInfo]:
        """The newest first."""
        page = await self._page(
            lambda key, most: self._insights.runs(filters, key, most),
            lambda row: self._sees(row.job), after, limit,
        )  # fmt: skip
        return Page(tuple(RunInfo.of(row) for row in page.items), page.after)

    async def find_runs(
        self, text: str, filters: RunFilter, after: str | None, limit: int, order: RunOrder = RunOrder.NEWEST
    ) -> Page[RunInfo]:
        """Runs that match a query and a filter."""
        if not text and order is RunOrder.NEWEST:
            return await self.runs(filters, after, limit)
        page = await self.search.page(text, filters, after, limit, order)
        return Page(tuple(RunInfo.of(row) for row in page.items), page.after)

    @property
    def search(self) -> RunSearch:
        return RunSearch(self._store, self._sees)

    async def run(self, run: str) -> RunRow:
        with suppress(InputError):  # it cannot be an id of this store
            row = await self._insights.run(run)
            if row is not None and self._sees(row.job):
                return row
        raise NotFoundError(f"there is no run {run!r}: it was never made, or is not kept any longer")

    async def run_again(self, run: str) -> RunRow | None:
        """A run that was seen before; none if it is not kept any longer."""
        return await self._insights.run(run)

    async def zone_of(self, run: RunRow) -> str | None:
        """The zone of the run's schedule, if that exists."""
        row = None if run.schedule is None else await self._insights.schedule(run.schedule)
        return None if row is None else row.schedule.definition.times.zone.name

    async def why_run(self, run: str, zone: Zone | None = None) -> Explanation:
        return await why_run(self._store, await self.run(run), zone)

    async def attempts(self, run: str) -> tuple[AttemptRow, ...]:
        """The attempts before the last, in order."""
        await self.run(run)
        return await self._insights.attempts(run)

    async def steps(self, run: str) -> tuple[tuple[Step, ...], tuple[StepReport, ...]]:
        """The steps of the job as it was when the run was made, and how far the run is, answers too."""
        await self.run(run)
        definition = await self._insights.definition_of(run)
        return definition.steps if definition else (), await self._insights.steps(run)

    async def log(self, run: str, after: str | None, limit: int) -> Page[LogPart]:
        """What a run that was seen before has printed, in order."""
        return await self._insights.log(run, after, limit)

    async def timeline(self, start: int, end: int, limit: int) -> list[RunInfo]:
        """Runs that were under way between two instants in microseconds."""
        rows = await self._insights.timeline(start, end, limit)
        return [RunInfo.of(row) for row in rows if self._sees(row.job)]

    async def hourly_stats(self, hours: int, schedule: str | None) -> tuple[HourlyStats, ...]:
        rows = await self._insights.hourly_stats(hours, schedule)
        seen = await self._seen_schedules({row.schedule for row in rows})
        return tuple(row for row in rows if row.schedule in seen)

    async def decisions(self, filters: DecisionFilter, after: str | None, limit: int) -> Page[DecisionRow]:
        """Newest slots first."""
        page = await self._insights.decisions(filters, after, limit)
        seen = await self._seen_schedules({row.schedule for row in page.items})
        return Page(tuple(row for row in page.items if row.schedule in seen), page.after)

    async def _seen_schedules(self, names: set[str]) -> set[str]:
        """Those whose job is seen; one that was deleted has no job, so only who sees all jobs sees it."""
        if self._sees is sees_all:
            return names
        found = [await self._insights.schedule(name) for name in names]
        return {row.schedule.name for row in found if row is not None and self._sees(row.schedule.job)}

    async def pauses(self) -> tuple[PauseInterval, ...]:
        """When everything was paused, the newest first."""
        return await self._insights.pauses()

    async def nodes(self) -> list[Node]:
        """Processes, the live ones first."""
        now = await self.now()
        return sorted(await self._insights.nodes(), key=lambda node: (not is_live(node, now), node.id))

    async def now(self) -> int:
        """The time of the store, in microseconds."""
        return await self._store.now()

    async def jobs(self, after: str | None, limit: int) -> Page[JobRow]:
        """In order of their names."""
        return await self._page(
            self._insights.jobs, lambda row: self._sees(row.definition.name), after, limit
        )  # fmt: skip

    async def job(self, name: str) -> JobRow:
        row = await self._insights.job(name)
        if row is None or not self._sees(name):
            page = await self._insights.jobs(limit=_MAX_NAMES)
            known = [one.definition.name for one in page.items if self._sees(one.definition.name)]
            raise _not_found("job", name, known)
        return row

    async def stored_job(self, name: str) -> StoredJob:
        """A job with its schedules."""
        return await stored_job(self._store, (await self.job(name)).definition.name)

    async def _page(
        self, read: Callable[[str | None, int], Awaitable[Page[T]]], keeps: Callable[[T], bool],
        after: str | None, limit: int,
    ) -> Page[T]:  # fmt: skip
        """A page of the items that `keeps` accepts; it may be short, but only the last one has no `after`."""
        found: list[T] = []
        for _ in range(_MAX_READS):
            wanted = limit - len(found)
            page = await read(after, wanted)
            found += [item for item in page.items if keeps(item)]
            after = page.after
            if after is None or len(found) >= limit or len(page.items) < wanted:
                break
        return Page(tuple(found), after)


def detail_of(row: ScheduleRow, fields: dict[str, Any], now: int, warnings: Sequence[str] = ()) -> ScheduleDetail:
    """`now` in microseconds: warnings are about what comes after it."""
    own = row.schedule.definition.times.warnings_after(now // MICRO)
    return ScheduleDetail.of(row, definition=fields, warnings=(*own, *warnings))


def _oldest_slot(recent: Collection[RecentSlots], now: int) -> int:
    """Of those that are listed, at least."""
    slots = [run.slot for each in recent for run in each.runs]
    slots += [row.first for each in recent for row in each.decisions]
    return min(slots, default=now)


def _item(row: ScheduleRow, recent: RecentSlots, reader: SlotReader, missed: LateSlots) -> ScheduleItem:
    runs = recent.runs[-_LISTED_RUNS:]
    late = [(run.started_at - run.due_at) / 1_000 for run in runs if run.started_at is not None]
    records = reader.newest(row, recent, 0, reader.now + 1, LISTED_SLOTS)
    return ScheduleItem.of(
        row, recent=tuple(str(run.state) for run in runs), late_ms=max(0.0, late[-1]) if late else None,
        slots=tuple(SlotMark.of(record, late=missed.has(record.slot)) for record in reversed(records)),
    )  # fmt: skip


def _not_found(what: str, name: str, known: Iterable[str]) -> NotFoundError:
    near = nearest_word(name, known)
    return NotFoundError(f"there is no {what} {name[:100]!r}{did_you_mean(near)}", nearest=near)
