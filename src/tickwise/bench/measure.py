"""The stopwatch: contenders run in turns, what they need is made off the clock, and the best time of each counts.

The best, because on a shared machine everything that disturbs a measurement adds to it; in turns, so that a slow
minute hits all of them; in time on the processor, because a long measurement is interrupted more surely than a
short one, and the slower contender must not pay for that. What is made of the times, still without a verdict, is
a `Figure`.
"""

import gc
import tracemalloc
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from math import inf
from time import get_clock_info, perf_counter, thread_time
from typing import Any, NamedTuple, TypeAlias

Contender: TypeAlias = Callable[[], Callable[[], Any]]  # called off the clock, returns what is timed


Progress: TypeAlias = Callable[[str], None]  # told the name of each row, and notes
Figure: TypeAlias = tuple[str, float, str, tuple[str, float] | None]  # name, ours, unit, peer
Figures: TypeAlias = Iterator[Figure]

_clock = thread_time if get_clock_info("thread_time").resolution < 1e-6 else perf_counter  # coarse on Windows


class Timed(NamedTuple):
    seconds: float  # the best
    result: Any  # the last


def best_of(repeats: int, *contenders: Contender) -> list[Timed]:
    """The best time of each contender, and what it answered."""
    timed = [Timed(inf, None)] * len(contenders)
    for _ in range(repeats):
        for i, prepare in enumerate(contenders):
            work = prepare()
            with _no_collector():
                begun = _clock()
                result = work()
                took = _clock() - begun
            timed[i] = Timed(min(took, timed[i].seconds), result)
    return timed


def in_us(timed: Timed, count: int = 1) -> float:
    """The µs of one of `count` things that were timed together."""
    return timed.seconds / count * 1e6


def in_ms(timed: Timed) -> float:
    return timed.seconds * 1e3


def each(work: Callable[..., Any], arguments: Sequence[tuple[Any, ...]]) -> Contender:
    """A contender that calls `work` once with each of these; divide its time by how many they are."""

    def run() -> None:
        for given in arguments:
            work(*given)

    return lambda: run


def retained(make: Callable[[], Any]) -> int:
    """The bytes that are still held by what `make` made."""
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
def _no_collector() -> Iterator[None]:
    was_on = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_on:
            gc.enable()
