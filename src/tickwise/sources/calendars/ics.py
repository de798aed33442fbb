"""The days of an .ics file (RFC 5545): all days on which one of its events lies, at least in part.

An event repeats by the rule engine of the core. Cancelled events do not count, and EXDATE and RDATE do. Times of
day are those that the file says, whatever the zone: who puts a holiday into a calendar means the date.
"""

from collections.abc import Iterator
from datetime import date, datetime, timedelta
from typing import TYPE_CHECKING, Any

from ...core.cron.day_set import day_number
from ...core.cron.expression import DAY
from ...core.cron.rule import Rule
from ...core.cron.zone import zone
from ...core.errors import InputError

if TYPE_CHECKING:
    from icalendar import Component

_MAX_NAME = 100
_MAX_EVENTS = 20_000
_MAX_LENGTH = 3_660  # days of one event


def days_of_ics(text: str, start: int, end: int) -> Iterator[tuple[int, str]]:
    """The days from `start` to before `end`, with what their event is called."""
    for number, event in enumerate(_events(text)):
        if number >= _MAX_EVENTS:
            raise InputError(f"ics: more than {_MAX_EVENTS:,} events", field="ics")
        name = str(event.get("SUMMARY", ""))[:_MAX_NAME]
        try:
            yield from ((day, name) for day in _days_of(event, start, end))
        except (InputError, ValueError, KeyError, TypeError, AttributeError, OverflowError) as error:
            raise InputError(
                f"ics: the event {name or number + 1!r} cannot be used: {error}", field="ics"
            ) from None


def _events(text: str) -> "Iterator[Component]":
    try:
        from icalendar import Calendar  # noqa: PLC0415  (few calendars need it)
    except ImportError:
        raise InputError("icalendar is not installed: pip install 'tickwise[calendars]'", field="ics") from None
    try:
        found = Calendar.from_ical(text)
    except (ValueError, KeyError, TypeError, IndexError, AttributeError) as error:
        raise InputError(f"ics: this is no calendar file: {str(error)[:200]}", field="ics") from None
    yield from (event for event in found.walk("VEVENT") if str(event.get("STATUS", "")).upper() != "CANCELLED")


def _days_of(event: "Component", start: int, end: int) -> Iterator[int]:
    first, length = _first_and_length(event)
    begins = {first, *_dates(event.get("RDATE"))}
    if "RRULE" in event:
        rule: Any = event["RRULE"]
        text = rule.to_ical().decode()
        begins |= set(_repeated(text, first, start - length, end))
    for begin in begins - set(_dates(event.get("EXDATE"))):
        yield from range(max(begin, start), min(begin + length, end))


def _first_and_length(event: "Component") -> tuple[int, int]:
    """The first day, and how many days an event touches; an end is not one of them (RFC 5545)."""
    begin: date = _value_of(event, "DTSTART")
    finish = begin
    if "DTEND" in event:
        finish = _value_of(event, "DTEND")
    elif "DURATION" in event:
        finish = begin + _value_of(event, "DURATION")
    if isinstance(finish, datetime):
        finish -= timedelta(microseconds=1)
        last = _day(finish)
    else:
        last = _day(finish) - (finish > begin)
    length = max(1, last - _day(begin) + 1)
    if length > _MAX_LENGTH:
        raise InputError(f"it lasts more than {_MAX_LENGTH:,} days")
    return _day(begin), length


def _value_of(event: "Component", name: str) -> Any:
    """A time or a length, as Python has it; the package knows many other kinds of values."""
    found: Any = event[name]
    return found.dt


def _day(moment: date) -> int:
    return day_number(moment.date() if isinstance(moment, datetime) else moment)


def _dates(given: Any) -> Iterator[int]:
    """The days of RDATE or EXDATE, which may be given several times."""
    for one in given if isinstance(given, list) else [given] if given is not None else []:
        yield from (_day(each.dt[0] if isinstance(each.dt, tuple) else each.dt) for each in one.dts)


def _repeated(text: str, first: int, start: int, end: int) -> Iterator[int]:
    rule = Rule(text, zone("UTC"), first * DAY)
    second = rule.after(max(first, start) * DAY - 1)
    while second is not None and second < end * DAY:
        yield second // DAY
        second = rule.after(second)
