"""Two sets of definitions compared: jobs, their fields, and what each would start in a window of time.

Both are expanded as if they were added at the start of the window, so a pause or a move by a person is no
difference. An interval counts from 1970 and jitter from the name: equal definitions fire at equal seconds.
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from heapq import merge
from itertools import islice, pairwise, takewhile, zip_longest
from typing import Any, NamedTuple

from ..core.cron.zone import Zone, clock_change
from ..core.definition import JobDefinition, Kind
from ..core.errors import InputError
from ..core.fire_diff import FireDiff, diff_fires
from ..core.mask import masked
from ..core.model import Schedule
from ..core.upcoming import count_upcoming, upcoming_slots
from .definition_fields import fields_of
from .definitions import base_name, fields_with
from .upcoming import new_schedules

_YEAR = 366 * 86_400
MAX_FIRES = 1_000_000  # of all jobs of one side
_MAX_LATER = 50_000  # fires beyond the window that are compared


class FieldChange(NamedTuple):
    """A field of a definition, its secrets hidden; none where it is not written."""

    field: str
    old: Any
    new: Any


@dataclass(frozen=True, slots=True)
class ScheduleDiff:
    """One schedule of a job on both sides."""

    name: str
    kind: Kind
    zone: Zone
    counts: tuple[int, int]  # of fires on each side
    fires: FireDiff
    later: int | None = None  # if the times change and no fire in the window does: the first that will
    clock: str = ""  # what the clock does, if there are only differences on days when it changes

    @property
    def changes(self) -> bool:
        return any(self.fires) or self.later is not None


@dataclass(frozen=True, slots=True)
class JobDiff:
    """One job on both sides."""

    name: str
    change: str  # added, removed, changed or same
    fields: tuple[FieldChange, ...]
    schedules: tuple[ScheduleDiff, ...]


class BusiestSecond(NamedTuple):
    """The first second at which most jobs start, and how many."""

    second: int
    jobs: int


@dataclass(frozen=True, slots=True)
class DefinitionSet:
    """The jobs of one side, and what they fire from one second to before another."""

    jobs: Mapping[str, JobDefinition]
    schedules: Mapping[str, Schedule]
    fires: Mapping[str, Sequence[int]]

    def busiest(self) -> BusiestSecond | None:
        """None if nothing starts."""
        starting = [each for each in self.schedules.values() if each.definition.kind is not Kind.STOP]
        starts = {(second, schedule.job) for schedule in starting for second in self.fires[schedule.name]}
        together = Counter(second for second, _ in starts)
        if not together:
            return None
        most = max(together.values())
        return BusiestSecond(min(second for second, number in together.items() if number == most), most)


@dataclass(frozen=True, slots=True)
class JobSetDiff:
    """All jobs of both sides, in order of their names."""

    jobs: tuple[JobDiff, ...]
    busiest: tuple[BusiestSecond | None, BusiestSecond | None]

    @property
    def changed(self) -> list[JobDiff]:
        return [job for job in self.jobs if job.change != "same"]

    @property
    def is_busier(self) -> bool:
        """Whether more jobs than before start at one second."""
        before, after = (each.jobs if each else 0 for each in self.busiest)
        return after > max(before, 1)


def diff_jobs(before: Iterable[JobDefinition], after: Iterable[JobDefinition], start: int, end: int) -> JobSetDiff:
    """Compare what two sets of definitions say and start."""
    old, new = _expand(before, start, end), _expand(after, start, end)
    names = sorted(old.jobs.keys() | new.jobs.keys())
    return JobSetDiff(tuple(_diff_job(name, old, new) for name in names), (old.busiest(), new.busiest()))


def _expand(jobs: Iterable[JobDefinition], start: int, end: int) -> DefinitionSet:
    by_name = {job.name: job for job in jobs}
    schedules = {schedule.name: schedule for schedule in new_schedules(by_name.values(), start)}
    if sum(count_upcoming(schedule, start, end) for schedule in schedules.values()) > MAX_FIRES:
        raise InputError(f"there are more than {MAX_FIRES:,} starts in this window: make it shorter with --hours")
    fires = {name: list(_fires(schedule, start, end)) for name, schedule in schedules.items()}
    return DefinitionSet(by_name, schedules, fires)


def count_overlaps(job: JobDefinition, run_time: float, start: int, end: int) -> int:
    """How many starts of a job come before a run of that many seconds, begun at the start before, has ended."""
    starting = [schedule for schedule in new_schedules([job], start) if schedule.definition.kind is Kind.START]
    starts = merge(*(_fires(schedule, start, end) for schedule in starting))
    return sum(later - earlier < run_time for earlier, later in pairwise(starts))


def _fires(schedule: Schedule, start: int, end: int) -> Iterator[int]:
    return takewhile(lambda due: due < end, (slot.due for slot in upcoming_slots(schedule, start, start)))


def _diff_job(name: str, old: DefinitionSet, new: DefinitionSet) -> JobDiff:
    a, b = old.jobs.get(name), new.jobs.get(name)
    fields = _diff_fields(_all_fields(a), _all_fields(b)) if a and b else ()
    names = dict.fromkeys(one.name for job in (a, b) if job for one in job.schedules)
    schedules = tuple(_diff_schedule(each, old, new) for each in names if each in old.fires or each in new.fires)
    if a is None or b is None:
        change = "removed" if a else "added"
    else:
        change = "changed" if fields or any(each.changes for each in schedules) else "same"
    return JobDiff(name, change, fields, schedules)


def _diff_schedule(name: str, old: DefinitionSet, new: DefinitionSet) -> ScheduleDiff:
    a, b = old.schedules.get(name), new.schedules.get(name)
    known = [schedule for schedule in (b, a) if schedule]
    zones = [schedule.definition.times.zone for schedule in known]
    counts = (len(old.fires.get(name, ())), len(new.fires.get(name, ())))
    fires = diff_fires(old.fires.get(name, ()), new.fires.get(name, ()))
    later = _first_difference(a, b) if a and b and not any(fires) else None
    seconds = [later] if later is not None else sorted(fires.seconds)
    return ScheduleDiff(
        name=name, kind=known[0].definition.kind, zone=zones[0], counts=counts, fires=fires, later=later,
        clock=_common_clock_change(zones, seconds) if len(known) > 1 else "",
    )  # fmt: skip


def _common_clock_change(zones: Sequence[Zone], seconds: Iterable[int]) -> str:
    """What the clock does at the first of these seconds; nothing if on the day of one of them it does nothing."""
    first = ""
    for second in seconds:
        reason = next(filter(None, (clock_change(zone, second) for zone in zones)), "")
        if not reason:
            return ""
        first = first or reason
    return first


def _first_difference(a: Schedule, b: Schedule) -> int | None:
    """The first second within a year at which only one of the two fires."""
    if (a.definition.times, a.definition.policy) == (b.definition.times, b.definition.policy):
        return None
    start = a.cursor + 1
    fires = [islice(_fires(schedule, start, start + _YEAR), _MAX_LATER) for schedule in (a, b)]
    different = (pair for pair in zip_longest(*fires) if pair[0] != pair[1])
    return min((second for second in next(different, ()) if second is not None), default=None)


def _all_fields(job: JobDefinition) -> dict[str, Any]:
    """What a job file says; a schedule that was added to the job stands below its name."""
    if not job.schedules:
        return fields_of(job)
    names = {base_name(one) for one in job.schedules}
    first, *others = sorted(names, key=lambda name: (name != job.name, name))
    own, of_job = fields_with(job, first), fields_of(job, ())
    added = {
        name: {key: value for key, value in fields_with(job, name).items() if key not in of_job} for name in others
    }
    return {**own, "schedules": added} if added else own


def _diff_fields(old: Mapping[str, Any], new: Mapping[str, Any]) -> tuple[FieldChange, ...]:
    a, b = dict(_flatten(old)), dict(_flatten(new))
    shown_a, shown_b = dict(_flatten(masked(old))), dict(_flatten(masked(new)))
    changed = [path for path in {**a, **b} if path not in a or path not in b or a[path] != b[path]]
    return tuple(FieldChange(path, shown_a.get(path), shown_b.get(path)) for path in changed)


def _flatten(value: Any, path: str = "") -> Iterator[tuple[str, Any]]:
    """Each value with its path; steps stand below their names, which have an order."""
    if isinstance(value, list) and value and all(isinstance(item, dict) and "name" in item for item in value):
        yield path, [item["name"] for item in value]
        value = {item["name"]: {key: inner for key, inner in item.items() if key != "name"} for item in value}
    if isinstance(value, Mapping) and value:
        for key, inner in value.items():
            yield from _flatten(inner, f"{path}.{key}" if path else str(key))
    else:
        yield path, value
