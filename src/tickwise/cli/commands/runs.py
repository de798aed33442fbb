"""`tickwise runs`: list, show, cancel, retry, approve and reject; `logs` has a module of its own."""

import json
from typing import Annotated, Any

import typer

from ...core.payload import clip, first_line
from ..arguments import as_past, run_path
from ..client import ApiClient
from ..command import CommandResult, api_command
from ..output import (
    format_elapsed,
    format_time,
    in_colour,
    print_empty_list,
    print_fields,
    print_line,
    print_table,
)
from ..schedule_output import fetch_zones
from . import logs

app = typer.Typer(help="Runs: what ran, how it went, and what it printed.", no_args_is_help=True)
Run = Annotated[str, typer.Argument(metavar="RUN", help="The id of a run.")]
_MAX_OUTPUTS = 100  # characters in a table
_FIELDS = "id job schedule trigger_label".split()


@app.command("list")
@api_command
async def list_runs(
    api: ApiClient,
    job: Annotated[str | None, typer.Option(help="Only of this job.")] = None,
    schedule: Annotated[str | None, typer.Option(help="Only of this schedule.")] = None,
    state: Annotated[list[str] | None, typer.Option(help="Only in this state. May be repeated.")] = None,
    trigger: Annotated[list[str] | None, typer.Option(help="Only with this trigger. May be repeated.")] = None,
    queue: Annotated[str | None, typer.Option(help="Only of this queue.")] = None,
    since: Annotated[str | None, typer.Option(help="Created since a time in UTC, or 2h ago.")] = None,
    until: Annotated[str | None, typer.Option(help="Created before a time in UTC, or 2h ago.")] = None,
    text: Annotated[str | None, typer.Option(help="Only if the name of job or schedule contains this.")] = None,
    query: Annotated[
        str | None, typer.Option("--query", "-q", help="Only what matches: 'state:failed error:Ledger* last 12h'.")
    ] = None,
    limit: Annotated[int, typer.Option("--limit", "-n", min=1, max=100_000, help="How many at most.")] = 20,
) -> CommandResult:
    """List runs, the newest first."""
    filters = {
        "job": job, "schedule": schedule, "state": state, "trigger": trigger, "queue": queue,
        "since": as_past(since), "until": as_past(until), "text": text, "q": query,
    }  # fmt: skip
    page = await api.pages("/runs", limit, **filters)
    if not page["items"]:
        return CommandResult(page, lambda: print_empty_list("runs", filters, api.where))
    return CommandResult(page, lambda: _print_runs(api, page))


async def _print_runs(api: ApiClient, page: dict[str, Any]) -> None:
    of = await fetch_zones(api, (run["schedule"] for run in page["items"]))
    print_table(
        ["run", "schedule or job", "slot", "trigger", "state", "started", "took"],
        [_run_cells(run, of[run["schedule"]]) for run in page["items"]],
        optional=["trigger", "took", "started"],
    )


def _run_cells(run: dict[str, Any], zone: str) -> tuple[Any, ...]:
    return (
        run["id"], run["schedule"] or run["job"], format_time(run["slot"], zone), run["trigger"],
        in_colour(run["state"]), _format_start(run, zone),
        format_elapsed(run["started_at"], run["finished_at"]),
    )  # fmt: skip


def _format_start(run: dict[str, Any], zone: str) -> str:
    """When a run started; on the day of its slot only the time."""
    slot, started = (format_time(run[key], zone) for key in ("slot", "started_at"))
    return started.split()[2] if started and started.split()[1:2] == slot.split()[1:2] else started


@app.command("show")
@api_command
async def show_run(api: ApiClient, run: Run) -> CommandResult:
    """Show one run: why it happened, how it went, and its steps."""
    one = await api.get(run_path(run))
    return CommandResult(one, lambda: _print_run(api, one))


async def _print_run(api: ApiClient, one: dict[str, Any]) -> None:
    path, zone = run_path(one["id"]), (await fetch_zones(api, [one["schedule"]]))[one["schedule"]]
    why = await api.get(f"{path}/why")
    at = {key: format_time(one[key], zone) for key in ("slot", "due_at", "started_at", "finished_at")}
    print_fields(
        [
            *((key.replace("_", " "), one[key] or "") for key in _FIELDS),
            ("state", in_colour(one["state"])), ("why", why["text"]), ("by", one["by"]), ("slot", at["slot"]),
            ("due", at["due_at"]), ("started", at["started_at"]), ("finished", at["finished_at"]),
            ("took", format_elapsed(one["started_at"], one["finished_at"])), ("attempt", str(one["attempt"])),
            ("worker", one["worker"] or ""), ("engine", _format_hand_over(one["hand_over"], why)),
            ("queue", one["queue"]),
            ("params", ", ".join(f"{name}={value!r}" for name, value in one["params"].items())),
            ("result", "" if one["result"] is None else str(one["result"])), ("waits", " ".join(one["waits"])),
            ("error", one["error"].strip()),
        ]
    )  # fmt: skip
    attempts = (await api.get(f"{path}/attempts"))["items"]
    if attempts:
        print_line("")
        print_table(
            ["earlier attempt", "ended as", "started", "took", "worker", "error"],
            [_attempt_cells(each, zone) for each in attempts],
            optional=["worker", "took"],
        )
    print_steps((await api.get(f"{path}/steps"))["items"])


