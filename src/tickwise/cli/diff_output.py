"""What `tickwise diff` prints: lines for people, Markdown for a pull request, JSON for programs."""

import json
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from rich.table import Table
from rich.text import Text

from ..app.job_diff import BusiestSecond, FieldChange, JobDiff, JobSetDiff, ScheduleDiff
from ..core.cron.zone import Zone
from ..core.timeparse import format_duration, iso, to_datetime
from .markdown import code, escape
from .output import plain, print_block, print_line

_LISTED_FIRES, _JSON_FIRES = 3, 10
_MAX_VALUE = 60  # characters of a value, for people
_SINGULAR = {"appear": "appears", "vanish": "vanishes", "move": "moves"}
_MARKS = {"added": ("+", "green"), "removed": ("−", "red"), "changed": ("≠", "yellow")}


@dataclass(frozen=True, slots=True)
class DiffReport:
    """The differences of two sides, and of which window."""

    names: tuple[str, str]
    start: int
    end: int
    diff: JobSetDiff
    notes: Sequence[str] = ()

    @property
    def summary(self) -> str:
        """The counts of jobs and of fires in one sentence."""
        days = " to ".join(f"{to_datetime(at):%Y-%m-%d %H:%M}" for at in (self.start, self.end))
        jobs = [job.change for job in self.diff.jobs]
        words = {**dict(zip(_MARKS, _MARKS, strict=True)), "same": "the same"}
        counts = [f"{jobs.count(change):,} {word}" for change, word in words.items() if change in jobs]
        fires = _count_fires(self.diff.jobs)
        told = ", ".join(_do(number, verb) for verb, number in fires.items() if number) or "every fire stays"
        return f"{', '.join(counts) or 'no jobs'}; {told}. {days} UTC."


def _count_fires(jobs: Iterable[JobDiff]) -> dict[str, int]:
    fires = [one.fires for job in jobs for one in job.schedules]
    return {
        "appear": sum(len(each.appeared) for each in fires),
        "vanish": sum(len(each.vanished) for each in fires),
        "move": sum(len(each.moved) for each in fires),
    }


def print_diff(report: DiffReport) -> None:
    """Print each job that changes with its fields and fires, then the sums."""
    grid = Table.grid(padding=(0, 2))
    for _ in range(2):
        grid.add_column(no_wrap=True)
    grid.add_column(overflow="fold")
    for job in report.diff.changed:
        mark, style = _MARKS[job.change]
        first, *others = _job_lines(job)
        grid.add_row(Text(mark, style), plain(job.name, "bold"), plain(first))
        for line in others:
            grid.add_row("", "", plain(line))
    if report.diff.changed:
        print_block(grid)
    for line in _closing_lines(report):
        print_line(f"· {line}", "yellow")
    print_line(report.summary, "bold")


def _job_lines(job: JobDiff) -> list[str]:
    fields = [_field_line(change) for change in job.fields]
    fires = [line for one in job.schedules for line in _fire_lines(one, job.name)]
    if job.change == "changed":
        return [*fields, *(fires or ["every fire stays"])]
    return [job.change, *fires] if fires else [f"{job.change}, without a fire in this window"]


def _field_line(change: FieldChange) -> str:
    old, new = change.old, change.new
    if old == new:
        return f"{change.field}: another hidden value"
    if isinstance(old, str) and isinstance(new, str) and "\n" in old + new:
        return f"{change.field}: {_first_lines(old.splitlines(), new.splitlines())}"
    return f"{change.field}: {_value(old)} → {_value(new)}"


def _first_lines(old: Sequence[str], new: Sequence[str]) -> str:
    place = next((i for i, (a, b) in enumerate(zip(old, new, strict=False)) if a != b), min(len(old), len(new)))
    a, b = (lines[place] if place < len(lines) else None for lines in (old, new))
    return f"line {place + 1}: {_value(a)} → {_value(b)}"


def _value(value: Any) -> str:
    if value is None:
        return "–"
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
    return text if len(text) <= _MAX_VALUE else f"{text[:_MAX_VALUE]}…"


def _fire_lines(one: ScheduleDiff, job: str) -> Iterator[str]:
    own = {job: "", f"{job}.{one.kind}": f"{one.kind}: "}
    prefix = own.get(one.name, f"{one.name}: ")
    if one.fires.moved:
        by = {new - old for old, new in one.fires.moved}
        how = f" {_shift(by.pop())}" if len(by) == 1 else ""
        shown = [_move(old, new, one.zone) for old, new in one.fires.moved[:_LISTED_FIRES]]
        yield f"{prefix}{_do(len(one.fires.moved), 'move')}{how}: {_list(shown, len(one.fires.moved))}"
    for seconds, verb in ((one.fires.vanished, "vanish"), (one.fires.appeared, "appear")):
        if seconds:
            listed = [_time(second, one.zone) for second in seconds[:_LISTED_FIRES]]
            yield f"{prefix}{_do(len(seconds), verb)}: {_list(listed, len(seconds))}"
    if one.later is not None:
        clock = f", where {one.clock}" if one.clock else ""
        first = _time(one.later, one.zone)
        yield f"{prefix}every fire in this window stays; the first one changes at {first}{clock}"
    elif one.clock:
        yield f"{prefix}only where the clock changes: {one.clock}"


