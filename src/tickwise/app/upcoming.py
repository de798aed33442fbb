"""What will run: listed in time order, or counted by time.

Both use one walk over a schedule (`core.upcoming`), whether it comes from a store or from a definition that no
store holds. A list from a store first looks a short while ahead, and further as long as it finds too few runs.
"""

import asyncio
import re
from collections import Counter
from collections.abc import Awaitable, Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from heapq import merge
from itertools import islice, takewhile

import numpy as np

from ..clock import monotonic
from ..core.change import Added, apply_change
from ..core.definition import JobDefinition
from ..core.index import RunIndex
from ..core.model import Schedule
from ..core.timeparse import to_datetime
from ..core.upcoming import upcoming_slots
from ..runtime.forecast import Forecast
from ..runtime.schedules import all_schedules
from ..stores.contract import Store
from ..stores.records import MICRO, ScheduleFilter
from .load import fleet_capacity, most_at_once, run_lengths
from .values import UpcomingRun

_MINUTE, _HOUR, _DAY = 60, 3_600, 86_400
_PAGE_SIZE = 1_000
_CACHE_SECONDS, _LENGTHS_SECONDS = 15.0, 120.0
CROWD_SIZE = 10  # schedules in one minute, from which on they are reported
_MAX_CROWDED, _MAX_NAMES = 10, 20  # that are listed
_FIXED_MINUTE = re.compile(r"^(?:\d{1,2}|\*/(\d{1,2}))(?= +\S+ +\S+ +\S+ +\S+$)")


async def upcoming_runs(store: Store, hours: float, limit: int) -> list[UpcomingRun]:
    """The first runs of all schedules, at the times at which they really start; paused ones have none (S29)."""
    now = await store.now() // MICRO
    if await is_all_paused(store):
        return []
    until = now + round(hours * _HOUR)
    ahead = min(_MINUTE, until - now)
    while len(found := await _runs_before(store, now, now + ahead, limit)) < limit and now + ahead < until:
        enough = limit * ahead * 5 // 4 // max(1, len(found))
        ahead = min(until - now, max(2 * ahead, min(16 * ahead, enough)))
    return found


async def is_all_paused(store: Store) -> bool:
    return any(pause.until is None for pause in await store.insights.pauses())


async def _runs_before(store: Store, now: int, until: int, limit: int) -> list[UpcomingRun]:
    """The first runs before a second, of the schedules that a pass has to look at by then.

    What waits is looked at within a minute (S15), and counts as due now.
    """
    wanted = ScheduleFilter(due_before=max(until, now + _MINUTE + 1))
    schedules: list[Schedule] = []
    overdue: list[UpcomingRun] = []  # in order of their names, as the pages are
    after: str | None = None
    while True:
        page = await store.insights.schedules(wanted, after, _PAGE_SIZE)
        listed = [row.schedule for row in page.items]
        overdue += islice(runs_between(listed, now, now, now + 1), limit - len(overdue))
        if len(overdue) == limit:
            return overdue
        schedules, after = schedules + listed, page.after
        if after is None:
            return list(islice(runs_between(schedules, now, now, until), limit))


def runs_between(schedules: Iterable[Schedule], now: int, start: int, end: int) -> Iterator[UpcomingRun]:
    """What these will start from one second to before another, in time order; what is overdue starts now."""
    by_name = {schedule.name: schedule for schedule in schedules}
    slots = merge(*(upcoming_slots(schedule, now, start) for schedule in by_name.values()))
    for due, name, slot in takewhile(lambda each: each.due < end, slots):
        definition = by_name[name].definition
        yield UpcomingRun(
            at=to_datetime(due), schedule=name, job=definition.job, slot=to_datetime(slot),
            kind=str(definition.kind), timezone=definition.times.zone.name,
        )  # fmt: skip


def new_schedules(jobs: Iterable[JobDefinition], start: int) -> list[Schedule]:
    """The schedules of definitions as if they were added just before a second; none of jobs that are disabled."""
    definitions = (schedule for job in jobs if job.enabled for schedule in job.schedules)
    return [apply_change(None, Added(definition), start - 1).schedules[0] for definition in definitions]


@dataclass(frozen=True, slots=True)
class CrowdedMinute:
    """A minute in which many schedules start, and how they could be spread."""

    minute: datetime
    count: int  # of schedules
    schedules: tuple[str, ...]  # the first of them
    suggestion: str  # for the most common of their expressions
    instead_of: str


@dataclass(frozen=True, slots=True)
class LoadForecast:
    """Runs by minute or, far ahead, by hour."""

    start: datetime
    end: datetime  # it is complete up to here
    step: int  # seconds
    counts: tuple[int, ...]
    at_once: tuple[int, ...] | None  # under way at the busiest second of each step, if past runs tell
    capacity: int | None  # of the live workers
    crowded_minutes: tuple[CrowdedMinute, ...]


@dataclass(frozen=True, slots=True)
class ForecastWindow:
    """The index of what is to come, and the schedules in it."""

    index: RunIndex
    start: int
    until: int
    schedules: Mapping[str, Schedule]

    def between(self, start: int, end: int, limit: int) -> list[UpcomingRun]:
        """The first runs from one second to before another, as far as this reaches."""
        end = min(end, self.until)
        names = {run.job_id for run in self.index.query(start, end)}
        return list(islice(runs_between((self.schedules[name] for name in names), self.start, start, end), limit))


