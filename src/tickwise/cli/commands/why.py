"""`tickwise why`: why a slot ran or did not, from the definition to the worker."""

from typing import Annotated, Any

import typer
from rich.console import Console
from rich.panel import Panel
from rich.table import Table
from rich.text import Text

from ...app.explain_steps import sentence
from ...core.errors import ConflictError, InputError, no_such
from ..arguments import as_instant, schedule_path
from ..client import ApiClient
from ..command import CommandResult, api_command
from ..completion import Name
from ..output import format_time, in_colour, plain, print_block, print_line, style_of

_MARKS = {"yes": ("✓", "green"), "no": ("✗", "bold red"), "wait": ("…", "bold yellow"), "do": ("→", "bold cyan")}
_WIDTH = 10  # of the names of steps


@api_command
async def why(
    api: ApiClient,
    name: Name,
    slot: Annotated[
        str | None,
        typer.Option("--slot", metavar="TIME", help="In the schedule's zone; default: the newest that is due."),
    ] = None,
    event: Annotated[str | None, typer.Option(help="The key of an event, instead of a time.")] = None,
    *,
    what_if: Annotated[
        bool, typer.Option("--what-if", help="Search the smallest change that would have let it run.")
    ] = False,
) -> CommandResult:
    """Explain why a slot ran or did not, and what to do."""
    path = schedule_path(name)
    zone = (await api.get(path))["timezone"]
    when = None if slot is None else as_instant(slot, zone)
    if event is not None:
        when = await _slot_of_event(api, name, event, given=slot is not None)
    answer = await api.get(f"{path}/why", slot=when)
    if not what_if:
        return CommandResult(answer, lambda: _print_answer(answer, zone))
    searched = await api.get(f"{path}/what-if", slot=when or answer["slot"])
    return CommandResult(searched, lambda: _print_remedies(answer, searched, zone))


def _print_remedies(answer: dict[str, Any], searched: dict[str, Any], zone: str) -> None:
    """Print why, and then what would have let it run."""
    _print_answer(answer, zone)
    rows = [("what if", sentence(searched["text"]), "yes")]
    rows += [("", f"{one['text']}.", "do") for one in searched["remedies"]]
    print_block(_steps_table([{"what": what, "text": text, "mark": mark} for what, text, mark in rows]))


async def _slot_of_event(api: ApiClient, name: str, key: str, *, given: bool) -> str:
    if given:
        raise InputError("--slot and --event both say which slot: give one of them")
    items = (await api.get(f"{schedule_path(name)}/events", limit=1_000))["items"]
    found = next((one for one in items if one["key"] == key), None)
    if found is None:
        known = [one["key"] for one in items]
        raise no_such("event", key, known, f": see tickwise events list {name}")
    if found["slot"] is None:
        raise ConflictError(f"{key} has no slot yet: {found['text']}")
    return str(found["slot"])


def _print_answer(answer: dict[str, Any], zone: str) -> None:
    """Print the steps, on a terminal in a frame of the verdict's colour."""
    when = "" if answer["slot"] is None else f" {format_time(answer['slot'], zone)} ({zone})"
    verdict = answer["reason"].replace("_", " ") if answer["verdict"] == "none" else answer["verdict"]
    head = Text.assemble((answer["schedule"], "bold"), when, ": ", in_colour(verdict))
    *steps, advice = answer["chain"]
    if Console().is_terminal:
        print_block(
            Panel(_steps_table(steps), title=head, title_align="left", border_style=style_of(verdict) or "none")
        )
    else:
        print_line(head)
        print_block(_steps_table(steps))
    print_block(_steps_table([advice]))


def _steps_table(steps: list[dict[str, str]]) -> Table:
    grid = Table.grid(padding=(0, 1))
    grid.add_column(no_wrap=True)
    grid.add_column(style="dim", no_wrap=True, min_width=_WIDTH)
    grid.add_column(overflow="fold")
    for step in steps:
        mark, style = _MARKS[step["mark"]]
        loud = "" if step["mark"] == "yes" else style
        grid.add_row(Text(mark, style), Text(step["what"]), plain(step["text"], loud))
    return grid
