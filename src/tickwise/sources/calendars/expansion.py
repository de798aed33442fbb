"""The days of a calendar in a stretch of years, and what they are called (S60).

The packages that know holidays and .ics files are loaded when a calendar needs them.
"""

from collections.abc import Iterator, Mapping
from datetime import date
from typing import NamedTuple

from ...core.cron.day_set import DaySet, day_date, day_number
from ...core.errors import InputError, no_such
from .spec import CalendarDaysSpec, CalendarSpec, HolidaysSpec

_YEARS_BACK, _YEARS_AHEAD = 1, 10
_LANGUAGE = "en_US"  # of names: without it the machine's locale decides, and nodes would disagree
_MAX_NAME = 100


class ExpansionRange(NamedTuple):
    """Whole years, the last one included."""

    first: int
    last: int

    @classmethod
    def around(cls, day: date) -> "ExpansionRange":
        """From the year before a day to ten years after it."""
        return cls(day.year - _YEARS_BACK, day.year + _YEARS_AHEAD)

    @property
    def since(self) -> int:
        return day_number(date(self.first, 1, 1))

    @property
    def size(self) -> int:
        return day_number(date(self.last, 12, 31)) + 1 - self.since


class ExpandedCalendar(NamedTuple):
    """The days, and the names of those that have one."""

    days: DaySet
    names: Mapping[str, str]  # by date


def expand(spec: CalendarSpec, years: ExpansionRange, known: Mapping[str, DaySet]) -> ExpandedCalendar:
    """The days of a calendar; `known` are the days of those that it names."""
    names: dict[int, str] = {}

    def bits(part: str | CalendarDaysSpec) -> int:
        if isinstance(part, str):
            if part not in known:
                raise no_such("calendar", part, known)
            return DaySet.of(known[part], years.since, years.size).bits
        found = dict(_own_days(part, years))
        names.update((day, name) for day, name in found.items() if name)
        return DaySet.of(found, years.since, years.size).bits

    total = bits(spec)
    for part in spec.add or ():
        total |= bits(part)
    for part in spec.remove or ():
        total &= ~bits(part)
    end = years.since + years.size
    called = {str(day_date(day)): name for day, name in sorted(names.items()) if years.since <= day < end}
    return ExpandedCalendar(DaySet(years.since, years.size, total), called)


def _own_days(part: CalendarDaysSpec, years: ExpansionRange) -> Iterator[tuple[int, str]]:
    """Days with their names, as far as they have one."""
    weekdays = {weekday for entry in part.weekdays or () for weekday in entry}
    for day in range(years.since, years.since + years.size):
        if (day + 3) % 7 in weekdays:  # 1970-01-01 was a Thursday, 3
            yield day, ""
    for one in part.dates or ():
        yield day_number(one), ""
    for each in part.ranges or ():
        first = max(day_number(each.from_), years.since)
        yield from ((day, "") for day in range(first, min(day_number(each.to) + 1, years.since + years.size)))
    if part.holidays is not None:
        yield from _holidays(part.holidays, years)
    if part.ics is not None:
        from .ics import days_of_ics  # noqa: PLC0415  (it loads a package that few calendars need)

        yield from days_of_ics(part.ics, years.since, years.since + years.size)


def _holidays(wanted: HolidaysSpec, years: ExpansionRange) -> Iterator[tuple[int, str]]:
    try:
        import holidays  # noqa: PLC0415
    except ImportError:
        raise InputError(
            "holidays is not installed: pip install 'tickwise[calendars]'", field="holidays"
        ) from None
    span = range(years.first, years.last + 1)
    try:
        found = holidays.country_holidays(
            wanted.country.upper(), subdiv=wanted.subdivision, years=span, language=_LANGUAGE
        )
    except NotImplementedError as error:
        known = holidays.list_supported_countries(include_aliases=False)
        advice = f"countries: {', '.join(sorted(known))[:400]}"
        if states := known.get(wanted.country.upper()):
            advice = f"{wanted.country.upper()} has {', '.join(states)}"
        raise InputError(f"holidays: {error}: {advice}", field="holidays") from None
    for day, name in found.items():
        yield day_number(day), str(name)[:_MAX_NAME]
