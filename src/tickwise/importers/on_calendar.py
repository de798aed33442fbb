"""`OnCalendar=` of systemd.time(7) as a cron text: the same seconds, named by six or seven fields."""

import re

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
_PART = re.compile(r"(?:\*|(?P<first>\d{1,4})(?:\.\.(?P<last>\d{1,4}))?)(?:/(?P<step>\d{1,4}))?")
_LAST_YEAR = 2_099


def to_cron(text: str) -> tuple[str, str | None]:
    """The cron text, and the zone if the text names one."""
    words = text.split()
    where = None
    if len(words) > 1 and words[-1] in zone_names():
        where = words.pop()
    if len(words) == 1:
        words = _SHORTHANDS.get(words[0].lower(), words[0]).split()
    weekdays, year, month, day = "*", "*", "*", "*"
    hour, minute, second = "0", "0", "0"
    seen = 0
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
        hour, minute, second = (_field(time[name] or "0", name) for name in ("hour", "minute", "second"))
    if words or not seen:
        raise InputError(f"OnCalendar={text[:60]} cannot be read")
    both = "&" if weekdays != "*" and not day.startswith("*") else ""
    cron = f"{minute} {hour} {day} {month} {weekdays}{both}"
    if year != "*":
        return f"{second} {cron} {year}", where
    return cron if second == "0" else f"{second} {cron}", where


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
            raise InputError(
                f"{name} {part[:20]!r} cannot be read" + (": a job runs at whole seconds" if "." in part else "")
            )
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


def _from_end(text: str) -> str:
    """Days counted from the month's end: `~01` is the last, `~07/1` each of the last seven."""
    days: set[int] = set()
    for part in text.split(","):
        found = _PART.fullmatch(part)
        if not found or found["first"] is None or found["last"] is not None:
            raise InputError(f"~{part[:20]} cannot be read: name one day from the end, or one with a step")
        first, step = int(found["first"]), int(found["step"] or 0)
        days.update(range(first, 0, -step) if step else (first,))
    if not days or min(days) < 1 or max(days) > 31:
        raise InputError(f"~{text[:20]} names no day of a month")
    return ",".join("L" if day == 1 else f"L-{day - 1}" for day in sorted(days, reverse=True))
