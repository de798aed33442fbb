"""`tickwise jobs`: what can run, with or without a schedule."""

from typing import Annotated, Any

import typer

from ...core.definition import check_name
from ..client import ApiClient
from ..command import CommandResult, api_command
from ..output import as_yaml, print_empty_list, print_fields, print_line, print_table
from ..prompts import Yes, confirm

app = typer.Typer(help="Jobs: what can run, with or without a schedule.", no_args_is_help=True)
_SHOWN = 10  # runs that are named
JobName = Annotated[str, typer.Argument(metavar="NAME", help="A job.")]


def job_path(name: str) -> str:
    return f"/jobs/{check_name(name, 'the name of a job')}"


@app.command("list")
@api_command
async def list_jobs(
    api: ApiClient,
    limit: Annotated[int, typer.Option("--limit", "-n", min=1, max=100_000, help="How many at most.")] = 1_000,
) -> CommandResult:
    """List jobs, with their schedules and where they are defined."""
    page = await api.pages("/jobs", limit)
    if not page["items"]:
        return CommandResult(page, lambda: print_empty_list("jobs", {}, api.where))
    return CommandResult(page, lambda: _print_jobs(page))


def _print_jobs(page: dict[str, Any]) -> None:
    rows = [
        (one["name"], ", ".join(one["schedules"]) or "on demand", one["queue"], one["source"], one["description"])
        for one in page["items"]
    ]
    print_table(["job", "schedules", "queue", "source", "description"], rows, optional=["queue", "description"])
    if page["next"] is not None:
        print_line(f"More than {len(rows):,}: raise --limit to see them.", "dim")


@app.command("show")
@api_command
async def show_job(api: ApiClient, name: JobName) -> CommandResult:
    """Show one job: its params, its schedules and its definition."""
    one = await api.get(job_path(name))
    return CommandResult(one, lambda: _print_job(one))


def _print_job(one: dict[str, Any]) -> None:
    print_fields(
        [
            ("name", one["name"]), ("description", one["description"]), ("source", one["source"]),
            ("schedules", ", ".join(one["schedules"]) or "on demand"), ("params", _format_parameters(one)),
            ("queue", one["queue"]), ("steps", ", ".join(one["steps"])), ("unreadable", one["unreadable"]),
        ]
    )  # fmt: skip
    print_line(f"To run it: tickwise run {one['name']}", "dim")
    if one["definition"]:
        print_line("")
    for line in as_yaml(one["definition"]) if one["definition"] else ():
        print_line(line, "cyan")


@app.command("cancel")
@api_command
async def cancel_runs(
    api: ApiClient,
    name: JobName,
    *,
    queued: Annotated[bool, typer.Option("--queued", help="End its queued runs, too.")] = False,
) -> CommandResult:
    """Ask all running runs of a job to stop."""
    answer = await api.post(f"{job_path(name)}:cancel", queued=queued)
    return CommandResult(answer, lambda: print_line(_format_cancelled(name, answer["runs"], queued=queued)))


@app.command("remove")
@api_command
async def remove_job(api: ApiClient, name: JobName, *, yes: Annotated[bool, Yes] = False) -> CommandResult:
    """Delete a job of the API, with its schedules. Queued runs are cancelled."""
    await api.get(job_path(name))
    await confirm(f"Delete {name}?", yes=yes)
    await api.delete(job_path(name))
    return CommandResult({"name": name, "removed": True}, lambda: print_line(f"{name} is deleted."))


def _format_cancelled(name: str, runs: list[str], *, queued: bool) -> str:
    if not runs:
        return f"No run of {name} is {'queued or running' if queued else 'running'}."
    more = " …" if len(runs) > _SHOWN else ""
    return f"Asked to stop, of {name}: {', '.join(runs[:_SHOWN])}{more} ({len(runs):,} in all)"


def _format_parameters(one: dict[str, Any]) -> str:
    known = one["parameters"]
    if known is None:
        return "not known"
    names = [f"{name} (required)" if name in known["required"] else name for name in known["names"]]
    return ", ".join([*names, "any others"] if known["takes_any"] else names) or "none"
