"""`tickwise queues` and `tickwise workers`: who does the work, and how much of it at once."""

from typing import Annotated, Any

import typer

from ...core.errors import InputError
from ..arguments import queue_path, shown_time
from ..client import ApiClient
from ..command import CommandResult, api_command
from ..output import complain, in_colour, print_line, print_table

queues = typer.Typer(help="Queues: what waits, and how much may run at once.", no_args_is_help=True)
_LIMITS = ("concurrency", "starts_per_second")


@queues.command("list")
@api_command
async def list_queues(api: ApiClient) -> CommandResult:
    """List queues with their limits, and how much waits and runs."""
    answer = await api.get("/queues")
    return CommandResult(answer, lambda: _table(answer["items"]))


@queues.command("limit")
@api_command
async def limit_queue(
    api: ApiClient,
    name: Annotated[str, typer.Argument(metavar="QUEUE", help="The name of a queue.")],
    concurrency: Annotated[int | None, typer.Option(help="Runs at once, in the whole fleet.")] = None,
    rate: Annotated[float | None, typer.Option(help="Starts a second, in the whole fleet.")] = None,
    *,
    lift: Annotated[bool, typer.Option("--lift", help="No limits any longer.")] = False,
) -> CommandResult:
    """Limit a queue; a limit that is not named stays as it is."""
    given = {"concurrency": concurrency, "starts_per_second": rate}
    if lift == any(value is not None for value in given.values()):
        raise InputError("say what to limit, --concurrency or --rate, or --lift for no limits")
    stays = {} if lift else {one["name"]: one for one in (await api.get("/queues"))["items"]}.get(name, {})
    wanted = {key: stays.get(key) if given[key] is None else given[key] for key in _LIMITS}
    answer = await api.put(queue_path(name), **wanted)
    return CommandResult(answer, lambda: _table([answer]))


def _table(items: list[dict[str, Any]]) -> None:
    if not items:
        print_line("Nothing waits or runs, and no worker lives.", "dim")
        return
    columns = ["queue", "waiting", "running", "workers", "at once", "starts a second"]
    print_table(columns, [_row(one) for one in items])


def _row(one: dict[str, Any]) -> tuple[str, ...]:
    counts = (f"{one[key]:,}" for key in ("waiting", "running", "workers"))
    return one["name"], *counts, *("any" if one[key] is None else f"{one[key]:g}" for key in _LIMITS)


@api_command
async def workers(api: ApiClient) -> CommandResult:
    """List the processes that live, and those that did within a day."""
    answer = await api.get("/workers")
    return CommandResult(answer, lambda: _show(answer["items"]))


def _show(items: list[dict[str, Any]]) -> None:
    if not items:
        print_line("No process has been seen within a day: tickwise serve", "dim")
        return
    columns = ["state", "roles", "host", "process", "busy", "queues", "last seen", "version", "id"]
    print_table(columns, [_worker(one) for one in items])
    for problem in (f"{one['host']}: {problem}" for one in items if one["live"] for problem in one["problems"]):
        complain(problem)


def _worker(one: dict[str, Any]) -> tuple[Any, ...]:
    return (
        in_colour("alive" if one["live"] else "gone"), ", ".join(one["roles"]), one["host"], str(one["pid"]),
        f"{one['busy']} of {one['capacity']}", ", ".join(one["queues"]), shown_time(one["seen_at"]),
        one["version"], one["id"],
    )  # fmt: skip
