"""The schema of times: the entries under schedule, and its mapping of start, stop and restart."""

from typing import Any, TypeAlias

from ...core.errors import InputError
from .field_types import FieldType, Many, OneOf, likely_key
from .fields import (
    CLOCK_TEXT,
    CRON_TEXT,
    DAY_NAMES,
    DURATION,
    FLAG,
    INTERVAL_TEXT,
    PLAIN_TEXT,
    RULE_TEXT,
    TIME_TEXT,
    ZONE_NAME,
)
from .model import ModelType, Spec, optional, required

ENTRIES = ("cron", "every", "rrule", "at", "template")
KINDS = ("start", "stop", "restart")


class CronEntry(Spec):
    cron = required(CRON_TEXT, "Five fields, six with seconds first, or seven with a year last.", "0 3 * * *")
    timezone = optional(ZONE_NAME, "Its own zone.", "Europe/Berlin")
    both = optional(FLAG, "Whether day-of-month and day-of-week must both match.", True)


class EveryEntry(Spec):
    every = required(DURATION, "The pace, counted from 1970 so that all nodes agree.", "90s")
    offset = optional(DURATION, "Shifts it; shorter than the pace.", "30s")

    def check(self) -> None:
        if self.offset is not None and self.offset >= self.every:
            raise InputError("the offset must be shorter than the interval")


class CalendarEntry(Spec):
    every = required(INTERVAL_TEXT, "Days, weeks, months or years of the calendar, counted from `from`.", "2w")
    on = optional(DAY_NAMES, "Weekdays (MON, of months also 2TUE or -1FRI), or days of the month.", ["MON"])
    at = required(CLOCK_TEXT, "The time of day.", "09:00")
    timezone = optional(ZONE_NAME, "Its own zone.", "Europe/Berlin")


class RuleEntry(Spec):
    rrule = required(
        RULE_TEXT, "A recurrence rule of RFC 5545, counted from `from`.", "FREQ=MONTHLY;BYDAY=2TU;BYHOUR=9"
    )
    timezone = optional(ZONE_NAME, "Its own zone.", "Europe/Berlin")


class AtEntry(Spec):
    at = required(
        TIME_TEXT, "Once, at this time; without an offset, in the file's timezone.", "2027-03-01T09:00:00"
    )


class TemplateEntry(Spec):
    template = required(PLAIN_TEXT, "A schedule by name.", "weekdays-at-9")
    timezone = optional(ZONE_NAME, "Its own zone.", "Europe/Berlin")


EntrySpec: TypeAlias = str | CronEntry | EveryEntry | CalendarEntry | RuleEntry | AtEntry | TemplateEntry
Times: TypeAlias = EntrySpec | list[EntrySpec]
_ENTRY_TYPES: dict[str, FieldType[Any]] = {
    "text": CRON_TEXT,
    "cron": ModelType(CronEntry),
    "every": ModelType(EveryEntry),
    "calendar": ModelType(CalendarEntry),
    "rrule": ModelType(RuleEntry),
    "at": ModelType(AtEntry),
    "template": ModelType(TemplateEntry),
}


def _look_of_entry(value: Any) -> str | None:
    if isinstance(value, dict) and "every" in value and not value.keys().isdisjoint({"at", "on"}):
        return "calendar"
    return likely_key(value, ENTRIES) or ("text" if isinstance(value, str) else None)


def _look_of_times(value: Any) -> str:
    return "list" if isinstance(value, list) else "entry"


def _look_of_schedule(value: Any) -> str:
    return "kinds" if likely_key(value, ENTRIES) is None and likely_key(value, KINDS) else "times"


def _times_type(instead: str = "") -> FieldType[Times]:
    """Times; `instead` names what else may stand in their place."""
    problem = f"must be a cron text or a mapping with one of {', '.join(ENTRIES)}{instead}"
    entry: FieldType[EntrySpec] = OneOf(_look_of_entry, _ENTRY_TYPES, problem)
    return OneOf(_look_of_times, {"entry": entry, "list": Many(entry, least=1, most=100)})


_TIMES = _times_type()


class KindsSpec(Spec):
    start = optional(_TIMES, "When a run starts.", "0 8 * * *")
    stop = optional(_TIMES, "When active runs are cancelled.", "0 18 * * *")
    restart = optional(_TIMES, "When active runs are cancelled and a new one starts.", "0 12 * * *")


SCHEDULE: FieldType[Times | KindsSpec] = OneOf(
    _look_of_schedule,
    {"times": _times_type(", or of start, stop, restart"), "kinds": ModelType(KindsSpec)},
)
