"""What a store has kept of the past of a job, and what that says about the circumstances of the time.

Nobody writes down when the scheduler did not look. But each pass leaves its instant on what it made and recorded.
So a slot that was missed says that no pass looked from that slot to the next instant that a pass has left.
"""

from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple, TypeAlias

from ..cron import Recurrence
from ..definition import JobDefinition
from ..model import Decision, Schedule, Trigger
from ..reasons import Reason
from ..slots import due_at
from ..states import RunState

Interval: TypeAlias = tuple[int, int]  # from one second to before another
MADE_BY_PASSES = frozenset({Trigger.SCHEDULE, Trigger.CATCHUP, Trigger.RESTART})
_FAR = 1 << 40
_NOT_LOOKED = frozenset({Reason.MISSED, Reason.TOO_OLD, Reason.TOO_MANY, Reason.COALESCED, Reason.STOPPED_SINCE})
_HELD_UP = frozenset(
    {Reason.NO_WORKER, Reason.WAITS_FOR_SUCCESS, Reason.UNREADABLE, Reason.BROKEN, Reason.WAITS_FOR_BUDGET}
)
BY_HAND = frozenset(
    {Reason.SKIPPED_BY_HAND, Reason.RESCHEDULED, Reason.RESET, Reason.RESTORED, Reason.DELETED, Reason.CATCHUP_OFF}
)  # what a person has decided, which no planner decides again


class PastRun(NamedTuple):
    """A run as it was; it held its lane from when it was made to its end."""

    schedule: str | None
    slot: int | None
    trigger: Trigger
    created_at: int
    finished_at: int | None
    state: RunState

    @property
    def held(self) -> int | None:
        """For how many seconds it held its lane; none if it has not ended."""
        return None if self.finished_at is None else max(0, self.finished_at - self.created_at)


class PastDecision(NamedTuple):
    """A recorded verdict, when it was first made, and when it was last extended."""

    decision: Decision
    made_at: int
    extended_at: int


class PastSuccess(NamedTuple):
    """A success of another job's schedule: of which slot, and when it was known."""

    schedule: str
    slot: int
    at: int


@dataclass(frozen=True, slots=True)
class Past:
    """What is stored about the slots of a job in [start, end), and about what stood around them."""

    job: JobDefinition  # with its schedules
    schedules: Mapping[str, Schedule]  # as they stand now
    start: int
    end: int
    runs: Sequence[PastRun] = ()  # of the job, those under way at the start too
    decisions: Sequence[PastDecision] = ()  # about its schedules
    successes: Sequence[PastSuccess] = ()  # of the schedules that it depends on
    pauses: Sequence[Interval] = ()  # of everything


@dataclass(frozen=True, slots=True)
class Circumstances:
    """What kept slots from being decided, besides rules of the definition."""

    down: Sequence[Interval] = ()  # no pass looked
    no_worker: Sequence[Interval] = ()  # no live worker could execute the job
    paused: Mapping[str, Sequence[Interval]] = field(default_factory=dict)  # by schedule
    by_hand: Mapping[str, Sequence[Interval]] = field(default_factory=dict)  # slots that a person decided


def circumstances_of(past: Past) -> Circumstances:
    """What the records of the past say about its circumstances."""
    passes = _pass_times(past)
    own: dict[str, list[PastDecision]] = {name: [] for name in past.schedules}
    for told in past.decisions:
        own.get(told.decision.schedule, []).append(told)
    return Circumstances(
        down=_merged([gap for name in own for gap in _gaps(_not_looked(past, name, own[name]), passes)]),
        no_worker=_merged(
            (told.made_at, _decided_at(past, told.decision.schedule, told.decision.first))
            for told in past.decisions
            if told.decision.reason is Reason.NO_WORKER
        ),
        paused={name: _merged(_pauses(past, past.schedules[name], own[name])) for name in own},
        by_hand={name: _merged(_ranges(own[name], BY_HAND)) for name in own},
    )


def _pass_times(past: Past) -> list[int]:
    """Every instant at which a pass is known to have decided something about the job, in order."""
    passes = {run.created_at for run in past.runs if run.slot is not None}
    for told in past.decisions:
        if told.decision.reason not in BY_HAND:
            passes |= {told.made_at, told.extended_at}
    return sorted(passes)


