"""`tickwise runs`: list, show, cancel, retry; logs are in a file of their own."""

from typing import Annotated, Any

import typer

from ..arguments import as_past, run_path, shown_span, shown_time
from ..client import ApiClient
from ..command import CommandResult, api_command
from ..output import in_colour, print_fields, print_line, print_table
from ..schedule_output import zones
from . import logs

app = typer.Typer(help="Runs: what ran, how it went, and what it printed.", no_args_is_help=True)
Run = Annotated[str, typer.Argument(metavar="RUN", help="The id of a run.")]
_SHOWN = "id job schedule trigger_label".split()


@app.command("list")
@api_command
async def list_runs(
    api: ApiClient,
    job: Annotated[str | None, typer.Option(help="Only of this job.")] = None,
    schedule: Annotated[str | None, typer.Option(help="Only of this schedule.")] = None,
    state: Annotated[list[str] | None, typer.Option(help="Only in this state. May be repeated.")] = None,
    trigger: Annotated[list[str] | None, typer.Option(help="Only made by this. May be repeated.")] = None,
    queue: Annotated[str | None, typer.Option(help="Only of this queue.")] = None,
    since: Annotated[str | None, typer.Option(help="Made since then: a time in UTC, or 2h ago.")] = None,
    until: Annotated[str | None, typer.Option(help="Made before then.")] = None,
    text: Annotated[str | None, typer.Option(help="Only with this in the name of job or schedule.")] = None,
    limit: Annotated[int, typer.Option("--limit", "-n", min=1, max=100_000, help="How many at most.")] = 20,
) -> CommandResult:
    """List runs, the newest first."""
    page = await api.pages(
        "/runs", limit, job=job, schedule=schedule, state=state, trigger=trigger, queue=queue,
        since=as_past(since), until=as_past(until), text=text,
    )  # fmt: skip
    return CommandResult(page, lambda: _table(api, page))


async def _table(api: ApiClient, page: dict[str, Any]) -> None:
    if not page["items"]:
        print_line("There is no such run.", "dim")
        return
    of = await zones(api, (run["schedule"] for run in page["items"]))
    print_table(
        ["run", "schedule or job", "slot", "made by", "state", "started", "took"],
        [_row(run, of[run["schedule"]]) for run in page["items"]],
    )


def _row(run: dict[str, Any], zone: str) -> tuple[Any, ...]:
    return (
        run["id"], run["schedule"] or run["job"], shown_time(run["slot"], zone), run["trigger"],
        in_colour(run["state"]), shown_time(run["started_at"], zone),
        shown_span(run["started_at"], run["finished_at"]),
    )  # fmt: skip


@app.command("show")
@api_command
async def show_run(api: ApiClient, run: Run) -> CommandResult:
    """Show one run: why it happened, how it went, and its steps."""
    one = await api.get(run_path(run))
    return CommandResult(one, lambda: _show(api, one))


async def _show(api: ApiClient, one: dict[str, Any]) -> None:
    path, zone = run_path(one["id"]), (await zones(api, [one["schedule"]]))[one["schedule"]]
    why = await api.get(f"{path}/why")
    at = {key: shown_time(one[key], zone) for key in ("slot", "due_at", "started_at", "finished_at")}
    print_fields(
        [
            *((key.replace("_", " "), one[key] or "") for key in _SHOWN),
            ("state", in_colour(one["state"])), ("why", why["text"]), ("by", one["by"]), ("slot", at["slot"]),
            ("due", at["due_at"]), ("started", at["started_at"]), ("finished", at["finished_at"]),
            ("took", shown_span(one["started_at"], one["finished_at"])), ("attempt", str(one["attempt"])),
            ("worker", one["worker"] or ""), ("queue", one["queue"]),
            ("params", ", ".join(f"{name}={value!r}" for name, value in one["params"].items())),
            ("result", "" if one["result"] is None else str(one["result"])), ("waits", " ".join(one["waits"])),
            ("error", one["error"].strip()),
        ]
    )  # fmt: skip
    steps = (await api.get(f"{path}/steps"))["items"]
    if len(steps) > 1:
        print_line("")
        print_table(["step", "after", "state", "took", "error"], [_step(step) for step in steps])


def _step(step: dict[str, Any]) -> tuple[Any, ...]:
    took = shown_span(step["started_at"], step["finished_at"])
    return step["name"], ", ".join(step["depends"]), in_colour(step["state"] or "not begun"), took, step["error"]


@app.command("cancel")
@api_command
async def cancel_run(api: ApiClient, run: Run) -> CommandResult:
    """End a queued run, or ask a running one to end."""
    answer = await api.post(f"{run_path(run)}:cancel")
    text = f"Run {run} is asked to end." if answer["state"] == "running" else f"Run {run} is {answer['state']}."
    return CommandResult(answer, lambda: print_line(text))


@app.command("retry")
@api_command
async def retry_run(
    api: ApiClient,
    run: Run,
    *,
    all_steps: Annotated[bool, typer.Option("--all-steps", help="A new run, of all steps.")] = False,
) -> CommandResult:
    """Run again what failed, was lost or cancelled; steps that succeeded are not repeated."""
    one = await api.post(f"{run_path(run)}:retry", from_failed=not all_steps)
    return CommandResult(
        one, lambda: print_line(f"Run {one['id']} is {one['state']}: tickwise runs show {one['id']}")
    )


app.command("logs")(logs.logs)
