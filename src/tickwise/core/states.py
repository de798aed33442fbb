"""The states of a run and the moves between them, and those of a hand-over: two literal tables (S41, S52-S56).

Rules of the first table:
- A run begins as `queued` and holds its lane, if it has one, until it is in a final state.
- Only a worker with a valid token moves a `running` run; only its lease running out moves it without one.
- `failed`, `lost` and `cancelled` are final, but a person may put them back; the others are final for good.
- A move that is not in the table does not exist: `after` refuses it, naming the state and the event.

A run that was handed over to an engine is `running`, and its hand-over has a state of its own. In its table:
- Only one event leads to `begun`, and none leads away from it but the end: an attempt begins at most once (S53).
- A hand-over that was told to end never begins (S56).
- What the engine never heard of is `intended` again, and is sent again under the same reference (S52, S55).
- A new watcher changes nothing (S54): adoption is an event of the lease, not of the hand-over.
"""

from collections.abc import Mapping
from enum import StrEnum
from typing import Any

from .errors import TickwiseError


class RunState(StrEnum):
    """Where a run is."""

    QUEUED = "queued"  # waits for a worker, or for its time
    RUNNING = "running"  # a worker holds its lease
    SUCCEEDED = "succeeded"
    FAILED = "failed"  # its retries are used up
    SKIPPED = "skipped"  # its preconditions were not met
    CANCELLED = "cancelled"  # by a person, a stop, a replacement, or its own word
    EXPIRED = "expired"  # queued, but not started in time
    LOST = "lost"  # its worker vanished too often, or once with at_most_once


class Event(StrEnum):
    """What can happen to a run."""

    LEASED = "leased"
    SUCCESS = "success"
    FAILURE = "failure"
    RETRY = "retry"  # a failure with tries left
    SNOOZE = "snooze"  # its own wish to be run later
    WAIT = "wait"  # a step of it waits, and no worker is needed for that; the attempt goes on later (S74)
    HAND_BACK = "hand_back"  # its worker shuts down
    LEASE_EXPIRED = "lease_expired"  # its worker vanished; it may be tried again
    LOSS = "loss"  # its worker vanished for the last time, or nobody can say what became of it
    UNMET = "unmet"  # its preconditions say no
    CANCEL = "cancel"
    TOO_LATE = "too_late"  # queued longer than it may
    PUT_BACK = "put_back"  # a person wants it to run again


MOVES: dict[tuple[RunState, Event], RunState] = {
    (RunState.QUEUED, Event.LEASED): RunState.RUNNING,
    (RunState.QUEUED, Event.UNMET): RunState.SKIPPED,
    (RunState.QUEUED, Event.CANCEL): RunState.CANCELLED,
    (RunState.QUEUED, Event.TOO_LATE): RunState.EXPIRED,
    (RunState.RUNNING, Event.SUCCESS): RunState.SUCCEEDED,
    (RunState.RUNNING, Event.FAILURE): RunState.FAILED,
    (RunState.RUNNING, Event.CANCEL): RunState.CANCELLED,
    (RunState.RUNNING, Event.LOSS): RunState.LOST,
    (RunState.RUNNING, Event.RETRY): RunState.QUEUED,
    (RunState.RUNNING, Event.SNOOZE): RunState.QUEUED,
    (RunState.RUNNING, Event.WAIT): RunState.QUEUED,
    (RunState.RUNNING, Event.HAND_BACK): RunState.QUEUED,
    (RunState.RUNNING, Event.LEASE_EXPIRED): RunState.QUEUED,
    (RunState.FAILED, Event.PUT_BACK): RunState.QUEUED,
    (RunState.LOST, Event.PUT_BACK): RunState.QUEUED,
    (RunState.CANCELLED, Event.PUT_BACK): RunState.QUEUED,
}


class HandOverState(StrEnum):
    """Where a hand-over is."""

    INTENDED = "intended"  # its reference is stored; the engine may have it or not
    ACCEPTED = "accepted"  # the engine has it, and the work has not begun
    BEGUN = "begun"  # the gate has let the work in
    ENDING = "ending"  # the work was told to end, and whether it has is not known


class HandOverEvent(StrEnum):
    """What can happen to a hand-over."""

    ACCEPT = "accept"  # the engine says that it has the reference
    BEGIN = "begin"  # the work asks the gate, or the engine says that work without a gate runs
    UNHEARD = "unheard"  # the engine says that it never heard of the reference
    END = "end"  # the work is told to end


HAND_OVER_MOVES: dict[tuple[HandOverState, HandOverEvent], HandOverState] = {
    (HandOverState.INTENDED, HandOverEvent.ACCEPT): HandOverState.ACCEPTED,
    (HandOverState.INTENDED, HandOverEvent.UNHEARD): HandOverState.INTENDED,
    (HandOverState.INTENDED, HandOverEvent.BEGIN): HandOverState.BEGUN,  # before the engine's answer came
    (HandOverState.INTENDED, HandOverEvent.END): HandOverState.ENDING,
    (HandOverState.ACCEPTED, HandOverEvent.ACCEPT): HandOverState.ACCEPTED,
    (HandOverState.ACCEPTED, HandOverEvent.UNHEARD): HandOverState.INTENDED,
    (HandOverState.ACCEPTED, HandOverEvent.BEGIN): HandOverState.BEGUN,
    (HandOverState.ACCEPTED, HandOverEvent.END): HandOverState.ENDING,
    (HandOverState.BEGUN, HandOverEvent.ACCEPT): HandOverState.BEGUN,
    (HandOverState.BEGUN, HandOverEvent.END): HandOverState.ENDING,
    (HandOverState.ENDING, HandOverEvent.ACCEPT): HandOverState.ENDING,
    (HandOverState.ENDING, HandOverEvent.END): HandOverState.ENDING,
}
ACTIVE = frozenset({RunState.QUEUED, RunState.RUNNING})
FINAL = frozenset(RunState) - ACTIVE
ENDED_BY = {  # the event that ended a run for good, by the state that it led to
    target: event for (state, event), target in MOVES.items() if state is RunState.RUNNING and target in FINAL
}
FAILURES = frozenset({RunState.FAILED, RunState.LOST})


def after(state: RunState, event: Event) -> RunState:
    """The state that an event leads to."""
    try:
        return MOVES[state, event]
    except KeyError:
        raise TickwiseError(f"a run that is {state} cannot meet {event}") from None


def mermaid() -> str:
    """The table of runs as a picture, in the language of Mermaid."""
    ends = [f"    {state} --> [*]" for state in RunState if state in FINAL]
    return _picture(RunState.QUEUED, MOVES, ends)


def hand_over_mermaid() -> str:
    """The table of hand-overs as a picture."""
    return _picture(HandOverState.INTENDED, HAND_OVER_MOVES, [f"    {state} --> [*]" for state in HandOverState])


def _picture(first: StrEnum, moves: Mapping[Any, StrEnum], ends: list[str]) -> str:
    """One arrow from state to state, named by its events."""
    arrows: dict[tuple[StrEnum, StrEnum], list[StrEnum]] = {}
    for (state, event), target in moves.items():
        arrows.setdefault((state, target), []).append(event)
    lines = [f"    {state} --> {target}: {', '.join(events)}" for (state, target), events in arrows.items()]
    return "\n".join(["stateDiagram-v2", f"    [*] --> {first}", *lines, *ends])
