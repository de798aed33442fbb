"""The end of a pause: what was pending before it goes on, what fell into it is missed or dropped (S29, S66)."""

from typing import TypeAlias

from .definition import Catchup
from .model import Decision, Disabled, Pause, Schedule
from .policy import catchup_mode
from .reasons import Reason
from .slots import due_until, note_move, passed_over, summed_up

Decided: TypeAlias = tuple[Schedule, tuple[Decision, ...]]


def end_own_pause(schedule: Schedule, pause: Pause) -> Decided:
    """The end that a person gave a pause (S66). A schedule that is disabled as well rests on, as of both."""
    until = pause.at if pause.until is None else pause.until
    awake = schedule._replace(manual_pause=None, failures_from=until, records=())
    if disabled := schedule.disabled_pause:
        return awake._replace(disabled=Disabled(min(pause.at, disabled.at))), ()
    return end_pause(awake, pause, pause.at, until)


def end_pause(
    schedule: Schedule, pause: Pause | None, since: int, now: int, *, run_missed: bool | None = None
) -> Decided:
    """What was pending before the pause goes on; what fell into it is missed, or dropped and recorded (S29)."""
    schedule, moved_over = note_move(schedule, now)
    mode = catchup_mode(schedule)
    wanted = run_missed if run_missed is not None else mode is Catchup.ALL
    if wanted and mode is Catchup.SKIP:  # judged as on time, or none would run
        return schedule._replace(last_seen_slot=max(schedule.last_seen_slot, due_until(schedule, now))), moved_over
    if wanted:
        missed_to = max(schedule.last_missed_slot, due_until(schedule, now))
        return schedule._replace(last_missed_slot=missed_to), moved_over
    since, until = max(since, schedule.cursor), due_until(schedule, now)
    decisions = summed_up(schedule, since, until, Reason.PAUSED, _who_and_why(pause))
    return passed_over(schedule, since, until), moved_over + decisions


def _who_and_why(pause: Pause | None) -> str:
    words = [pause.reason, pause.by and f"by {pause.by}"] if pause else ["everything was paused"]
    return ", ".join(word for word in words if word) or "no reason given"
