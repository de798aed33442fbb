"""`tickwise schedules pause`, `resume`, `trigger`, `reschedule`, `reset`: actions on one schedule."""

import json
from typing import Annotated, Any

import typer

from ...core.errors import InputError
from ..arguments import as_when, schedule_path
from ..client import ApiClient
from ..command import CommandResult, api_command
from ..completion import Name
from ..output import format_time, print_line
from ..prompts import Yes, confirm

Reason = Annotated[str, typer.Option("--reason", help="The reason, shown wherever the pause is.")]
Params = Annotated[
    list[str] | None, typer.Option("--param", "-p", metavar="NAME=VALUE", help="For the run. May be repeated.")
]


@api_command
async def pause(api: ApiClient, name: Name, reason: Reason = "") -> CommandResult:
    """Pause a schedule until it is resumed. Queued runs go on."""
    one = await api.post(f"{schedule_path(name)}:pause", reason=reason)
    return CommandResult(one, lambda: print_line(f"{name} is paused. To resume: tickwise schedules resume {name}"))


@api_command
async def resume(
    api: ApiClient,
    name: Name,
    *,
    run_missed: Annotated[
        bool | None,
        typer.Option(
            "--run-missed/--drop-missed", help="What to do with slots of the pause; default: as catchup says."
        ),
    ] = None,
) -> CommandResult:
    """Resume a paused schedule."""
    one = await api.post(f"{schedule_path(name)}:resume", run_missed=run_missed)
    return CommandResult(one, lambda: print_line(_format_next(one)))


@api_command
async def trigger(
    api: ApiClient,
    name: Name,
    params: Params = None,
    *,
    allow_overlap: Annotated[bool, typer.Option("--allow-overlap", help="Even if the job is active.")] = False,
) -> CommandResult:
    """Run a schedule's job now; its next run stays."""
    given = dict(_parse_param(text) for text in params or ())
    run = await api.post(f"{schedule_path(name)}:trigger", params=given or None, allow_overlap=allow_overlap)
    return CommandResult(
        run, lambda: print_line(f"Run {run['id']} is {run['state']}: tickwise runs show {run['id']}")
    )


@api_command
async def reschedule(
    api: ApiClient,
    name: Name,
    to: Annotated[str, typer.Argument(metavar="TIME", help="A time in the schedule's zone, or 15m from now.")],
) -> CommandResult:
    """Move the next run to another time, once."""
    zone = (await api.get(schedule_path(name)))["timezone"]
    one = await api.post(f"{schedule_path(name)}:reschedule", to=as_when(to, zone))
    return CommandResult(one, lambda: print_line(_format_next(one)))


@api_command
async def reset(api: ApiClient, name: Name, *, yes: Annotated[bool, Yes] = False) -> CommandResult:
    """Drop the backlog of a schedule: it continues from now."""
    await confirm(f"Drop all slots of {name} that are not decided yet?", yes=yes)
    one = await api.post(f"{schedule_path(name)}:reset")
    return CommandResult(one, lambda: print_line(_format_next(one)))


def _format_next(one: dict[str, Any]) -> str:
    at = format_time(one["next_run_at"], one["timezone"])
    return f"{one['name']} runs next at {at}" if at else f"{one['name']} has no next run"


def _parse_param(text: str) -> tuple[str, Any]:
    """The value as JSON if it is JSON, else as text."""
    name, equals, value = text.partition("=")
    if not equals or not name:
        raise InputError(f"{text!r} is not a parameter: write NAME=VALUE, such as table=orders")
    try:
        return name, json.loads(value)
    except ValueError:
        return name, value
