"""What was asked of a schedule for a later time, applied when that has come (S66).

A pause ends by itself, so does a blackout (S62), a schedule pauses after failures, a slot that a person marked is
skipped. A pass applies
these before it looks for pending slots, so that none of them stands for others, or makes them wait.
"""

from typing import NamedTuple

from .blackout import rest_end
from .blackout_slots import end_windows
from .model import Decision, Pause, Schedule, ScheduleFacts
from .pauses import Decided, end_own_pause
from .reasons import Reason
from .slots import note_move, passed_over, summed_up

PAUSE_AFTER = "pause_after"  # who pauses, if failures do


class Applied(NamedTuple):
    """The schedule as the requests leave it, what was decided, and until when no slot is."""

    schedule: Schedule
    decisions: tuple[Decision, ...] = ()
    rests_until: int | None = None  # in a blackout; a schedule that is paused says so itself


def apply_advance_requests(schedule: Schedule, own: ScheduleFacts, now: int) -> Applied:
    """The schedule as a pass is to find it."""
    schedule, decisions = _end_pause(schedule, now)
    if schedule.rests:
        return Applied(schedule, decisions)
    if schedule.blackouts:
        schedule, dropped = end_windows(_without_taken(schedule, own), now)
        decisions += dropped
        if until := rest_end(schedule.blackouts, now):
            return Applied(schedule, decisions, until)
    most = schedule.definition.policy.pause_after
    if most is not None and own.failures >= most:
        reason = f"{own.failures} failed run{'s in a row' if own.failures > 1 else ''}"
        return Applied(schedule._replace(manual_pause=Pause(now, PAUSE_AFTER, reason)), decisions)
    return _skip_marked(schedule, own, now, decisions) if schedule.skips else Applied(schedule, decisions)


def _end_pause(schedule: Schedule, now: int) -> Decided:
    pause = schedule.manual_pause
    if pause is None or not pause.over(now):
        return schedule, ()
    return end_own_pause(schedule, pause)


def _without_taken(schedule: Schedule, own: ScheduleFacts) -> Schedule:
    """The schedule with what has a run already taken out: that run decides the slot (S1)."""
    taken = tuple((slot - 1, slot) for slot in sorted(own.slots_with_run) if slot > schedule.cursor)
    return schedule._replace(dropped=schedule.dropped + taken) if taken else schedule


def _skip_marked(schedule: Schedule, own: ScheduleFacts, now: int, decisions: tuple[Decision, ...]) -> Applied:
    for mark in schedule.skips:
        if mark.slot <= now and mark.slot not in own.slots_with_run:
            if schedule.moved and schedule.moved.to == mark.slot:  # what the move has passed over is decided first
                schedule, passed = note_move(schedule, now)
                decisions += passed
            after = max(mark.slot - 1, schedule.cursor)
            told = summed_up(schedule, after, mark.slot, Reason.SKIPPED_BY_HAND, mark.detail)
            decisions += told
            schedule = passed_over(schedule, after, mark.slot) if told else schedule
    return Applied(schedule._replace(skips=tuple(m for m in schedule.skips if m.slot > now)), decisions)
