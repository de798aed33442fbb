"""What a pass decides about a simple job that no run keeps busy: most often one start on time, and nothing else.

Such a plan depends on the schedule's definition, its cursor and the time only. So a pass of a store plans equal
ones once.
"""

from typing import NamedTuple

from ..core.codec import encode_rest
from ..core.definition import ScheduleDefinition
from ..core.model import Facts, Schedule, Trigger
from .records import MICRO, Planner


class NextSlot(NamedTuple):
    """The slot that is started, and when the job must be looked at after that."""

    slot: int
    wake_at: int | None


class SimpleSchedule(NamedTuple):
    """A job's only schedule, whose slots up to its cursor are all decided."""

    definition: ScheduleDefinition
    cursor: int
    edited_at: int
    first_seen: int


def plan_simple_schedule(planner: Planner, schedule: SimpleSchedule, now: int) -> NextSlot | None:
    """What the planner says of it, if that is to start one slot on time and nothing else."""
    definition, cursor, edited_at, first_seen = schedule
    state = Schedule(definition, cursor, cursor, cursor, edited_at, first_seen)
    plan = planner(now // MICRO, [state], Facts())
    if len(plan.starts) != 1 or len(plan.schedules) != 1 or plan.cancels or plan.decisions:
        return None
    [start], [planned] = plan.starts, plan.schedules
    after = planned.schedule
    is_plain = (
        start.trigger is Trigger.SCHEDULE
        and start.lane == 0
        and after.cursor == after.last_seen_slot == start.slot
        and after.last_missed_slot == cursor
        and not planned.remove
        and encode_rest(after) is None
    )
    return NextSlot(start.slot, planned.wake_at) if is_plain else None
