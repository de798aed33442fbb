"""Times of a calendar's days only (S61): a recurrence whose days are filtered, or moved to days that fit.

The days of the calendar stand in the recurrence itself, with the calendar's name and version, so that all nodes
agree whatever they know of holidays. Cron times keep their times of day and get other days, so that clock changes
are decided where they are for all others (S39). Intervals have no days of their own: their seconds are filtered
by the local day on which they fall.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from datetime import date
from enum import StrEnum
from functools import lru_cache
from typing import NamedTuple, cast

from ..errors import InputError
from ..timeparse import FIRST, LAST
from .day_set import NO_DAYS, DaySet, day_date
from .expression import DAY, EVERY_MONTH, EVERY_MONTH_DAY, EVERY_WEEKDAY, Days
from .recurrences import AnyOf, At, Window
from .rule import Rule
from .walk import Cron, Every, Periodic, Recurrence
from .zone import Zone


class Roll(StrEnum):
    """Where a time goes whose day does not fit."""

    FORWARD = "forward"
    BACK = "back"


@dataclass(frozen=True, slots=True)
class ListedDays(Days):
    """The days of a set, as the days of an expression."""

    days: DaySet = NO_DAYS

    @classmethod
    def of(cls, days: DaySet) -> "ListedDays":
        return cls(
            months=EVERY_MONTH, month_days=EVERY_MONTH_DAY, from_end=0, near=0, near_end=0, weekdays=EVERY_WEEKDAY,
            nth_weekdays=0, last_weekdays=0, both=True, days=days,
        )  # fmt: skip

    @property
    def every(self) -> bool:
        return False

    @property
    def is_cyclic(self) -> bool:
        return False

    def on_or_after(self, day: int) -> int | None:
        return self.days.on_or_after(day)

    def on_or_before(self, day: int) -> int | None:
        return self.days.on_or_before(day)

    def count(self, start: int, end: int) -> int:
        return self.days.count(start, end)


class _Choice(NamedTuple):
    """Which days of an expression are kept: those from `first` to `last` that fit, those that roll, or both."""

    fitting: DaySet
    roll: Roll | None
    stays: bool = True
    first: int = -(1 << 40)
    last: int = 1 << 40


@lru_cache(maxsize=1_024)
def _chosen_days(days: Days, choice: _Choice) -> ListedDays:
    """The days of an expression that are kept; those of one calendar are mostly asked for by many schedules."""
    fitting = choice.fitting
    named = DaySet.of(_days_between(days, choice), fitting.since, fitting.size)
    found = named.bits & fitting.bits if choice.stays else 0
    for day in DaySet(fitting.since, fitting.size, named.bits & ~fitting.bits) if choice.roll else ():
        to = fitting.on_or_after(day) if choice.roll is Roll.FORWARD else fitting.on_or_before(day)
        found |= 0 if to is None else 1 << to - fitting.since
    return ListedDays.of(DaySet(fitting.since, fitting.size, found))


def _days_between(days: Days, choice: _Choice) -> Iterator[int]:
    start, end = max(choice.first, choice.fitting.since), min(choice.last + 1, choice.fitting.end)
    day = days.on_or_after(start) if start < end else None
    while day is not None and day < end:
        yield day
        day = days.on_or_after(day + 1)


def _on_days(times: Recurrence, choice: _Choice) -> Recurrence:
    """The same times with other days."""
    match times:
        case Cron():
            expression = replace(times.expression, days=_chosen_days(times.expression.days, choice))
            return Cron(expression, times.zone, times.text)
        case AnyOf():
            return AnyOf(tuple(_on_days(part, choice) for part in times.parts))
        case Rule():
            return _on_days(times.times, choice)
        case Window():
            return _window_on_days(times, choice)
        case Every() if choice.roll is None:
            return FilteredSeconds(times, choice.fitting)
        case Every():
            raise InputError("roll moves a time of day, and an interval has none: write cron", field="roll")
        case At():
            raise InputError("a one-off names its day itself: leave days out", field="days")
    raise InputError(f"these times cannot be put on the days of a calendar: {times}", field="days")


def _window_on_days(times: Window, choice: _Choice) -> Recurrence:
    """What rolls may leave the window at its end, and not at its beginning (S63)."""
    kept = Window(_on_days(times.times, choice._replace(roll=None)), times.first, times.last)
    if choice.roll is None:
        return kept
    within = choice._replace(
        stays=False,
        first=max(choice.first, _local_day(times.zone, times.first)),
        last=min(choice.last, _local_day(times.zone, times.last)),
    )
    rolled = Window(_on_days(times.times, within), times.first)
    return AnyOf((kept, rolled)) if choice.stays else rolled


def _local_day(zone: Zone, second: int) -> int:
    return (second + zone.span(second).offset) // DAY


@dataclass(frozen=True, slots=True)
class FilteredSeconds(Periodic):
    """The seconds of another recurrence whose local day is in a set."""

    times: Recurrence  # periodic
    days: DaySet

    @property
    def zone(self) -> Zone:  # type: ignore[override]
        return self.times.zone

    def after(self, second: int) -> int | None:
        for start, end in self._stretches(second + 1, LAST):
            found = self.times.after(start - 1)
            if found is None or found < end:
                return found
        return None

    def before(self, second: int) -> int | None:
        for start, end in self._stretches_back(second):
            found = self.times.before(end)
            if found is None or found >= start:
                return found
        return None

    def count(self, after: int, until: int) -> int:
        return sum(self.times.count(start - 1, end - 1) for start, end in self._stretches(after + 1, until + 1))

    def bits(self, start: int, end: int) -> int:
        mask = sum((1 << stop - first) - 1 << first - start for first, stop in self._stretches(start, end))
        return cast("Periodic", self.times).bits(start, end) & mask

    def rhythm(self, start: int, end: int) -> int | None:
        del start, end
        return None

    def _stretches(self, start: int, end: int) -> Iterator[tuple[int, int]]:
        """The parts of [start, end) on which the local day fits, in order."""
        start, end = max(start, (self.days.since - 2) * DAY), min(end, (self.days.end + 2) * DAY)
        while start < end:
            span = self.zone.span(start)
            day, stop = (start + span.offset) // DAY, min(end, span.hi)
            fits = day in self.days
            other = self._next_unfit(day) if fits else self.days.on_or_after(day)
            change = stop if other is None else min(stop, other * DAY - span.offset)
            if fits:
                yield start, change
            start = change

    def _next_unfit(self, day: int) -> int:
        found = self.days.others().on_or_after(day)
        return self.days.end if found is None else found

    def _stretches_back(self, end: int) -> Iterator[tuple[int, int]]:
        """The same before an instant, the last first."""
        first, end = (self.days.since - 2) * DAY, min(end, (self.days.end + 2) * DAY)
        while end > first:
            span = self.zone.span(end - 1)
            start = max(first, span.lo, (end - 1 + span.offset) // DAY * DAY - span.offset)
            if _local_day(self.zone, end - 1) in self.days:
                yield start, end
            end = start

    def explain(self) -> str:
        return self.times.explain()


@dataclass(frozen=True, slots=True)
class OnCalendar(Periodic):
    """Recurring times on the days of a calendar. Without a version it is not bound yet, and names nothing."""

    times: Recurrence
    calendar: str
    excluded: bool = False  # the days that are not in the calendar
    nth: tuple[int, ...] = ()  # of the days that fit, these of each month; none: all
    roll: Roll | None = None
    version: str = ""
    days: DaySet = NO_DAYS  # those of the calendar
    fitting: DaySet = field(init=False, compare=False, repr=False)
    moved: Recurrence = field(init=False, compare=False, repr=False)

    def __post_init__(self) -> None:
        fitting = self.days.others() if self.excluded else self.days
        object.__setattr__(self, "fitting", fitting.nth_of_month(self.nth) if self.nth else fitting)
        object.__setattr__(self, "moved", _on_days(self.times, _Choice(self.fitting, self.roll)))

    def __reduce__(self) -> tuple[object, ...]:
        given = (self.times, self.calendar, self.excluded, self.nth, self.roll, self.version, self.days)
        return OnCalendar, given

    @property
    def zone(self) -> Zone:  # type: ignore[override]
        return self.times.zone

    def rebound(self, version: str, days: DaySet) -> "OnCalendar":
        """The same on other days of the calendar."""
        return replace(self, version=version, days=days)

    def bound(self, version: str, days: DaySet) -> "OnCalendar":
        """The same; refused if none of its times is left."""
        found = self.rebound(version, days)
        if found.after(FIRST) is None:
            raise InputError(f"none of its times is on a day that fits the calendar {self.calendar}", field="days")
        return found

    @property
    def ends(self) -> date:
        """The last day of which it is known whether it fits."""
        return day_date(self.days.end - 1)

    def after(self, second: int) -> int | None:
        return self.moved.after(second) if second < self._bounds[1] else None

    def before(self, second: int) -> int | None:
        first, end = self._bounds
        return self.moved.before(min(second, end)) if second > first else None

    def count(self, after: int, until: int) -> int:
        first, end = self._bounds
        return self.moved.count(max(after, first), min(until, end))

    def bits(self, start: int, end: int) -> int:
        return cast("Periodic", self.moved).bits(start, end)

    def rhythm(self, start: int, end: int) -> int | None:
        first, stop = self._bounds
        return -1 if end <= first or start >= stop else None  # -1: of no seconds at all

    @property
    def _bounds(self) -> tuple[int, int]:
        """All its seconds lie between these, whatever the zone."""
        return (self.days.since - 2) * DAY, (self.days.end + 2) * DAY

    def reason_left_out(self, second: int) -> str:
        """Why a second is no slot though its times name it; empty if that is not so."""
        if self.times.after(second - 1) != second or self.after(second - 1) == second:
            return ""
        day = _local_day(self.zone, second)
        called = f"{day_date(day):%a %Y-%m-%d}"
        if not self.days.knows(day):
            known = f"from {day_date(self.days.since)} to {self.ends}" if self.days.size else "of no day"
            return f"the calendar {self.calendar} does not say whether {called} fits: it was expanded {known}"
        if not self.nth:
            fault = "in" if self.excluded else "not in"
            return f"{called} is {fault} the calendar {self.calendar}{self._moved_to(day)}"
        places = _list_places(self.nth)
        return f"{called} is not the {places} fitting day of its month in the calendar {self.calendar}"

    def _moved_to(self, day: int) -> str:
        to = None
        if self.roll is not None:
            to = self.fitting.on_or_after(day) if self.roll is Roll.FORWARD else self.fitting.on_or_before(day)
        return "" if to is None else f", so it is moved to {day_date(to):%a %Y-%m-%d}"

    def explain(self) -> str:
        where = f"{'not in' if self.excluded else 'in'} the calendar {self.calendar}"
        days = f"only on days {where}" if self.roll is None else f"moved {self.roll} to a day {where}"
        places = f", the {_list_places(self.nth)} of each month" if self.nth else ""
        return f"{self.times.explain()}; {days}{places}"

    def warnings_after(self, second: int) -> tuple[str, ...]:
        over: tuple[str, ...] = ()
        if self.version and self.after(second) is None:
            over = (f"the calendar {self.calendar} ends on {self.ends}: it never fires again",)
        return (*self.times.warnings_after(second), *over)

    @property
    def days_in_short(self) -> str:
        """The days as they stand behind the times, in one line."""
        places = f" nth {','.join(map(str, self.nth))}" if self.nth else ""
        roll = f" roll {self.roll}" if self.roll else ""
        return f" {'not in' if self.excluded else 'in'} {self.calendar}{places}{roll}"

    def __str__(self) -> str:
        return f"{self.times}{self.days_in_short}"


def _list_places(places: tuple[int, ...]) -> str:
    return " or ".join("last" if n == -1 else f"{n}." if n > 0 else f"{-n}. last" for n in places)
