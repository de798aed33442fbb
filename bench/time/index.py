"""How fast the run index is built and queried, beside plain Python: `sorted()` and `bisect` over tuples."""

from bisect import bisect_left
from collections.abc import Callable, Sequence
from functools import partial
from itertools import cycle
from random import Random
from time import perf_counter
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from tickwise.core.cron import Recurrence, parse
from tickwise.core.index import RunIndex, ScheduledRun
from tickwise.core.timeparse import floor_second, to_datetime

from ..measure import Figure, Figures, Progress, best_of, call_each, in_ms, in_us, retained_bytes
from . import workload
from .workload import TimeSize

_Tuples: TypeAlias = list[tuple[int, str]]

_HOUR = 3600
_WINDOWS = {"1 min": 60, "1 h": _HOUR, "1 day": 86_400}
_START = floor_second(workload.NOW) // _HOUR * _HOUR
_EVER = (-(1 << 40), 1 << 40)


def _measure_expansion(size: TimeSize, _: Progress) -> Figures:
    """From schedules to an ordered index; the peer only sorts finished tuples, which are grouped by schedule."""
    for count in sorted({*size.runs, size.hour}):
        crons = _every_minute(min(size.schedules, count // 10))
        end = _START + 60 * (count // len(crons))
        yield _measure_build(size, f"expand and order {count:,} runs", crons, end)
    memory = retained_bytes(partial(RunIndex.build, crons, _START, end))
    yield f"memory of {count:,} runs, each", memory / count, "bytes", None
    mixed = {
        f"job-{i}": parse(*{0: ("@every 90s",), 1: ("*/20 * * * * *",)}.get(i % 10, schedule))
        for i, schedule in enumerate(workload.schedules(size.schedules))
    }
    yield _measure_build(size, f"expand and order 1 h of {len(mixed):,} mixed schedules", mixed, _START + _HOUR)
    for what, crons in _with_seconds(count).items():
        name, ours, unit, peer = _measure_build(size, f"expand and order {what}", crons, _START + _HOUR)
        yield from ((name, ours, unit, peer), (f"{name}, at most", ours, unit, None))


def _with_seconds(count: int) -> dict[str, dict[str, Recurrence]]:
    """Schedules with six fields that have about so many runs in an hour: alike, and spread over the minute."""
    return {
        f"{count:,} runs every 20 s": {name: parse("*/20 * * * * *") for name in _ids(max(1, count // 180))},
        f"{count:,} runs at distinct seconds": {
            name: parse(f"{number % 60} * * * * *") for number, name in enumerate(_ids(max(1, count // 60)))
        },
    }


def _measure_build(size: TimeSize, name: str, crons: dict[str, Recurrence], end: int) -> Figure:
    tuples = sorted(_as_tuples(RunIndex.build(crons, _START, end)), key=lambda run: run[1])
    ours, theirs = best_of(
        size.repeats_for(len(tuples)),
        lambda: partial(RunIndex.build, crons, _START, end),
        lambda: partial(sorted, tuples),
    )
    return name, in_ms(ours), "ms", ("sorted()", in_ms(theirs))


def _measure_order(size: TimeSize, _: Progress) -> Figures:
    """Unsorted runs: arrays for us, tuples for the peer; in the last rows, tuples and objects for us."""
    for count in size.runs:
        random = np.random.default_rng(count)
        ids = _ids(min(size.schedules, count))
        times, jobs = random.integers(_START, _START + 86_400, count), random.integers(0, len(ids), count)
        tuples = [(time, ids[job]) for time, job in zip(times.tolist(), jobs.tolist(), strict=True)]
        works = (
            partial(RunIndex.from_arrays, times, jobs, ids=ids),
            partial(RunIndex, tuples),
            partial(RunIndex, [ScheduledRun(job, to_datetime(time)) for time, job in tuples]),
            partial(sorted, tuples),
        )
        timed = best_of(size.repeats_for(count), *(partial(lambda work: work, work) for work in works))
        ours, from_tuples, from_objects, theirs = map(in_ms, timed)
        yield f"order {count:,} unsorted runs", ours, "ms", ("sorted()", theirs)
    yield f"order {count:,} unsorted runs, at most", ours, "ms", None
    yield f"order {count:,} unsorted runs, from tuples", from_tuples, "ms", ("sorted()", theirs)
    yield f"order {count:,} unsorted runs, from tuples, at most", from_tuples, "ms", None
    yield f"order {count:,} unsorted runs, from ScheduledRuns, at most", from_objects, "ms", None


def _measure_queries(size: TimeSize, _: Progress) -> Figures:
    """One run per second: query a random minute, and peek for the first run after a random second."""
    took = []
    for count in size.runs:
        index, tuples = _evenly_spaced(_START + np.arange(count))
        places = [_START + Random(at).randrange(count) for at in range(size.queries)]
        ours, theirs = _time_calls(
            size, index.query, partial(_bisect_window, tuples), [(at, at + 60) for at in places]
        )
        took.append(ours)
        yield f"query 1 min of {count:,} runs", ours, "µs", ("bisect", theirs)
    yield f"query, growth from {size.runs[0]:,} to {count:,} runs", took[-1] / took[0], "×", None
    peek, _first = _time_calls(size, index.peek, partial(tuples.__getitem__, 0), [()] * size.queries)
    yield f"peek into {count:,} runs", peek, "µs", None
    ours, theirs = _time_calls(size, index.peek, partial(_first_after, tuples), [(at,) for at in places])
    yield f"peek into {count:,} runs after a time", ours, "µs", ("bisect", theirs)


def _measure_windows(size: TimeSize, _: Progress) -> Figures:
    """The largest index, so dense that a window has the given results; the last row also reads them."""
    for window, seconds in _WINDOWS.items():
        for results in size.results:
            index, tuples = _evenly_spaced(_START + np.arange(size.most) * seconds // results)
            places = [Random(at).randint(_START, tuples[-1][0] - seconds) for at in range(size.queries)]
            windows = [(at, at + seconds) for at in places]
            ours, theirs = _time_calls(size, index.query, partial(_bisect_window, tuples), windows)
            yield f"query {window}, {results:,} results", ours, "µs", ("bisect", theirs)
    few = windows[: max(1, size.queries // 100)]
    ours, theirs = _time_calls(
        size, lambda *given: list(index.query(*given)), partial(_bisect_window, tuples), few
    )
    yield f"query and read {window}, {results:,} results", ours, "µs", ("bisect", theirs)


def _measure_loop(size: TimeSize, _: Progress) -> Figures:
    """A scheduler without its jobs, on a virtual clock: a query every second, a new hour ahead every 30 seconds.

    The rows are percentiles, so every pass counts, and the garbage collector is on.
    """
    crons = _every_minute(size.schedules)
    index = RunIndex()
    rebuilds, queries = [], []
    for second in range(_START, _START + size.loop):
        begun = perf_counter()
        if second % 30 == 0:
            index.swap(RunIndex.build(crons, second, second + _HOUR))
            rebuilds.append(perf_counter() - begun)
            begun = perf_counter()
        index.query(second, second + 1)
        queries.append(perf_counter() - begun)
    for what, took, unit, scale in (("query", queries, "µs", 1e6), ("rebuild", rebuilds, "ms", 1e3)):
        for percent in (50, 95, 99):
            value = scale * float(np.percentile(took, percent))
            yield f"loop over {size.hour:,} runs, {what} p{percent}", value, unit, None


MEASURES = {
    "from schedules to an index": _measure_expansion,
    "from unsorted runs to an index": _measure_order,
    "queries and peeks": _measure_queries,
    "windows": _measure_windows,
    "the loop": _measure_loop,
}


def _every_minute(count: int) -> dict[str, Recurrence]:
    return {name: parse("* * * * *") for name in _ids(count)}


def _ids(count: int) -> list[str]:
    return [f"job-{i}" for i in range(count)]


def _evenly_spaced(times: NDArray[np.int64]) -> tuple[RunIndex, _Tuples]:
    """The same runs, of up to ten thousand jobs, as an index and as a sorted list."""
    ids = _ids(min(10_000, len(times)))
    index = RunIndex.from_arrays(times, np.arange(len(times)) % len(ids), ids=ids)
    return index, sorted(zip(times.tolist(), cycle(ids), strict=False))


def _as_tuples(index: RunIndex) -> _Tuples:
    runs = index.query(*_EVER)
    return [(second, run.job_id) for second, run in zip(runs.times.tolist(), runs, strict=True)]


def _bisect_window(runs: _Tuples, start: int, end: int) -> _Tuples:
    return runs[bisect_left(runs, (start, "")) : bisect_left(runs, (end, ""))]


def _first_after(runs: _Tuples, second: int) -> tuple[int, str] | None:
    at = bisect_left(runs, (second + 1, ""))
    return runs[at] if at < len(runs) else None


def _time_calls(
    size: TimeSize, ours: Callable[..., object], peer: Callable[..., object], arguments: Sequence[tuple[int, ...]]
) -> list[float]:
    """The µs of one call, ours and the peer's."""
    timed = best_of(size.repeats_for(len(arguments)), call_each(ours, arguments), call_each(peer, arguments))
    return [in_us(one, len(arguments)) for one in timed]
