"""`tickwise sources`: where definitions come from, and what sources have left behind."""

from typing import Annotated, Any

import typer

from ..client import ApiClient
from ..command import CommandResult, api_command
from ..output import print_empty_list, print_line, print_table
from ..prompts import Yes, confirm

app = typer.Typer(help="Sources of definitions: folders, apps, the API.", no_args_is_help=True)
SourceName = Annotated[str, typer.Argument(metavar="SOURCE", help="A source, as in the list.")]


@app.command("list")
@api_command
async def list_sources(api: ApiClient) -> CommandResult:
    """List sources, their jobs, and the live nodes that have them."""
    answer = await api.get("/sources")
    if not answer["items"]:
        return CommandResult(answer, lambda: print_empty_list("sources", {}, api.where))
    rows = [
        (
            one["name"], str(one["jobs"]), str(one["schedules"]), ", ".join(one["nodes"]) or "none",
            ", ".join(one["orphans"]),
        )
        for one in answer["items"]
    ]  # fmt: skip
    columns = ["source", "jobs", "schedules", "live nodes", "orphaned jobs"]
    return CommandResult(answer, lambda: print_table(columns, rows))


@app.command("move")
@api_command
async def move(
    api: ApiClient,
    source: SourceName,
    to: Annotated[str, typer.Argument(metavar="TO", help="The source that takes over.")],
    *,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Only say what would move.")] = False,
) -> CommandResult:
    """Give the jobs of a source to another. For a folder that was renamed, or is served by a name."""
    answer = await api.post("/sources:move", source=source, to=to, dry_run=dry_run)
    return CommandResult(answer, lambda: _print_jobs(answer, "would move" if dry_run else "moved"))


@app.command("remove")
@api_command
async def remove(api: ApiClient, source: SourceName, *, yes: Annotated[bool, Yes] = False) -> CommandResult:
    """Delete all jobs of a source. Refused while a live node has the source."""
    preview = await api.post("/sources:remove", source=source, dry_run=True)
    jobs = ", ".join(preview["jobs"])
    await confirm(f"Delete what {source} has written of these jobs: {jobs}?", yes=yes)
    answer = await api.post("/sources:remove", source=source, dry_run=False)
    return CommandResult(answer, lambda: _print_jobs(answer, "removed"))


def _print_jobs(answer: dict[str, Any], what: str) -> None:
    print_line(f"{len(answer['jobs'])} jobs {what}: {', '.join(answer['jobs'])}")
