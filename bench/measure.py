"""Timing: contenders run in turns, their input is made off the clock, and the best time of each counts.

The best, because on a shared machine every disturbance adds time; in turns, so that a slow minute hits all of
them; in processor time, because a long measurement is interrupted more often than a short one, and the slower
contender must not pay for that. A `Figure` is a measured value that has not yet been judged.
"""

import gc
import tracemalloc
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from math import inf
from time import get_clock_info, perf_counter, thread_time
from typing import Any, NamedTuple, TypeAlias

Prepare: TypeAlias = Callable[[], Callable[[], Any]]  # called off the clock, returns what is timed
Progress: TypeAlias = Callable[[str], None]  # gets the current activity, and notes
Figure: TypeAlias = tuple[str, float, str, tuple[str, float] | None]  # name, ours, unit, peer
Figures: TypeAlias = Iterator[Figure]

_clock = thread_time if get_clock_info("thread_time").resolution < 1e-6 else perf_counter  # coarse on Windows


class BestTime(NamedTuple):
    seconds: float  # the best
    result: Any  # the last


def best_of(repeats: int, *contenders: Prepare) -> list[BestTime]:
    """The best time of each contender, and its last result."""
    timed = [BestTime(inf, None)] * len(contenders)
    for _ in range(repeats):
        for i, prepare in enumerate(contenders):
            work = prepare()
            with _collector_off():
                begun = _clock()
                result = work()
                took = _clock() - begun
            timed[i] = BestTime(min(took, timed[i].seconds), result)
    return timed


def in_us(timed: BestTime, count: int = 1) -> float:
    """The µs of one of `count` calls that were timed together."""
    return timed.seconds / count * 1e6


def in_ms(timed: BestTime) -> float:
    return timed.seconds * 1e3


def call_each(work: Callable[..., Any], arguments: Sequence[tuple[Any, ...]]) -> Prepare:
    """A contender that calls `work` once with each of these arguments; divide its time by their number."""

    def run() -> None:
        for given in arguments:
            work(*given)

    return lambda: run


def retained_bytes(make: Callable[[], Any]) -> int:
    """The bytes that the result of `make` holds."""
    tracemalloc.start()
    try:
        before, _ = tracemalloc.get_traced_memory()
        made = make()
        after, _ = tracemalloc.get_traced_memory()
        del made
    finally:
        tracemalloc.stop()
    return after - before


@contextmanager
def _collector_off() -> Iterator[None]:
    was_on = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_on:
            gc.enable()
