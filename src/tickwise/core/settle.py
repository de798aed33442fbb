"""What becomes of a run when an attempt ends, or should have: outcomes in, states out (S41-S45, S47)."""

from dataclasses import dataclass, field
from typing import NamedTuple, TypeAlias

from .definition import RetryPolicy
from .policy import retry_delay
from .states import Event, RunState, after

LOST_AT_MOST = 3  # attempts whose worker vanished; the third makes the run lost (S44)


@dataclass(frozen=True, slots=True)
class EndingRun:
    """What settling needs to know of a run."""

    id: str
    state: RunState = RunState.QUEUED
    failures: int = 0  # attempts that failed
    losses: int = 0  # attempts whose lease ran out
    retry: RetryPolicy = field(default_factory=RetryPolicy)
    at_most_once: bool = False
    cancelling: bool = False
    failure: str = ""  # why it ends as failed, and not as cancelled, when it is asked to end (S65)


@dataclass(frozen=True, slots=True)
class Succeeded:
    """It returned."""


@dataclass(frozen=True, slots=True)
class Failed:
    """It raised, timed out, or could not be handed over. `retry_after` is its own wish when to try again."""

    retry_after: int | None = None
    by_person: bool = False  # somebody has rejected it: then it is not tried again (S75)


@dataclass(frozen=True, slots=True)
class Cancelled:
    """It ended because it was asked to, or asked for it itself."""


@dataclass(frozen=True, slots=True)
class Snoozed:
    """It wants to be run later, which is no failure."""

    seconds: int


@dataclass(frozen=True, slots=True)
class Waits:
    """A step of it waits for what others do: it needs no worker, and the same attempt goes on later (S74, S75)."""

    seconds: int  # until it looks again, if nothing wakes it


@dataclass(frozen=True, slots=True)
class HandedBack:
    """Its worker shut down before it had ended."""


@dataclass(frozen=True, slots=True)
class LeaseExpired:
    """Its worker vanished."""


@dataclass(frozen=True, slots=True)
class Lost:
    """Nobody can say what became of it, or whether it still runs: it is not tried again by itself (S54, S55)."""


@dataclass(frozen=True, slots=True)
class Unmet:
    """Its preconditions were not met; it has not started."""


@dataclass(frozen=True, slots=True)
class TooLate:
    """It was queued longer than it may be (`expires`)."""


Outcome: TypeAlias = (
    Succeeded | Failed | Cancelled | Snoozed | Waits | HandedBack | LeaseExpired | Lost | Unmet | TooLate
)


class Settled(NamedTuple):
    """The run's next state; when it may be started again, if it may; and its counts."""

    event: Event
    state: RunState
    not_before: int | None = None
    failures: int = 0
    losses: int = 0
    error: str = ""  # why it failed, whatever its attempt said


def settle(run: EndingRun, outcome: Outcome, now: int) -> Settled:
    """Match the outcome once, and look the move up in the table of states."""
    failures, losses, not_before = run.failures, run.losses, None
    match outcome:
        case Succeeded():
            event = Event.SUCCESS
        case Cancelled():
            event = _stopped(run)
        case Unmet():
            event = Event.UNMET
        case Lost():
            losses += 1
            event = Event.LOSS
        case TooLate():
            event = Event.TOO_LATE
        case Snoozed(seconds) | Waits(seconds):
            later = Event.SNOOZE if isinstance(outcome, Snoozed) else Event.WAIT
            event, not_before = _stopped(run) if run.cancelling else later, now + seconds
        case HandedBack():
            event = _again(run, Event.HAND_BACK)
        case LeaseExpired():
            losses += 1
            event = _again(run, Event.LOSS if losses >= LOST_AT_MOST else Event.LEASE_EXPIRED)
        case _:
            failures += 1
            event, wait = Event.FAILURE, outcome.retry_after
            if failures <= run.retry.limit and not run.at_most_once and not outcome.by_person:
                wait = retry_delay(run.retry, failures, run.id) if wait is None else wait
                event, not_before = _again(run, Event.RETRY), now + wait
    failures = max(failures, run.failures + (event is Event.FAILURE))
    unstarted = isinstance(outcome, Unmet) and run.state is RunState.RUNNING  # leased only to be asked
    state = after(after(run.state, Event.HAND_BACK) if unstarted else run.state, event)
    error = run.failure if event is Event.FAILURE else ""
    return Settled(event, state, not_before if state is RunState.QUEUED else None, failures, losses, error)


def _again(run: EndingRun, event: Event) -> Event:
    """An attempt that began is not repeated if the run was asked to end, or may be tried once only (S43)."""
    if run.cancelling:
        return _stopped(run)
    return Event.LOSS if run.at_most_once else event


def _stopped(run: EndingRun) -> Event:
    """How a run ends that was asked to; one that did not begin cannot have failed (S41)."""
    return Event.FAILURE if run.failure and run.state is RunState.RUNNING else Event.CANCEL
