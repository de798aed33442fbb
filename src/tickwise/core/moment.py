"""Dates and times as people write them → instants."""

import re
from datetime import date, time
from typing import NamedTuple

from .cron.walk import FIRST, LAST
from .cron.zone import Zone
from .errors import InputError

_DAY = 86_400
_EPOCH = date(1970, 1, 1).toordinal()
_SHAPE = re.compile(
    r"(?P<date>\d{4}-\d\d-\d\d)"
    r"(?:[T ](?P<time>\d\d:\d\d(?::\d\d)?) ?(?P<offset>Z|[+-](?P<hours>\d\d):(?P<minutes>[0-5]\d))?)?",
    re.ASCII,
)


class Moment(NamedTuple):
    """A wall-clock second, with its offset from UTC if one was written, and whether only the day was."""

    wall: int
    offset: int | None
    is_day: bool


def read_moment(text: str) -> Moment:
    """Understand `2026-03-01`, `2026-03-01T09:00`, `2026-03-01 09:00:00+01:00` or `…Z`."""
    found = _SHAPE.fullmatch(text.strip()) if len(text) <= 40 else None
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
    wall = (day.toordinal() - _EPOCH) * _DAY + clock.hour * 3600 + clock.minute * 60 + clock.second
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


def instant(moment: Moment, zone: Zone) -> int:
    """The UTC second that is meant."""
    found = zone.instant(moment.wall) if moment.offset is None else moment.wall - moment.offset
    if not FIRST <= found < LAST:
        raise InputError("this is further away than the calendar reaches: leave it out if no end is meant")
    return found


def last_instant(moment: Moment, zone: Zone) -> int:
    """The UTC second that is meant; for a day, its last one (S34)."""
    if moment.is_day:
        return instant(moment._replace(wall=moment.wall + _DAY), zone) - 1
    return instant(moment, zone)
