"""The verdict on a document after its run. Pure: a function of the facts, the store's now and the outcome.

A recurring document sleeps until the first time of its interval strictly after now, and after its old time plus
the reprocess delay: one that is overdue by days runs once, and then at its next slot. Its last time is at or
before `repeat_until`. A document without a next time is done: it sleeps for ever, or is removed if `auto_remove`
is set.

A document whose facts cannot be read does not count as done. The error is written to it, and it becomes due again
when its lock would have expired, or as soon as somebody sets a new time.
"""

from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from enum import Enum
from typing import Any, TypeAlias

from ..core.cron import parse
from ..core.cron.zone import zone
from ..core.errors import InputError


@dataclass(frozen=True, slots=True)
class DocumentFacts:
    """What a document says about its times, not yet parsed."""

    key: Any  # its id in the store; seeds `H` in an interval
    sleep_until: Any
    interval: Any = None  # none or an empty text: it does not recur
    repeat_until: Any = None
    auto_remove: Any = False
    moved: bool = False  # a new time was set while it was locked


@dataclass(frozen=True, slots=True)
class Rules:
    """The scheduler's options that affect a verdict."""

    timezone: str = "UTC"
    reprocess_delay: timedelta = timedelta()

    def __post_init__(self) -> None:
        zone(self.timezone)  # raises InputError if it is unknown


class DocumentOutcome(Enum):
    """How a run of a document ended."""

    PROCESSED = "processed"  # the handler returned
    FAILED = "failed"  # it raised


@dataclass(frozen=True, slots=True)
class Sleep:
    """Unlock it, due again then; none: it is done."""

    until: datetime | None


@dataclass(frozen=True, slots=True)
class Release:
    """Unlock it and keep its time: the end of its lock, or the time that was set meanwhile."""

    error: str | None = None  # written to the document


@dataclass(frozen=True, slots=True)
class Remove:
    """Delete it."""


Verdict: TypeAlias = Sleep | Release | Remove


def decide(facts: DocumentFacts, now: datetime, outcome: DocumentOutcome, rules: Rules) -> Verdict:
    """The verdict on a document whose run has ended. Before a run, a `Release` says why it cannot be run."""
    if outcome is DocumentOutcome.FAILED or facts.moved:
        return Release()
    try:
        next_time = _next_time(facts, now, rules)
    except InputError as error:
        return Release(str(error))
    if next_time is None and facts.auto_remove:
        return Remove()
    return Sleep(next_time)


def _next_time(facts: DocumentFacts, now: datetime, rules: Rules) -> datetime | None:
    last = None if facts.repeat_until is None else instant(facts.repeat_until, "repeat_until")
    slept_until = instant(facts.sleep_until, "sleep_until")
    if facts.interval is None or (isinstance(facts.interval, str) and not facts.interval.strip()):
        return None
    times = parse(facts.interval, rules.timezone, str(facts.key))
    next_time = times.next(max(now, slept_until + rules.reprocess_delay))
    if next_time is None or (last is not None and next_time > last):
        return None
    return next_time.astimezone(UTC)


def instant(value: Any, name: str) -> datetime:
    """An aware datetime from a value that a store returned or a person wrote; without a zone it is UTC."""
    try:
        time = datetime.fromisoformat(value) if isinstance(value, str) else value
    except ValueError:
        time = None
    if not isinstance(time, datetime):
        raise InputError(f"{name} is {value!r}, which is no time: write one such as 2026-03-01T09:00:00Z")
    return time if time.tzinfo else time.replace(tzinfo=UTC)
