"""What will run, in time order."""

from collections.abc import Iterator
from heapq import merge
from itertools import islice, takewhile

from ..core.instant import to_datetime
from ..core.model import Schedule
from ..core.slots import due_at, next_slot
from ..runtime.forecast import all_schedules
from ..stores.contract import Store
from ..stores.records import MICRO
from .values import Coming


async def coming(store: Store, hours: float, limit: int) -> list[Coming]:
    """At the times at which it will really start; nothing of what is paused (S29)."""
    now = await store.now() // MICRO
    if any(pause.until is None for pause in await store.insights.pauses()):
        return []
    live = [schedule for schedule in await all_schedules(store.insights) if schedule.paused is None]
    until = now + round(hours * 3_600)
    in_time = takewhile(lambda found: found[0] < until, merge(*(_dues(schedule, now) for schedule in live)))
    return [
        Coming(to_datetime(due), name, job, to_datetime(slot), kind)
        for due, name, slot, job, kind in islice(in_time, limit)
    ]


def _dues(schedule: Schedule, now: int) -> Iterator[tuple[int, str, int, str, str]]:
    """The oldest pending slot, which is due now, and those to come."""
    slot = next_slot(schedule, schedule.cursor)
    while slot is not None:
        due = max(now, due_at(schedule, slot))
        yield due, schedule.name, slot, schedule.job, str(schedule.definition.kind)
        slot = next_slot(schedule, max(slot, now))
