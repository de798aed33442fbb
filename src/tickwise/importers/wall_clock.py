"""Cron's law as others have it, written independently of our own engine: what a proof compares with.

Cron fields are sets of numbers here, and a zone is a sequence of stretches with one offset. In a stretch every
wall minute that the fields name fires. What schedulers disagree about is the clock change between two stretches:

- `DebianRules`: cron keeps a virtual clock. When the wall leaps ahead by up to three hours, entries of fixed times
  run at once for every minute that was leapt over. When it falls back, they wait until it has caught up. Entries
  whose minute or hour begins with `*` follow the wall.
- `WallRules`: every minute that the wall shows fires. So a time that is leapt over is lost, and one that comes
  twice fires twice.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import date, datetime, timedelta, tzinfo
from typing import ClassVar, NamedTuple

from ..core.errors import InputError

_EPOCH = date(1970, 1, 1).toordinal()
_DAY = 1_440  # in minutes, as everything here
_MAX_FIRES = 600_000  # every minute of a year
_LEAP = 180  # a change of the clock beyond this is not taken for summer time (Debian)
_MONTHS = "jan feb mar apr may jun jul aug sep oct nov dec".split()
_WEEKDAYS = "sun mon tue wed thu fri sat".split()


class CronDialect(NamedTuple):
    """How texts are read that cron implementations read differently."""

    from_number: bool  # whether `5/10` is a range to the field's end, or refused
    stepped_star: bool  # whether `*/2` counts as a star where days are joined
    seven: bool  # whether 7 is a Sunday
    question: bool  # whether `?` is a star


DEBIAN = CronDialect(from_number=False, stepped_star=True, seven=True, question=False)
KUBERNETES = CronDialect(from_number=True, stepped_star=False, seven=False, question=True)
CRONITER = CronDialect(from_number=True, stepped_star=False, seven=True, question=True)


@dataclass(frozen=True, slots=True)
class CronFields:
    """Five fields as sets of numbers; weekdays count from Sunday = 0."""

    minutes: frozenset[int]
    hours: frozenset[int]
    month_days: frozenset[int]
    months: frozenset[int]
    weekdays: frozenset[int]
    both_days: bool  # whether day of month and day of week must both match
    wildcard: bool  # whether the minute or the hour begins with a star

    def minutes_between(self, first: int, end: int) -> Iterator[int]:
        """The wall minutes in [first, end) that the fields name."""
        of_day = [60 * hour + minute for hour in sorted(self.hours) for minute in sorted(self.minutes)]
        for day in range(first // _DAY, -(-end // _DAY)):
            if self._names_day(date.fromordinal(day + _EPOCH)):
                start = day * _DAY
                if first <= start and start + _DAY <= end:
                    yield from (start + minute for minute in of_day)
                else:
                    yield from (start + minute for minute in of_day if first <= start + minute < end)

    def _names_day(self, day: date) -> bool:
        of_month, of_week = day.day in self.month_days, day.isoweekday() % 7 in self.weekdays
        joined = of_month and of_week if self.both_days else of_month or of_week
        return joined and day.month in self.months


def read_fields(texts: Sequence[str], dialect: CronDialect) -> CronFields:
    """The sets that five texts name; InputError if the scheduler of this dialect refuses one."""
    if len(texts) != 5:
        raise InputError(f"a cron entry has five fields, not {len(texts)}")
    weekday_high = 7 if dialect.seven else 6
    bounds: tuple[tuple[int, int, Sequence[str]], ...] = (
        (0, 59, ()),
        (0, 23, ()),
        (1, 31, ()),
        (1, 12, _MONTHS),
        (0, weekday_high, _WEEKDAYS),
    )
    minutes, hours, month_days, months, weekdays = (
        _read_field(text, *bound, dialect) for text, bound in zip(texts, bounds, strict=True)
    )
    return CronFields(
        minutes,
        hours,
        month_days,
        months,
        frozenset(day % 7 for day in weekdays),
        both_days=any(_is_starred(texts[place], dialect) for place in (2, 4)),
        wildcard=any(text.startswith("*") for text in texts[:2]),
    )


def _is_starred(text: str, dialect: CronDialect) -> bool:
    if dialect.stepped_star:
        return text.startswith("*")
    return any(part in {"*", "?", "*/1"} for part in text.split(","))


def _read_field(text: str, low: int, high: int, words: Sequence[str], dialect: CronDialect) -> frozenset[int]:
    found: set[int] = set()
    for part in text.split(","):
        found.update(_read_part(part, low, high, words, dialect))
    return frozenset(found)


def _read_part(part: str, low: int, high: int, words: Sequence[str], dialect: CronDialect) -> range:
    span, slash, step = part.partition("/")
    if slash and not (step.isascii() and step.isdigit() and int(step[:9])):
        raise InputError(f"{part!r} has no step")
    first, dash, last = span.partition("-")
    if span == "*" or (span == "?" and dialect.question):
        numbers = low, min(high, 6) if words is _WEEKDAYS else high
    elif dash:
        numbers = _read_number(first, low, high, words), _read_number(last, low, high, words)
    else:
        number = _read_number(first, low, high, words)
        if slash and not dialect.from_number:
            raise InputError(f"{part!r} has a step and no range")
        numbers = number, high if slash else number
    if numbers[0] > numbers[1]:
        raise InputError(f"{part!r} goes backwards, and no time is in it")
    return range(numbers[0], numbers[1] + 1, int(step[:9]) if slash else 1)


def _read_number(text: str, low: int, high: int, words: Sequence[str]) -> int:
    if text.lower() in words:
        return words.index(text.lower()) + (words is _MONTHS)
    if not (text.isascii() and text.isdigit() and low <= int(text[:9]) <= high):
        raise InputError(f"{text[:20]!r} is not between {low} and {high}")
    return int(text)


class _Stretch(NamedTuple):
    """UTC minutes [start, end) with one offset, which is 0 or more minutes to add."""

    start: int
    end: int
    offset: int


def _stretches(zone: tzinfo, start: int, end: int) -> Iterator[_Stretch]:
    begun, offset = start, _offset(zone, start)
    for day in range(start, end, _DAY):
        stop = min(day + _DAY, end)
        if (after := _offset(zone, stop)) != offset:
            low, high = day, stop  # the change lies in (low, high]
            while high - low > 1:
                middle = (low + high) // 2
                low, high = (middle, high) if _offset(zone, middle) == offset else (low, middle)
            yield _Stretch(begun, high, offset)
            begun, offset = high, after
    yield _Stretch(begun, end, offset)


def _offset(zone: tzinfo, minute: int) -> int:
    shown = datetime.fromtimestamp(60 * minute, zone).utcoffset() or timedelta()
    return int(shown.total_seconds()) // 60


@dataclass(frozen=True, slots=True)
class WallRules:
    """Each minute that the wall shows and the fields name fires: Kubernetes, and everything in UTC."""

    max_fires: ClassVar[int] = _MAX_FIRES
    fields: CronFields
    zone: tzinfo

    def fires(self, start: int, end: int) -> list[int]:
        found = [
            60 * (wall - offset)
            for begun, stop, offset in _stretches(self.zone, start // 60, -(-end // 60))
            for wall in self.fields.minutes_between(begun + offset, stop + offset)
        ]
        return [second for second in found if start <= second < end]


@dataclass(frozen=True, slots=True)
class DebianRules:
    """Debian's cron: a virtual clock that is caught up or waited for, up to three hours."""

    max_fires: ClassVar[int] = _MAX_FIRES
    fields: CronFields
    zone: tzinfo

    def fires(self, start: int, end: int) -> list[int]:
        found: list[int] = []
        virtual: int | None = None  # the last wall minute whose fixed times have run
        for begun, stop, offset in _stretches(self.zone, start // 60 - _DAY, -(-end // 60)):
            wall = begun + offset
            if virtual is None or self.fields.wildcard or not -_LEAP < wall - virtual <= _LEAP:
                virtual = wall - 1
            found += [60 * begun for _ in self.fields.minutes_between(virtual + 1, wall)]
            shown = self.fields.minutes_between(max(wall, virtual + 1), stop + offset)
            found += [60 * (minute - offset) for minute in shown]
            virtual = max(virtual, stop + offset - 1)
        return [second for second in found if start <= second < end]
