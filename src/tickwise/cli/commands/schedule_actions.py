"""`tickwise schedules pause`, `resume`, `trigger`, `reschedule`, `skip`, `reset`: actions on one schedule."""

from typing import Annotated, Any

import typer

from ..arguments import as_when, parse_params, schedule_path
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
async def pause(
    api: ApiClient,
    name: Name,
    reason: Reason = "",
    until: Annotated[
        str | None,
        typer.Option(metavar="TIME", help="When it resumes by itself; a time in its zone, or 2h from now."),
    ] = None,
) -> CommandResult:
    """Pause a schedule until it is resumed. Queued runs go on."""
    end = None if until is None else as_when(until, await _zone(api, name))
    one = await api.post(f"{schedule_path(name)}:pause", reason=reason, until=end)
    return CommandResult(one, lambda: print_line(_format_paused(one)))


def _format_paused(one: dict[str, Any]) -> str:
    end = one["paused"] and one["paused"]["until"]
    until = f" until {format_time(end, one['timezone'])}" if end else ""
    return f"{one['name']} is paused{until}. To resume: tickwise schedules resume {one['name']}"


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
    in_blackout: Annotated[
        bool, typer.Option("--in-blackout", help="Even if the job rests by a blackout.")
    ] = False,
) -> CommandResult:
    """Run a schedule's job now; its next run stays."""
    given = parse_params(params)
    run = await api.post(
        f"{schedule_path(name)}:trigger", params=given or None, allow_overlap=allow_overlap,
        in_blackout=in_blackout,
    )  # fmt: skip
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
    one = await api.post(f"{schedule_path(name)}:reschedule", to=as_when(to, await _zone(api, name)))
    return CommandResult(one, lambda: print_line(_format_next(one)))


@api_command
async def skip(
    api: ApiClient,
    name: Name,
    slot: Annotated[str, typer.Argument(metavar="SLOT", help="A slot to come; a time in the schedule's zone.")],
    reason: Reason = "",
    *,
    undo: Annotated[bool, typer.Option("--undo", help="Let it run after all.")] = False,
) -> CommandResult:
    """Skip one slot to come, or take that back."""
    when = as_when(slot, await _zone(api, name))
    one = await api.post(f"{schedule_path(name)}:skip", slot=when, reason=reason, undo=undo)
    return CommandResult(one, lambda: print_line(_format_next(one)))


async def _zone(api: ApiClient, name: str) -> str:
    return str((await api.get(schedule_path(name)))["timezone"])


@api_command
async def reset(api: ApiClient, name: Name, *, yes: Annotated[bool, Yes] = False) -> CommandResult:
    """Drop the backlog of a schedule: it continues from now."""
    await confirm(f"Drop all slots of {name} that are not decided yet?", yes=yes)
    one = await api.post(f"{schedule_path(name)}:reset")
    return CommandResult(one, lambda: print_line(_format_next(one)))


def _format_next(one: dict[str, Any]) -> str:
    at = format_time(one["next_run_at"], one["timezone"])
    return f"{one['name']} runs next at {at}" if at else f"{one['name']} has no next run"