def _do(number: int, verb: str) -> str:
    return f"1 fire {_SINGULAR[verb]}" if number == 1 else f"{number:,} fires {verb}"


def _shift(seconds: int) -> str:
    return f"{format_duration(abs(seconds))} {'later' if seconds > 0 else 'earlier'}"


def _time(second: int, zone: Zone) -> str:
    at = to_datetime(second, zone.tzinfo)
    return f"{at:%a %Y-%m-%d} {_wall(at)} {at:%z}"


def _wall(at: datetime) -> str:
    return f"{at:%H:%M:%S}" if at.second else f"{at:%H:%M}"


def _move(old: int, new: int, zone: Zone) -> str:
    """Both times; the day and the offset once if they are the same."""
    a, b = (to_datetime(second, zone.tzinfo) for second in (old, new))
    if (a.date(), a.utcoffset()) != (b.date(), b.utcoffset()):
        return f"{_time(old, zone)} → {_time(new, zone)}"
    return f"{a:%a %Y-%m-%d} {_wall(a)} → {_wall(b)} {b:%z}"


def _list(shown: Sequence[str], number: int) -> str:
    return ", ".join(shown) + (f" and {number - len(shown):,} more" if number > len(shown) else "")


def _closing_lines(report: DiffReport) -> Iterator[str]:
    before, after = report.diff.busiest
    if report.diff.is_busier and after:
        was = f"at most {before.jobs}" if before else "none"
        yield (
            f"{after.jobs} jobs start together at {iso(after.second)}, {was} before: `jitter: 5m` in a job "
            "spreads its starts"
        )
    yield from report.notes


def as_markdown(report: DiffReport) -> Iterator[str]:
    """A table for a pull request; what is longer stands below it, folded."""
    changed = report.diff.changed
    yield f"**Schedules:** {report.summary}"
    if changed:
        yield from ("", "| | job | what changes | fires |", "|---|---|---|---|")
    for job in changed:
        fields = ", ".join(code(change.field) for change in job.fields) or job.change
        yield f"| {_MARKS[job.change][0]} | {code(job.name)} | {fields} | {_fire_counts(job)} |"
    for line in _closing_lines(report):
        yield from ("", f"- {escape(line)}")
    if changed:
        names = " → ".join(map(code, report.names))
        yield from ("", f"<details><summary>Every change, {names}</summary>", "")
        for job in changed:
            yield f"- {code(job.name)}"
            yield from (f"  - {escape(line)}" for line in _job_lines(job))
        yield from ("", "</details>")


def _fire_counts(job: JobDiff) -> str:
    counts = _count_fires([job])
    later = "later" if any(one.later is not None for one in job.schedules) else "stay"
    return ", ".join(f"{number:,} {verb}" for verb, number in counts.items() if number) or later


def as_data(report: DiffReport) -> dict[str, Any]:
    """Everything, with the first fires of many."""
    before, after = report.diff.busiest
    return {
        "before": report.names[0],
        "after": report.names[1],
        "from": iso(report.start),
        "to": iso(report.end),
        "changed": bool(report.diff.changed),
        "jobs": [_job_data(job) for job in report.diff.jobs],
        "busiest": {
            "before": _busiest_data(before),
            "after": _busiest_data(after),
            "worse": report.diff.is_busier,
        },
        "notes": list(report.notes),
    }


def _busiest_data(busiest: BusiestSecond | None) -> dict[str, Any] | None:
    return busiest and {"at": iso(busiest.second), "jobs": busiest.jobs}


def _job_data(job: JobDiff) -> dict[str, Any]:
    return {
        "name": job.name,
        "change": job.change,
        "fields": [change._asdict() for change in job.fields],
        "schedules": [_schedule_data(one) for one in job.schedules],
    }


def _schedule_data(one: ScheduleDiff) -> dict[str, Any]:
    vanished, appeared, moved = one.fires
    return {
        "name": one.name,
        "kind": str(one.kind),
        "fires": {"before": one.counts[0], "after": one.counts[1]},
        "vanish": {"count": len(vanished), "first": [iso(second) for second in vanished[:_JSON_FIRES]]},
        "appear": {"count": len(appeared), "first": [iso(second) for second in appeared[:_JSON_FIRES]]},
        "move": {
            "count": len(moved),
            "first": [{"from": iso(old), "to": iso(new)} for old, new in moved[:_JSON_FIRES]],
        },
        "first_later": None if one.later is None else iso(one.later),
        "clock_change": one.clock or None,
    }
