"""What a cron text means, as a hashable value: sets of numbers as bit masks, searched on an endless wall clock.

A wall second counts from 1970-01-01 00:00 on the wall; this module does not know that a wall clock can skip or
repeat an hour. Days are the hard part: their set depends on the month, but only through its length and the weekday
it begins with. There are 28 such months, so each expression needs at most 28 day masks, which it caches. A
29 February on a Monday is then found by searching Februaries, not days.
"""

from bisect import bisect_left, bisect_right
from dataclasses import dataclass, field
from datetime import date
from functools import lru_cache
from typing import TypeAlias

DAY = 86_400
EVERY_SECOND = EVERY_MINUTE = (1 << 60) - 1
EVERY_HOUR = (1 << 24) - 1
EVERY_MONTH_DAY = (1 << 32) - 2
EVERY_MONTH = (1 << 13) - 2
EVERY_WEEKDAY = (1 << 7) - 1

_EPOCH = date(1970, 1, 1).toordinal()
FIRST_DAY = date(1, 1, 2).toordinal() - _EPOCH
LAST_DAY = date(9999, 12, 30).toordinal() - _EPOCH
_FIVE_WEEKS = 1 | 1 << 7 | 1 << 14 | 1 << 21 | 1 << 28
_MONTH_LENGTHS = (0, 31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31)


def lowest(mask: int) -> int:
    return (mask & -mask).bit_length() - 1


def highest(mask: int) -> int:
    return mask.bit_length() - 1


@lru_cache(maxsize=4096)
def members(mask: int) -> tuple[int, ...]:
    return tuple(i for i in range(mask.bit_length()) if mask >> i & 1)


_Month: TypeAlias = tuple[int, int, int, int, int]  # its first day, end and mask; year and month


