"""What will run, in time order.

The nearest are found without a look at all: a short while ahead first, and further as long as they are too few.
"""

import asyncio
import re
from collections import Counter
from collections.abc import Awaitable, Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from heapq import merge
from itertools import dropwhile, islice, takewhile

import numpy as np

from ..clock import monotonic
from ..core.index import RunIndex
from ..core.model import Schedule
from ..core.slots import due_at, next_slot
from ..core.timeparse import to_datetime
from ..runtime.forecast import Forecast, all_schedules
from ..stores.contract import Store
from ..stores.records import MICRO, ScheduleFilter
from .values import UpcomingRun

_MINUTE, _PAGE = 60, 1_000


async def upcoming_runs(store: Store, hours: float, limit: int) -> list[UpcomingRun]:
    """At the times at which it will really start; nothing of what is paused (S29)."""
    now = await store.now() // MICRO
    if any(pause.until is None for pause in await store.insights.pauses()):
        return []
    until = now + round(hours * 3_600)
    ahead = min(_MINUTE, until - now)
    while len(found := await _before(store, now, now + ahead, limit)) < limit and now + ahead < until:
        enough = limit * ahead * 5 // 4 // max(1, len(found))
        ahead = min(until - now, max(2 * ahead, min(16 * ahead, enough)))
    return found


async def _before(store: Store, now: int, until: int, limit: int) -> list[UpcomingRun]:
    """Before a second: nobody who need not be looked at by then can be among them.

    What waits is looked at within a minute (S15), and counts as due now.
    """
    wanted = ScheduleFilter(due_before=max(until, now + _MINUTE + 1), paused=False)
    schedules: list[Schedule] = []
    overdue: list[UpcomingRun] = []  # in order of their names, as the pages are
    after: str | None = None
    while True:
        page = await store.insights.schedules(wanted, after, _PAGE)
        listed = [row.schedule for row in page.items]
        overdue += in_order(listed, now, now, now + 1, limit - len(overdue))
        if len(overdue) == limit:
            return overdue
        schedules, after = schedules + listed, page.after
        if after is None:
            return in_order(schedules, now, now, until, limit)


def in_order(schedules: Iterable[Schedule], now: int, start: int, end: int, limit: int) -> list[UpcomingRun]:
    """The first of what these will start from one second to before another; what is overdue starts now."""
    known = {schedule.name: schedule for schedule in schedules if schedule.paused is None}
    dues = merge(*(_dues(schedule, now, start) for schedule in known.values()))
    in_time = takewhile(lambda found: found[0] < end, dropwhile(lambda found: found[0] < start, dues))
    return [_upcoming(known[name], slot, due) for due, name, slot in islice(in_time, limit)]


def _upcoming(schedule: Schedule, slot: int, due: int) -> UpcomingRun:
    definition = schedule.definition
    zone = definition.times.zone.name
    return UpcomingRun(
        to_datetime(due), schedule.name, schedule.job, to_datetime(slot), str(definition.kind), zone
    )


def _dues(schedule: Schedule, now: int, start: int) -> Iterator[tuple[int, str, int]]:
    """The oldest pending slot, which is due now, and those to come; from before `start`, for what is delayed."""
    early = start - (schedule.definition.policy.jitter or 0) - 1
    slot = next_slot(schedule, schedule.cursor if start <= now else max(schedule.cursor, early))
    while slot is not None:
        due = max(now, due_at(schedule, slot))
        yield due, schedule.name, slot
        slot = next_slot(schedule, max(slot, now))


# What is to come, counted: how many runs start when, and where many schedules start at once.

_MINUTE_SECONDS, _HOUR, _DAY = 60, 3_600, 86_400
_CACHE_SECONDS = 15.0  # seconds that an outlook is good for
HERD_SIZE = 10  # schedules in one minute that are worth a word
_HERDS, _NAMED = 10, 20  # that are listed
_FIXED_MINUTE = re.compile(r"^(?:\d{1,2}|\*/(\d{1,2}))(?= +\S+ +\S+ +\S+ +\S+$)")


@dataclass(frozen=True, slots=True)
class Herd:
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
    herds: tuple[Herd, ...]


