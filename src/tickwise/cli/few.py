"""A list in which a frequent schedule does not hide the others."""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from typing import TypeVar

T = TypeVar("T")
_EACH = 3


def few_of_each(coming: Iterable[T], schedules: int, name: Callable[[T], str]) -> Iterator[T]:
    """The first runs of each of so many schedules."""
    seen: Counter[str] = Counter()
    full = 0
    for run in coming:
        seen[name(run)] += 1
        if seen[name(run)] <= _EACH:
            yield run
        full += seen[name(run)] == _EACH
        if full == schedules:
            return