@dataclass(frozen=True, slots=True)
class Days:
    """The days a cron text names. Weekdays count from Sunday = 0."""

    months: int  # bit m: month m
    month_days: int  # bit d: the day d
    from_end: int  # bit k: k days before the month's last (L is bit 0)
    near: int  # bit d: the weekday nearest to d (15W)
    near_end: int  # bit k: the weekday nearest to k days before the month's last (LW is bit 0)
    weekdays: int  # bit w: every weekday w
    nth_weekdays: int  # bit 7 * (n - 1) + w: the n-th weekday w of the month (w#n)
    last_weekdays: int  # bit w: the month's last weekday w (wL)
    both: bool  # whether day of month and day of week must both match (one began with *, or & asks it), or either
    years: int = 0  # bit y: the year y; none: every year
    _masks: dict[int, int] = field(default_factory=dict, compare=False, repr=False)
    _of_years: dict[tuple[int, int], int] = field(default_factory=dict, compare=False, repr=False)
    _met: list[_Month] = field(default_factory=lambda: [(0, 0, 0, 0, 0)], compare=False, repr=False)

    @property
    def every(self) -> bool:
        everyday = self.month_days == EVERY_MONTH_DAY and self.weekdays == EVERY_WEEKDAY
        return self.both and everyday and self.months == EVERY_MONTH and not self.years

    @property
    def is_cyclic(self) -> bool:
        """Whether years that begin with the same weekday and are equally long have the same days."""
        return not self.years

    def ever(self) -> bool:
        """Whether any month of the 400-year calendar, or of the named years, holds such a day."""
        if self.years:
            return self.on_or_after(date(lowest(self.years), 1, 1).toordinal() - _EPOCH) is not None
        return any(
            self._of_month(first, length)
            for month in members(self.months)
            for length in ((28, 29) if month == 2 else (_MONTH_LENGTHS[month],))
            for first in range(7)
        )

    def on_or_after(self, day: int) -> int | None:
        """The first such day from `day` on, in days since 1970; none after the calendar's end."""
        first, end, mask, year, month = self._met[0]
        if not first <= day < end:
            day = max(day, FIRST_DAY)
            if day > LAST_DAY:
                return None
            first, end, mask, year, month = self._meet(day)
        left = mask >> day - first + 1
        if left:
            return day + (left & -left).bit_length() - 1
        first, mask = self._month_beyond(year, month, 1)
        return first + lowest(mask) - 1 if mask else None

    def on_or_before(self, day: int) -> int | None:
        """The last such day up to `day`; none before the calendar's beginning."""
        day = min(day, LAST_DAY)
        if day < FIRST_DAY:
            return None
        first, _, mask, year, month = self._meet(day)
        mask &= (2 << day - first + 1) - 1
        if not mask:
            first, mask = self._month_beyond(year, month, -1)
        return first + highest(mask) - 1 if mask else None

    def count(self, start: int, end: int) -> int:
        """How many such days there are from `start` to before `end`."""
        found = 0
        while start < end:
            first, beyond, mask, year, month = self._meet(start)
            new_year = first + _year_length(year)
            if start == first and month == 1 and new_year <= end:
                found += self._count_in_year(year, (first + 4) % 7)
                start = new_year
            else:
                found += (mask >> start - first + 1 & (1 << min(end, beyond) - start) - 1).bit_count()
                start = beyond
        return found

    def _count_in_year(self, year: int, first: int) -> int:
        """How many such days a year has that begins with this weekday; there are only 14 kinds of years."""
        if self.years and not self.years >> year & 1:
            return 0
        kind = first, _year_length(year)
        found = self._of_years.get(kind)
        if found is None:
            found = 0
            for month in range(1, 13):
                length = _month_length(year, month)
                found += self._of_month(first, length).bit_count() if self.months >> month & 1 else 0
                first = (first + length) % 7
            self._of_years[kind] = found
        return found

    def _meet(self, day: int) -> _Month:
        """The month that holds `day`; cached, since the next search is mostly in the same month."""
        here = date.fromordinal(day + _EPOCH)
        year, month = here.year, here.month
        first, length = day - here.day + 1, _month_length(year, month)
        named = self.months >> month & 1 and (not self.years or self.years >> year & 1)
        mask = self._of_month((first + 4) % 7, length) if named else 0
        self._met[0] = met = first, first + length, mask, year, month
        return met

    def _month_beyond(self, year: int, month: int, step: int) -> tuple[int, int]:
        """First day and mask of the nearest month, in the direction of `step`, that holds such a day."""
        months = members(self.months)
        place = bisect_right(months, month) if step > 0 else bisect_left(months, month) - 1
        if self.years and not self.years >> year & 1:
            place = -1
        while True:
            if not 0 <= place < len(months):
                year, place = self._year_beyond(year, step), 0 if step > 0 else len(months) - 1
                if not 1 <= year <= 9999:
                    return 0, 0
            month = months[place]
            first = date(year, month, 1).toordinal() - _EPOCH
            length = _month_length(year, month)
            mask = self._of_month((first + 4) % 7, length)
            if mask:
                self._met[0] = first, first + length, mask, year, month
                return first, mask
            place += step

    def _year_beyond(self, year: int, step: int) -> int:
        """The nearest named year in the direction of `step`, or one that no calendar has."""
        if not self.years:
            return year + step
        if step < 0:
            return highest(self.years & (1 << year) - 1)
        left = self.years >> year + 1
        return year + 1 + lowest(left) if left else 0

    def _of_month(self, first: int, length: int) -> int:
        """The days of a month of this length whose first day is the weekday `first`."""
        kind = first * 32 + length
        mask = self._masks.get(kind)
        if mask is None:
            by_date, by_weekday = self._by_date(first, length), self._by_weekday(first, length)
            mask = (by_date & by_weekday if self.both else by_date | by_weekday) & ((2 << length) - 2)
            self._masks[kind] = mask
        return mask

    def _by_date(self, first: int, length: int) -> int:
        mask = self.month_days
        for k in members(self.from_end):
            mask |= 1 << length >> k
        for day in members(self.near):
            mask |= 1 << _nearest_weekday(day, first, length)
        for k in members(self.near_end):
            mask |= 1 << _nearest_weekday(length - k, first, length)
        return mask

    def _by_weekday(self, first: int, length: int) -> int:
        turned = (self.weekdays << 7 | self.weekdays) >> first & EVERY_WEEKDAY
        mask = turned * _FIVE_WEEKS << 1
        for bit in members(self.nth_weekdays):
            n, weekday = divmod(bit, 7)
            mask |= 1 << 1 + (weekday - first) % 7 + 7 * n
        for weekday in members(self.last_weekdays):
            mask |= 1 << length - (first + length - 1 - weekday) % 7
        return mask


def _year_length(year: int) -> int:
    return 337 + _month_length(year, 2)


def _month_length(year: int, month: int) -> int:
    if month == 2 and year % 4 == 0 and (year % 100 != 0 or year % 400 == 0):
        return 29
    return _MONTH_LENGTHS[month]


def _nearest_weekday(day: int, first: int, length: int) -> int:
    """The Monday to Friday nearest to a day and within its month; 0 for a day the month lacks."""
    if not 1 <= day <= length:
        return 0
    weekday = (first + day - 1) % 7
    if weekday == 6:
        return day - 1 if day > 1 else day + 2
    if weekday == 0:
        return day + 1 if day != length else day - 2
    return day


@lru_cache(maxsize=64)
def _times_of_day(seconds: int, minutes: int, hours: int) -> int:
    """Bit n: the n-th second of a day."""
    of_hour = sum(seconds << 60 * minute for minute in members(minutes))
    return sum(of_hour << 3600 * hour for hour in members(hours))


