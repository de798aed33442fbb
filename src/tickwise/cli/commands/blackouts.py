"""`tickwise blackouts`: windows in which schedules rest."""

from typing import Annotated, Any

import typer

from ...core.definition import check_name
from ..arguments import as_when
from ..client import ApiClient
from ..command import CommandResult, api_command
from ..output import format_time, print_line, print_nothing, print_table
from .schedule_actions import Reason

app = typer.Typer(help="Blackouts: windows in which schedules rest.", no_args_is_help=True)
BlackoutName = Annotated[str, typer.Argument(metavar="NAME", help="The name of a blackout.")]
Jobs = Annotated[
    list[str] | None,
    typer.Option("--job", metavar="PATTERN", help="Jobs it is for: etl-*, or * for all. May be repeated."),
]
Labels = Annotated[
    list[str] | None, typer.Option("--label", metavar="KEY[=VALUE]", help="Jobs with the label. May be repeated.")
]
Time = Annotated[str | None, typer.Option(metavar="TIME", help="A time in the zone, or 2h from now.")]
Length = Annotated[str | None, typer.Option(metavar="DURATION", help="How long a window is, such as 4h.")]
Cron = Annotated[str | None, typer.Option(metavar="CRON", help="Each time a window begins.")]
Zone = Annotated[str, typer.Option(metavar="ZONE", help="The zone of times and of the cron text.")]


@app.command("list")
@api_command
async def list_blackouts(api: ApiClient) -> CommandResult:
    """List blackouts, and the window of each that is on or comes next."""
    answer = await api.get("/blackouts")
    return CommandResult(answer, lambda: _print_blackouts(answer["items"], api.where))


@app.command("add")
@api_command
async def add_blackout(
    api: ApiClient,
    name: BlackoutName,
    job: Jobs = None,
    label: Labels = None,
    start: Time = None,
    end: Time = None,
    length: Length = None,
    cron: Cron = None,
    timezone: Zone = "UTC",
    reason: Reason = "",
    *,
    replace: Annotated[bool, typer.Option("--replace", help="In place of one of this name.")] = False,
) -> CommandResult:
    """Add a window in which jobs rest, once or again and again.

    It lasts from --start to --end, or for a --length whenever --cron says. Slots in a window go on when it has
    ended as after a pause; `blackout: skip` in a job file drops them.
    """
    times = {"start": start and as_when(start, timezone), "end": end and as_when(end, timezone)}
    body = {
        **times,
        "length": length,
        "cron": cron,
        "timezone": timezone,
        "jobs": job or [],
        "labels": label or [],
    }
    path = _blackout_path(name)
    if replace:
        one = await api.put(path, **body, reason=reason)
    else:
        one = await api.post("/blackouts", name=name, **body, reason=reason)
    return CommandResult(one, lambda: print_line(_format_window(one)))


@app.command("remove")
@api_command
async def remove_blackout(api: ApiClient, name: BlackoutName) -> CommandResult:
    """End a blackout now. What rests by it goes on as after a pause."""
    one = await api.delete(_blackout_path(name))
    return CommandResult(one, lambda: print_line(f"The blackout {name} is removed."))


def _blackout_path(name: str) -> str:
    return f"/blackouts/{check_name(name, 'the name of a blackout')}"


def _format_window(one: dict[str, Any]) -> str:
    start, end = (format_time(one[key], one["timezone"]) for key in ("start", "end"))
    begins = "is on" if one["active"] else f"begins at {start}"
    return f"The blackout {one['name']} {begins}, until {end}. To end it: tickwise blackouts remove {one['name']}"


def _print_blackouts(items: list[dict[str, Any]], where: str) -> None:
    if not items:
        print_nothing("No blackouts.", where)
        return
    columns = ["blackout", "state", "from", "to", "again", "for", "reason"]
    print_table(columns, [_cells(one) for one in items], optional=["again"])


def _cells(one: dict[str, Any]) -> tuple[str, ...]:
    state = "on" if one["active"] else "to come" if one["start"] else "over"
    start, end = (format_time(one[key], one["timezone"]) for key in ("start", "end"))
    again = f"{one['cron']}, {one['length']}" if one["cron"] else ""
    return one["name"], state, start, end, again, " ".join([*one["jobs"], *one["labels"]]), one["reason"]