def _not_looked(past: Past, name: str, decisions: Sequence[PastDecision]) -> Iterator[tuple[int, int, Recurrence]]:
    """First and last slot of each row that no pass met when it was due."""
    times = past.schedules[name].definition.times
    for told in decisions:
        if told.decision.reason in _NOT_LOOKED:
            yield told.decision.first, told.decision.last, times
    waits, lanes = _Waits(past, name, decisions), _Lanes(past)
    for began, decided_at in waits.for_lanes:
        free = lanes.free_since(began, decided_at)
        if free < decided_at:
            yield free, free, times
    for run in past.runs:
        if run.schedule == name and run.slot is not None and run.trigger in MADE_BY_PASSES:
            due = due_at(past.schedules[name], run.slot)
            waited_from = waits.began(run.slot, due)
            if waited_from is None or waited_from > due:
                yield due, due, times


class _Waits:
    """When slots of a schedule waited: only the oldest of them has a record."""

    def __init__(self, past: Past, name: str, decisions: Sequence[PastDecision]) -> None:
        waiting = [told for told in decisions if told.decision.waits]
        self._own = {told.decision.last: told.extended_at for told in waiting}
        self._own |= {told.decision.first: told.made_at for told in waiting}
        decided = {slot: _decided_at(past, name, slot) for slot in self._own}
        self._all = _merged((began, decided[slot]) for slot, began in self._own.items())
        self.for_others = {told.decision.first for told in waiting if told.decision.reason in _HELD_UP}
        self.for_lanes = [
            (began, decided[slot]) for slot, began in self._own.items() if slot not in self.for_others
        ]

    def began(self, slot: int, due: int) -> int | None:
        """From when on a slot has waited; none: it was decided when a pass first met it."""
        place = bisect_right(self._all, (due, _FAR)) - 1
        behind = place >= 0 and due < self._all[place][1]
        return self._own.get(slot, due if behind else None)


class _Lanes:
    """When runs held the lanes of a job."""

    def __init__(self, past: Past) -> None:
        self._number = max(one.definition.policy.max_active_runs for one in past.schedules.values())
        holding = [run for run in past.runs if run.trigger is not Trigger.ENQUEUE]
        self._begins = sorted(run.created_at for run in holding)
        self._ends = sorted(run.finished_at for run in holding if run.finished_at is not None)

    def free_since(self, due: int, by: int) -> int:
        """From when on, since a slot was due, a lane was free until a run took it."""
        held = bisect_right(self._begins, due) - bisect_right(self._ends, due)
        if held < self._number:
            return due
        ended = bisect_right(self._ends, by)
        return max(due, self._ends[ended - 1]) if ended else by


def _gaps(rows: Iterable[tuple[int, int, Recurrence]], passes: Sequence[int]) -> Iterator[Interval]:
    """From each slot to the next pass: a row of slots may reach over more than one gap."""
    for first, last, times in rows:
        slot: int | None = first
        while slot is not None and slot <= last:
            place = bisect_left(passes, slot)
            looked = passes[place] if place < len(passes) else _FAR
            yield slot, looked
            slot = times.after(max(slot, looked - 1))


def _decided_at(past: Past, schedule: str, slot: int) -> int:
    """When a slot that waited was decided at last."""
    runs = (run.created_at for run in past.runs if (run.schedule, run.slot) == (schedule, slot))
    final = (told for told in past.decisions if told.decision.is_final and told.decision.schedule == schedule)
    ends = (told.made_at for told in final if told.decision.first <= slot <= told.decision.last)
    return min((*runs, *ends), default=_FAR)


def _pauses(past: Past, schedule: Schedule, decisions: Iterable[PastDecision]) -> Iterator[Interval]:
    yield from past.pauses
    if schedule.paused is not None:
        yield schedule.paused.at, _FAR
    for told in decisions:
        if told.decision.reason is Reason.PAUSED:
            yield told.decision.first - 1, told.extended_at


def _ranges(decisions: Iterable[PastDecision], reasons: frozenset[Reason]) -> Iterator[Interval]:
    for told in decisions:
        if told.decision.reason in reasons:
            yield told.decision.first, told.decision.last + 1


def _merged(intervals: Iterable[Interval]) -> tuple[Interval, ...]:
    """The same without overlaps, in order."""
    found: list[Interval] = []
    for begin, end in sorted(intervals):
        if found and begin <= found[-1][1]:
            found[-1] = (found[-1][0], max(end, found[-1][1]))
        elif begin < end:
            found.append((begin, end))
    return tuple(found)
