"""What blackouts do to the slots of a schedule: as a pause does that begins and ends by itself (S62, S29).

In a window no slot is decided. When it has ended, what was pending before it goes on; the slots in it are missed
under `catchup: all`, else dropped, each range with the name of its window. With `blackout: skip` they are dropped
whatever the catch-up.

A pass looks for them from its newest slot back to the cursor, from window to window, so it does not depend on when
passes were made: windows that lie within one outage are told apart as those of quiet days are.
"""

from collections.abc import Sequence
from typing import NamedTuple

from .blackout import Blackout, rest_end, window_at
from .definition import BlackoutMode, Catchup
from .model import Schedule
from .pauses import Decided
from .policy import catchup_mode
from .reasons import Reason
from .slots import note_move, passed_over, previous_slot, summed_up

_MAX_WINDOWS = 200  # with slots in them, that one pass tells apart


class _Covered(NamedTuple):
    """Slots of (after, until] that lie in a window."""

    after: int
    until: int
    detail: str


def waits_for_window(schedule: Schedule) -> bool:
    """Whether its slots in a window run when that has ended."""
    return schedule.definition.policy.blackout is BlackoutMode.PAUSE and catchup_mode(schedule) is Catchup.ALL


def end_windows(schedule: Schedule, now: int) -> Decided:
    """Let windows that have ended do what they do to slots, and forget blackouts that are over."""
    if not schedule.blackouts:
        return schedule, ()
    current = window_at(schedule.blackouts, now)
    schedule, decisions = _end(schedule, schedule.blackouts, now if current is None else current.start - 1)
    still = tuple(each for each in schedule.blackouts if not each.over(now))
    return schedule if still == schedule.blackouts else schedule._replace(blackouts=still), decisions


def replace_blackouts(schedule: Schedule, wanted: Sequence[Blackout], now: int) -> Decided:
    """Put other blackouts in force. The window of one that is gone, or is another now, ends here."""
    gone = tuple(each for each in schedule.blackouts if each not in wanted)
    schedule, decisions = _end(schedule, gone, now)
    return schedule._replace(blackouts=tuple(wanted)), decisions


def _end(schedule: Schedule, blackouts: Sequence[Blackout], until: int) -> Decided:
    if waits_for_window(schedule):
        newest = next(iter(_covered(schedule, blackouts, until, 1)), None)
        missed = max(schedule.last_missed_slot, newest.until if newest else schedule.last_missed_slot)
        return schedule._replace(last_missed_slot=missed), ()
    found = _covered(schedule, blackouts, until, _MAX_WINDOWS)
    if not found:
        return schedule, ()
    schedule, decisions = note_move(schedule, found[0].until)
    for first, last, detail in reversed(found):
        after = max(first, schedule.cursor)
        decisions += summed_up(schedule, after, last, Reason.BLACKOUT, detail)
        schedule = passed_over(schedule, after, last)
    return schedule, decisions


def _covered(schedule: Schedule, blackouts: Sequence[Blackout], until: int, most: int) -> list[_Covered]:
    """The undecided slots up to a second that lie in windows, the newest first.

    Beyond so many windows, all that no pass has seen counts as in the oldest of them.
    """
    found: list[_Covered] = []
    slot = previous_slot(schedule, until + 1)
    while slot is not None and slot > schedule.cursor:
        if window := window_at(blackouts, slot):
            is_last = len(found) + 1 >= most > 1
            before = max(schedule.last_seen_slot + 1, schedule.cursor + 1) if is_last else window.start
            found.append(_Covered(max(min(before, window.start) - 1, schedule.cursor), slot, window.detail))
            if len(found) >= most:
                break
            slot = previous_slot(schedule, window.start)
        else:
            ends = [end for each in blackouts if (end := each.last_end(slot)) is not None]
            slot = previous_slot(schedule, max(ends)) if ends else None
    return found


def after_windows(schedule: Schedule, now: int) -> tuple[Schedule, int]:
    """The schedule as the windows in which it rests will leave it, and when; itself, and now, in none."""
    end = rest_end(schedule.blackouts, now)
    settled, _ = end_windows(schedule, now if end is None else end)
    return settled, now if end is None else end
