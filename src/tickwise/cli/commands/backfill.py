"""`tickwise schedules backfill`: run slots of the past."""

import asyncio
from typing import Annotated, Any

import typer
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

from ...core.errors import InputError
from ..arguments import as_when, schedule_path
from ..client import ApiClient
from ..command import CommandResult, api_command
from ..completion import Name
from ..output import format_time, print_line
from ..prompts import Yes, confirm

_CONFIRM_ABOVE = 100  # slots
_MAX_LISTED = 20
_POLL_SECONDS = 0.5


@api_command
async def backfill(
    api: ApiClient,
    name: Name,
    start: Annotated[str | None, typer.Option("--from", help="The first time, in the schedule's zone.")] = None,
    end: Annotated[str | None, typer.Option("--to", help="Up to here, exclusive.")] = None,
    overlap: Annotated[str, typer.Option(help="If the job is active: queue, skip, allow …")] = "queue",
    limit: Annotated[int, typer.Option(min=1, max=10_000, help="How many runs at most.")] = 1_000,
    *,
    again: Annotated[bool, typer.Option("--again", help="Also slots whose runs are no longer kept.")] = False,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Only list the slots that would run.")] = False,
    cancel: Annotated[bool, typer.Option("--cancel", help="Cancel the backfill in progress.")] = False,
    yes: Annotated[bool, Yes] = False,
    no_wait: Annotated[bool, typer.Option("--no-wait", help="Do not wait until it is done.")] = False,
) -> CommandResult:
    """Run past slots that have no run, the oldest first."""
    path = schedule_path(name)
    if cancel:
        left = await api.delete(f"{path}/backfill")
        return CommandResult(
            left, lambda: print_line(f"Cancelled the backfill of {name}: {left['made']} slots were enqueued.")
        )
    if start is None or end is None:
        raise InputError("say which slots: --from 2026-03-01 --to 2026-03-02, or --cancel")
    zone = (await api.get(path))["timezone"]
    times = {"start": as_when(start, zone), "end": as_when(end, zone)}
    request = {**times, "overlap": overlap, "limit": limit, "again": again}
    answer = await api.post(f"{path}:backfill", **request, dry_run=True)
    slots = answer["slots"]
    if dry_run or not slots:
        return CommandResult(answer, lambda: _print_slots(slots, zone))
    if len(slots) > _CONFIRM_ABOVE:
        await confirm(f"Run {len(slots):,} slots of {name} from {_format_range(slots, zone)}?", yes=yes)
    answer = await api.post(f"{path}:backfill", **request, dry_run=False)
    return CommandResult(answer, lambda: _watch_progress(api, name, len(slots), wait=not no_wait))


def _print_slots(slots: list[str], zone: str) -> None:
    if not slots:
        print_line("No slots without a run in that range.")
        return
    print_line(f"{len(slots):,} slots would run, from {_format_range(slots, zone)}:")
    for slot in slots[:_MAX_LISTED]:
        print_line(format_time(slot, zone))
    if len(slots) > _MAX_LISTED:
        print_line(f"… and {len(slots) - _MAX_LISTED:,} more", "dim")


def _format_range(slots: list[str], zone: str) -> str:
    return f"{format_time(slots[0], zone)} to {format_time(slots[-1], zone)}"


async def _watch_progress(api: ApiClient, name: str, slots: int, *, wait: bool) -> None:
    """Show a progress bar until every slot is enqueued, if there is a terminal."""
    console = Console()
    if wait and console.is_terminal:
        columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
        with Progress(*columns, console=console) as bar:
            task = bar.add_task(f"backfill of {name}", total=slots)
            while (progress := await _fetch_progress(api, name))["active"]:
                bar.update(task, completed=progress["made"], total=progress["asked"])
                await asyncio.sleep(_POLL_SECONDS)
            bar.update(task, completed=progress["made"], total=progress["made"])
        print_line(f"{progress['made']:,} slots of {name} were enqueued: tickwise runs list --schedule {name}")
    else:
        print_line(f"{slots:,} slots of {name} will run. To cancel: tickwise schedules backfill {name} --cancel")


async def _fetch_progress(api: ApiClient, name: str) -> dict[str, Any]:
    found: dict[str, Any] = await api.get(f"{schedule_path(name)}/backfill")
    return found
