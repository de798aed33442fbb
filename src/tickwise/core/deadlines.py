"""Deadlines: by when a slot's work is to have begun and to be done, and which slots miss theirs (S65).

A schedule's deadlines are met or missed slot by slot, in order: the instant of a deadline is never earlier for a
later slot. So a mark says how far the slots have been judged (`DeadlineWatch`), and a pass walks from there to the
newest slot whose deadline has come. A slot has met its deadline if its run began or was done by then. If it has no
run, that depends on how it was decided:

- somebody did not want it, or its work was done already (`_RELEASED`): it has no deadline;
- a newer slot's run stands for it (`_STOOD_FOR`): that run counts, but by the older slot's deadline;
- it was skipped for another reason, or it still waits: it missed its deadline.

A pass asks for the runs of these slots only (`slots_to_judge`), so a job without deadlines costs nothing.
"""

from collections.abc import Callable, Container, Iterable, Iterator, Mapping
from datetime import datetime
from heapq import merge
from itertools import islice
from typing import NamedTuple

from .definition import Kind, ScheduleDefinition
from .model import DeadlineState, DeadlineWatch, Decision, Relief, RunProgress, Schedule
from .reasons import Reason
from .slots import next_slot
from .states import ACTIVE, RunState
from .time_limit import Deadline, TimeLimit
from .timeparse import floor_second

LATE = frozenset({Reason.LATE_START, Reason.LATE_FINISH})
_MAX_JUDGED = 1_000  # slots in one pass, by each deadline
_MAX_OWED = 100  # slots that are still judged after an edit of the times
_MAX_RELIEFS = 100
_RELEASED = frozenset({
    Reason.PAUSED, Reason.SKIPPED_BY_HAND, Reason.RESCHEDULED, Reason.RESET, Reason.RESTORED, Reason.DELETED,
    Reason.CATCHUP_OFF, Reason.FINISHED, Reason.PAST_ONE_OFF, Reason.SHADOW, Reason.ALREADY_DONE,
    Reason.ALREADY_SUCCESSFUL,
})  # fmt: skip
_STOOD_FOR = frozenset({Reason.COALESCED, Reason.SUPERSEDED})
_DONE = frozenset({RunState.SUCCEEDED, RunState.SKIPPED})  # by its preconditions: then there was nothing to do


class OverdueRun(NamedTuple):
    """An active run that is to end as failed, its slot, and why."""

    run: str
    slot: int
    error: str


class Judged(NamedTuple):
    """How far a schedule's slots are judged now, which deadlines were missed, and which runs are to end."""

    state: DeadlineState | None
    missed: tuple[Decision, ...] = ()
    overdue: tuple[OverdueRun, ...] = ()
    look_at: int | None = None  # when the next slot is to be judged


class OpenDeadline(NamedTuple):
    """A deadline of a slot that is still to come."""

    schedule: str
    slot: int
    reason: Reason  # LATE_START or LATE_FINISH
    at: int
    limit: str  # as people write it


class _Kind(NamedTuple):
    """A deadline of a schedule, and how far it has been applied."""

    reason: Reason
    limit: TimeLimit
    watch: DeadlineWatch


def deadline_of(schedule: Schedule) -> Deadline | None:
    """The deadlines of its slots' runs; a stop has none."""
    definition = schedule.definition
    return None if definition.kind is Kind.STOP else definition.policy.deadline


def slots_to_judge(schedule: Schedule, now: int) -> list[int]:
    """Slots of which a pass must know the runs: their deadlines have come, or their runs stand for such slots."""
    due = {slot for kind in _kinds(schedule) for slot in _due(schedule, kind, now)}
    reliefs = schedule.deadlines.reliefs if schedule.deadlines else ()
    return sorted({each for slot in due for each in _standing_for(reliefs, slot) if each is not None})


