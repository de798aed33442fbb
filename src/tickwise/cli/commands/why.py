"""`tickwise why`: the chain of reasons, from the definition to the worker."""

from typing import Annotated, Any

import typer
from rich.console import Console
from rich.panel import Panel
from rich.table import Table
from rich.text import Text

from ..arguments import as_instant, schedule_path, shown_time
from ..client import ApiClient
from ..command import CommandResult, api_command
from ..completion import Name
from ..output import in_colour, plain, print_line, print_whole, style_of

_MARKS = {"yes": ("✓", "green"), "no": ("✗", "bold red"), "wait": ("…", "bold yellow"), "do": ("→", "bold cyan")}
_WIDTH = 10  # of the names of links


@api_command
async def why(
    api: ApiClient,
    name: Name,
    slot: Annotated[
        str | None,
        typer.Option("--slot", metavar="TIME", help="In the schedule's zone; default: the newest that is due."),
    ] = None,
) -> CommandResult:
    """Say why a slot ran or did not, link by link, and what to do about it."""
    path = schedule_path(name)
    zone = (await api.get(path))["timezone"]
    answer = await api.get(f"{path}/why", slot=None if slot is None else as_instant(slot, zone))
    return CommandResult(answer, lambda: _show(answer, zone))


def _show(answer: dict[str, Any], zone: str) -> None:
    """On a terminal in a frame of the verdict's colour."""
    when = "" if answer["slot"] is None else f" {shown_time(answer['slot'], zone)} ({zone})"
    verdict = answer["reason"].replace("_", " ") if answer["verdict"] == "none" else answer["verdict"]
    head = Text.assemble((answer["schedule"], "bold"), when, ": ", in_colour(verdict))
    *links, advice = answer["chain"]
    if Console().is_terminal:
        print_whole(Panel(_grid(links), title=head, title_align="left", border_style=style_of(verdict) or "none"))
    else:
        print_line(head)
        print_whole(_grid(links))
    print_whole(_grid([advice]))


def _grid(links: list[dict[str, str]]) -> Table:
    grid = Table.grid(padding=(0, 1))
    grid.add_column(no_wrap=True)
    grid.add_column(style="dim", no_wrap=True, min_width=_WIDTH)
    grid.add_column(overflow="fold")
    for link in links:
        mark, style = _MARKS[link["mark"]]
        loud = "" if link["mark"] == "yes" else style
        grid.add_row(Text(mark, style), Text(link["what"]), plain(link["text"], loud))
    return grid
