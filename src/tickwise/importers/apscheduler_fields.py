"""The fields of APScheduler's cron triggers, of both its versions, as a cron text.

Version 3 counts weekdays from Monday, version 4 from Sunday. A field that is not given is `*` if a coarser one is,
else its lowest value.
"""

import re
from collections.abc import Mapping

from ..core.errors import InputError

FIELDS = ("year", "month", "day", "week", "day_of_week", "hour", "minute", "second")
_LOWEST = dict(zip(FIELDS, ("*", "1", "1", "*", "*", "0", "0", "0"), strict=True))
_WEEKDAYS = ("mon", "tue", "wed", "thu", "fri", "sat", "sun")
_NTH = {"1st": 1, "2nd": 2, "3rd": 3, "4th": 4, "5th": 5}
_DAY = r"mon|tue|wed|thu|fri|sat|sun|[0-6]"
_DAY_OF_4 = _DAY.replace("[0-6]", "[0-7]")
_SPAN_OF_4 = re.compile(
    rf"(?:\*|(?P<first>{_DAY_OF_4})(?:-(?P<last>{_DAY_OF_4}))?)(?:/(?P<step>[1-9]\d?))?", re.ASCII
)
_SPAN = re.compile(rf"(?:\*|(?P<first>{_DAY})(?:-(?P<last>{_DAY}))?)(?:/(?P<step>[1-9]\d?))?")


def all_fields(given: Mapping[str, str]) -> dict[str, str]:
    """All fields, where only some are given."""
    finest = max((FIELDS.index(name) for name in given), default=len(FIELDS))
    return {name: given.get(name, "*" if FIELDS.index(name) < finest else _LOWEST[name]) for name in FIELDS}


def name_weekdays(field: str) -> str:
    """A `day_of_week` of version 4 by names: its numbers count from Sunday, and a span may pass it."""
    return ",".join(",".join(_span_names(text.strip())) for text in field.lower().split(","))


def _span_names(text: str) -> list[str]:
    found = _SPAN_OF_4.fullmatch(text)
    if found is None:
        raise InputError(f"its day_of_week {text[:20]!r} cannot be read")
    if found["step"] and found["first"]:
        raise InputError(f"its day_of_week {text!r}: APScheduler 4 leaves out the step; write its weekdays")
    if not found["first"]:
        return [text]
    first = _weekday_of_4(found["first"])
    last = _weekday_of_4(found["last"]) if found["last"] else first
    return [_WEEKDAYS[day % 7] for day in range(first, last + 1 if last >= first else last + 8)]


def _weekday_of_4(day: str) -> int:
    return (int(day) - 1) % 7 if day.isdigit() else _WEEKDAYS.index(day)


def cron_text(fields: Mapping[str, str]) -> str:
    """The times as Tickwise writes them; InputError if no text can."""
    if fields["week"] != "*":
        raise InputError("it names weeks of the year, which no cron text can")
    day, nth = _days(fields["day"])
    weekday = nth or _weekday_names(fields["day_of_week"])
    if nth and fields["day_of_week"] != "*":
        raise InputError("it joins days in a way that has no text here")
    both = "&" if "*" not in (day, weekday) else ""
    text = f"{fields['minute']} {fields['hour']} {day} {fields['month']} {weekday}{both}"
    if fields["year"] != "*":
        return f"{fields['second']} {text} {fields['year']}"
    return text if fields["second"] == "0" else f"{fields['second']} {text}"


def _days(field: str) -> tuple[str, str]:
    """The days of the month, and instead of them weekdays such as `1#3` of `3rd mon`."""
    plain, nth = [], []
    for text in map(str.strip, field.split(",")):
        which, _, weekday = text.partition(" ")
        if text == "last":
            plain.append("L")
        elif weekday in _WEEKDAYS and which in {*_NTH, "last"}:
            nth.append(f"{weekday}L" if which == "last" else f"{weekday}#{_NTH[which]}")
        else:
            plain.append(text)
    if plain and nth:
        raise InputError("it joins days in a way that has no text here")
    return (",".join(plain), "") if plain else ("*", ",".join(nth))


def _weekday_names(field: str) -> str:
    """Weekdays by name."""
    if field == "*":
        return "*"
    days: set[int] = set()
    for text in map(str.strip, field.lower().split(",")):
        found = _SPAN.fullmatch(text)
        if not found:
            raise InputError(f"its day_of_week {text[:20]!r} cannot be read")
        first = _weekday_number(found["first"] or "0")
        last = 6 if found["first"] is None or (found["step"] and not found["last"]) else first
        days.update(
            range(first, (_weekday_number(found["last"]) if found["last"] else last) + 1, int(found["step"] or 1))
        )
    return ",".join(_WEEKDAYS[day] for day in sorted(days))


def _weekday_number(day: str) -> int:
    return int(day) if day.isdigit() else _WEEKDAYS.index(day)


def waiting_overlap(catchup: str, notes: list[str]) -> str:
    """The `overlap` of a task of version 4 that runs once at a time: what becomes due meanwhile waits."""
    if catchup == "all":
        return "queue"
    notes.append("while a run goes on, APScheduler lets each later one wait; here the newest of them waits")
    return "latest"
