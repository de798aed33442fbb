"""Schedules that fail and recover again and again: told once, and then not until they have been steady."""

from collections import OrderedDict, deque

from ...stores.records import MICRO

MAX_CHANGES = 6  # of a subject within the window; the next one is told as the last
WINDOW = 3_600 * MICRO
_MAX_SUBJECTS = 10_000


class FlapFilter:
    """Counts how often each subject changed between failing and well. All nodes see the same events."""

    def __init__(self) -> None:
        self._changes: OrderedDict[str, deque[int]] = OrderedDict()
        self._failing: dict[str, bool] = {}

    def changes(self, subject: str, at: int, *, failing: bool) -> int:
        """Note an event, and say how many changes there were in the window that ends with it."""
        times = self._changes.setdefault(subject, deque())
        while times and times[0] <= at - WINDOW:
            times.popleft()
        if self._failing.get(subject, False) is not failing:
            times.append(at)
        self._failing[subject] = failing
        self._changes.move_to_end(subject)
        if len(self._changes) > _MAX_SUBJECTS:
            oldest, _ = self._changes.popitem(last=False)
            self._failing.pop(oldest, None)
        return len(times)
