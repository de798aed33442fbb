"""`tickwise schedules pause`, `resume`, `trigger`, `reschedule`, `reset`: a person's word on one schedule."""

import json
from typing import Annotated, Any

import typer

from ..core.errors import InputError
from .addresses import schedule_path
from .arguments import as_when, shown_time
from .asking import Told, asks
from .client import Api
from .completing import Name
from .output import print_line
from .prompts import Yes, make_sure

Reason = Annotated[str, typer.Option("--reason", help="Why, for who asks later.")]
Params = Annotated[
    list[str] | None, typer.Option("--param", "-p", metavar="NAME=VALUE", help="For the run. May be repeated.")
]


@asks
async def pause(api: Api, name: Name, reason: Reason = "") -> Told:
    """Decide no slot of a schedule until it is resumed; runs that are queued go on."""
    one = await api.post(f"{schedule_path(name)}:pause", reason=reason)
    return Told(one, lambda: print_line(f"{name} is paused: tickwise schedules resume {name}"))


@asks
async def resume(
    api: Api,
    name: Name,
    *,
    run_missed: Annotated[
        bool | None,
        typer.Option("--run-missed/--drop-missed", help="The slots of the pause; default: as catchup says."),
    ] = None,
) -> Told:
    """Go on after a pause."""
    one = await api.post(f"{schedule_path(name)}:resume", run_missed=run_missed)
    return Told(one, lambda: print_line(_next(one)))


@asks
async def trigger(
    api: Api,
    name: Name,
    params: Params = None,
    *,
    beside: Annotated[bool, typer.Option("--beside", help="Although the job is active.")] = False,
) -> Told:
    """Run a schedule's job now; its next time stays."""
    given = dict(_param(text) for text in params or ())
    run = await api.post(f"{schedule_path(name)}:trigger", params=given or None, beside=beside)
    return Told(run, lambda: print_line(f"Run {run['id']} is {run['state']}: tickwise runs show {run['id']}"))


@asks
async def reschedule(
    api: Api,
    name: Name,
    to: Annotated[str, typer.Argument(metavar="TIME", help="A time in the schedule's zone, or 15m from now.")],
) -> Told:
    """Move the next run to another time, once."""
    zone = (await api.get(schedule_path(name)))["timezone"]
    one = await api.post(f"{schedule_path(name)}:reschedule", to=as_when(to, zone))
    return Told(one, lambda: print_line(_next(one)))


@asks
async def reset(api: Api, name: Name, *, yes: Annotated[bool, Yes] = False) -> Told:
    """Drop the backlog of a schedule: it goes on from now."""
    await make_sure(f"Drop all slots of {name} that are not decided yet?", yes=yes)
    one = await api.post(f"{schedule_path(name)}:reset")
    return Told(one, lambda: print_line(_next(one)))


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
