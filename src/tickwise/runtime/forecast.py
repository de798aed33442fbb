"""What is about to run, by time: an index over all schedules, built from the store and swapped in whole.

It looks `lookahead` ahead; where that would be more runs than a process should hold, it looks less far ahead.
Plain schedules are expanded together in NumPy; those that a person moved, paused in part or bounded are walked
one by one.
"""

from collections import Counter
from collections.abc import Iterator, Sequence

import numpy as np

from ..core.cron.batch import expand
from ..core.index import RunIndex
from ..core.model import Schedule
from ..core.slots import count_slots, due_at, next_slot
from ..stores.insights_contract import Insights
from ..stores.records import ScheduleFilter
from ..stores.validation import all_pages

MOST_RUNS = 2_000_000  # about 24 MB
_PAGE = 1_000


async def all_schedules(insights: Insights, *, local: bool = False) -> list[Schedule]:
    """Every schedule, page by page; or only those that no claim finds."""
    wanted = ScheduleFilter(local=local)
    rows = await all_pages(lambda after: insights.schedules(wanted, after, _PAGE))
    return [row.schedule for row in rows]


class Forecast:
    """The index, as of the last time it was built."""

    def __init__(self, *, lookahead: int = 3_600, most: int = MOST_RUNS) -> None:
        self.lookahead = lookahead
        self._most = most
        self.index = RunIndex()
        self.until = 0  # the index is complete up to here
        self.jobs: dict[str, str] = {}  # by schedule

    def rebuild(self, schedules: Sequence[Schedule], second: int) -> None:
        """Look ahead from a second on; pending slots stand at that second."""
        live = [s for s in schedules if s.paused is None and s.deleted_at is None]
        self.jobs = {s.name: s.job for s in live}
        ahead = self.lookahead
        while (index := self._built(live, second, second + ahead)) is None:
            ahead //= 2
        self.index.swap(index)
        self.until = second + ahead

    def _built(self, schedules: Sequence[Schedule], start: int, end: int) -> RunIndex | None:
        """The index, or nothing if it would be too large."""
        plain = [s for s in schedules if _is_plain(s)]
        special = [s for s in schedules if not _is_plain(s)]
        kinds = Counter(s.definition.times for s in plain)
        expected = sum(number * times.count(start - 1, end - 1) for times, number in kinds.items())
        expected += sum(count_slots(s, start - 1, end - 1) for s in special)
        if expected > self._most and end - start > 1:
            return None
        times, positions = expand([s.definition.times for s in plain], start, end)
        open_ = times > np.array([s.cursor for s in plain], dtype=np.int64)[positions]
        walked = [(due, len(plain) + n) for n, s in enumerate(special) for due in _dues(s, start, end)]
        overdue = [(start, n) for n, s in enumerate(plain) if _is_pending(s, start)]
        extra = np.array(walked + overdue, dtype=np.int64).reshape(-1, 2)
        return RunIndex.from_arrays(
            np.concatenate([times[open_], extra[:, 0]]),
            np.concatenate([positions[open_], extra[:, 1]]),
            ids=[s.name for s in plain] + [s.name for s in special],
        )


def _is_plain(schedule: Schedule) -> bool:
    policy = schedule.definition.policy
    bounded = policy.until is not None or policy.max_runs is not None or policy.jitter
    return not (bounded or schedule.moved or schedule.dropped or schedule.reopened or schedule.backfill)


def _is_pending(schedule: Schedule, second: int) -> bool:
    slot = next_slot(schedule, schedule.cursor)
    return slot is not None and slot < second


def _dues(schedule: Schedule, start: int, end: int) -> Iterator[int]:
    """When its slots are due, from the oldest pending on."""
    if schedule.reopened or schedule.backfill:
        yield start
    slot = next_slot(schedule, schedule.cursor)
    while slot is not None and slot < end:
        yield max(start, due_at(schedule, slot))
        slot = next_slot(schedule, max(slot, start - 1))
