"""What a source of events has found, and which events of a schedule come of it (S70).

A node that looks at a source tells what it has found since the place that the schedule has stored. It is applied
under the lock of the job: what the schedule has taken is left out, what is new becomes events, and the place moves
on, in one move. So it does not matter how many nodes look, how often, or when one of them dies.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from hashlib import sha256
from typing import NamedTuple, TypeAlias

from .events import EndState, EventInbox, EventSource, JobEnd, JobEnds, SettledFiles, TakenEvents
from .payload import encode
from .states import FAILURES, FINAL, RunState
from .timeparse import FIRST, LAST, iso

MICRO = 1_000_000
END_OVERLAP = 30 * MICRO  # ends become visible when they are committed, a little after their instant
MAX_KEYS = 1_000  # that a schedule keeps of what it has taken
MAX_FILES = MAX_KEYS  # that match in one directory; with more, new ones are not taken
END_STATES: dict[EndState, frozenset[RunState]] = {
    EndState.SUCCESS: frozenset({RunState.SUCCEEDED}),
    EndState.FAILURE: FAILURES | {RunState.EXPIRED},
    EndState.ANY: FINAL,
}


class NewEvent(NamedTuple):
    """An event as its source tells it."""

    key: str
    source: str = ""
    data: str = "null"  # JSON text
    at: int | None = None  # when it happened; none: now


class SettledFile(NamedTuple):
    """A file that has not changed for a while."""

    path: str
    size: int
    modified_ns: int

    @property
    def key(self) -> str:
        """A file that is written again has another."""
        return sha256(
            f"{self.path}\0{self.size}\0{self.modified_ns}".encode(errors="surrogateescape")
        ).hexdigest()[:24]


@dataclass(frozen=True, slots=True)
class FoundEnds:
    """Runs of the jobs that have ended, the oldest first; nothing else has ended before `read_from`."""

    ends: tuple[JobEnd, ...]
    read_from: int  # microseconds


@dataclass(frozen=True, slots=True)
class FoundFiles:
    """Files that have settled, and the keys of all that are there."""

    files: tuple[SettledFile, ...]
    present: tuple[str, ...] = ()


Found: TypeAlias = FoundEnds | FoundFiles


class Taken(NamedTuple):
    """What a schedule takes of what was found."""

    events: tuple[NewEvent, ...]
    taken: TakenEvents


def begin_taking(source: EventSource | None, now: int) -> TakenEvents | None:
    """Where a new schedule begins: no end before it is its own (S2)."""
    return TakenEvents(now * MICRO) if isinstance(source, JobEnds) else None


def take(source: EventSource | None, inbox: EventInbox, found: Found) -> Taken | None:
    """The events of what was found; none if it is not of this source any longer."""
    known = inbox.taken or TakenEvents()
    if isinstance(found, FoundEnds):
        return _take_ends(source, known, found) if isinstance(source, JobEnds) else None
    return _take_files(known, found) if isinstance(source, SettledFiles) else None


def new_ends(source: JobEnds, taken: TakenEvents, ends: Sequence[JobEnd]) -> list[JobEnd]:
    """Those that are wanted and were not taken."""
    known, wanted = set(taken.keys), END_STATES[source.state]
    return [
        end for end in ends
        if end.job in source.jobs and end.state in wanted and end.at >= taken.read_from and end.mark not in known
    ]  # fmt: skip


def _take_ends(source: JobEnds, known: TakenEvents, found: FoundEnds) -> Taken:
    new = new_ends(source, known, found.ends)
    waiting, events = known.ends, list[NewEvent]()
    for end in new:
        waiting = _with_newest_end(source, waiting, end)
        if len(waiting) >= source.at_least:
            events.append(_event_of_ends(waiting))
            waiting = ()
    marks = sorted((end_of_mark(mark), mark) for mark in (*known.keys, *(end.mark for end in new)))
    read_from = max(known.read_from, found.read_from)
    if len(marks) > MAX_KEYS:
        read_from = max(read_from, marks[-MAX_KEYS - 1][0] + 1)
    return Taken(tuple(events), TakenEvents(read_from, tuple(m for at, m in marks if at >= read_from), waiting))


def end_of_mark(mark: str) -> int:
    """When the run ended that a mark stands for."""
    return int(mark.partition(":")[0])


def _with_newest_end(source: JobEnds, waiting: tuple[JobEnd, ...], end: JobEnd) -> tuple[JobEnd, ...]:
    """The newest end of each job that lies within the time of this one."""
    near = tuple(one for one in waiting if one.job != end.job and one.at > end.at - source.within * MICRO)
    return (*near, end)


def _event_of_ends(ends: tuple[JobEnd, ...]) -> NewEvent:
    last = max(end.at for end in ends)
    key = (
        ends[0].key
        if len(ends) == 1
        else f"runs:{sha256(' '.join(end.key for end in ends).encode()).hexdigest()[:24]}"
    )
    data = {"runs": [end.describe() for end in sorted(ends, key=lambda end: end.at)]}
    return NewEvent(key, "end", encode(data, "the ends of runs"), -(-last // MICRO))


def _take_files(known: TakenEvents, found: FoundFiles) -> Taken:
    taken = set(known.keys)
    new = {file.key: file for file in found.files if file.key not in taken}
    events = tuple(_event_of_file(file) for file in new.values())
    keys = (*known.keys, *new)
    there = {*found.present, *new}
    room = MAX_KEYS - sum(key in there for key in keys)  # for files that are gone
    gone = [key for key in keys if key not in there]
    kept = {*there, *gone[max(0, len(gone) - max(0, room)) :]}
    return Taken(events, TakenEvents(keys=tuple(key for key in keys if key in kept)))


def _event_of_file(file: SettledFile) -> NewEvent:
    path = file.path.encode(errors="surrogateescape").decode(errors="replace")
    modified = min(max(file.modified_ns // 1_000_000_000, FIRST), LAST)
    data = {"path": path, "size": file.size, "modified_at": iso(modified)}
    return NewEvent(f"file:{file.key}", "file", encode(data, "a file"))
