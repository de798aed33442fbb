"""What one schedule will start, slot by slot: the walk under every list of runs to come and every forecast.

It sees a schedule as the planner does: moves, holes, `until` and jitter by way of `slots`, pauses, slots that were
re-opened, a backfill under way. It does not know the rest of what a verdict depends on, such as overlap,
dependencies and runs by hand.
"""

from collections import deque
from collections.abc import Iterator
from heapq import merge
from itertools import dropwhile, islice, takewhile
from typing import NamedTuple

from .blackout import rest_end
from .blackout_slots import after_windows, waits_for_window
from .deadlines import judging_instants
from .definition import Catchup, StartBudget
from .model import Schedule
from .pauses import end_own_pause
from .policy import catchup_mode
from .slots import count_slots, due_at, next_slot
from .start_budget import room_at

_MAX_CLOSED = 100  # windows in a row with nothing between them, after which nothing is expected to come


class DueSlot(NamedTuple):
    """A slot and when it is due; sorts by that time, then by name."""

    due: int
    schedule: str
    slot: int


def due_slots(schedule: Schedule, now: int, start: int) -> Iterator[DueSlot]:
    """The slots that are due at or after `start`, in order of time.

    All slots that are overdue are due now, and the oldest of them stands for them all; so does the first of a
    backfill. Neither is listed if `start` lies ahead of now.
    """
    if (awake := resumed(schedule)) is None:
        return
    if awake is not schedule:  # a pause that ends by itself: until then nothing comes
        schedule, now = awake, max(now, schedule.resumes_at or now)
    schedule, now = after_windows(schedule, now)
    if start <= now:
        yield from (DueSlot(now, schedule.name, slot) for slot in _overdue(schedule, now))
    start = max(now, start)
    unwanted = {mark.slot for mark in schedule.skips}
    slot = next_slot(schedule, max(schedule.cursor, _before_delay(schedule, start)))
    closed = 0
    while slot is not None and closed < _MAX_CLOSED:
        if end := rest_end(schedule.blackouts, slot):  # the oldest slot in it stands for all
            if waits_for_window(schedule) and end >= start:
                yield DueSlot(end, schedule.name, slot)
            slot, closed = next_slot(schedule, end - 1), closed + 1
            continue
        due = due_at(schedule, slot)
        due = rest_end(schedule.blackouts, due) or due
        if due >= start and slot not in unwanted:
            closed = 0
            yield DueSlot(due, schedule.name, slot)
        slot = next_slot(schedule, slot)


def looks(schedule: Schedule, now: int, start: int) -> Iterator[DueSlot]:
    """When a ticker must look at a schedule: when its slots are due, and when their deadlines are judged (S65)."""
    judged = (DueSlot(max(now, at), schedule.name, slot) for at, slot in judging_instants(schedule))
    return merge(due_slots(schedule, now, start), judged)


def resumed(schedule: Schedule) -> Schedule | None:
    """The schedule as it will go on: itself unless it rests; none if only a person can make it go on."""
    if not schedule.rests:
        return schedule
    pause = schedule.manual_pause
    if pause is None or schedule.resumes_at is None:
        return None
    awake, _ = end_own_pause(schedule, pause)
    return None if awake.rests else awake


def next_wanted_slot(schedule: Schedule) -> int | None:
    """The slot that is pending or comes next, as people are shown it; none while it rests."""
    if (awake := resumed(schedule)) is None:
        return None
    slot = awake.reopened[0] if awake.reopened else next_slot(awake, awake.cursor)
    for _ in range(_MAX_CLOSED + len(awake.skips)):
        if slot is None:
            break
        end = None if waits_for_window(awake) else rest_end(awake.blackouts, slot)
        if not end and not awake.skip_of(slot):
            return slot
        slot = next_slot(awake, end - 1 if end else slot)
    return None


def upcoming_slots(schedule: Schedule, now: int, start: int) -> Iterator[DueSlot]:
    """The same, as far as `max_runs` and `max_starts` let them run: an estimate, since skipped slots do not count.

    Slots that wait until their budget has room are due then.
    """
    most, budget = schedule.definition.policy.max_runs, schedule.definition.policy.max_starts
    if most is None and budget is None:
        return due_slots(schedule, now, start)
    slots = _within_budget(schedule, budget, now) if budget else due_slots(schedule, now, now)
    if most is not None:
        filled = schedule.backfill is not None  # a backfill does not count (S34)
        slots = islice(slots, max(0, most - schedule.runs_made) + filled)
    return dropwhile(lambda each: each.due < start, slots)


def _within_budget(schedule: Schedule, budget: StartBudget, now: int) -> Iterator[DueSlot]:
    waits = catchup_mode(schedule) is Catchup.ALL
    starts = deque(schedule.recent_starts, maxlen=budget.count)
    slots = due_slots(schedule, now, now)
    while each := next(slots, None):
        due = max(each.due, room_at(budget, starts) or each.due)
        if waits or due == each.due:
            starts.append(due)
            yield each._replace(due=due)
        else:
            slots = due_slots(schedule, now, due)


def count_upcoming(schedule: Schedule, start: int, end: int) -> int:
    """How many slots of a new schedule lie from one second to before another, within its budget and `max_runs`."""
    policy = schedule.definition.policy
    if policy.max_starts:
        return sum(1 for _ in takewhile(lambda each: each.due < end, upcoming_slots(schedule, start, start)))
    found = count_slots(schedule, start - 1, end - 1)
    return found if policy.max_runs is None else min(found, policy.max_runs)


def _overdue(schedule: Schedule, now: int) -> Iterator[int]:
    oldest = schedule.reopened[0] if schedule.reopened else next_slot(schedule, schedule.cursor)
    if oldest is not None and oldest < now and due_at(schedule, oldest) < now:
        yield oldest
    if schedule.backfill:
        filled = schedule.definition.times.after(schedule.backfill.cursor)
        if filled is not None and filled < schedule.backfill.end:
            yield filled


def _before_delay(schedule: Schedule, second: int) -> int:
    """An instant such that no slot up to it is due at a second or later, however long its jitter delays it."""
    return second - (schedule.definition.policy.jitter or 0) - 1
