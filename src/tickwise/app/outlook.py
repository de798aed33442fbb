"""What is to come, counted: how many runs start when, and where many schedules start at once."""

import asyncio
import re
from collections import Counter
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from datetime import datetime

import numpy as np

from ..clock import monotonic
from ..core.index import RunIndex
from ..core.instant import to_datetime
from ..core.model import Schedule
from ..runtime.forecast import Forecast, all_schedules
from ..stores.contract import Store
from ..stores.records import MICRO

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
    """The index of what is to come, and the expressions as written."""

    index: RunIndex
    start: int
    until: int
    labels: dict[str, str]


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
    labels = {schedule.name: schedule.definition.label for schedule in schedules}
    return Ahead(forecast.index, now, forecast.until, labels)


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
    """The first minute of each different set of schedules, largest first."""
    if not len(times):
        return []
    minutes, counts = np.unique(times // _MINUTE, return_counts=True)
    busy = minutes[counts >= HERD][:_HOUR]
    found: dict[tuple[str, ...], Herd] = {}
    for minute in busy.tolist():
        runs = ahead.index.query(minute * _MINUTE, (minute + 1) * _MINUTE)
        names = tuple(sorted({run.job_id for run in runs}))
        if len(names) >= HERD and names not in found:
            found[names] = _herd(minute * _MINUTE, names, ahead.labels)
    return sorted(found.values(), key=lambda herd: -herd.count)[:_HERDS]


def _herd(second: int, names: tuple[str, ...], labels: dict[str, str]) -> Herd:
    written = Counter(labels.get(name, "") for name in names)
    spread = [(label, better) for label, _ in written.most_common() if (better := spread_out(label))]
    label, better = spread[0] if spread else ("", "")
    return Herd(to_datetime(second), len(names), names[:_NAMED], better, label)


def spread_out(label: str) -> str:
    """`0 3 * * *` as `H 3 * * *`, `*/5 * * * *` as `H/5 * * * *`; nothing if it has no fixed minute."""
    found = _FIXED_MINUTE.match(label.strip())
    if not found:
        return ""
    return ("H" if found[1] is None else f"H/{found[1]}") + label.strip()[found.end() :]