def judge(
    before: Schedule, after: Schedule, told: Iterable[Decision], runs: Mapping[int, RunProgress], now: int
) -> Judged:
    """Judge the slots whose deadlines have come: `before` a pass, and as it leaves them, with what it has `told`.

    `runs` are those of `slots_to_judge(before, now)`.
    """
    deadline = deadline_of(after)
    if deadline is None:
        return Judged(None)
    reliefs = _relieved(before.deadlines.reliefs if before.deadlines else (), told)
    watches, missed, overdue = dict[Reason, DeadlineWatch](), list[Decision](), list[OverdueRun]()
    for reason, limit, watch in _kinds(before):
        due = list(_due(before, _Kind(reason, limit, watch), now))
        late = [slot for slot in due if not _is_met(reason, slot, limit.instant(slot), reliefs, runs)]
        missed += [Decision(after.name, reason, slot, slot, 1, str(limit)) for slot in late]
        if reason is Reason.LATE_FINISH and deadline.cancel:
            active = [slot for slot in late if slot in runs and runs[slot].state in ACTIVE]
            overdue += [OverdueRun(runs[slot].run, slot, reason.explain(str(limit))) for slot in active]
        watches[reason] = _moved_on(before, after, watch, due)
    state = _state(watches, reliefs)
    following = next(judging_instants(after._replace(deadlines=state)), None)
    return Judged(state, tuple(missed), tuple(overdue), following and max(now, following[0]))


def judging_instants(schedule: Schedule) -> Iterator[tuple[int, int]]:
    """When slots are judged, in order, each with its slot: those that are open, and all that come."""
    return merge(*(_instants(schedule, kind) for kind in _kinds(schedule)))


def next_deadlines(schedule: Schedule, now: int, done: Container[int] = ()) -> Iterator[OpenDeadline]:
    """Of each of its deadlines the one that comes next, but for slots whose work is done."""
    for kind in _kinds(schedule):
        coming = ((at, slot) for at, slot in _instants(schedule, kind) if at > now and slot not in done)
        for at, slot in islice(coming, 1):
            yield OpenDeadline(schedule.name, slot, kind.reason, at, str(kind.limit))


def _instants(schedule: Schedule, kind: _Kind) -> Iterator[tuple[int, int]]:
    return ((kind.limit.instant(slot), slot) for slot in _open(schedule, kind))


def with_reliefs(schedule: Schedule, told: Iterable[Decision]) -> Schedule:
    """The schedule after decisions that were not made in a pass."""
    state = schedule.deadlines
    return (
        schedule
        if state is None
        else schedule._replace(deadlines=state._replace(reliefs=_relieved(state.reliefs, told)))
    )


def redefined_deadlines(schedule: Schedule, definition: ScheduleDefinition) -> DeadlineState | None:
    """The state of its deadlines under a new definition. A slot that has been decided keeps its deadline (S24)."""
    state, deadline = schedule.deadlines, definition.policy.deadline
    if state is None or deadline is None:
        return None
    if definition.times != schedule.definition.times:
        state = state._replace(start=_owing(schedule, state.start), finish=_owing(schedule, state.finish))
    return state._replace(
        start=state.start if deadline.start else None, finish=state.finish if deadline.finish else None
    )


def _owing(schedule: Schedule, watch: DeadlineWatch | None) -> DeadlineWatch | None:
    """The decided slots one by one: times that change do not name them any more."""
    if watch is None:
        return None
    owed = *watch.owed, *_walk(schedule, watch.judged_to, schedule.cursor)
    return DeadlineWatch(max(watch.judged_to, schedule.cursor), owed[-_MAX_OWED:])


def _kinds(schedule: Schedule) -> Iterator[_Kind]:
    """Its deadlines. One that is new begins at the cursor: what has been decided before has none."""
    deadline, state = deadline_of(schedule), schedule.deadlines or DeadlineState()
    if deadline and deadline.start:
        yield _Kind(Reason.LATE_START, deadline.start, state.start or DeadlineWatch(schedule.cursor))
    if deadline and deadline.finish:
        yield _Kind(Reason.LATE_FINISH, deadline.finish, state.finish or DeadlineWatch(schedule.cursor))


def _due(schedule: Schedule, kind: _Kind, now: int) -> Iterator[int]:
    """The oldest slots that are to be judged now. While a schedule rests, only those decided before."""
    newest = kind.limit.newest_due(now)
    owed = (slot for slot in kind.watch.owed if slot <= newest)
    last = min(newest, schedule.cursor) if schedule.rests else newest
    yield from owed
    yield from islice(_walk(schedule, kind.watch.judged_to, last), _MAX_JUDGED)


