"""The slots of a schedule as it stands: what its times name, but for what a person moved and a pause dropped.

`until` ends them, and so do `max_runs` made. A move adds one slot and passes over those before it; a resumed pause
leaves a hole. Both are intervals `(from, to]` that the walk leaps over, so nothing here depends on how many slots
they hide.
"""

from collections.abc import Iterator
from hashlib import blake2b

from .cron import Recurrence
from .events import EventSlots, OnEvent, is_due_at_once, known_slots, pending_slots
from .model import Decision, Move, Schedule
from .reasons import Reason
from .timeparse import iso


def slot_times(schedule: Schedule) -> Recurrence | EventSlots:
    """What names its slots: its definition or, of an event job, the events that wait, if any do (S71)."""
    times = schedule.definition.times
    if not schedule.inbox.pending:
        return times
    return pending_slots(times, schedule.inbox) if isinstance(times, OnEvent) else times


def recorded_times(schedule: Schedule) -> Recurrence | EventSlots:
    """The same with the events that were decided a short time ago."""
    times = schedule.definition.times
    return known_slots(times, schedule.inbox) if isinstance(times, OnEvent) else times


def due_until(schedule: Schedule, now: int) -> int:
    """Up to which second its slots may be due by now: those of single events may lie ahead."""
    times, pending = schedule.definition.times, schedule.inbox.pending
    if not pending or not isinstance(times, OnEvent) or not is_due_at_once(times):
        return now
    return max(now, pending[-1].slot)


def received_until(schedule: Schedule, now: int) -> int:
    """The newest second that what has been received by now has made a slot, or now."""
    times = schedule.definition.times
    known = pending_slots(times, schedule.inbox).slots if isinstance(times, OnEvent) else ()
    return max((now, *known[-1:]))


def next_slot(schedule: Schedule, after: int) -> int | None:
    """The first slot strictly after an instant."""
    end, times = _end(schedule), slot_times(schedule)
    if end is None and not (schedule.moved or schedule.dropped):
        return times.after(after)
    moved_to = schedule.moved.to if schedule.moved and schedule.moved.to > after else None
    slot = times.after(after)
    while slot is not None and (hole := _hole_around(schedule, slot)):
        slot = times.after(hole[1])
    found = min((t for t in (slot, moved_to) if t is not None), default=None)
    return None if found is None or (end is not None and found > end) else found


def previous_slot(schedule: Schedule, before: int) -> int | None:
    """The last slot strictly before an instant."""
    end, times = _end(schedule), slot_times(schedule)
    if end is None and not (schedule.moved or schedule.dropped):
        return times.before(before)
    before = before if end is None else min(before, end + 1)
    moved_to = schedule.moved.to if schedule.moved and schedule.moved.to < before else None
    slot = times.before(before)
    while slot is not None and (hole := _hole_around(schedule, slot)):
        slot = times.before(hole[0] + 1)
    return max((t for t in (slot, moved_to) if t is not None), default=None)


def count_slots(schedule: Schedule, after: int, until: int) -> int:
    """How many slots lie after the one instant and not after the other."""
    end = _end(schedule)
    until = until if end is None else min(until, end)
    times, found = slot_times(schedule), 0
    for start, end in _between_holes(schedule, after, until):
        found += times.count(start, end)
    moved = schedule.moved
    if moved and after < moved.to <= until and times.after(moved.to - 1) != moved.to:
        found += 1
    return found


def due_at(schedule: Schedule, slot: int) -> int:
    """When a slot is due: later by its jitter, but before the next slot (S36); a moved one at its own time."""
    if schedule.inbox.pending:
        return _event_due_at(schedule, slot)
    jitter = schedule.definition.policy.jitter
    if not jitter or (schedule.moved and schedule.moved.to == slot):
        return slot
    following = next_slot(schedule, slot)
    room = jitter if following is None else min(jitter, following - slot)
    digest = blake2b(f"{schedule.name}\0{slot}".encode(), digest_size=8).digest()
    return slot + int.from_bytes(digest, "big") % room


def _event_due_at(schedule: Schedule, slot: int) -> int:
    times = schedule.definition.times
    if not isinstance(times, OnEvent) or not is_due_at_once(times):
        return slot
    return next((event.at for event in schedule.inbox.pending if event.slot == slot), slot)


def _end(schedule: Schedule) -> int | None:
    return schedule.cursor if schedule.finished else schedule.definition.policy.until


def _holes(schedule: Schedule) -> Iterator[tuple[int, int]]:
    yield from schedule.dropped
    if schedule.moved and schedule.moved.to - 1 > schedule.moved.asked_at:
        yield schedule.moved.asked_at, schedule.moved.to - 1


def _hole_around(schedule: Schedule, slot: int) -> tuple[int, int] | None:
    return next((hole for hole in _holes(schedule) if hole[0] < slot <= hole[1]), None)


def _between_holes(schedule: Schedule, after: int, until: int) -> Iterator[tuple[int, int]]:
    for start, end in sorted(_holes(schedule)):
        if start < until and end > after:
            if start > after:
                yield after, start
            after = max(after, end)
    if after < until:
        yield after, until


def summed_up(
    schedule: Schedule, after: int, until: int, reason: Reason, detail: str = ""
) -> tuple[Decision, ...]:
    """One decision for all slots of (after, until], counted but not listed; none if there are none."""
    count = count_slots(schedule, after, until)
    first, last = next_slot(schedule, after), previous_slot(schedule, until + 1)
    if not count or first is None or last is None:
        return ()
    return (Decision(schedule.name, reason, first, last, count, detail),)


def passed_over(schedule: Schedule, after: int, until: int) -> Schedule:
    """The schedule with the slots of (after, until] decided: by its cursor, or by a hole where older ones wait."""
    oldest = next_slot(schedule, schedule.cursor)
    if oldest is None or oldest > after:
        return schedule._replace(cursor=max(schedule.cursor, until))
    moved, dropped = schedule.moved, (*schedule.dropped, (after, until))
    if moved and after < moved.to <= until:  # decided too, and what it hides stays hidden
        hidden = (moved.asked_at, max(moved.asked_at, moved.to - 1))
        return schedule._replace(moved=None, dropped=(*dropped, hidden))
    return schedule._replace(dropped=dropped)


def note_move(schedule: Schedule, now: int) -> tuple[Schedule, tuple[Decision, ...]]:
    """Record what a move by hand has passed over by now, and let it go on from here (S31)."""
    moved = schedule.moved
    since, until = (max(moved.asked_at, schedule.cursor), min(now, moved.to - 1)) if moved else (now, now)
    if not moved or until <= since or schedule.last_seen_slot >= moved.to:
        return schedule, ()
    free = schedule._replace(moved=None)
    decisions = summed_up(free, since, until, Reason.RESCHEDULED, iso(moved.to))
    return passed_over(free, since, until)._replace(moved=Move(until, moved.to)), decisions
