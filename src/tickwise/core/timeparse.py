"""Times as people write them → whole UTC seconds, the unit of the core, and back.

Durations (`90s`, `2d12h`), aware datetimes, and dates with a time of day (`2026-03-01T09:00`).
"""

import re
from datetime import UTC, date, datetime, time, timedelta, tzinfo
from typing import NamedTuple, Protocol

from .errors import InputError

_UNIT_SECONDS = {"d": 86_400, "h": 3_600, "m": 60, "s": 1}
_DURATION = re.compile(r"(?:(\d{1,9})d)?(?:(\d{1,9})h)?(?:(\d{1,9})m)?(?:(\d{1,9})s)?", re.ASCII)
_MAX_SECONDS = 100 * 366 * 86_400


def parse_duration(text: str) -> int:
    """Seconds of a duration. A unit that counts zero, a sign, a bare number or a wrong order is refused (S11)."""
    found = _DURATION.fullmatch(text.strip()) if len(text) <= 40 else None
    counts = [int(n) if n is not None else None for n in found.groups()] if found else []
    if not any(n is not None for n in counts) or 0 in counts:
        raise InputError(
            f"{text[:40]!r} is not a duration: write whole days, hours, minutes and seconds in that order, "
            "none of them zero, such as 90s, 15m, 6h or 2d12h"
        )
    total = sum(n * unit for n, unit in zip(counts, _UNIT_SECONDS.values(), strict=True) if n is not None)
    if total > _MAX_SECONDS:
        raise InputError(f"{text!r} is longer than the hundred years a duration may last")
    return total


def format_duration(seconds: int) -> str:
    """The shortest text that `parse_duration` reads back as these seconds (`0s` for none, which it refuses)."""
    parts = []
    for unit, size in _UNIT_SECONDS.items():
        count, seconds = divmod(seconds, size)
        if count:
            parts.append(f"{count}{unit}")
    return "".join(parts) or "0s"


_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_FIRST, _LAST = datetime(1, 1, 1, tzinfo=UTC), datetime(9999, 12, 31, 23, 59, 59, tzinfo=UTC)


def floor_second(instant: datetime) -> int:
    """The last whole second at or before an aware datetime."""
    since = _since_epoch(instant)
    return since.days * 86_400 + since.seconds


def ceil_second(instant: datetime) -> int:
    """The first whole second at or after an aware datetime."""
    since = _since_epoch(instant)
    return since.days * 86_400 + since.seconds + (since.microseconds > 0)


def _since_epoch(instant: datetime) -> timedelta:
    try:
        return instant - _EPOCH
    except TypeError:
        raise InputError(
            f"{instant!r} is not an aware datetime: give it a time zone, such as tzinfo=datetime.UTC"
        ) from None


def to_datetime(second: int, zone: tzinfo = UTC) -> datetime:
    """One beyond the calendar, which only a damaged row holds, is shown as the calendar's end."""
    try:
        return datetime.fromtimestamp(second, zone)
    except (ValueError, OverflowError, OSError):
        return _FIRST if second < 0 else _LAST


def iso(second: int) -> str:
    """`2026-03-29T01:00:00Z`: an instant for people and logs, always in UTC."""
    return to_datetime(second).isoformat()[:19] + "Z"


_DAY = 86_400
_WALL_EPOCH = date(1970, 1, 1).toordinal()
FIRST = (date(1, 1, 3).toordinal() - _WALL_EPOCH) * _DAY  # every slot lies in [FIRST, LAST), which fits a datetime
LAST = (date(9999, 12, 29).toordinal() - _WALL_EPOCH) * _DAY  # in every zone
_MOMENT = re.compile(
    r"(?P<date>\d{4}-\d\d-\d\d)"
    r"(?:[T ](?P<time>\d\d:\d\d(?::\d\d)?) ?(?P<offset>Z|[+-](?P<hours>\d\d):(?P<minutes>[0-5]\d))?)?",
    re.ASCII,
)


class WallClock(Protocol):
    """The part of a zone that turns a wall-clock second into an instant (`core/cron/zone.py`)."""

    def instant(self, wall: int) -> int: ...


class Moment(NamedTuple):
    """A wall-clock second, with its offset from UTC if one was written, and whether only the day was."""

    wall: int
    offset: int | None
    is_day: bool


def read_moment(text: str) -> Moment:
    """Understand `2026-03-01`, `2026-03-01T09:00`, `2026-03-01 09:00:00+01:00` or `…Z`."""
    found = _MOMENT.fullmatch(text.strip()) if len(text) <= 40 else None
    try:
        day = date.fromisoformat(found["date"]) if found else None
        clock = time.fromisoformat(found["time"] or "00:00") if found else None
    except ValueError:
        raise InputError(f"{text!r} is not in the calendar") from None
    if found is None or day is None or clock is None:
        raise InputError(
            f"{text[:40]!r} is not a date or time: write it like 2026-03-01T09:00:00, with Z or +01:00 at its end "
            "if it is not meant in the given timezone"
        )
    wall = (day.toordinal() - _WALL_EPOCH) * _DAY + clock.hour * 3600 + clock.minute * 60 + clock.second
    return Moment(wall, _offset(found), found["time"] is None)


def _offset(found: re.Match[str]) -> int | None:
    if found["offset"] is None or found["offset"] == "Z":
        return None if found["offset"] is None else 0
    seconds = int(found["hours"]) * 3600 + int(found["minutes"]) * 60
    return -seconds if found["offset"].startswith("-") else seconds


def read_time(text: str) -> Moment:
    """A moment with a time of day."""
    moment = read_moment(text)
    if moment.is_day:
        raise InputError(f"{text!r} has no time of day: write {text.strip()}T09:00:00")
    return moment


def instant(moment: Moment, zone: WallClock) -> int:
    """The UTC second that is meant."""
    found = zone.instant(moment.wall) if moment.offset is None else moment.wall - moment.offset
    if not FIRST <= found < LAST:
        raise InputError("this is further away than the calendar reaches: leave it out if no end is meant")
    return found


def last_instant(moment: Moment, zone: WallClock) -> int:
    """The UTC second that is meant; for a day, its last one (S34)."""
    if moment.is_day:
        return instant(moment._replace(wall=moment.wall + _DAY), zone) - 1
    return instant(moment, zone)
