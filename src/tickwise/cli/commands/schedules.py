"""`tickwise schedules`: list and show; the other commands of the group are in files of their own."""

from typing import Annotated, Any

import typer

from ..arguments import as_future, schedule_path, shown_time
from ..client import ApiClient
from ..command import CommandResult, api_command
from ..completion import Name
from ..output import as_yaml, in_colour, print_fields, print_line, print_table
from ..schedule_output import shown_next
from . import adopt, backfill, schedule_actions, schedule_definitions

app = typer.Typer(help="Schedules: look at them, define them, act on them.", no_args_is_help=True)
_SHOWN = "name job kind times means timezone source".split()


@app.command("list")
@api_command
async def list_schedules(
    api: ApiClient,
    job: Annotated[str | None, typer.Option(help="Only of this job.")] = None,
    text: Annotated[str | None, typer.Option(help="Only with this in their name.")] = None,
    label: Annotated[str | None, typer.Option(help="Only of jobs with this label: KEY or KEY=VALUE.")] = None,
    source: Annotated[str | None, typer.Option(help="Only what this source has written.")] = None,
    due_before: Annotated[str | None, typer.Option(help="Only what is due before a time, or within 2h.")] = None,
    limit: Annotated[int, typer.Option(min=1, max=100_000, help="How many at most.")] = 1_000,
    *,
    paused: Annotated[bool | None, typer.Option("--paused/--not-paused", help="Only these or those.")] = None,
) -> CommandResult:
    """List schedules in order of their names, with their next time and how their last run ended."""
    page = await api.pages(
        "/schedules", limit, job=job, text=text, label=label, source=source, due_before=as_future(due_before),
        paused=paused,
    )  # fmt: skip
    return CommandResult(page, lambda: _table(page))


def _table(page: dict[str, Any]) -> None:
    if not page["items"]:
        print_line("There is no such schedule.", "dim")
        return
    rows = [
        (one["name"], shown_next(one), in_colour(one["last_state"] or ""), one["means"]) for one in page["items"]
    ]
    print_table(["schedule", "next", "last run", "what it means"], rows)
    if page["next"] is not None:
        print_line(f"More than {len(rows):,}: see --limit.", "dim")


@app.command("show")
@api_command
async def show_schedule(api: ApiClient, name: Name) -> CommandResult:
    """Show one schedule: when it runs, how far it is, and its definition."""
    one = await api.get(schedule_path(name))
    return CommandResult(one, lambda: _show(one))


def _show(one: dict[str, Any]) -> None:
    zone, pause, last = one["timezone"], one["paused"], one["last_run_at"]
    at = {key: shown_time(one[key], zone) for key in ("last_run_at", "cursor", "moved_to")}
    print_fields(
        [
            *((key, one[key]) for key in _SHOWN),
            ("paused", "" if pause is None else f"since {shown_time(pause['at'], zone)}{_why(pause)}"),
            ("next run", shown_next(one)),
            ("moved to", at["moved_to"]),
            ("waits", one["waits"]),
            ("last run", f"{at['last_run_at']} {one['last_state']}, run {one['last_run_id']}" if last else ""),
            ("decided up to", at["cursor"]),
            ("backfill", "under way" if one["backfilling"] else ""),
        ]
    )  # fmt: skip
    for warning in one["warnings"]:
        print_line(f"warning: {warning}", "yellow")
    print_line("")
    for line in as_yaml(one["definition"]):
        print_line(line, "cyan")


def _why(pause: dict[str, Any]) -> str:
    by = f" by {pause['by']}" if pause["by"] else ""
    return f"{by}: {pause['reason']}" if pause["reason"] else by


app.command("add")(schedule_definitions.add)
app.command("update")(schedule_definitions.update)
app.command("remove")(schedule_definitions.remove)
app.command("pause")(schedule_actions.pause)
app.command("resume")(schedule_actions.resume)
app.command("trigger")(schedule_actions.trigger)
app.command("reschedule")(schedule_actions.reschedule)
app.command("reset")(schedule_actions.reset)
app.command("backfill")(backfill.backfill)
app.command("adopt")(adopt.adopt)
