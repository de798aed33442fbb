"""`tickwise calendars`: named sets of days on which schedules run, or do not."""

import sys
from collections.abc import Iterator
from datetime import date, timedelta
from pathlib import Path
from typing import Annotated, Any
from urllib.parse import quote

import typer
from rich.columns import Columns
from rich.console import Console
from rich.text import Text

from ...clock import now
from ...core.errors import InputError
from ..client import ApiClient
from ..command import CommandResult, api_command
from ..output import (
    AsJson,
    format_time,
    plain,
    print_block,
    print_empty_list,
    print_fields,
    print_json,
    print_line,
    print_table,
)
from ..prompts import Yes, confirm

app = typer.Typer(help="Calendars: the days on which schedules run.", no_args_is_help=True)
CalendarName = Annotated[str, typer.Argument(metavar="NAME", help="The name of a calendar.")]
CalendarFile = Annotated[str, typer.Argument(metavar="FILE", help="A calendar file; - reads the standard input.")]
Year = Annotated[int | None, typer.Option("--year", "-y", min=1, max=9_999, help="Default: this year.")]
_MONTH_WIDTH = 20


@app.command("list")
@api_command
async def list_calendars(api: ApiClient) -> CommandResult:
    """List calendars, and until when their days are known."""
    answer = await api.get("/calendars")
    rows = [
        (one["name"], one["last"], one["version"], one["source"], one["description"]) for one in answer["items"]
    ]
    if not rows:
        return CommandResult(answer, lambda: print_empty_list("calendars", {}, api.where))
    columns = ["calendar", "known until", "version", "source", "description"]
    return CommandResult(answer, lambda: print_table(columns, rows, optional=["version", "source"]))


@app.command("show")
@api_command
async def show_calendar(api: ApiClient, name: CalendarName, year: Year = None) -> CommandResult:
    """Show a calendar with its days in a year."""
    one = await api.get(_path(name))
    days = await api.get(f"{_path(name)}/days", year=year)
    return CommandResult({**one, "year": days}, lambda: _print_calendar(one, days))


@app.command("add")
@api_command
async def add_calendar(
    api: ApiClient,
    file: CalendarFile,
    name: Annotated[
        str | None, typer.Option("--name", help="Default: the file's name without its ending.")
    ] = None,
) -> CommandResult:
    """Define a calendar by a file, or change it. What uses it gets its days at once."""
    fields, stem = _read_calendar_file(file)
    wanted = name or stem
    if wanted is None:
        raise InputError("the standard input has no name: give --name")
    answer = await api.put(_path(wanted), **fields)
    return CommandResult(answer, lambda: print_line(_format_written(answer)))


@app.command("preview")
def preview_calendar(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="A calendar file, beside those that it names.")],
    year: Year = None,
    *,
    as_json: AsJson = False,
) -> None:
    """Show the days that a calendar file has. It needs no store."""
    from ...app.calendar_manager import CalendarYear  # noqa: PLC0415  (YAML, which lists do not need)
    from ..folder_calendars import calendar_of_file  # noqa: PLC0415

    today = now().date()
    found = CalendarYear.of(calendar_of_file(file, today), year or today.year)
    answer = {"year": found.year, "days": [day.isoformat() for day in found.days], "names": dict(found.names)}
    if as_json:
        print_json(answer)
    else:
        _print_year(answer)


@app.command("expand")
@api_command
async def expand_calendar(api: ApiClient, name: CalendarName) -> CommandResult:
    """Find the days of a calendar anew. For updated holidays."""
    answer = await api.post(f"{_path(name)}:expand")
    return CommandResult(answer, lambda: print_line(_format_written(answer)))


@app.command("remove")
@api_command
async def remove_calendar(
    api: ApiClient, name: CalendarName, *, yes: Annotated[bool, Yes] = False
) -> CommandResult:
    """Delete a calendar that nothing uses."""
    await confirm(f"Delete the calendar {name}?", yes=yes)
    await api.delete(_path(name))
    return CommandResult({"removed": name}, lambda: print_line(f"The calendar {name} is removed."))


def _path(name: str) -> str:
    return f"/calendars/{quote(name, safe='')}"


def _read_calendar_file(file: str) -> tuple[dict[str, Any], str | None]:
    """The fields of a calendar file, and its name."""
    from ...sources.calendars import read_calendar  # noqa: PLC0415  (YAML, which lists do not need)
    from ...sources.spec.error import DefinitionError  # noqa: PLC0415
    from ...sources.yaml.text import MAX_BYTES, read_file  # noqa: PLC0415

    errors: list[DefinitionError] = []
    text = sys.stdin.read(MAX_BYTES + 1) if file == "-" else read_file(Path(file), errors)
    shown = "calendar" if file == "-" else file
    fields = None if text is None else read_calendar(text, shown, Path(file).parent, errors)
    if fields is None:
        raise InputError("\n".join(map(str, errors)))
    return fields, None if file == "-" else Path(file).stem


def _format_written(one: dict[str, Any]) -> str:
    used = len(one["used_by"])
    users = f"used by {used}" if used else "nothing uses it yet"
    return f"The calendar {one['name']} has days up to {one['last']}; {users}."


def _print_calendar(one: dict[str, Any], days: dict[str, Any]) -> None:
    print_fields([
        ("calendar", one["name"]), ("description", one["description"]), ("source", one["source"]),
        ("known", f"{one['first']} to {one['last']}, expanded {format_time(one['expanded_at'])}"),
        ("used by", ", ".join(one["used_by"]) or "nothing"),
        ("state", "" if one["settled"] else "not all that use it have these days yet"),
    ])  # fmt: skip
    print_line("")
    _print_year(days)


def _print_year(answer: dict[str, Any]) -> None:
    """A picture of the year: days in the calendar stand out, others are dots in a pipe and dim on a terminal."""
    days, names, year = {*answer["days"]}, answer["names"], answer["year"]
    months = [_month(date(year, month, 1), days) for month in range(1, 13)]
    console = Console()
    width = min(console.width if console.is_terminal else 80, 4 * (_MONTH_WIDTH + 4))
    print_block(Columns(months, width=_MONTH_WIDTH, padding=(1, 4), equal=True), width=width)
    print_line(f"{len(days)} days of {year} are in the calendar.")
    for day, name in sorted(names.items()):
        print_line(f"  {date.fromisoformat(day):%a %Y-%m-%d}  {'in ' if day in days else 'out'}  {name}", "dim")


def _month(first: date, days: set[str]) -> Text:
    text = Text.assemble(
        (f"{first:%B %Y}".center(_MONTH_WIDTH), "bold"), "\n", ("Mo Tu We Th Fr Sa Su", "dim"), "\n"
    )
    text.append("   " * first.weekday())
    for day in _days_of_month(first):
        is_in = day.isoformat() in days
        text.append_text(plain(f"{day.day:2}" if is_in else " ·", "bold green" if is_in else "dim"))
        text.append("\n" if day.weekday() == 6 else " ")
    text.rstrip()
    return text


def _days_of_month(first: date) -> Iterator[date]:
    day = first
    while day.month == first.month:
        yield day
        if day == date.max:
            return
        day += timedelta(1)
