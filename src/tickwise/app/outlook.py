"""What is to come, counted: how many runs start when, and where many schedules start at once."""

import asyncio
import re
from collections import Counter
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from itertools import islice

import numpy as np

from ..clock import monotonic
from ..core.index import RunIndex
from ..core.instant import to_datetime
from ..core.model import Schedule
from ..runtime.forecast import Forecast, all_schedules
from ..stores.contract import Store
from ..stores.records import MICRO
from .coming import in_order
from .values import Coming

_MINUTE, _HOUR, _DAY = 60, 3_600, 86_400
_KEPT = 15.0  # seconds that an outlook is good for
HERD = 10  # schedules in one minute that are worth a word
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
class Outlook:
    """Runs by minute or, far ahead, by hour."""

    start: datetime
    end: datetime  # it is complete up to here
    step: int  # seconds
    counts: tuple[int, ...]
    herds: tuple[Herd, ...]


@dataclass(frozen=True, slots=True)
class Ahead:
    """The index of what is to come, and whose it is."""

    index: RunIndex
    start: int
    until: int
    schedules: Mapping[str, Schedule]

    def between(self, start: int, end: int, limit: int) -> list[Coming]:
        """The first of what starts from one second to before another, as far as this reaches."""
        names = {run.job_id for run in self.index.query(start, min(end, self.until))}
        return in_order((self.schedules[name] for name in names), self.start, start, min(end, self.until), limit)


class Outlooks:
    """Looks ahead, and remembers for a moment what it saw."""

    def __init__(self, store: Callable[[], Awaitable[Store]]) -> None:
        self._store = store
        self._known: dict[int, tuple[float, Ahead]] = {}  # by hours
        self._lock = asyncio.Lock()

    async def ahead(self, hours: int, sees: Callable[[str], bool] | None = None) -> Ahead:
        """The index over some hours; only of jobs that somebody sees, if that is asked."""
        if sees is not None:
            return await self._look(hours, sees)
        async with self._lock:
            at, known = self._known.get(hours, (0.0, None))
            if known is None or monotonic() - at > _KEPT:
                known = await self._look(hours)
                self._known = {hours: (monotonic(), known)}
        return known

    async def _look(self, hours: int, sees: Callable[[str], bool] | None = None) -> Ahead:
        store = await self._store()
        now = await store.now() // MICRO
        if any(pause.until is None for pause in await store.insights.pauses()):
            return Ahead(RunIndex(), now, now + hours * _HOUR, {})
        schedules = [s for s in await all_schedules(store.insights) if sees is None or sees(s.job)]
        return await asyncio.to_thread(_built, schedules, now, hours)


def _built(schedules: Sequence[Schedule], now: int, hours: int) -> Ahead:
    forecast = Forecast(lookahead=hours * _HOUR)
    forecast.rebuild(schedules, now)
    return Ahead(forecast.index, now, forecast.until, {schedule.name: schedule for schedule in schedules})


def outlook(ahead: Ahead) -> Outlook:
    """Counted by minute up to a day, else by hour."""
    step = _MINUTE if ahead.until - ahead.start <= _DAY else _HOUR
    start = ahead.start // step * step
    steps = -(-(ahead.until - start) // step)
    times = ahead.index.query(ahead.start, ahead.until).times
    counts = np.bincount((times - start) // step, minlength=steps)
    herds = tuple(_herds(ahead, times))
    return Outlook(to_datetime(start), to_datetime(ahead.until), step, tuple(counts.tolist()), herds)


def _herds(ahead: Ahead, times: "np.typing.NDArray[np.int64]") -> list[Herd]:
    """The first minute of each different set of schedules, largest first; sets are told apart by some of each."""
    minutes, counts = np.unique(times // _MINUTE, return_counts=True)
    first: dict[tuple[int | str, ...], int] = {}
    for minute in minutes[counts >= HERD].tolist():
        runs = ahead.index.query(minute * _MINUTE, (minute + 1) * _MINUTE)
        some = (runs[len(runs) * part // 8].job_id for part in range(8))
        first.setdefault((-len(runs), *some), minute)
    herds = (_herd(first[mark], ahead) for mark in sorted(first))
    return sorted(islice(filter(None, herds), _HERDS), key=lambda herd: -herd.count)


def _herd(minute: int, ahead: Ahead) -> Herd | None:
    runs = ahead.index.query(minute * _MINUTE, (minute + 1) * _MINUTE)
    names = sorted({run.job_id for run in runs})
    if len(names) < HERD:
        return None
    written = Counter(ahead.schedules[name].definition.label for name in names)
    spread = [(label, better) for label, _ in written.most_common() if (better := spread_out(label))]
    label, better = spread[0] if spread else ("", "")
    return Herd(to_datetime(minute * _MINUTE), len(names), tuple(names[:_NAMED]), better, label)


def spread_out(label: str) -> str:
    """`0 3 * * *` as `H 3 * * *`, `*/5 * * * *` as `H/5 * * * *`; nothing if it has no fixed minute."""
    found = _FIXED_MINUTE.match(label.strip())
    if not found:
        return ""
    return ("H" if found[1] is None else f"H/{found[1]}") + label.strip()[found.end() :]
