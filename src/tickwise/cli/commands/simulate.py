"""`tickwise simulate`: what would run between two times, and why something would not."""

from collections.abc import Sequence
from itertools import groupby
from typing import Annotated

import typer
from rich.console import Console

from ...core.errors import InputError
from ...core.simulation.simulate import Scenario, SlotReport, simulate
from ...core.timeparse import iso, parse_duration
from ..arguments import read_second
from ..gantt import gantt
from ..output import AsJson, print_json, print_line, print_table
from .validate import JobsPath, read_jobs

_MAX_SECONDS = 366 * 86_400


def simulate_jobs(
    path: JobsPath,
    start: Annotated[str, typer.Option("--from", help="Slots from this time on, such as 2026-03-28.")],
    end: Annotated[str, typer.Option("--to", help="Slots before this time.")],
    down: Annotated[
        list[str] | None,
        typer.Option(
            help="Nothing runs from A to B: 02:00/06:00 on the first day, or two full times. May be repeated."
        ),
    ] = None,
    run_time: Annotated[
        list[str] | None,
        typer.Option(help="How long a job runs: nightly=20m. May be repeated; others take no time."),
    ] = None,
    fail: Annotated[list[str] | None, typer.Option(help="A job that always fails. May be repeated.")] = None,
    timezone: Annotated[
        str, typer.Option("--timezone", "-z", help="The zone of times given without one.")
    ] = "UTC",
    *,
    as_json: AsJson = False,
) -> None:
    """Run the real planner over a period, and print each verdict."""
    begin, stop = read_second(start, timezone), read_second(end, timezone)
    if stop - begin > _MAX_SECONDS:
        raise InputError("a simulation covers at most a year: bring --from and --to closer together")
    scenario = Scenario(
        jobs=read_jobs(path),
        start=begin,
        end=stop,
        down=tuple(_downtime(text, start[:10], timezone) for text in down or ()),
        run_time=dict(_run_time(text) for text in run_time or ()),
        fail=frozenset(fail or ()),
    )
    with Console(stderr=True).status("simulating"):
        reports = simulate(scenario)
    if as_json:
        print_json({"slots": [_report_json(report) for report in reports]})
        return
    print_table(["slots", "", "schedule", "verdict", "why"], _verdict_rows(reports))
    print_line("")
    for line in gantt(scenario, reports):
        print_line(line)


def _downtime(text: str, first_day: str, timezone: str) -> tuple[int, int]:
    begin, slash, end = (part.strip() for part in text.partition("/"))
    if not slash:
        raise InputError(f"{text!r} is not a downtime: write two times with a slash, such as 02:00/06:00")
    first, second = (t if "-" in t else f"{first_day}T{t}" for t in (begin, end))
    return read_second(first, timezone), read_second(second, timezone)


def _run_time(text: str) -> tuple[str, int]:
    name, equals, duration = text.partition("=")
    if not equals:
        raise InputError(f"{text!r} is not a run time: write the job and how long it runs, such as nightly=20m")
    return name, parse_duration(duration)


def _verdict_rows(reports: Sequence[SlotReport]) -> list[tuple[str, str, str, str, str]]:
    """One line for consecutive slots of a schedule with the same verdict."""
    by_schedule = sorted(reports, key=lambda report: report.schedule)
    rows = []
    for (name, verdict, why), group in groupby(by_schedule, key=lambda r: (r.schedule, r.verdict, r.detail)):
        slots = [report.slot for report in group]
        until = f"to {iso(slots[-1])}, {len(slots):,} slots" if len(slots) > 1 else ""
        rows.append((iso(slots[0]), until, name, str(verdict), why))
    return sorted(rows)


def _report_json(report: SlotReport) -> dict[str, object]:
    run = report.run
    return {
        "schedule": report.schedule,
        "slot": iso(report.slot),
        "verdict": report.verdict,
        "reason": report.reason.code,
        "detail": report.detail,
        "run": run
        and {
            "trigger": run.trigger,
            "started_at": None if run.started_at is None else iso(run.started_at),
            "finished_at": None if run.finished_at is None else iso(run.finished_at),
            "outcome": run.outcome,
        },
    }
