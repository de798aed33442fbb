"""`tickwise shadow`: compare slots with the fires of another scheduler, and take over from it (S80)."""

from datetime import datetime
from typing import Annotated, Any

import typer

from ...core.errors import InputError
from ...core.timeparse import format_duration, parse_duration
from ..arguments import as_instant, schedule_path
from ..client import ApiClient
from ..command import CommandResult, api_command
from ..completion import Name, schedule_names
from ..markdown import escape, table
from ..output import format_time, print_line, print_nothing, print_table
from ..schedule_output import format_shadow

app = typer.Typer(help="Shadow mode: compare with another scheduler, and take over from it.", no_args_is_help=True)
_COLUMNS = ["when", "started by", "fire", "why"]
_SIDES = {"both": "both", "theirs": "only theirs", "ours": "only ours"}
Since = Annotated[str | None, typer.Option("--since", metavar="TIME", help="From this time on.")]
Tolerance = Annotated[
    str | None, typer.Option(metavar="DURATION", help="How late a fire may be; default: the schedule's grace.")
]


@app.command("report")
@api_command
async def report(
    api: ApiClient,
    name: Annotated[
        str | None, typer.Argument(metavar="[NAME]", help="A schedule.", autocompletion=schedule_names)
    ] = None,
    since: Since = None,
    tolerance: Tolerance = None,
    *,
    every: Annotated[bool, typer.Option("--all", help="List the slots on which both agree, too.")] = False,
    markdown: Annotated[bool, typer.Option("--markdown", help="Print Markdown.")] = False,
) -> CommandResult:
    """Compare the fires of another scheduler with the slots here."""
    if name is None:
        found = await api.get("/shadow")
        return CommandResult(found, lambda: _print_list(found["items"], api.where, markdown=markdown))
    if markdown and api.as_json:
        raise InputError("give --markdown or --json, not both")
    path = schedule_path(name)
    zone = (await api.get(path))["timezone"]
    begin = None if since is None else as_instant(since, zone)
    late = None if tolerance is None else parse_duration(tolerance)
    answer = await api.get(f"{path}/shadow", since=begin, tolerance=late)
    return CommandResult(answer, lambda: _print_report(answer, zone, every=every, markdown=markdown))


@app.command("adopt")
@api_command
async def adopt(
    api: ApiClient,
    name: Name,
    *,
    stopped: Annotated[bool, typer.Option("--stopped", help="The old scheduler starts nothing more.")] = False,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Only say what would happen.")] = False,
    undo: Annotated[bool, typer.Option("--undo", help="Let the old scheduler start it again.")] = False,
) -> CommandResult:
    """Let Tickwise start the job after the old scheduler's last fire."""
    path = f"{schedule_path(name)}/shadow"
    zone = (await api.get(schedule_path(name)))["timezone"]
    if undo:
        if stopped or dry_run:
            raise InputError("--undo goes with no other option")
        back = await api.post(f"{path}:resume")
        return CommandResult(back, lambda: print_line(f"{name} is in shadow again: Tickwise does not run it."))
    answer = await api.post(f"{path}:adopt", stopped=stopped, dry_run=dry_run)
    return CommandResult(answer, lambda: _print_adoption(answer, zone))


def _print_list(items: list[dict[str, Any]], where: str, *, markdown: bool) -> None:
    if not items:
        print_nothing("No schedule is in shadow.", where)
        return
    rows = [(one["schedule"], format_shadow(one), _verdict(one)) for one in items]
    columns = ["schedule", "state", "newest fires"]
    if markdown:
        typer.echo("\n".join(table(columns, rows)))
    else:
        print_table(columns, rows)


def _verdict(one: dict[str, Any]) -> str:
    if not one["fires"]:
        return "no fire was heard" + (f", {one['ours']} slots passed" if one["ours"] else "")
    alone = f", {one['ours']} slots without a fire" if one["ours"] else ""
    return f"{one['both']} of {one['fires']} agree{alone}"


def _print_report(answer: dict[str, Any], zone: str, *, every: bool, markdown: bool) -> None:
    status = answer["status"]
    head = f"{status['schedule']}: {format_shadow(status, zone)}; {_verdict(status)}."
    rows = [
        (format_time(row["slot"] or row["fire"], zone), _SIDES[row["agreement"]], _offset(row), row["text"])
        for row in answer["rows"]
        if every or row["agreement"] != "both"
    ]
    if markdown:
        typer.echo("\n".join([f"**{escape(head)}**", "", *table(_COLUMNS, rows)]))
        return
    print_line(head)
    if rows:
        print_table(_COLUMNS, rows)
    if status["in_shadow"] and status["both"] and not (status["theirs"] or status["ours"]):
        print_line(f"Both agree. To take over: tickwise shadow adopt {status['schedule']}", "green")
    late = format_duration(answer["tolerance"]) if answer["tolerance"] else "0s"
    print_line(f"A fire belongs to the nearest slot that it follows within {late}.", "dim")


def _offset(row: dict[str, Any]) -> str:
    """How long after its slot the fire came."""
    if row["fire"] is None:
        return ""
    if row["slot"] is None:
        return "no slot"
    late = datetime.fromisoformat(row["fire"]) - datetime.fromisoformat(row["slot"])
    return f"{round(late.total_seconds()):+d} s"


def _print_adoption(answer: dict[str, Any], zone: str) -> None:
    name, following = answer["schedule"], answer["next_slot"]
    starts = "would start" if answer["dry_run"] else "starts"
    print_line(f"Tickwise {starts} {name} after {format_time(answer['cursor'], zone)}.")
    for slot in answer["pending"]:
        print_line(f"{format_time(slot, zone)}: nobody has started it; catch-up decides.", "yellow")
    if following:
        until = format_time(following, zone)
        print_line(f"The old scheduler must not start it any more: remove it there before {until}.")
