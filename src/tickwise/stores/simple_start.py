"""A simple job that starts one slot on time, and nothing else: its plan depends on times, cursor and now only."""

from typing import NamedTuple

from ..core.codec import encode_rest
from ..core.model import Facts, Schedule, Trigger
from .records import Planner


class NextSlot(NamedTuple):
    """The slot that is started, and when the job must be looked at after that."""

    slot: int
    wake_at: int | None


def simple_start(planner: Planner, state: Schedule, second: int) -> NextSlot | None:
    """What the planner says of a job's only schedule, if that is to start one slot on time and nothing else."""
    plan = planner(second, [state], Facts())
    if len(plan.starts) != 1 or len(plan.schedules) != 1 or plan.cancels or plan.decisions:
        return None
    [start], [planned] = plan.starts, plan.schedules
    after = planned.schedule
    is_plain = (
        start.trigger is Trigger.SCHEDULE
        and start.lane == 0
        and after.cursor == after.last_seen_slot == start.slot
        and after.last_missed_slot == state.cursor
        and not planned.remove
        and encode_rest(after) is None
    )
    return NextSlot(start.slot, planned.wake_at) if is_plain else None
