"""`tickwise queues`: what is queued and running, and how much may run at once."""

from typing import Annotated, Any

import typer

from ...core.errors import InputError
from ..arguments import queue_path
from ..client import ApiClient
from ..command import CommandResult, api_command
from ..output import print_nothing, print_table

app = typer.Typer(help="Queues: what is queued, and how much may run at once.", no_args_is_help=True)
_LIMITS = ("concurrency", "starts_per_second")


@app.command("list")
@api_command
async def list_queues(api: ApiClient) -> CommandResult:
    """List queues, their limits and how full they are."""
    answer = await api.get("/queues")
    return CommandResult(answer, lambda: _print_queues(answer["items"], api.where))


@app.command("limit")
@api_command
async def limit_queue(
    api: ApiClient,
    name: Annotated[str, typer.Argument(metavar="QUEUE", help="The name of a queue.")],
    concurrency: Annotated[int | None, typer.Option(help="How many runs at once, in the whole fleet.")] = None,
    rate: Annotated[float | None, typer.Option(help="How many starts per second, in the whole fleet.")] = None,
    *,
    lift: Annotated[bool, typer.Option("--lift", help="Remove both limits.")] = False,
) -> CommandResult:
    """Limit a queue; a limit that is not named stays as it is."""
    given = {"concurrency": concurrency, "starts_per_second": rate}
    if lift == any(value is not None for value in given.values()):
        raise InputError("say what to limit: --concurrency or --rate; or --lift to remove the limits")
    stays = {} if lift else {one["name"]: one for one in (await api.get("/queues"))["items"]}.get(name, {})
    wanted = {key: stays.get(key) if given[key] is None else given[key] for key in _LIMITS}
    answer = await api.put(queue_path(name), **wanted)
    return CommandResult(answer, lambda: _print_queues([answer], api.where))


def _print_queues(items: list[dict[str, Any]], where: str) -> None:
    if not items:
        print_nothing("No queued or running runs, and no live workers.", where)
        return
    columns = ["queue", "queued", "running", "workers", "max running", "max starts/s"]
    print_table(columns, [_queue_cells(one) for one in items])


def _queue_cells(one: dict[str, Any]) -> tuple[str, ...]:
    counts = (f"{one[key]:,}" for key in ("waiting", "running", "workers"))
    return one["name"], *counts, *("unlimited" if one[key] is None else f"{one[key]:g}" for key in _LIMITS)
