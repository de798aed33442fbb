"""`tickwise serve`, `api`, `ticker` and `worker`: run a node, and print at its start what will run next."""

import asyncio
import sys
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any

import typer

from ...api.auth_settings import load_auth
from ...api.node_server import serve_node
from ...api.server import listen
from ...api.server_address import link_address, server_address
from ...api.session import LINK_SECONDS, create_link
from ...app import AsyncTickwise, Tickwise
from ...app.garbage_collector import tune_garbage_collector
from ...app.hooks import Hooks, RunEvent
from ...app.node import NodeProcess
from ...app.records import AccessRole, Role
from ...app.run_events import RUN_ENDED
from ...app.values import ScheduleInfo
from ...core.errors import InputError
from ...log import LogLevel, LogSettings, configure_logging, get_logger
from ...stores.url import hidden
from ..output import print_error, print_line, print_table
from ..project import project_app
from ..reload import run_with_reload
from ..run_lines import RunLines
from ..target import import_target

Targets = Annotated[
    list[str] | None, typer.Argument(metavar="[PATH|MODULE:APP]...", help="Folders of job files, or an app.")
]
StoreUrl = Annotated[str | None, typer.Option("--store", help="The URL of the store.")]
ConfigFile = Annotated[Path | None, typer.Option("--config", help="Default: tickwise.toml, if there is one.")]
Host = Annotated[str | None, typer.Option("--host", help="Default: 127.0.0.1.")]
Port = Annotated[int | None, typer.Option("--port", help="Default: 8484; 0 takes a free port.")]
Concurrency = Annotated[
    int | None, typer.Option("--concurrency", min=1, help="Runs at the same time; default: 10.")
]
Queues = Annotated[str | None, typer.Option("--queues", help="Queues to serve, separated by commas.")]
AllowCommands = Annotated[
    bool | None, typer.Option("--allow-commands", help="Execute commands of jobs from any source.")
]
SourceNames = Annotated[
    str | None, typer.Option("--source", metavar="NAME", help="The name of the folder; default: its path.")
]
LogLevelOption = Annotated[LogLevel, typer.Option("--log-level", help="The least severe lines to log.")]
LogJson = Annotated[bool, typer.Option("--log-json", help="Log as JSON, one object per line.")]
Quiet = Annotated[bool, typer.Option("--quiet", help="On a terminal: do not print a line for each run.")]
Reload = Annotated[bool, typer.Option("--reload", help="Restart the app whenever a Python file here changes.")]
_log = get_logger()
_MAX_LISTED = 8
_MAX_SCHEDULES = 200  # above which the next runs are not listed


def serve(
    targets: Targets = None, store: StoreUrl = None, config: ConfigFile = None, host: Host = None,
    port: Port = None, concurrency: Concurrency = None, queues: Queues = None,
    allow_commands: AllowCommands = None, source: SourceNames = None, log_level: LogLevelOption = LogLevel.INFO,
    *, log_json: LogJson = False, quiet: Quiet = False, reload: Reload = False,
) -> None:  # fmt: skip
    """Schedule and run jobs, and serve the API and the dashboard."""
    if reload:
        _check_reload(targets or [])
        raise typer.Exit(run_with_reload(Path()))
    settings = _without_none(store=store, host=host, port=port, concurrency=concurrency, queues=queues,
                             allow_commands=allow_commands or None, source=source)  # fmt: skip
    roles = (Role.TICKER, Role.WORKER, Role.API)
    _serve(targets or [], config, settings, roles, LogSettings(log_json, log_level), quiet=quiet)


def api(
    store: StoreUrl = None, config: ConfigFile = None, host: Host = None, port: Port = None,
    log_level: LogLevelOption = LogLevel.INFO,
    *, log_json: LogJson = False,
) -> None:  # fmt: skip
    """Only serve the API and the dashboard. Tickers and workers run elsewhere."""
    _serve(
        [], config, _without_none(store=store, host=host, port=port), (Role.API,), LogSettings(log_json, log_level)
    )


def ticker(
    targets: Targets = None, store: StoreUrl = None, config: ConfigFile = None, host: Host = None,
    port: Port = None, source: SourceNames = None, log_level: LogLevelOption = LogLevel.INFO,
    *, log_json: LogJson = False,
) -> None:  # fmt: skip
    """Only decide what is due; workers elsewhere run it."""
    settings = _without_none(store=store, host=host, port=port, source=source)
    _serve(targets or [], config, settings, (Role.TICKER,), LogSettings(log_json, log_level))


def worker(
    targets: Targets = None, store: StoreUrl = None, config: ConfigFile = None, host: Host = None,
    port: Port = None, concurrency: Concurrency = None, queues: Queues = None,
    allow_commands: AllowCommands = None, source: SourceNames = None, log_level: LogLevelOption = LogLevel.INFO,
    *, log_json: LogJson = False, quiet: Quiet = False,
) -> None:  # fmt: skip
    """Only run what is queued; a ticker elsewhere decides."""
    settings = _without_none(store=store, host=host, port=port, concurrency=concurrency, queues=queues,
                             allow_commands=allow_commands or None, source=source)  # fmt: skip
    _serve(targets or [], config, settings, (Role.WORKER,), LogSettings(log_json, log_level), quiet=quiet)


def _without_none(**settings: Any) -> dict[str, Any]:
    return {name: value for name, value in settings.items() if value is not None}


