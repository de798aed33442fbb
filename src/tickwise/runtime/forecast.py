"""What is about to run, by time: an index over all schedules, built from the store and swapped in whole.

It looks `lookahead` ahead; where that would be more runs than a process should hold, it looks less far ahead.
Simple schedules are expanded together in NumPy; all others are walked one by one (`core.upcoming`).
"""

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from itertools import takewhile
from typing import TypeAlias

import numpy as np

from ..core.cron.batch import expand
from ..core.index import RunIndex
from ..core.jobstate import is_simple
from ..core.model import Schedule
from ..core.slots import count_slots, next_slot
from ..core.upcoming import DueSlot, due_slots, resumed

Walk: TypeAlias = Callable[[Schedule, int, int], Iterator[DueSlot]]
MOST_RUNS = 2_000_000  # about 24 MB


class Forecast:
    """The index, as of the last time it was built.

    `walk` says which slots stand in it. A ticker looks at every slot that is due; `upcoming_slots` leaves out
    those that `max_runs` will not let run.
    """

    def __init__(self, *, lookahead: int = 3_600, most: int = MOST_RUNS, walk: Walk = due_slots) -> None:
        self.lookahead = lookahead
        self._most = most
        self._walk = walk
        self.index = RunIndex()
        self.until = 0  # the index is complete up to here
        self.jobs: dict[str, str] = {}  # by schedule

    def rebuild(self, schedules: Sequence[Schedule], second: int) -> None:
        """Look ahead from a second on; pending slots stand at that second."""
        live = [s for s in schedules if resumed(s) is not None]
        self.jobs = {s.name: s.job for s in live}
        ahead = self.lookahead
        while (index := self._built(live, second, second + ahead)) is None:
            ahead //= 2
        self.index.swap(index)
        self.until = second + ahead

    def _built(self, schedules: Sequence[Schedule], start: int, end: int) -> RunIndex | None:
        """The index, or nothing if it would be too large."""
        simple = [s for s in schedules if is_simple(s)]
        others = [s for s in schedules if not is_simple(s)]
        kinds = Counter(s.definition.times for s in simple)
        expected = sum(number * times.count(start - 1, end - 1) for times, number in kinds.items())
        expected += sum(count_slots(s, start - 1, end - 1) for s in others)
        if expected > self._most and end - start > 1:
            return None
        times, positions = expand([s.definition.times for s in simple], start, end)
        undecided = times > np.array([s.cursor for s in simple], dtype=np.int64)[positions]
        overdue = [(start, n) for n, s in enumerate(simple) if _is_overdue(s, start)]
        walked = [(due, len(simple) + n) for n, s in enumerate(others) for due in self._dues(s, start, end)]
        extra = np.array(overdue + walked, dtype=np.int64).reshape(-1, 2)
        return RunIndex.from_arrays(
            np.concatenate([times[undecided], extra[:, 0]]),
            np.concatenate([positions[undecided], extra[:, 1]]),
            ids=[s.name for s in simple] + [s.name for s in others],
        )

    def _dues(self, schedule: Schedule, start: int, end: int) -> Iterator[int]:
        found = takewhile(lambda each: each.due < end, self._walk(schedule, start, start))
        return (each.due for each in found)


def _is_overdue(schedule: Schedule, second: int) -> bool:
    slot = next_slot(schedule, schedule.cursor)
    return slot is not None and slot < second
