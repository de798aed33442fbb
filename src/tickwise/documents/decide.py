"""What becomes of a document after its run. Pure: facts, the store's now and the outcome in, a verdict out.

A recurring document sleeps until the first time of its interval strictly after now, and after its old time plus
the reprocess delay: one that is overdue by days runs once and then at its next slot. Its last time is at or before
`repeat_until`. A document without a next time is done: it sleeps for ever, or is removed if it asks for that.

What cannot be read is never taken for "done": the document gets the error, and comes back when its lock would have
run out, or as soon as somebody sets a new time.
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
    """What a document says about its times, as it stands there and not yet understood."""

    key: Any  # what the store knows it by; `H` in an interval is spread by it
    sleep_until: Any
    interval: Any = None
    repeat_until: Any = None
    auto_remove: Any = False
    moved: bool = False  # somebody set a new time while it was locked


@dataclass(frozen=True, slots=True)
class Rules:
    """What the scheduler adds to the facts."""

    timezone: str = "UTC"
    reprocess_delay: timedelta = timedelta()

    def __post_init__(self) -> None:
        zone(self.timezone)  # refuses an unknown one


class DocumentOutcome(Enum):
    PROCESSED = "processed"  # the handler returned
    FAILED = "failed"  # it raised


@dataclass(frozen=True, slots=True)
class Sleep:
    """Unlock it until then; none: it is done."""

    until: datetime | None


@dataclass(frozen=True, slots=True)
class Release:
    """Unlock it and leave its time alone: when its lock would have run out, or what somebody set meanwhile."""

    error: str | None = None  # kept on the document


@dataclass(frozen=True, slots=True)
class Remove:
    """Delete it."""


Verdict: TypeAlias = Sleep | Release | Remove


def decide(facts: DocumentFacts, now: datetime, outcome: DocumentOutcome, rules: Rules) -> Verdict:
    """The verdict on a document whose run has ended; before a run, a `Release` tells why it cannot be run."""
    if outcome is DocumentOutcome.FAILED or facts.moved:
        return Release()
    try:
        following = _next_time(facts, now, rules)
    except InputError as error:
        return Release(str(error))
    if following is None and facts.auto_remove:
        return Remove()
    return Sleep(following)


def _next_time(facts: DocumentFacts, now: datetime, rules: Rules) -> datetime | None:
    last = None if facts.repeat_until is None else instant(facts.repeat_until, "repeat_until")
    slept_until = instant(facts.sleep_until, "sleep_until")
    if facts.interval is None:
        return None
    times = parse(facts.interval, rules.timezone, str(facts.key))
    following = times.next(max(now, slept_until + rules.reprocess_delay))
    if following is None or (last is not None and following > last):
        return None
    return following.astimezone(UTC)


def instant(value: Any, name: str) -> datetime:
    """An aware datetime from one that a store gave or a person wrote; without a zone it is meant in UTC."""
    try:
        read = datetime.fromisoformat(value) if isinstance(value, str) else value
    except ValueError:
        read = None
    if not isinstance(read, datetime):
        raise InputError(f"{name} is {value!r}, which is no time: write one such as 2026-03-01T09:00:00Z")
    return read if read.tzinfo else read.replace(tzinfo=UTC)
