"""What a pass decides about simple jobs that no run keeps busy: mostly one start on time each, and nothing else.

Such a plan depends on the schedule's definition, its cursor and the time only. So a pass of a store plans equal
schedules once, and all different ones by one call of the planner.
"""

from collections.abc import Mapping
from typing import NamedTuple, TypeVar

from ..core.codec import encode_rest
from ..core.definition import ScheduleDefinition
from ..core.model import Facts, Planned, Schedule, Start, Trigger
from .records import MICRO, Planner

K = TypeVar("K")


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

    @property
    def state(self) -> Schedule:
        definition, cursor, edited_at, first_seen = self
        return Schedule(definition, cursor, cursor, cursor, edited_at, first_seen)


def plan_simple_schedules(planner: Planner, schedules: Mapping[K, SimpleSchedule], now: int) -> dict[K, NextSlot]:
    """What the planner says of these schedules, where that is to start one slot on time and nothing else.

    No two of them have the same name.
    """
    if not schedules:
        return {}
    keys = {schedule.definition.name: key for key, schedule in schedules.items()}
    plan = planner(now // MICRO, [schedule.state for schedule in schedules.values()], Facts())
    starts = {start.schedule: start for start in plan.starts}
    special = {one.schedule for one in plan.decisions} | {one.schedule for one in plan.cancels}
    found = {}
    for planned in plan.schedules:
        name = planned.schedule.definition.name
        start = starts.get(name)
        if start and name not in special and _is_plain(planned, start, schedules[keys[name]].cursor):
            found[keys[name]] = NextSlot(start.slot, planned.wake_at)
    return found


def _is_plain(planned: Planned, start: Start, cursor: int) -> bool:
    after = planned.schedule
    return (
        start.trigger is Trigger.SCHEDULE
        and start.lane == 0
        and after.runs_made == 1
        and after.cursor == after.last_seen_slot == start.slot
        and after.last_missed_slot == cursor
        and not planned.remove
        and encode_rest(after) is None
    )
