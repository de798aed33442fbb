"""`OnCalendar=` of systemd.time(7) as a cron text: the same seconds, named by six or seven fields."""

import re
from collections.abc import Iterable
from typing import NamedTuple

from ..core.cron.zone import zone_names
from ..core.errors import InputError

_SHORTHANDS = {
    "minutely": "*-*-* *:*:00",
    "hourly": "*-*-* *:00:00",
    "daily": "*-*-* 00:00:00",
    "weekly": "Mon *-*-* 00:00:00",
    "monthly": "*-*-01 00:00:00",
    "quarterly": "*-01,04,07,10-01 00:00:00",
    "semiannually": "*-01,07-01 00:00:00",
    "yearly": "*-01-01 00:00:00",
    "annually": "*-01-01 00:00:00",
    "bi-annually": "*-01,07-01 00:00:00",
    "semi-annually": "*-01,07-01 00:00:00",
    "biannually": "*-01,07-01 00:00:00",
    "anually": "*-01-01 00:00:00",
}
_WEEKDAYS = re.compile(r"[A-Za-z]{3,9}(?:(?:\.\.|-|,)[A-Za-z]{3,9})*,?")
_DATE = re.compile(r"(?:(?P<year>[\d*.,/]+)-)?(?P<month>[\d*.,/]+)(?P<from>[-~])(?P<day>[\d*.,/]+)")
_TIME = re.compile(r"(?P<hour>[\d*.,/]+):(?P<minute>[\d*.,/]+)(?::(?P<second>[\d*.,/]+))?")
_FRACTION = re.compile(r"(?<!\.)\.(?!\.)")
_SECONDS = re.compile(
    r"(?P<first>\d{1,2}(?:\.\d{1,6})?)(?:\.\.(?P<last>\d{1,2}(?:\.\d{1,6})?))?(?:/(?P<step>\d{1,2}(?:\.\d{1,6})?))?"
)
_MICRO = 1_000_000
_PART = re.compile(r"(?:\*|(?P<first>\d{1,4})(?:\.\.(?P<last>\d{1,4}))?)(?:/(?P<step>\d{1,4}))?")
_LAST_YEAR = 2_099


class CalendarTimes(NamedTuple):
    """A calendar as Tickwise reads it."""

    cron: str
    timezone: str | None  # none: the calendar names none
    is_rounded: bool = False  # whether fractions of seconds were cut off


def to_cron(text: str) -> CalendarTimes:
    """The cron text, and the zone if the text names one."""
    words = text.split()
    where = None
    if len(words) > 1 and words[-1] in zone_names():
        where = words.pop()
    if len(words) == 1:
        words = _SHORTHANDS.get(words[0].lower(), words[0]).split()
    weekdays, year, month, day = "*", "*", "*", "*"
    hour, minute, second = "0", "0", "0"
    seen, is_rounded = 0, False
    if words and _WEEKDAYS.fullmatch(words[0]):
        weekdays = _weekday_field(words.pop(0))
        seen += 1
    if words and (date := _DATE.fullmatch(words[0])):
        words.pop(0)
        seen += 1
        year = _field(date["year"] or "*", "year")
        month = _field(date["month"], "month")
        day = _from_end(date["day"]) if date["from"] == "~" else _field(date["day"], "day")
    if words and (time := _TIME.fullmatch(words[0])):
        words.pop(0)
        seen += 1
        is_rounded = bool(_FRACTION.search(time["second"] or ""))
        hour, minute = _field(time["hour"], "hour"), _field(time["minute"], "minute")
        second = (_whole_seconds if is_rounded else _second_field)(time["second"] or "0")
    if words or not seen:
        raise InputError(f"OnCalendar={text[:60]} cannot be read")
    both = "&" if weekdays != "*" and not day.startswith("*") else ""
    cron = f"{minute} {hour} {day} {month} {weekdays}{both}"
    if year != "*":
        cron = f"{second} {cron} {year}"
    elif second != "0":
        cron = f"{second} {cron}"
    return CalendarTimes(cron, where, is_rounded)


def _weekday_field(text: str) -> str:
    parts = []
    for part in text.rstrip(",").split(","):
        days = [day[:3].upper() for day in re.split(r"\.\.|-", part)]
        parts.append("-".join(days))
    return ",".join(parts)


def _field(text: str, name: str) -> str:
    """A component, whose `..` is a range; `*` alone may have no step in systemd."""
    parts = []
    for part in text.split(","):
        found = _PART.fullmatch(part)
        if not found:
            raise InputError(f"{name} {part[:20]!r} cannot be read")
        if found["first"] is None:
            if found["step"]:
                raise InputError(f"{name} {part[:20]!r} has a step and no beginning, which systemd refuses")
            parts.append("*")
            continue
        first, last, step = found["first"], found["last"], found["step"]
        span = str(int(first)) if last is None else f"{int(first)}-{int(last)}"
        if step and last is None and name == "year":
            span = f"{int(first)}-{_LAST_YEAR}"
        parts.append(f"{span}/{int(step)}" if step else span)
    return "*" if "*" in parts else ",".join(parts)


def _second_field(text: str) -> str:
    return _field(text, "second")


def _whole_seconds(text: str) -> str:
    """The seconds in which the named instants lie: `0/1.5` fires in 0, 1, 3, 4, 6 and so on."""
    seconds: set[int] = set()
    for part in text.split(","):
        found = _SECONDS.fullmatch(part)
        if not found:
            raise InputError(f"second {part[:20]!r} cannot be read")
        first, last, step = (round(float(found[name] or 0) * _MICRO) for name in ("first", "last", "step"))
        if not found["last"]:
            last = 60 * _MICRO - 1 if step else first
        if not first <= last < 60 * _MICRO or (found["step"] and not step):
            raise InputError(f"second {part[:20]!r} names no second of a minute")
        seconds.update(_seconds_of(first, last, step or _MICRO))
    return "*" if len(seconds) == 60 else ",".join(map(str, sorted(seconds)))


def _seconds_of(first: int, last: int, step: int) -> Iterable[int]:
    """The seconds of `first` and each step after it, which are microseconds."""
    if step > _MICRO:
        return (instant // _MICRO for instant in range(first, last + 1, step))
    newest = first + (last - first) // step * step
    return range(first // _MICRO, newest // _MICRO + 1)


def _from_end(text: str) -> str:
    """Days counted from the month's end: `~01` is the last, `~01..03` and `~03/1` are the last three."""
    days: set[int] = set()
    for part in text.split(","):
        found = _PART.fullmatch(part)
        if not found:
            raise InputError(f"~{part[:20]} cannot be read: name days from the end, a range of them, or a step")
        if found["first"] is None:
            return "*"
        first, last, step = int(found["first"]), int(found["last"] or found["first"]), int(found["step"] or 0)
        if found["last"]:
            days.update(range(first, last + 1, step or 1))
        else:
            days.update(range(first, 0, -step) if step else (first,))
    if not days or min(days) < 1 or max(days) > 31:
        raise InputError(f"~{text[:20]} names no day of a month")
    return ",".join("L" if day == 1 else f"L-{day - 1}" for day in sorted(days, reverse=True))
