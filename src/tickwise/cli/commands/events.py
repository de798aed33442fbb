"""`tickwise events`: the events of a schedule, and sending one."""

import json
from typing import Annotated, Any

import typer

from ...core.errors import InputError
from ..arguments import schedule_path
from ..client import ApiClient
from ..command import CommandResult, api_command
from ..completion import Name
from ..output import format_time, in_colour, print_line, print_nothing, print_table

app = typer.Typer(help="Events: send one to a schedule, and see what became of each.", no_args_is_help=True)


@app.command("list")
@api_command
async def list_events(
    api: ApiClient, name: Name, limit: Annotated[int, typer.Option(help="How many at the most.")] = 20
) -> CommandResult:
    """List the newest events of a schedule, and what became of each."""
    answer = await api.get(f"{schedule_path(name)}/events", limit=limit)
    return CommandResult(answer, lambda: _print_events(answer["items"], api.where))


@app.command("send")
@api_command
async def send_event(
    api: ApiClient,
    name: Name,
    key: Annotated[str | None, typer.Option(help="The same key within the window is the same event.")] = None,
    data: Annotated[str | None, typer.Option(metavar="JSON", help="What the run is to know of it.")] = None,
) -> CommandResult:
    """Send an event to a schedule."""
    answer = await api.post(f"{schedule_path(name)}/events", key=key, data=_read_data(data))
    look = f"tickwise events list {name}"
    return CommandResult(answer, lambda: print_line(f"{name} has the event {answer['key']}. See it: {look}"))


def _read_data(text: str | None) -> Any:
    try:
        return None if text is None else json.loads(text)
    except (ValueError, RecursionError) as error:
        raise InputError(f"--data is no JSON ({error}): write text in quotes, such as '\"text\"'") from None


def _print_events(items: list[dict[str, Any]], where: str) -> None:
    if not items:
        print_nothing("No events yet.", where)
        return
    columns = ["received", "key", "source", "state", "run", "why"]
    print_table(columns, [_event_cells(one) for one in items], optional=["source"])


def _event_cells(one: dict[str, Any]) -> tuple[Any, ...]:
    return (
        format_time(one["received_at"]), one["key"], one["source"], in_colour(one["state"]), one["run"] or "",
        one["text"],
    )  # fmt: skip