class ForecastCache:
    """Builds forecasts from the store, and keeps the last for a few seconds."""

    def __init__(self, store: Callable[[], Awaitable[Store]]) -> None:
        self._store = store
        self._known: dict[int, tuple[float, ForecastWindow]] = {}  # by hours
        self._lengths: tuple[float, dict[str, int]] = (0.0, {})
        self._lock = asyncio.Lock()

    async def ahead(self, hours: int, sees: Callable[[str], bool] | None = None) -> ForecastWindow:
        """The index over some hours; only of jobs that `sees` accepts, if it is given."""
        if sees is not None:
            return await self._build(hours, sees)
        async with self._lock:
            at, known = self._known.get(hours, (0.0, None))
            if known is None or monotonic() - at > _CACHE_SECONDS:
                known = await self._build(hours)
                self._known = {hours: (monotonic(), known)}
        return known

    async def load(self, hours: int, sees: Callable[[str], bool] | None = None) -> LoadForecast:
        """How many runs start and are under way when; with `sees`, nothing of the fleet."""
        ahead, store = await self.ahead(hours, sees), await self._store()
        lengths = await self._lengths_of(store, ahead, is_all=sees is None)
        capacity = await fleet_capacity(store) if sees is None else None
        return await asyncio.to_thread(load_forecast, ahead, lengths, capacity)

    async def _lengths_of(self, store: Store, ahead: ForecastWindow, *, is_all: bool) -> dict[str, int]:
        if not is_all:
            return await run_lengths(store, sorted(ahead.schedules))
        async with self._lock:
            at, known = self._lengths
            if not known or monotonic() - at > _LENGTHS_SECONDS:
                known = await run_lengths(store, sorted(ahead.schedules))
                self._lengths = monotonic(), known
        return known

    async def _build(self, hours: int, sees: Callable[[str], bool] | None = None) -> ForecastWindow:
        store = await self._store()
        now = await store.now() // MICRO
        if await is_all_paused(store):
            return ForecastWindow(RunIndex(), now, now + hours * _HOUR, {})
        schedules = [s for s in await all_schedules(store.insights) if sees is None or sees(s.job)]
        return await asyncio.to_thread(_window, schedules, now, hours)


def _window(schedules: Sequence[Schedule], now: int, hours: int) -> ForecastWindow:
    forecast = Forecast(lookahead=hours * _HOUR, walk=upcoming_slots)
    forecast.rebuild(schedules, now)
    return ForecastWindow(forecast.index, now, forecast.until, {schedule.name: schedule for schedule in schedules})


def load_forecast(ahead: ForecastWindow, lengths: Mapping[str, int], capacity: int | None) -> LoadForecast:
    """Count runs by minute up to a day, else by hour; `lengths` are seconds by schedule."""
    step = _MINUTE if ahead.until - ahead.start <= _DAY else _HOUR
    start = ahead.start // step * step
    steps = -(-(ahead.until - start) // step)
    runs = ahead.index.query(ahead.start, ahead.until)
    times = runs.times
    counts = np.bincount((times - start) // step, minlength=steps)
    crowded_minutes = tuple(_crowded_minutes(ahead, times))
    return LoadForecast(
        start=to_datetime(start),
        end=to_datetime(ahead.until),
        step=step,
        counts=tuple(counts.tolist()),
        at_once=most_at_once(runs, ahead.schedules, lengths, start, step, steps),
        capacity=capacity,
        crowded_minutes=crowded_minutes,
    )


def _crowded_minutes(ahead: ForecastWindow, times: "np.typing.NDArray[np.int64]") -> list[CrowdedMinute]:
    """The first minute of each different set of schedules, largest first; eight of its names identify a set."""
    minutes, counts = np.unique(times // _MINUTE, return_counts=True)
    first: dict[tuple[int | str, ...], int] = {}
    for minute in minutes[counts >= CROWD_SIZE].tolist():
        runs = ahead.index.query(minute * _MINUTE, (minute + 1) * _MINUTE)
        some = (runs[len(runs) * part // 8].job_id for part in range(8))
        first.setdefault((-len(runs), *some), minute)
    crowded_minutes = (_crowded_minute(first[mark], ahead) for mark in sorted(first))
    return sorted(islice(filter(None, crowded_minutes), _MAX_CROWDED), key=lambda crowded: -crowded.count)


def _crowded_minute(minute: int, ahead: ForecastWindow) -> CrowdedMinute | None:
    runs = ahead.index.query(minute * _MINUTE, (minute + 1) * _MINUTE)
    names = sorted({run.job_id for run in runs})
    if len(names) < CROWD_SIZE:
        return None
    written = Counter(ahead.schedules[name].definition.label for name in names)
    spread = [(label, better) for label, _ in written.most_common() if (better := spread_out(label))]
    label, better = spread[0] if spread else ("", "")
    return CrowdedMinute(
        minute=to_datetime(minute * _MINUTE), count=len(names), schedules=tuple(names[:_MAX_NAMES]),
        suggestion=better, instead_of=label,
    )  # fmt: skip


def spread_out(label: str) -> str:
    """`0 3 * * *` as `H 3 * * *`, `*/5 * * * *` as `H/5 * * * *`; nothing if it has no fixed minute."""
    found = _FIXED_MINUTE.match(label.strip())
    if not found:
        return ""
    return ("H" if found[1] is None else f"H/{found[1]}") + label.strip()[found.end() :]
