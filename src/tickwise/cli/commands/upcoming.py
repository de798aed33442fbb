"""`tickwise upcoming`: what will run, in time order; by job files, or by what is in the store."""

from collections import Counter
from collections.abc import Mapping
from itertools import islice
from pathlib import Path
from typing import Annotated, Any

import typer

from ...clock import now
from ...core.errors import InputError
from ...core.timeparse import floor_second, iso
from ...core.upcoming import count_upcoming
from ..arguments import read_second, schedule_path
from ..client import ApiClient
from ..command import CommandResult, ConfigFile, Server, StoreUrl, Token, api_command
from ..completion import schedule_names
from ..output import AsJson, format_time, limit_per_schedule, print_json, print_line, print_nothing, print_table

_MAX_RUNS = 1_000  # as many as the API lists at once


def upcoming(
    target: Annotated[
        str | None,
        typer.Argument(metavar="[NAME|PATH]", help="A schedule, or job files.", autocompletion=schedule_names),
    ] = None,
    hours: Annotated[float, typer.Option(min=0.01, max=24 * 366, help="How far to look ahead.")] = 24,
    count: Annotated[int, typer.Option("-n", min=1, max=_MAX_RUNS, help="How many runs to list.")] = 20,
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
    """List the runs to come, at the times of their real start."""
    if target is not None and _is_path(target):
        _list_from_files(Path(target), hours, count, start, every=every, as_json=as_json)
        return
    if start is not None:
        raise InputError("--from is for job files: what is in a store goes on from now")
    _list_from_store(
        name=target, hours=hours, count=count, every=every, server=server, token=token, store=store, config=config,
        as_json=as_json,
    )  # fmt: skip


def _is_path(target: str) -> bool:
    return "/" in target or target.endswith((".yaml", ".yml")) or Path(target).exists()


def _list_from_files(
    path: Path, hours: float, count: int, start: str | None, *, every: bool, as_json: bool
) -> None:
    """List what job files would run, whether or not a node serves them."""
    from ...api.schemas.times import UpcomingResponse  # noqa: PLC0415  (--server needs none of them)
    from ...app.upcoming import new_schedules, runs_between  # noqa: PLC0415
    from .validate import read_jobs  # noqa: PLC0415

    first = read_second(start, "UTC")
    end = first + round(hours * 3_600)
    schedules = {each.name: each for each in new_schedules(read_jobs(path), first)}
    runs = runs_between(schedules.values(), first, first, end)
    if not (every or as_json):
        runs = limit_per_schedule(runs, len(schedules), lambda run: run.schedule)
    listed = list(islice(runs, count + 1))
    answer = {"items": listed[:count], "more": len(listed) > count}
    response = UpcomingResponse.model_validate(answer).model_dump(mode="json")
    if as_json:
        print_json(response)
    elif not response["items"]:
        print_line(f"No runs in the {hours:g} hours from {iso(first)}.")
    else:
        _print_runs(response["items"], {name: each.definition.times.explain() for name, each in schedules.items()})
        left = Counter({name: count_upcoming(each, first, end) for name, each in schedules.items()})
        left.subtract(run["schedule"] for run in response["items"])
        _print_left(left, hours)


def _print_left(left: Mapping[str, int], hours: float) -> None:
    more = ", ".join(f"{name} {number:,}" for name, number in sorted(left.items()) if number > 0)
    if more:
        print_line(f"More in these {hours:g} hours: {more}.", "dim")


@api_command
async def _list_from_store(
    api: ApiClient, name: str | None, hours: float, count: int, *, every: bool
) -> CommandResult:
    limit = count if api.as_json else _MAX_RUNS
    answer = await api.get("/upcoming", schedule=name, hours=hours, limit=limit)
    found = answer["items"]
    runs = found[:count]
    if name is None and not (every or api.as_json):
        runs = list(islice(limit_per_schedule(found, len(found), lambda run: str(run["schedule"])), count))
        if answer["more"]:
            runs += await _later_runs(api, {run["schedule"] for run in runs}, hours, count - len(runs))
    return CommandResult(answer, lambda: _print_from_store(api, runs, answer, hours))


async def _later_runs(api: ApiClient, listed: set[str], hours: float, count: int) -> list[dict[str, Any]]:
    """The first runs of schedules that run only after more others than the API lists at once."""
    end = iso(floor_second(now()) + round(hours * 3_600))
    page = await api.pages("/schedules", _MAX_RUNS, due_before=end)
    later = sorted(
        (one["next_run_at"], one["name"])
        for one in page["items"]
        if one["name"] not in listed and one["next_run_at"] is not None and one["next_run_at"] < end
    )
    answers = [await api.get("/upcoming", schedule=name, hours=hours, limit=1) for _, name in later[:count]]
    return [run for answer in answers for run in answer["items"]]


async def _print_from_store(
    api: ApiClient, runs: list[dict[str, Any]], answer: dict[str, Any], hours: float
) -> None:
    if not runs:
        print_nothing(f"No runs in the next {hours:g} hours.", api.where)
        return
    names = dict.fromkeys(run["schedule"] for run in runs)
    _print_runs(runs, {name: (await api.get(schedule_path(name)))["means"] for name in names})
    found = len(answer["items"])
    if found > len(runs) or answer["more"]:
        of = f"more than {found:,}" if answer["more"] else f"{found:,}"
        ways = f"--all -n {_MAX_RUNS} lists more" if len(runs) < _MAX_RUNS else "shorten --hours to see them all"
        print_line(f"These are {len(runs):,} of {of} runs in the next {hours:g} hours; {ways}.", "dim")


def _print_runs(runs: list[dict[str, Any]], means: Mapping[str, str]) -> None:
    rows = [(format_time(run["at"], run["timezone"]), run["schedule"], means[run["schedule"]]) for run in runs]
    print_table(["when", "schedule", "what it means"], rows)