def _format_hand_over(hand_over: dict[str, Any] | None, why: dict[str, Any]) -> str:
    """The engine, the reference and where people find it; while it runs, in the words of `why`."""
    if hand_over is None:
        return ""
    told = [step["text"] for step in why["chain"] if step["what"] == "engine"]
    place = f", {hand_over['address']}" if hand_over["address"] else ""
    return " ".join(told) or f"{hand_over['engine']}: {hand_over['reference']}{place}"


def print_steps(steps: list[dict[str, Any]]) -> None:
    """Print how far a run is with each of its steps; a single one says no more than the run."""
    if len(steps) > 1:
        print_line("")
        columns = ["step", "after", "state", "took", "hands on", "error or wait"]
        print_table(columns, [_step_cells(step) for step in steps], optional=["after", "hands on"])


def _attempt_cells(attempt: dict[str, Any], zone: str) -> tuple[Any, ...]:
    return (
        str(attempt["number"]), attempt["event"].replace("_", " "), format_time(attempt["started_at"], zone),
        format_elapsed(attempt["started_at"], attempt["finished_at"]), attempt["worker"] or "",
        first_line(attempt["error"]),
    )  # fmt: skip


def _step_cells(step: dict[str, Any]) -> tuple[Any, ...]:
    took = format_elapsed(step["started_at"], step["finished_at"])
    return (
        step["name"],
        ", ".join(step["depends"]),
        in_colour(step["state"] or "not started"),
        took,
        clip(json.dumps(step["outputs"], ensure_ascii=False), _MAX_OUTPUTS) if step["outputs"] else "",
        first_line(step["error"]) or _format_wait(step),
    )


def _format_wait(step: dict[str, Any]) -> str:
    """What a step waits for, if it does."""
    if step["state"] != "waiting":
        return ""
    if asked := step["approval"]:
        return f"waits for approval ({asked['role']}) since {format_time(asked['since'])}"
    return f"waits for run {step['child']} of {step['job']}" if step["child"] else ""


@app.command("cancel")
@api_command
async def cancel_run(api: ApiClient, run: Run) -> CommandResult:
    """Cancel a queued run, or ask a running one to stop."""
    answer = await api.post(f"{run_path(run)}:cancel")
    text = f"Run {run} was asked to stop." if answer["state"] == "running" else f"Run {run} is {answer['state']}."
    return CommandResult(answer, lambda: print_line(text))


@app.command("retry")
@api_command
async def retry_run(
    api: ApiClient,
    run: Run,
    *,
    all_steps: Annotated[bool, typer.Option("--all-steps", help="Start a new run of all steps.")] = False,
    from_step: Annotated[
        str | None, typer.Option(metavar="STEP", help="Repeat this step, and all that depend on it.")
    ] = None,
) -> CommandResult:
    """Run again what failed, was lost or cancelled. Steps that succeeded are not repeated."""
    step = {} if from_step is None else {"from_step": from_step}
    one = await api.post(f"{run_path(run)}:retry", from_failed=not all_steps, **step)
    return CommandResult(
        one, lambda: print_line(f"Run {one['id']} is {one['state']}: tickwise runs show {one['id']}")
    )


Step = Annotated[
    str | None, typer.Argument(metavar="[STEP]", help="Which step; the only one that waits if left out.")
]
Reason = Annotated[str, typer.Option(help="Why; it is kept in the audit.")]


@app.command("approve")
@api_command
async def approve_step(api: ApiClient, run: Run, step: Step = None, *, reason: Reason = "") -> CommandResult:
    """Approve what a step of a run waits for: the run goes on."""
    return await _send_answer(api, run, step, "approve", reason)


@app.command("reject")
@api_command
async def reject_step(api: ApiClient, run: Run, step: Step = None, *, reason: Reason = "") -> CommandResult:
    """Reject what a step of a run waits for: the step fails."""
    return await _send_answer(api, run, step, "reject", reason)


async def _send_answer(api: ApiClient, run: str, step: str | None, answer: str, reason: str) -> CommandResult:
    given = await api.post(f"{run_path(run)}:{answer}", step=step, reason=reason)
    done = "approved" if answer == "approve" else "rejected"
    return CommandResult(given, lambda: print_line(f"The step {given['step']} of run {given['run']} is {done}."))


app.command("logs")(logs.logs)
