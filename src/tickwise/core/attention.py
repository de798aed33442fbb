"""What needs a person, as a value: why, how bad it is, and what can be done about it.

The rules that find it are in `schedule_attention`, `fleet_attention` and `deadline_attention`. Sentences go on
after the name of their subject.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from enum import StrEnum

from .cron.zone import Zone
from .timeparse import to_datetime


class Severity(StrEnum):
    ERROR = "error"  # something does not run
    WARNING = "warning"  # something may not be meant so
    NOTE = "note"  # worth a look


class Cause(StrEnum):
    """Why somebody is needed; the words are stable."""

    FAILING = "failing"
    TIMEOUTS = "timeouts"
    MISSED_WHILE_PAUSED = "missed_while_paused"
    LATE = "late"
    AT_RISK = "at_risk"
    OUTLASTED = "outlasted"
    UNMET = "unmet"
    WAITS_FOR = "waits_for"
    NO_WORKER = "no_worker"
    BROKEN_FILE = "broken_file"
    BROKEN_SCHEDULE = "broken_schedule"
    SILENT = "silent"
    UNDELIVERED = "undelivered"
    PAUSED = "paused"
    SET_BACK = "set_back"
    IN_SHADOW = "in_shadow"
    STARTED_TWICE = "started_twice"
    APPROVAL = "approval"
    PROPOSED = "proposed"


@dataclass(frozen=True, slots=True)
class Subject:
    """What an item is about: a schedule, step, queue, file, channel, or the fleet."""

    kind: str
    name: str
    job: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Remedy:
    """Something that can be done about it, with what it is done to."""

    do: str
    label: str
    schedule: str | None = None
    run: str | None = None
    slot: int | None = None
    field: str | None = None  # of the definition
    command: str | None = None  # for a shell


@dataclass(frozen=True, slots=True, kw_only=True)
class Attention:
    """One thing that needs a person."""

    kind: Cause
    severity: Severity
    subject: Subject
    text: str
    detail: str = ""
    since: int | None = None
    counts: Mapping[str, int] = field(default_factory=dict)
    remedies: tuple[Remedy, ...] = ()


def ranked(items: Iterable[Attention]) -> list[Attention]:
    """The worst first; of equal ones those that last longest."""
    order = list(Severity)
    return sorted(items, key=lambda item: (order.index(item.severity), item.since or 0, item.subject.name))


def summary(items: int, schedules: int) -> str:
    """How things are, in one sentence."""
    if items:
        return "1 thing needs you." if items == 1 else f"{items:,} things need you."
    if schedules <= 1:
        return "The schedule is as it should be." if schedules else "There are no schedules yet."
    return f"All {schedules:,} schedules are as they should be."


def short_time(second: int, zone: Zone) -> str:
    """As sentences for people have it."""
    return f"{to_datetime(second, zone.tzinfo):%a %H:%M} {zone.name}"
