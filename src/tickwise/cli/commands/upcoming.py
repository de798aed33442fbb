"""`tickwise upcoming`: what will run, in time order; by job files, or by what is in the store."""

from itertools import islice
from pathlib import Path
from typing import Annotated, Any

import typer

from ...clock import now
from ...core.errors import InputError
from ...core.timeparse import floor_second, iso
from ..arguments import schedule_path, shown_time
from ..client import ApiClient
from ..command import CommandResult, ConfigFile, Server, StoreUrl, Token, api_command
from ..completion import schedule_names
from ..output import AsJson, limit_per_schedule, print_line, print_table
from .upcoming_of_files import upcoming_of_files

_MOST = 1_000


def upcoming(
    target: Annotated[
        str | None,
        typer.Argument(metavar="[NAME|PATH]", help="A schedule, or job files.", autocompletion=schedule_names),
    ] = None,
    hours: Annotated[float, typer.Option(min=0.01, max=24 * 366, help="How far to look ahead.")] = 24,
    count: Annotated[int, typer.Option("-n", min=1, max=100_000, help="How many runs to list.")] = 20,
    start: Annotated[
        str | None, typer.Option("--from", help="From this time on; default: now. Only with a path.")
    ] = None,
    *,
    every: Annotated[bool, typer.Option("--all", help="List frequent schedules in full, too.")] = False,
    server: Server = None,
    token: Token = None,
    store: StoreUrl = None,
    config: ConfigFile = None,
    as_json: AsJson = False,
) -> None:
    """List the runs to come, earliest first, at the times at which they will really start."""
    if target is not None and _is_path(target):
        upcoming_of_files(Path(target), hours, count, start, every=every, as_json=as_json)
        return
    if start is not None:
        raise InputError("--from is for job files: what is in a store goes on from now")
    _of_store(
        name=target, hours=hours, count=count, every=every, server=server, token=token, store=store, config=config,
        as_json=as_json,
    )  # fmt: skip


def _is_path(target: str) -> bool:
    return "/" in target or target.endswith((".yaml", ".yml")) or Path(target).exists()


@api_command
async def _of_store(api: ApiClient, name: str | None, hours: float, count: int, *, every: bool) -> CommandResult:
    known = {} if name is None else {name: await api.get(schedule_path(name))}
    answer = await api.get("/upcoming", hours=hours, limit=_MOST)
    coming = [one for one in answer["items"] if name is None or one["schedule"] == name]
    if len(answer["items"]) == _MOST:
        coming += await _hidden(api, coming, known, hours)
    few = limit_per_schedule(coming, len(coming), lambda one: str(one["schedule"]))
    listed = list(islice(coming if every or name else few, count))
    return CommandResult({"items": coming[:count]}, lambda: _show(api, listed, known, hours))


async def _hidden(
    api: ApiClient, coming: list[dict[str, Any]], known: dict[str, Any], hours: float
) -> list[dict[str, Any]]:
    """The next runs of schedules that come only after more runs than the API tells at once."""
    end = iso(floor_second(now()) + round(hours * 3_600))
    page = {"items": list(known.values())} if known else await api.pages("/schedules", _MOST, due_before=end)
    seen = {one["schedule"] for one in coming}
    found = [
        {"at": one["next_run_at"], "schedule": one["name"], "job": one["job"], "slot": one["next_run_at"],
         "kind": one["kind"]}
        for one in page["items"] if one["name"] not in seen and (one["next_run_at"] or end) < end
    ]  # fmt: skip
    return sorted(found, key=lambda one: (one["at"], one["schedule"]))


async def _show(api: ApiClient, listed: list[dict[str, Any]], known: dict[str, Any], hours: float) -> None:
    if not listed:
        print_line(f"Nothing is due in the next {hours:g} hours.")
        return
    for name in {one["schedule"] for one in listed} - known.keys():
        known[name] = await api.get(schedule_path(name))
    of = [known[one["schedule"]] for one in listed]
    rows = [
        (shown_time(one["at"], schedule["timezone"]), one["schedule"], schedule["means"])
        for one, schedule in zip(listed, of, strict=True)
    ]
    print_table(["when", "schedule", "what it means"], rows)
