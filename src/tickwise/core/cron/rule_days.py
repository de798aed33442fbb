"""The days that a recurrence rule names: a cron text's days, of each n-th day, week, month or year (S64).

`Days` names the candidates: months, days of the month, weekdays. A candidate counts if its period is one of every
`interval` from the anchor's on and, where a place in the period is asked for, if it has that: the second Tuesday,
the last working day. Only then a period is looked at as a whole, and the newest is remembered.
"""

from bisect import bisect_left, bisect_right
from dataclasses import dataclass, field
from datetime import date, timedelta
from enum import StrEnum

from .expression import FIRST_DAY, LAST_DAY, Days

_EPOCH = date(1970, 1, 1).toordinal()
_MAX_LEAPS = 20_000  # over periods without such a day; then there is none


class Frequency(StrEnum):
    """The period of a rule."""

    DAILY = "DAILY"
    WEEKLY = "WEEKLY"
    MONTHLY = "MONTHLY"
    YEARLY = "YEARLY"


@dataclass(frozen=True, slots=True)
class RuleDays(Days):
    """The days of every n-th period from that of an anchor on. Weekdays count from Sunday = 0."""

    frequency: Frequency = Frequency.DAILY
    interval: int = 1
    anchor: int = 0  # a day of the first period
    week_start: int = 1  # a weekday
    nth: frozenset[tuple[int, int]] = frozenset()  # (n, weekday): the n-th of its month or year, or 0: each
    nth_of_year: bool = False
    positions: tuple[int, ...] = ()  # of what is left of a period, from 1, or from -1 back; none: all
    _newest: list[tuple[int, tuple[int, ...]]] = field(default_factory=list, compare=False, repr=False)

    @property
    def every(self) -> bool:
        return False

    @property
    def is_cyclic(self) -> bool:
        return False

    def on_or_after(self, day: int) -> int | None:
        for _ in range(_MAX_LEAPS):
            found = Days.on_or_after(self, day)
            if found is None:
                return None
            period = self._period(found)
            if beyond := (period - self._period(self.anchor)) % self.interval:
                day = self._first(period + self.interval - beyond)
                continue
            if not self.nth and not self.positions:
                return found
            chosen = self._chosen(period)
            place = bisect_left(chosen, day)
            if place < len(chosen):
                return chosen[place]
            day = self._first(period + 1)
        return None

    def on_or_before(self, day: int) -> int | None:
        for _ in range(_MAX_LEAPS):
            found = Days.on_or_before(self, day)
            if found is None:
                return None
            period = self._period(found)
            if beyond := (period - self._period(self.anchor)) % self.interval:
                day = self._first(period - beyond + 1) - 1
                continue
            if not self.nth and not self.positions:
                return found
            chosen = self._chosen(period)
            place = bisect_right(chosen, day)
            if place:
                return chosen[place - 1]
            day = self._first(period) - 1
        return None

    def count(self, start: int, end: int) -> int:
        found, day = 0, self.on_or_after(start)
        while day is not None and day < end:
            found, day = found + 1, self.on_or_after(day + 1)
        return found

    def _period(self, day: int) -> int:
        if self.frequency is Frequency.DAILY:
            return day
        if self.frequency is Frequency.WEEKLY:
            return (day + 4 - self.week_start) // 7  # 1970-01-01 was a Thursday, 4
        here = date.fromordinal(day + _EPOCH)
        return here.year * 12 + here.month - 1 if self.frequency is Frequency.MONTHLY else here.year

    def _first(self, period: int) -> int:
        """The first day of a period; beyond the calendar, a day beyond it."""
        if self.frequency is Frequency.DAILY:
            return period
        if self.frequency is Frequency.WEEKLY:
            return period * 7 - 4 + self.week_start
        year, month = divmod(period, 12) if self.frequency is Frequency.MONTHLY else (period, 0)
        if not 1 <= year <= 9999:
            return FIRST_DAY - 1 if year < 1 else LAST_DAY + 1
        return date(year, month + 1, 1).toordinal() - _EPOCH

    def _chosen(self, period: int) -> tuple[int, ...]:
        """The days of a period that count, in order."""
        if self._newest and self._newest[0][0] == period:
            return self._newest[0][1]
        days: list[int] = []
        day, end = Days.on_or_after(self, self._first(period)), self._first(period + 1)
        while day is not None and day < end:
            if not self.nth or self._is_nth(day):
                days.append(day)
            day = Days.on_or_after(self, day + 1)
        if self.positions:
            places = {p - 1 if p > 0 else len(days) + p for p in self.positions}
            days = [day for place, day in enumerate(days) if place in places]
        self._newest[:] = [(period, tuple(days))]
        return self._newest[0][1]

    def _is_nth(self, day: int) -> bool:
        here = date.fromordinal(day + _EPOCH)
        if self.nth_of_year:
            first, end = date(here.year, 1, 1).toordinal(), date(here.year, 12, 31).toordinal() + 1
        else:
            first = here.replace(day=1).toordinal()
            end = (here.replace(day=28) + timedelta(4)).replace(day=1).toordinal()
        weekday, place, left = (day + 4) % 7, here.toordinal() - first, end - 1 - here.toordinal()
        return not self.nth.isdisjoint({(0, weekday), (place // 7 + 1, weekday), (-(left // 7) - 1, weekday)})
