"""When functions really ran, by a clock that all processes share, and which of them ran at once and must not.

An attempt begins anew when its lease is over, and its worker has stopped by then; so two attempts of a run, or two
runs of a job that runs one by one, never execute at once. One exception is known (S42): a process that stood
still, because it was stopped or the machine had no time for it. Its code goes on until it notices, a moment after
it was woken. So each process also writes down when it stood still, and a fleet when it has stopped one.
"""

import os
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from functools import cache
from itertools import groupby
from pathlib import Path
from threading import Event, Thread
from time import monotonic
from typing import Any, NamedTuple

SPANS = "spans"
STALL = 0.2  # seconds after which a process counts as one that stood still
_LOOK_EVERY = 0.05
_NOTICED = 1.0  # seconds in which a process notices that it stood still (S42)


class Span(NamedTuple):
    """A function's time in a process; one that was killed has no end, and no span."""

    job: str
    run: str
    attempt: int
    pid: int
    begun: float
    ended: float


class Freeze(NamedTuple):
    """The time for which a process stood still."""

    pid: int
    begun: float
    ended: float


class Crossing(NamedTuple):
    """Two spans that were not to cross, and for how long both lasted."""

    first: Span
    second: Span

    @property
    def seconds(self) -> float:
        return min(self.first.ended, self.second.ended) - self.second.begun


@contextmanager
def measured(run: Any) -> Iterator[None]:
    """A middleware: write the span of a function when it ends, however it ends."""
    _watch_stalls(os.getpid())
    begun = monotonic()
    try:
        yield
    finally:
        _write(f"{run.job} {run.id} {run.attempt} {os.getpid()} {begun} {monotonic()}")


@cache
def _watch_stalls(pid: int) -> None:
    """Once in each process: write down for how long a thread that only waits was not woken."""

    def watch() -> None:
        last = monotonic()
        while not Event().wait(_LOOK_EVERY):
            last, before = monotonic(), last
            if last - before > _LOOK_EVERY + STALL:
                _write(f"{pid} {before} {last}")

    Thread(target=watch, name="stalls", daemon=True).start()


def _write(line: str) -> None:
    spans = os.open(SPANS, os.O_WRONLY | os.O_APPEND)
    os.write(spans, f"{line}\n".encode())
    os.close(spans)


def read_spans(text: str) -> tuple[list[Span], list[Freeze]]:
    """One a line: six words for a span, three for a time in which a process stood still."""
    rows = [line.split() for line in text.splitlines()]
    spans = [
        Span(job, run, int(attempt), int(pid), float(begun), float(ended))
        for job, run, attempt, pid, begun, ended in (row for row in rows if len(row) == len(Span._fields))
    ]
    stalls = [row for row in rows if len(row) == len(Freeze._fields)]
    return spans, [Freeze(int(pid), float(begun), float(ended)) for pid, begun, ended in stalls]


def crossings(spans: Iterable[Span], one_by_one: Sequence[str]) -> list[Crossing]:
    """Attempts of one run, and runs of jobs that run one by one, that executed at the same time."""
    by_key = sorted(spans, key=lambda span: (_key(span, one_by_one), span.begun))
    found = []
    for _, group in groupby(by_key, lambda span: _key(span, one_by_one)):
        last: Span | None = None
        for span in group:
            if last and span.begun < last.ended:
                found.append(Crossing(last, span))
            last = span if last is None else max(last, span, key=lambda each: each.ended)
    return found


def _key(span: Span, one_by_one: Sequence[str]) -> str:
    return span.job if span.job in one_by_one else span.run


def is_explained(crossing: Crossing, freezes: Iterable[Freeze]) -> bool:
    """Whether the process of the older span stood still meanwhile, or just before (S42)."""
    old = crossing.first
    return any(
        each.pid == old.pid and each.ended > old.begun - _NOTICED and each.begun < old.ended for each in freezes
    )


def read_file(file: Path) -> tuple[list[Span], list[Freeze]]:
    return read_spans(file.read_text())
