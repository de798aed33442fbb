"""`tickwise upcoming PATH`: what the job files of a folder would run."""

from collections import Counter
from collections.abc import Iterator
from heapq import merge
from itertools import islice, takewhile
from pathlib import Path
from typing import NamedTuple

from ...core.change import Added, apply_change
from ...core.model import Schedule
from ...core.slots import count_slots, due_at, next_slot
from ...core.timeparse import iso, to_datetime
from ..arguments import read_second
from ..output import limit_per_schedule, print_json, print_line, print_table
from .validate import read_jobs


class _Coming(NamedTuple):
    due: int
    schedule: str
    slot: int


def upcoming_of_files(
    path: Path, hours: float, count: int, start: str | None, *, every: bool, as_json: bool
) -> None:
    """List what job files would run, whether or not anybody serves them."""
    first = read_second(start, "UTC")
    stop = first + round(hours * 3600)
    definitions = [s for job in read_jobs(path) if job.enabled for s in job.schedules]
    schedules = {s.name: apply_change(None, Added(s), first - 1).schedules[0] for s in definitions}
    coming = takewhile(lambda run: run.due < stop, merge(*(_slots(s, first) for s in schedules.values())))
    if as_json:
        print_json([_as_json(run, schedules[run.schedule]) for run in islice(coming, count)])
        return
    listed = list(
        islice(coming if every else limit_per_schedule(coming, len(schedules), lambda run: run.schedule), count)
    )
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