def _open(schedule: Schedule, kind: _Kind) -> Iterator[int]:
    """All slots that are not judged yet, in order."""
    yield from kind.watch.owed
    yield from _walk(schedule, kind.watch.judged_to, schedule.cursor if schedule.rests else None)


def _walk(schedule: Schedule, after: int, last: int | None) -> Iterator[int]:
    """Slots in order, also those decided ahead of older ones."""
    schedule = schedule._replace(dropped=())
    slot = next_slot(schedule, after)
    while slot is not None and (last is None or slot <= last):
        yield slot
        slot = next_slot(schedule, slot)


def _moved_on(before: Schedule, after: Schedule, watch: DeadlineWatch, due: list[int]) -> DeadlineWatch:
    """The mark behind what was judged. A fire that a person moved is no slot once it is past: it stays owed."""
    judged_to = max([watch.judged_to, *due])
    owed = tuple(slot for slot in watch.owed if slot not in due)
    moved = before.moved
    is_past = moved is not None and after.moved is None and judged_to < moved.to <= after.cursor
    if moved and is_past and after.definition.times.after(moved.to - 1) != moved.to:
        owed = (*owed, moved.to)[-_MAX_OWED:]
    return DeadlineWatch(judged_to, owed)


def _state(watches: Mapping[Reason, DeadlineWatch], reliefs: tuple[Relief, ...]) -> DeadlineState:
    """The state, without reliefs of slots that have been judged."""
    oldest = min((min((watch.judged_to + 1, *watch.owed)) for watch in watches.values()), default=0)
    left = tuple(relief for relief in reliefs if relief.until >= oldest)
    return DeadlineState(watches.get(Reason.LATE_START), watches.get(Reason.LATE_FINISH), left)


# Whether a deadline is met.


def _is_met(
    reason: Reason, slot: int, instant: int, reliefs: tuple[Relief, ...], runs: Mapping[int, RunProgress]
) -> bool:
    for each in _standing_for(reliefs, slot):
        if each is None:
            return True
        if each in runs:
            return _REQUIRED[reason](runs[each], instant)
    return False


def _begun_by(run: RunProgress, instant: int) -> bool:
    """An attempt after the first says nothing about when the first began: then it counts that it did."""
    begun = run.started_at is not None and (run.attempt > 1 or run.started_at <= instant)
    return begun or _done_by(run, instant)


def _done_by(run: RunProgress, instant: int) -> bool:
    return run.state in _DONE and run.finished_at is not None and run.finished_at <= instant


_REQUIRED: dict[Reason, Callable[[RunProgress, int], bool]] = {
    Reason.LATE_START: _begun_by,
    Reason.LATE_FINISH: _done_by,
}


# Slots without a run of their own that do not miss their deadline for that.


def _relieved(known: tuple[Relief, ...], told: Iterable[Decision]) -> tuple[Relief, ...]:
    """With what decisions say of their slots. If there are very many, the two oldest become one."""
    reliefs = list(known)
    for decision in told:
        if decision.reason in _RELEASED:
            reliefs.append(Relief(decision.first - 1, decision.last))
        elif decision.reason in _STOOD_FOR:
            newer = floor_second(datetime.fromisoformat(decision.detail))
            reliefs.append(Relief(decision.first - 1, decision.last, newer))
    while len(reliefs) > _MAX_RELIEFS:
        first, second, *rest = reliefs
        reliefs = [Relief(min(first.after, second.after), max(first.until, second.until), second.slot), *rest]
    return tuple(reliefs)


def _standing_for(reliefs: tuple[Relief, ...], slot: int) -> Iterator[int | None]:
    """The slots whose runs count for a slot: itself, and newer ones. None at the end: it has no deadline."""
    following: int | None = slot
    while following is not None:
        slot = following
        yield slot
        relief = next((relief for relief in reliefs if relief.after < slot <= relief.until), None)
        if relief is None:
            return
        following = relief.slot if relief.slot is None or relief.slot > slot else slot
        if following == slot:
            return
    yield None
