"""`tickwise schedules backfill`: run slots of the past."""

import asyncio
from typing import Annotated, Any

import typer
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

from ...core.errors import InputError
from ..arguments import as_when, schedule_path, shown_time
from ..client import ApiClient
from ..command import CommandResult, api_command
from ..completion import Name
from ..output import print_line
from ..prompts import Yes, make_sure

_MANY = 100  # slots, above which a person is asked
_LISTED = 20
_POLL = 0.5  # seconds between two looks at the progress


@api_command
async def backfill(
    api: ApiClient,
    name: Name,
    start: Annotated[str | None, typer.Option("--from", help="The first time, in the schedule's zone.")] = None,
    end: Annotated[str | None, typer.Option("--to", help="Up to here, exclusive.")] = None,
    overlap: Annotated[str, typer.Option(help="While the job is active: queue, skip, allow …")] = "queue",
    limit: Annotated[int, typer.Option(min=1, max=10_000, help="Runs at most.")] = 1_000,
    *,
    again: Annotated[bool, typer.Option("--again", help="Also where runs are not kept any longer.")] = False,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Only say which slots would run.")] = False,
    cancel: Annotated[bool, typer.Option("--cancel", help="End the one that is under way.")] = False,
    yes: Annotated[bool, Yes] = False,
    no_wait: Annotated[bool, typer.Option("--no-wait", help="Do not watch it until it is done.")] = False,
) -> CommandResult:
    """Run the slots between two times that have no run, the oldest first."""
    path = schedule_path(name)
    if cancel:
        left = await api.delete(f"{path}/backfill")
        return CommandResult(
            left, lambda: print_line(f"The backfill of {name} is over, {left['made']} slots are made.")
        )
    if start is None or end is None:
        raise InputError("say which slots: --from 2026-03-01 --to 2026-03-02, or --cancel")
    zone = (await api.get(path))["timezone"]
    times = {"start": as_when(start, zone), "end": as_when(end, zone)}
    asked = {**times, "overlap": overlap, "limit": limit, "again": again}
    answer = await api.post(f"{path}:backfill", **asked, dry_run=True)
    slots = answer["slots"]
    if dry_run or not slots:
        return CommandResult(answer, lambda: _list(slots, zone))
    if len(slots) > _MANY:
        await make_sure(f"Run {len(slots):,} slots of {name} from {_range(slots, zone)}?", yes=yes)
    answer = await api.post(f"{path}:backfill", **asked, dry_run=False)
    return CommandResult(answer, lambda: _watch(api, name, len(slots), wait=not no_wait))


def _list(slots: list[str], zone: str) -> None:
    if not slots:
        print_line("No slot without a run lies there.")
        return
    print_line(f"{len(slots):,} slots would run, from {_range(slots, zone)}:")
    for slot in slots[:_LISTED]:
        print_line(shown_time(slot, zone))
    if len(slots) > _LISTED:
        print_line(f"… and {len(slots) - _LISTED:,} more", "dim")


def _range(slots: list[str], zone: str) -> str:
    return f"{shown_time(slots[0], zone)} to {shown_time(slots[-1], zone)}"


async def _watch(api: ApiClient, name: str, slots: int, *, wait: bool) -> None:
    """A bar until every slot has been enqueued, where there is somebody to see it."""
    console = Console()
    if wait and console.is_terminal:
        columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
        with Progress(*columns, console=console) as bar:
            task = bar.add_task(f"backfill of {name}", total=slots)
            while (far := await _far(api, name))["active"]:
                bar.update(task, completed=far["made"], total=far["asked"])
                await asyncio.sleep(_POLL)
            bar.update(task, completed=far["made"], total=far["made"])
        print_line(f"{far['made']:,} slots of {name} were enqueued: tickwise runs list --schedule {name}")
    else:
        print_line(f"{slots:,} slots of {name} will run; tickwise schedules backfill {name} --cancel ends that.")


async def _far(api: ApiClient, name: str) -> dict[str, Any]:
    found: dict[str, Any] = await api.get(f"{schedule_path(name)}/backfill")
    return found
