"""`tickwise schedules pause`, `resume`, `trigger`, `reschedule`, `reset`: a person's word on one schedule."""

import json
from typing import Annotated, Any

import typer

from ...core.errors import InputError
from ..arguments import as_when, schedule_path, shown_time
from ..client import ApiClient
from ..command import CommandResult, api_command
from ..completion import Name
from ..output import print_line
from ..prompts import Yes, make_sure

Reason = Annotated[str, typer.Option("--reason", help="Why, for who asks later.")]
Params = Annotated[
    list[str] | None, typer.Option("--param", "-p", metavar="NAME=VALUE", help="For the run. May be repeated.")
]


@api_command
async def pause(api: ApiClient, name: Name, reason: Reason = "") -> CommandResult:
    """Decide no slot of a schedule until it is resumed; runs that are queued go on."""
    one = await api.post(f"{schedule_path(name)}:pause", reason=reason)
    return CommandResult(one, lambda: print_line(f"{name} is paused: tickwise schedules resume {name}"))


@api_command
async def resume(
    api: ApiClient,
    name: Name,
    *,
    run_missed: Annotated[
        bool | None,
        typer.Option("--run-missed/--drop-missed", help="The slots of the pause; default: as catchup says."),
    ] = None,
) -> CommandResult:
    """Go on after a pause."""
    one = await api.post(f"{schedule_path(name)}:resume", run_missed=run_missed)
    return CommandResult(one, lambda: print_line(_next(one)))


@api_command
async def trigger(
    api: ApiClient,
    name: Name,
    params: Params = None,
    *,
    allow_overlap: Annotated[bool, typer.Option("--allow-overlap", help="Although the job is active.")] = False,
) -> CommandResult:
    """Run a schedule's job now; its next time stays."""
    given = dict(_param(text) for text in params or ())
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
    return CommandResult(one, lambda: print_line(_next(one)))


@api_command
async def reset(api: ApiClient, name: Name, *, yes: Annotated[bool, Yes] = False) -> CommandResult:
    """Drop the backlog of a schedule: it goes on from now."""
    await make_sure(f"Drop all slots of {name} that are not decided yet?", yes=yes)
    one = await api.post(f"{schedule_path(name)}:reset")
    return CommandResult(one, lambda: print_line(_next(one)))


def _next(one: dict[str, Any]) -> str:
    at = shown_time(one["next_run_at"], one["timezone"])
    return f"{one['name']} runs next at {at}" if at else f"{one['name']} has no next time"


def _param(text: str) -> tuple[str, Any]:
    """The value as JSON if it is JSON, else as text."""
    name, equals, value = text.partition("=")
    if not equals or not name:
        raise InputError(f"{text!r} is no param: write its name and its value, such as table=orders")
    try:
        return name, json.loads(value)
    except ValueError:
        return name, value
