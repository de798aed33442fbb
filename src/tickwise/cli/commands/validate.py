"""`tickwise validate`: check job files; other commands read them with `read_jobs`."""

from pathlib import Path
from typing import Annotated

import typer

from ...clock import now
from ...config import load
from ...core.definition import JobDefinition
from ...core.errors import InputError
from ...core.timeparse import floor_second
from ...sources.yaml import Loaded, read_path
from ..folder_calendars import with_calendars
from ..output import AsJson, print_error, print_json, print_line

JobsPath = Annotated[Path, typer.Argument(metavar="PATH", help="A job file, or a folder of them.")]


def read_jobs(path: Path, settings: Path | None = None) -> list[JobDefinition]:
    """The jobs of a file or a folder; raises if any of them has a mistake."""
    loaded = _load_path(path, settings)
    if loaded.errors:
        raise InputError("\n".join(str(error) for error in loaded.errors))
    return [placed.job for placed in loaded.jobs]


def _load_path(path: Path, settings: Path | None = None) -> Loaded:
    """Read job files as `tickwise serve` would with these settings, or with those of this folder."""
    return with_calendars(path, read_path(path, defaults=load(file=settings).of_definitions), now().date())


def validate(path: JobsPath, *, as_json: AsJson = False) -> None:
    """Check job files. Each mistake has its position and its repair."""
    loaded, today = _load_path(path), floor_second(now())
    warnings = [
        (placed.file, schedule.name, warning)
        for placed in loaded.jobs
        for schedule in placed.job.schedules
        for warning in schedule.times.warnings_after(today)
    ]
    if as_json:
        print_json(
            {
                "jobs": [placed.job.name for placed in loaded.jobs],
                "errors": [
                    {"file": e.file, "line": e.line, "column": e.column, "field": e.field, "message": str(e)}
                    for e in loaded.errors
                ],
                "warnings": [{"file": f, "schedule": name, "message": text} for f, name, text in warnings],
            }
        )
    else:
        for file, name, text in warnings:
            print_line(f"{file}: {name}: warning: {text}", "yellow")
        for error in loaded.errors:
            print_error(str(error))
        print_line(
            f"{_format_count(len(loaded.jobs), 'job')} fine, {_format_count(len(loaded.errors), 'mistake')}"
        )
    raise typer.Exit(2 if loaded.errors else 0)


def _format_count(n: int, what: str) -> str:
    return f"{n} {what}" if n == 1 else f"{n} {what}s"
