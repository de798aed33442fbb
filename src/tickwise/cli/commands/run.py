"""`tickwise run`: run a job once, now or later; or a job file in the foreground, without a store."""

import asyncio
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any

import typer

from ...core.definition import JobDefinition, jobs_called
from ...core.errors import InputError
from ...core.states import RunState
from ...core.step_jobs import queues_of
from ..arguments import as_when, parse_params, run_path
from ..client import ApiClient
from ..command import CommandResult, ConfigFile, Server, StoreUrl, Token, api_command
from ..output import AsJson, print_hint, print_json, print_line, print_note
from ..sender import ApiTarget
from .jobs import job_path
from .logs import follow_log
from .runs import print_steps
from .schedule_actions import Params
from .validate import read_jobs

_SOURCE = "file"
_SHUTDOWN_SECONDS = 1.0


def run(
    target: Annotated[str, typer.Argument(metavar="NAME|FILE", help="A job, or a job file to run here.")],
    params: Params = None,
    at: Annotated[str | None, typer.Option("--at", help="A time in UTC, or 15m from now.")] = None,
    key: Annotated[str | None, typer.Option("--key", help="Run once per key.")] = None,
    key_ttl: Annotated[str | None, typer.Option("--key-ttl", help="How long a success keeps the key.")] = None,
    queue: Annotated[str | None, typer.Option("--queue", help="Instead of the job's.")] = None,
    priority: Annotated[int | None, typer.Option("--priority", help="Instead of the job's.")] = None,
    *,
    wait: Annotated[bool, typer.Option("--wait", help="Wait for its end; exits with 1 if it fails.")] = False,
    follow: Annotated[bool, typer.Option("--follow", "-f", help="The same, and print its log.")] = False,
    server: Server = None,
    token: Token = None,
    store: StoreUrl = None,
    config: ConfigFile = None,
    as_json: AsJson = False,
) -> None:
    """Run a job once; or a job file here, without a store."""
    given = parse_params(params)
    options = {"at": at, "key": key, "key_ttl": key_ttl, "queue": queue, "priority": priority}
    if _is_file(target):
        if any(value is not None for value in options.values()):
            raise InputError("a job file runs here and now: leave out --at, --key, --queue and --priority")
        asyncio.run(_run_file(Path(target), given, as_json=as_json))
        return
    _run_job(
        name=target, params=given, options=options, wait=wait, follow=follow, server=server, token=token,
        store=store, config=config, as_json=as_json,
    )  # fmt: skip


def _is_file(target: str) -> bool:
    return "/" in target or target.endswith((".yaml", ".yml"))


@api_command
async def _run_job(
    api: ApiClient, name: str, params: dict[str, Any], options: dict[str, Any], *, wait: bool, follow: bool
) -> CommandResult:
    job = (await api.get(job_path(name)))["name"]
    when = None if options["at"] is None else as_when(options["at"], "UTC")
    run = await api.post("/runs", job=job, params=params or None, **{**options, "at": when})
    path = run_path(run["id"])
    if not (wait or follow):
        text = f"Run {run['id']} is {run['state']}: tickwise runs show {run['id']}"
        return CommandResult(run, lambda: print_line(text))
    for reason in (await api.get(path))["waits"]:
        print_note(reason)
    print_hint("Ctrl-C stops waiting, not the run.")
    state = await follow_log(api, run["id"], shown=follow and not api.as_json)
    ended = await api.get(path) if state else run
    return CommandResult(ended, lambda: _print_end(run["id"], state), exit_code=_exit_code(state))


def _print_end(run: str, state: str | None) -> None:
    print_line(f"Run {run} is {state}." if state else f"Run {run} has ended, and is no longer kept.")


def _exit_code(state: str | None) -> int:
    return 0 if state in (None, RunState.SUCCEEDED) else 1


async def _run_file(path: Path, params: dict[str, Any], *, as_json: bool) -> None:
    """Run the job of a file in a memory store, with a worker in this process."""
    from ...app import AsyncTickwise  # noqa: PLC0415  (--server needs none of them)
    from ...app.records import Role  # noqa: PLC0415
    from ..in_process import api_over  # noqa: PLC0415

    jobs = read_jobs(path)
    job, queues = _job_to_run(path, jobs), sorted(frozenset().union(*map(queues_of, jobs)))
    async with AsyncTickwise("memory://", queues=queues, shutdown_grace=_SHUTDOWN_SECONDS) as tickwise:
        for each in jobs:
            await (await tickwise.store()).define(replace(each, schedules=()), _SOURCE)
        async with api_over(tickwise, str(path)) as sender:
            api = ApiClient(sender, ApiTarget(store="memory://"), str(path), as_json=as_json)
            run = await api.post("/runs", job=job.name, params=params or None)
            await tickwise.start(roles=(Role.WORKER,))
            state = await follow_log(api, run["id"], shown=not as_json)
            ended = await api.get(run_path(run["id"]))
            steps = (await api.get(f"{run_path(run['id'])}/steps"))["items"]
    if as_json:
        print_json({**ended, "steps": steps})
    else:
        print_steps(steps)
        print_line(f"{job.name} {state}.")
    raise typer.Exit(_exit_code(state))


def _job_to_run(path: Path, jobs: Sequence[JobDefinition]) -> JobDefinition:
    """The only job of a file that is no step of another one (S74)."""
    children = {job for each in jobs for job in jobs_called(each)}
    found = [job for job in jobs if job.name not in children]
    if len(found) != 1:
        names = ", ".join(job.name for job in found) or "none"
        raise InputError(f"{path} has {len(found)} jobs ({names}): give a file with one, and its child jobs")
    return found[0]
