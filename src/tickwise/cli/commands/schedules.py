"""`tickwise schedules`: list and show; the other commands of the group have modules of their own."""

from typing import Annotated, Any

import typer

from ..arguments import as_future, schedule_path
from ..client import ApiClient
from ..command import CommandResult, api_command
from ..completion import Name
from ..output import as_yaml, format_time, in_colour, print_empty_list, print_fields, print_line, print_table
from ..schedule_output import format_next_run, format_shadow
from . import adopt, backfill, schedule_actions, schedule_definitions

app = typer.Typer(help="Schedules: list, show, define and control them.", no_args_is_help=True)
_FIELDS = "name job kind times means timezone source".split()


@app.command("list")
@api_command
async def list_schedules(
    api: ApiClient,
    job: Annotated[str | None, typer.Option(help="Only of this job.")] = None,
    text: Annotated[str | None, typer.Option(help="Only if the name contains this.")] = None,
    label: Annotated[str | None, typer.Option(help="Only of jobs with this label: KEY or KEY=VALUE.")] = None,
    source: Annotated[str | None, typer.Option(help="Only from this source.")] = None,
    due_before: Annotated[str | None, typer.Option(help="Only if due before a time, or within 2h.")] = None,
    limit: Annotated[int, typer.Option(min=1, max=100_000, help="How many at most.")] = 1_000,
    *,
    paused: Annotated[bool | None, typer.Option("--paused/--not-paused", help="Only if paused, or not.")] = None,
) -> CommandResult:
    """List schedules with their next and last run."""
    filters = {
        "job": job, "text": text, "label": label, "source": source, "due_before": as_future(due_before),
        "paused": paused,
    }  # fmt: skip
    page = await api.pages("/schedules", limit, **filters)
    if not page["items"]:
        return CommandResult(page, lambda: print_empty_list("schedules", filters, api.where))
    return CommandResult(page, lambda: _print_schedules(page))


def _print_schedules(page: dict[str, Any]) -> None:
    rows = [
        (one["name"], format_next_run(one), in_colour(one["last_state"] or ""), one["means"])
        for one in page["items"]
    ]
    print_table(["schedule", "next", "last run", "what it means"], rows, optional=["last run"])
    if page["next"] is not None:
        print_line(f"More than {len(rows):,}: raise --limit to see them.", "dim")


@app.command("show")
@api_command
async def show_schedule(api: ApiClient, name: Name) -> CommandResult:
    """Show when a schedule runs, and its definition."""
    one = await api.get(schedule_path(name))
    return CommandResult(one, lambda: _print_schedule(one))


def _print_schedule(one: dict[str, Any]) -> None:
    zone, pause, last = one["timezone"], one["paused"], one["last_run_at"]
    at = {key: format_time(one[key], zone) for key in ("last_run_at", "cursor", "moved_to")}
    print_fields(
        [
            *((key, one[key]) for key in _FIELDS),
            ("paused", "" if pause is None else _format_pause(pause, zone)),
            ("next run", format_next_run(one)),
            ("moved to", at["moved_to"]),
            ("blackouts", ", ".join(one["blackouts"])),
            ("to be skipped", ", ".join(format_time(skip["slot"], zone) for skip in one["skips"])),
            ("shadow", format_shadow(one["shadow"], zone) if one["shadow"] else ""),
            ("waits", one["waits"]),
            ("cannot be read", one["unreadable"]),
            ("last run", f"{at['last_run_at']} {one['last_state']}, run {one['last_run_id']}" if last else ""),
            ("decided up to", at["cursor"]),
            ("backfill", "in progress" if one["backfilling"] else ""),
            ("ticking", f"{one['ticking']}, adopted" if one["adopted"] else one["ticking"] or ""),
        ]
    )  # fmt: skip
    for warning in one["warnings"]:
        print_line(f"warning: {warning}", "yellow")
    print_line("")
    for line in as_yaml(one["definition"]):
        print_line(line, "cyan")


def _format_pause(pause: dict[str, Any], zone: str) -> str:
    until = f" until {format_time(pause['until'], zone)}" if pause["until"] else ""
    by = f" by {pause['by']}" if pause["by"] else ""
    why = f": {pause['reason']}" if pause["reason"] else ""
    return f"since {format_time(pause['at'], zone)}{until}{by}{why}"


app.command("add")(schedule_definitions.add)
app.command("update")(schedule_definitions.update)
app.command("remove")(schedule_definitions.remove)
app.command("pause")(schedule_actions.pause)
app.command("resume")(schedule_actions.resume)
app.command("trigger")(schedule_actions.trigger)
app.command("reschedule")(schedule_actions.reschedule)
app.command("skip")(schedule_actions.skip)
app.command("reset")(schedule_actions.reset)
app.command("backfill")(backfill.backfill)
app.command("adopt")(adopt.adopt)
