"""What will run, in time order.

The nearest are found without a look at all: a short while ahead first, and further as long as they are too few.
"""

from collections.abc import Iterable, Iterator
from heapq import merge
from itertools import dropwhile, islice, takewhile

from ..core.instant import to_datetime
from ..core.model import Schedule
from ..core.slots import due_at, next_slot
from ..stores.contract import Store
from ..stores.records import MICRO, ScheduleFilter
from .values import Coming

_MINUTE, _PAGE = 60, 1_000


async def coming(store: Store, hours: float, limit: int) -> list[Coming]:
    """At the times at which it will really start; nothing of what is paused (S29)."""
    now = await store.now() // MICRO
    if any(pause.until is None for pause in await store.insights.pauses()):
        return []
    until = now + round(hours * 3_600)
    ahead = min(_MINUTE, until - now)
    while len(found := await _before(store, now, now + ahead, limit)) < limit and now + ahead < until:
        enough = limit * ahead * 5 // 4 // max(1, len(found))
        ahead = min(until - now, max(2 * ahead, min(16 * ahead, enough)))
    return found


async def _before(store: Store, now: int, until: int, limit: int) -> list[Coming]:
    """Before a second: nobody who need not be looked at by then can be among them.

    What waits is looked at within a minute (S15), and counts as due now.
    """
    wanted = ScheduleFilter(due_before=max(until, now + _MINUTE + 1), paused=False)
    schedules: list[Schedule] = []
    overdue: list[Coming] = []  # in order of their names, as the pages are
    after: str | None = None
    while True:
        page = await store.insights.schedules(wanted, after, _PAGE)
        listed = [row.schedule for row in page.items]
        overdue += in_order(listed, now, now, now + 1, limit - len(overdue))
        if len(overdue) == limit:
            return overdue
        schedules, after = schedules + listed, page.after
        if after is None:
            return in_order(schedules, now, now, until, limit)


def in_order(schedules: Iterable[Schedule], now: int, start: int, end: int, limit: int) -> list[Coming]:
    """The first of what these will start from one second to before another; what is overdue starts now."""
    known = {schedule.name: schedule for schedule in schedules if schedule.paused is None}
    dues = merge(*(_dues(schedule, now, start) for schedule in known.values()))
    in_time = takewhile(lambda found: found[0] < end, dropwhile(lambda found: found[0] < start, dues))
    return [_coming(known[name], slot, due) for due, name, slot in islice(in_time, limit)]


def _coming(schedule: Schedule, slot: int, due: int) -> Coming:
    definition = schedule.definition
    zone = definition.times.zone.name
    return Coming(to_datetime(due), schedule.name, schedule.job, to_datetime(slot), str(definition.kind), zone)


def _dues(schedule: Schedule, now: int, start: int) -> Iterator[tuple[int, str, int]]:
    """The oldest pending slot, which is due now, and those to come; from before `start`, for what is delayed."""
    early = start - (schedule.definition.policy.jitter or 0) - 1
    slot = next_slot(schedule, schedule.cursor if start <= now else max(schedule.cursor, early))
    while slot is not None:
        due = max(now, due_at(schedule, slot))
        yield due, schedule.name, slot
        slot = next_slot(schedule, max(slot, now))