def _serve(
    targets: Sequence[str],
    config: Path | None,
    settings: dict[str, Any],
    roles: Sequence[Role],
    log_settings: LogSettings,
    *,
    quiet: bool = False,
) -> None:
    scheduler, folders = find(targets)
    if sys.stdout.isatty() and not (quiet or log_settings.as_json):
        log_settings = log_settings._replace(without=frozenset({RUN_ENDED}))
        scheduler.hooks = _with_run_lines(scheduler.hooks)
    configure_logging(log_settings)
    scheduler.configure(config, **settings)
    asyncio.run(_run_node(scheduler, folders, roles, log_settings))


def _with_run_lines(hooks: Hooks) -> Hooks:
    """The app's hooks, and a line for each run."""
    lines, own = RunLines(), hooks.on_run

    def on_run(event: RunEvent) -> object:
        lines(event)
        return own(event) if own else None

    return replace(hooks, on_run=on_run)


def _check_reload(targets: Sequence[str]) -> None:
    if not any(":" in target for target in targets):
        raise InputError("--reload is for an app, written as module:name: job files take effect by themselves")


def find(targets: Sequence[str]) -> tuple[AsyncTickwise, list[Path]]:
    """The app among the targets, or a new one, and the folders."""
    apps: list[AsyncTickwise] = []
    folders: list[Path] = []
    for target in targets:
        path = Path(target)
        if path.exists():
            folders.append(path)
        elif ":" in target:
            apps.append(_import_app(target))
        else:
            raise InputError(f"{target} is neither a file or folder here, nor an app written as module:name")
    if len(apps) > 1:
        raise InputError("one process runs one app: start another process for the second")
    return apps[0] if apps else project_app() or AsyncTickwise(), folders


def _import_app(target: str) -> AsyncTickwise:
    found = import_target(target)
    if isinstance(found, Tickwise):
        return found.awaited
    if isinstance(found, AsyncTickwise):
        return found
    raise InputError(f"{target} is a {type(found).__name__}, not a Tickwise")


async def _run_node(
    scheduler: AsyncTickwise, folders: Sequence[Path], roles: Sequence[Role], log_settings: LogSettings
) -> None:
    listener = listen(scheduler.settings.host, scheduler.settings.port)
    where = server_address(scheduler.settings, listener.getsockname()[1])
    try:
        if Role.API in roles:
            await _prepare_access(scheduler)
        async with serve_node(scheduler, listener, roles, log_settings=log_settings):
            node = await scheduler.start(*folders, roles=roles)
            tune_garbage_collector()
            start = _log_start if log_settings.as_json else _print_start
            printing = asyncio.create_task(start(scheduler, node, where))
            await scheduler.wait()
            printing.cancel()
    finally:
        await scheduler.close()
        listener.close()


async def _prepare_access(scheduler: AsyncTickwise) -> None:
    """Prepare authentication and log its warnings."""
    for caution in (await load_auth(await scheduler.store(), scheduler.settings)).warnings:
        _log.warning(caution)


async def _make_link(scheduler: AsyncTickwise, where: str) -> str:
    """The dashboard's address, which signs one browser in."""
    store = await scheduler.store()
    code, _ = await create_link(store.access, await store.now(), AccessRole.ADMIN, "tickwise serve")
    remark = f"signs in one browser within {LINK_SECONDS // 60} minutes; another: tickwise token link"
    return f"{link_address(where, code)} ({remark})"


async def _log_start(scheduler: AsyncTickwise, node: NodeProcess, where: str) -> None:
    """Log that the first pass is over. A link that signs in is a secret, so none is made."""
    await node.settled()
    store = hidden(scheduler.settings.store)
    _log.info("tickwise is running", roles=[*node.roles], store=store, address=where, health=f"{where}/readyz")
    for problem in node.problems:
        _log.error("problem", text=problem)


async def _print_start(scheduler: AsyncTickwise, node: NodeProcess, where: str) -> None:
    """Print what is scheduled and what runs next, once the first pass is over."""
    await node.settled()
    print_line(f"Tickwise is running ({', '.join(node.roles)}) on {hidden(scheduler.settings.store)}", "bold")
    if Role.API in node.roles:
        print_line(f"Dashboard: {await _make_link(scheduler, where)}")
    print_line(f"Health: {where}/readyz")
    page = await (await scheduler.store()).insights.schedules(limit=_MAX_SCHEDULES)
    if page.after is not None:
        print_line(f"More than {_MAX_SCHEDULES} schedules: tickwise upcoming", "dim")
    elif page.items:
        _print_next([ScheduleInfo.of(row) for row in page.items])
    else:
        print_line(
            "No schedules yet: add a job file to the folder, or declare a job. For examples: tickwise init", "dim"
        )
    for problem in node.problems:
        print_error(problem)


def _print_next(rows: list[ScheduleInfo]) -> None:
    rows.sort(key=lambda s: (s.next_run_at is None, s.next_run_at or s.created_at, s.name))
    print_table(
        ["next", "schedule", "what it means"], [(_format_next(s), s.name, s.means) for s in rows[:_MAX_LISTED]]
    )
    if len(rows) > _MAX_LISTED:
        print_line(f"… and {len(rows) - _MAX_LISTED} more: tickwise upcoming", "dim")


def _format_next(schedule: ScheduleInfo) -> str:
    if schedule.next_run_at is None:
        return "paused" if schedule.paused else "on an event" if schedule.waits_for_events else "finished"
    return f"{schedule.next_run_at:%a %Y-%m-%d %H:%M:%S} UTC"
