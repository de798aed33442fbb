"""The next fire of a schedule, moved by a person, once (S31)."""

from .blackout import window_at
from .catchup import grace_of
from .cron.calendar_days import OnCalendar
from .cron.recurrences import Window
from .cron.rule import Rule
from .errors import ConflictError, InputError
from .events import OnEvent
from .model import Decision, Move, Schedule
from .pauses import Decided
from .reasons import Reason
from .slots import note_move, passed_over
from .timeparse import iso


def move_next(schedule: Schedule, to: int, now: int) -> Decided:
    """The schedule with its next fire at an instant; refused where none can be."""
    until = schedule.definition.policy.until
    if isinstance(schedule.definition.times, OnEvent):
        raise InputError(
            f"{schedule.name} runs on events: send it one instead, tickwise events send {schedule.name}"
        )
    if schedule.finished:
        raise InputError(f"{schedule.name} has made its {schedule.runs_made} runs: raise max_runs first")
    if to < now - grace_of(schedule.definition.policy):
        raise InputError(f"{iso(to)} has passed: give a time from now ({iso(now)}) on")
    if until is not None and to > until:
        raise InputError(f"{iso(to)} is after the end of the schedule, {iso(until)}: move `until` first")
    times = schedule.definition.times
    times = times.times if isinstance(times, OnCalendar) else times
    if isinstance(times, Window | Rule) and to < times.first:
        raise InputError(
            f"{iso(to)} is before the beginning of the schedule, {iso(times.first)}: move `from` first"
        )
    if window := window_at(schedule.blackouts, to):
        raise ConflictError(
            f"{iso(to)} lies in the blackout {window.detail}: give a time from {iso(window.end)} on"
        )
    if schedule.moved and schedule.moved.to == max(to, now, schedule.cursor + 1):
        return schedule, ()
    schedule, decisions = note_move(schedule, now)
    moved, schedule = schedule.moved, schedule._replace(moved=None)
    if moved and schedule.cursor < moved.to <= now:  # it was pending
        decisions += (Decision(schedule.name, Reason.RESCHEDULED, moved.to, moved.to, 1, iso(to)),)
        schedule = passed_over(schedule, min(moved.to - 1, max(moved.asked_at, schedule.cursor)), moved.to)
    to = max(to, now, schedule.cursor + 1)
    return schedule._replace(moved=Move(now, to)), decisions
