"""`tickwise upcoming`: what will run, in time order."""

from collections import Counter
from collections.abc import Iterator
from heapq import merge
from itertools import islice, takewhile
from typing import Annotated, NamedTuple

import typer

from ..core.change import Added, apply_change
from ..core.instant import iso, to_datetime
from ..core.model import Schedule
from ..core.slots import count_slots, due_at, next_slot
from .arguments import read_second
from .jobs import JobsPath, read_jobs
from .output import AsJson, print_json, print_line, print_table

_EACH = 3  # runs of one schedule that people are shown before the rest is only counted


class _Coming(NamedTuple):
    due: int
    schedule: str
    slot: int


def upcoming(
    path: JobsPath,
    hours: Annotated[float, typer.Option(min=0.01, max=24 * 366, help="How far to look ahead.")] = 24,
    count: Annotated[int, typer.Option("-n", min=1, max=100_000, help="How many runs to list.")] = 20,
    start: Annotated[str | None, typer.Option("--from", help="From this time on; default: now.")] = None,
    *,
    every: Annotated[bool, typer.Option("--all", help="List frequent schedules in full, too.")] = False,
    as_json: AsJson = False,
) -> None:
    """List the runs to come, earliest first, at the times at which they will really start."""
    first = read_second(start, "UTC")
    stop = first + round(hours * 3600)
    definitions = [s for job in read_jobs(path) if job.enabled for s in job.schedules]
    schedules = {s.name: apply_change(None, Added(s), first - 1).schedules[0] for s in definitions}
    coming = takewhile(lambda run: run.due < stop, merge(*(_slots(s, first) for s in schedules.values())))
    if as_json:
        print_json([_as_json(run, schedules[run.schedule]) for run in islice(coming, count)])
        return
    listed = list(islice(coming if every else _few_of_each(coming, len(schedules)), count))
    if not listed:
        print_line(f"Nothing is due in the {hours:g} hours from {iso(first)} on.")
        return
    print_table(["when", "schedule", "what it means"], [_row(run, schedules[run.schedule]) for run in listed])
    shown = Counter(run.schedule for run in listed)
    left = {name: count_slots(s, first - 1, stop - 1) - shown[name] for name, s in schedules.items()}
    more = ", ".join(f"{name} {n:,}" for name, n in sorted(left.items()) if n > 0)
    if more:
        print_line(f"More in these {hours:g} hours: {more}.", "dim")


def _slots(schedule: Schedule, first: int) -> Iterator[_Coming]:
    slot = next_slot(schedule, first - 1)
    while slot is not None:
        yield _Coming(due_at(schedule, slot), schedule.name, slot)
        slot = next_slot(schedule, slot)


def _few_of_each(coming: Iterator[_Coming], schedules: int) -> Iterator[_Coming]:
    """The first runs of each schedule, so that a frequent one does not hide the others."""
    seen: Counter[str] = Counter()
    full = 0
    for run in coming:
        seen[run.schedule] += 1
        if seen[run.schedule] <= _EACH:
            yield run
        full += seen[run.schedule] == _EACH
        if full == schedules:
            return


def _row(run: _Coming, schedule: Schedule) -> tuple[str, str, str]:
    times = schedule.definition.times
    return f"{to_datetime(run.due, times.zone.tzinfo):%a %Y-%m-%d %H:%M:%S %z}", run.schedule, times.explain()


def _as_json(run: _Coming, schedule: Schedule) -> dict[str, str]:
    return {
        "schedule": run.schedule,
        "job": schedule.job,
        "kind": schedule.definition.kind,
        "slot": iso(run.slot),
        "scheduled_at": iso(run.due),
    }
