"""`tickwise queues`: what is queued and running, and how much may run at once."""

from typing import Annotated, Any

import typer

from ...core.errors import InputError
from ..arguments import as_when, queue_path
from ..client import ApiClient
from ..command import CommandResult, api_command
from ..output import format_time, print_line, print_nothing, print_table
from .schedule_actions import Reason

app = typer.Typer(help="Queues: what is queued, and how much may run at once.", no_args_is_help=True)
QueueName = Annotated[str, typer.Argument(metavar="QUEUE", help="The name of a queue.")]
Until = Annotated[
    str | None, typer.Option(metavar="TIME", help="When it resumes by itself; a time in UTC, or 2h from now.")
]
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
    name: QueueName,
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


@app.command("pause")
@api_command
async def pause_queue(api: ApiClient, name: QueueName, reason: Reason = "", until: Until = None) -> CommandResult:
    """Start nothing of a queue until it is resumed. What runs goes on."""
    end = None if until is None else as_when(until, "UTC")
    answer = await api.post(f"{queue_path(name)}:pause", reason=reason, until=end)
    return CommandResult(answer, lambda: print_line(_format_paused(answer)))


@app.command("resume")
@api_command
async def resume_queue(api: ApiClient, name: QueueName) -> CommandResult:
    """Start what is queued again."""
    answer = await api.post(f"{queue_path(name)}:resume")
    return CommandResult(answer, lambda: print_line(f"The queue {name} is resumed: {answer['waiting']:,} queued."))


def _format_paused(one: dict[str, Any]) -> str:
    end = one["paused"] and one["paused"]["until"]
    until = f" until {format_time(end, 'UTC')}" if end else ""
    return f"The queue {one['name']} is paused{until}. To resume: tickwise queues resume {one['name']}"


def _print_queues(items: list[dict[str, Any]], where: str) -> None:
    if not items:
        print_nothing("No queued or running runs, and no live workers.", where)
        return
    columns = ["queue", "queued", "running", "workers", "max running", "max starts/s", "paused"]
    print_table(columns, [_queue_cells(one) for one in items], optional=["paused"])


def _queue_cells(one: dict[str, Any]) -> tuple[str, ...]:
    counts = (f"{one[key]:,}" for key in ("waiting", "running", "workers"))
    limits = ("unlimited" if one[key] is None else f"{one[key]:g}" for key in _LIMITS)
    return one["name"], *counts, *limits, _pause_cell(one["paused"])


def _pause_cell(pause: dict[str, Any] | None) -> str:
    if pause is None:
        return ""
    return f"until {format_time(pause['until'], 'UTC')}" if pause["until"] else pause["reason"] or "yes"
