"""`tickwise forecast`: how many runs start when, as a heat map."""

from collections.abc import Iterator
from datetime import datetime, timedelta
from typing import Annotated, Any

import typer
from rich.text import Text

from ..client import ApiClient
from ..command import CommandResult, api_command
from ..output import format_time, print_line

_SHADES = " ▁▂▃▄▅▆▇█"
_COLOURS = ("", "blue", "blue", "cyan", "cyan", "green", "yellow", "dark_orange", "red")
_MINUTE, _HOUR = 60, 3_600


@api_command
async def forecast(
    api: ApiClient, hours: Annotated[int, typer.Option(min=1, max=168, help="How far to look ahead.")] = 24
) -> CommandResult:
    """Show how many runs start when. A line is an hour and a column a minute, or a day and an hour."""
    answer = await api.get("/forecast", hours=hours)
    return CommandResult(answer, lambda: _print_forecast(answer))


def _print_forecast(answer: dict[str, Any]) -> None:
    for line in heat_map(answer):
        print_line(line)
    for crowded in answer["crowded_minutes"]:
        names = ", ".join(crowded["schedules"][:5]) + (" …" if len(crowded["schedules"]) > 5 else "")
        print_line(f"{crowded['count']} schedules start at {format_time(crowded['minute'])}: {names}", "yellow")
        if crowded["suggestion"]:
            print_line(f"  → spread them: {crowded['suggestion']} instead of {crowded['instead_of']}")


def heat_map(answer: dict[str, Any]) -> Iterator[Text]:
    """A row per hour or day, in UTC; shades are shares of the busiest cell."""
    by_minute = answer["step"] == _MINUTE
    per_row, form = (60, "%a %H:00") if by_minute else (24, "%a %m-%d")
    start, counts = datetime.fromisoformat(answer["start"]), answer["counts"]
    skipped = start.minute if by_minute else start.hour
    cells = [0] * skipped + counts
    first, most = start - timedelta(seconds=skipped * answer["step"]), max(cells, default=0)
    yield Text(f"{'UTC':<9} {'minutes 0-59' if by_minute else 'hours 0-23':<{per_row}} starts", "bold")
    for row in range(0, len(cells), per_row):
        of_row = cells[row : row + per_row]
        label = first + timedelta(seconds=row * answer["step"])
        shaded = Text.assemble(*(_cell(count, most) for count in of_row), " " * (per_row - len(of_row)))
        yield Text(f"{label:{form}}  "[:10].ljust(10)) + shaded + Text(f" {sum(of_row):,}", "dim")


def _cell(count: int, most: int) -> tuple[str, str]:
    shade = 0 if not count else max(1, round(count / most * (len(_SHADES) - 1)))
    return _SHADES[shade], _COLOURS[shade]
