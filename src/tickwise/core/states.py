"""The states of a run and the moves between them: one literal table (S41).

Rules of the table:
- A run begins as `queued` and holds its lane, if it has one, until it is in a final state.
- Only a worker with a valid token moves a `running` run; only its lease running out moves it without one.
- `failed`, `lost` and `cancelled` are final, but a person may put them back; the others are final for good.
- A move that is not in the table does not exist: `after` refuses it, naming the state and the event.
"""

from enum import StrEnum

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
    HAND_BACK = "hand_back"  # its worker shuts down
    LEASE_EXPIRED = "lease_expired"  # its worker vanished; it may be tried again
    LOSS = "loss"  # its worker vanished for the last time
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
    (RunState.RUNNING, Event.HAND_BACK): RunState.QUEUED,
    (RunState.RUNNING, Event.LEASE_EXPIRED): RunState.QUEUED,
    (RunState.FAILED, Event.PUT_BACK): RunState.QUEUED,
    (RunState.LOST, Event.PUT_BACK): RunState.QUEUED,
    (RunState.CANCELLED, Event.PUT_BACK): RunState.QUEUED,
}
ACTIVE = frozenset({RunState.QUEUED, RunState.RUNNING})
FINAL = frozenset(RunState) - ACTIVE
FAILURES = frozenset({RunState.FAILED, RunState.LOST})


def after(state: RunState, event: Event) -> RunState:
    """The state that an event leads to."""
    try:
        return MOVES[state, event]
    except KeyError:
        raise TickwiseError(f"a run that is {state} cannot meet {event}") from None


def mermaid() -> str:
    """The table as a picture, in the language of Mermaid: one arrow from state to state, named by its events."""
    arrows: dict[tuple[RunState, RunState], list[Event]] = {}
    for (state, event), target in MOVES.items():
        arrows.setdefault((state, target), []).append(event)
    lines = [f"    {state} --> {target}: {', '.join(events)}" for (state, target), events in arrows.items()]
    ends = [f"    {state} --> [*]" for state in RunState if state in FINAL]
    return "\n".join(["stateDiagram-v2", f"    [*] --> {RunState.QUEUED}", *lines, *ends])