@dataclass(frozen=True, slots=True)
class Expression:
    """Seconds, minutes and hours as masks (bit n: the value n), and the days.

    The two searches are written out without helpers: they are what every slot of every schedule costs.
    """

    seconds: int
    minutes: int
    hours: int
    days: Days
    keeps_pace: bool = field(init=False, compare=False)  # through clock changes: every hour or finer (S39)
    _every_day: bool = field(init=False, compare=False, repr=False)
    _first: tuple[int, int, int] = field(init=False, compare=False, repr=False)  # of a minute, an hour, a day
    _last: tuple[int, int, int] = field(init=False, compare=False, repr=False)

    def __post_init__(self) -> None:
        for name, end in (("_first", lowest), ("_last", highest)):
            second, minute, hour = end(self.seconds), end(self.minutes), end(self.hours)
            ends = (second, minute * 60 + second, hour * 3600 + minute * 60 + second)
            object.__setattr__(self, name, ends)
        finer = self.hours == EVERY_HOUR or self.minutes == EVERY_MINUTE
        object.__setattr__(self, "keeps_pace", finer)
        object.__setattr__(self, "_every_day", self.days.every)

    def on_or_after(self, wall: int) -> int | None:
        """The first wall second from `wall` on that the expression names."""
        day, time = divmod(wall, DAY)
        found: int | None = day
        if self._every_day or (found := self.days.on_or_after(day)) == day:
            minute, second = divmod(time, 60)
            hour, minute = divmod(minute, 60)
            if self.hours >> hour & 1:
                if self.minutes >> minute & 1:
                    left = self.seconds >> second
                    if left:
                        return wall + (left & -left).bit_length() - 1
                left = self.minutes >> minute + 1
                if left:
                    return wall - second + 60 * (left & -left).bit_length() + self._first[0]
            left = self.hours >> hour + 1
            if left:
                return day * DAY + 3600 * (hour + (left & -left).bit_length()) + self._first[1]
            found = day + 1 if self._every_day else self.days.on_or_after(day + 1)
        return None if found is None else found * DAY + self._first[2]

    def on_or_before(self, wall: int) -> int | None:
        """The last wall second up to `wall` that the expression names."""
        day, time = divmod(wall, DAY)
        found: int | None = day
        if self._every_day or (found := self.days.on_or_before(day)) == day:
            minute, second = divmod(time, 60)
            hour, minute = divmod(minute, 60)
            if self.hours >> hour & 1:
                if self.minutes >> minute & 1:
                    left = self.seconds & (2 << second) - 1
                    if left:
                        return wall - second + left.bit_length() - 1
                left = self.minutes & (1 << minute) - 1
                if left:
                    return day * DAY + 3600 * hour + 60 * (left.bit_length() - 1) + self._last[0]
            left = self.hours & (1 << hour) - 1
            if left:
                return day * DAY + 3600 * (left.bit_length() - 1) + self._last[1]
            found = day - 1 if self._every_day else self.days.on_or_before(day - 1)
        return None if found is None else found * DAY + self._last[2]

    def count(self, start: int, end: int) -> int:
        """How many wall seconds it names from `start` to before `end`, computed and not counted one by one."""
        if start >= end:
            return 0
        (first, first_time), (last, last_time) = divmod(start, DAY), divmod(end, DAY)
        of_day = self.hours.bit_count() * self.minutes.bit_count() * self.seconds.bit_count()
        on_first = self.days.count(first, first + 1) * self._count_before(first_time)
        on_last = self.days.count(last, last + 1) * self._count_before(last_time)
        return self.days.count(first, last) * of_day - on_first + on_last

    def bits(self, start: int, end: int) -> int:
        """Bit n says whether it names the wall second `start + n`, which is before `end`."""
        found = 0
        for day in range(start // DAY, -(-end // DAY)):
            if self.days.on_or_after(day) == day:
                times, shift = _times_of_day(self.seconds, self.minutes, self.hours), day * DAY - start
                found |= times << shift if shift > 0 else times >> -shift
        return found & (1 << max(0, end - start)) - 1

    def _count_before(self, time: int) -> int:
        """How many times of a named day come before this one."""
        minute, second = divmod(time, 60)
        hour, minute = divmod(minute, 60)
        of_minute, of_hour = self.seconds.bit_count(), self.minutes.bit_count() * self.seconds.bit_count()
        found = (self.hours & (1 << hour) - 1).bit_count() * of_hour
        if self.hours >> hour & 1:
            found += (self.minutes & (1 << minute) - 1).bit_count() * of_minute
            if self.minutes >> minute & 1:
                found += (self.seconds & (1 << second) - 1).bit_count()
        return found