@dataclass(frozen=True, slots=True)
class ForecastWindow:
    """The index of what is to come, and whose it is."""

    index: RunIndex
    start: int
    until: int
    schedules: Mapping[str, Schedule]

    def between(self, start: int, end: int, limit: int) -> list[UpcomingRun]:
        """The first of what starts from one second to before another, as far as this reaches."""
        names = {run.job_id for run in self.index.query(start, min(end, self.until))}
        return in_order((self.schedules[name] for name in names), self.start, start, min(end, self.until), limit)


class ForecastCache:
    """Looks ahead, and remembers for a moment what it saw."""

    def __init__(self, store: Callable[[], Awaitable[Store]]) -> None:
        self._store = store
        self._known: dict[int, tuple[float, ForecastWindow]] = {}  # by hours
        self._lock = asyncio.Lock()

    async def ahead(self, hours: int, sees: Callable[[str], bool] | None = None) -> ForecastWindow:
        """The index over some hours; only of jobs that somebody sees, if that is asked."""
        if sees is not None:
            return await self._look(hours, sees)
        async with self._lock:
            at, known = self._known.get(hours, (0.0, None))
            if known is None or monotonic() - at > _CACHE_SECONDS:
                known = await self._look(hours)
                self._known = {hours: (monotonic(), known)}
        return known

    async def _look(self, hours: int, sees: Callable[[str], bool] | None = None) -> ForecastWindow:
        store = await self._store()
        now = await store.now() // MICRO
        if any(pause.until is None for pause in await store.insights.pauses()):
            return ForecastWindow(RunIndex(), now, now + hours * _HOUR, {})
        schedules = [s for s in await all_schedules(store.insights) if sees is None or sees(s.job)]
        return await asyncio.to_thread(_built, schedules, now, hours)


def _built(schedules: Sequence[Schedule], now: int, hours: int) -> ForecastWindow:
    forecast = Forecast(lookahead=hours * _HOUR)
    forecast.rebuild(schedules, now)
    return ForecastWindow(forecast.index, now, forecast.until, {schedule.name: schedule for schedule in schedules})


def load_forecast(ahead: ForecastWindow) -> LoadForecast:
    """Counted by minute up to a day, else by hour."""
    step = _MINUTE_SECONDS if ahead.until - ahead.start <= _DAY else _HOUR
    start = ahead.start // step * step
    steps = -(-(ahead.until - start) // step)
    times = ahead.index.query(ahead.start, ahead.until).times
    counts = np.bincount((times - start) // step, minlength=steps)
    herds = tuple(_herds(ahead, times))
    return LoadForecast(to_datetime(start), to_datetime(ahead.until), step, tuple(counts.tolist()), herds)


def _herds(ahead: ForecastWindow, times: "np.typing.NDArray[np.int64]") -> list[Herd]:
    """The first minute of each different set of schedules, largest first; sets are told apart by some of each."""
    minutes, counts = np.unique(times // _MINUTE_SECONDS, return_counts=True)
    first: dict[tuple[int | str, ...], int] = {}
    for minute in minutes[counts >= HERD_SIZE].tolist():
        runs = ahead.index.query(minute * _MINUTE_SECONDS, (minute + 1) * _MINUTE_SECONDS)
        some = (runs[len(runs) * part // 8].job_id for part in range(8))
        first.setdefault((-len(runs), *some), minute)
    herds = (_herd(first[mark], ahead) for mark in sorted(first))
    return sorted(islice(filter(None, herds), _HERDS), key=lambda herd: -herd.count)


def _herd(minute: int, ahead: ForecastWindow) -> Herd | None:
    runs = ahead.index.query(minute * _MINUTE_SECONDS, (minute + 1) * _MINUTE_SECONDS)
    names = sorted({run.job_id for run in runs})
    if len(names) < HERD_SIZE:
        return None
    written = Counter(ahead.schedules[name].definition.label for name in names)
    spread = [(label, better) for label, _ in written.most_common() if (better := spread_out(label))]
    label, better = spread[0] if spread else ("", "")
    return Herd(to_datetime(minute * _MINUTE_SECONDS), len(names), tuple(names[:_NAMED]), better, label)


def spread_out(label: str) -> str:
    """`0 3 * * *` as `H 3 * * *`, `*/5 * * * *` as `H/5 * * * *`; nothing if it has no fixed minute."""
    found = _FIXED_MINUTE.match(label.strip())
    if not found:
        return ""
    return ("H" if found[1] is None else f"H/{found[1]}") + label.strip()[found.end() :]
