"""`tickwise seen`: tells Tickwise that another scheduler starts a job, and never stands in the job's way (S80).

With a command, this process becomes the command: what it reads, prints and returns, and the signals that reach it,
are the command's own. Before that the fire is written into a file, and a process of its own sends it. Nothing that
goes wrong with either keeps the command from running.
"""

import asyncio
import os
import signal
import socket
import sys
from collections.abc import Sequence
from contextlib import suppress
from hashlib import sha256
from pathlib import Path
from typing import Annotated, Any, NoReturn

import typer

from ...clock import microseconds
from ..arguments import schedule_path
from ..client import connect
from ..command import ConfigFile, Server, StoreUrl, Token, read_token
from ..fire_spool import Fire, FireSpool, spool_folder
from ..output import AsJson, print_json, print_line
from ..sender import ApiRefusal, ApiTarget

_ANSWER_TIMEOUT = 5.0  # seconds that a job waits for the answer whether it is to run
_SEND_TIMEOUT = 120  # seconds after which the process that sends gives up
_NOT_FOUND, _NOT_EXECUTABLE = 127, 126  # exit codes of shells


def seen(
    name: Annotated[str | None, typer.Argument(metavar="[NAME]", help="The schedule.")] = None,
    command: Annotated[
        list[str] | None, typer.Argument(metavar="[-- COMMAND...]", help="What the old scheduler runs.")
    ] = None,
    *,
    unless_adopted: Annotated[
        bool, typer.Option("--unless-adopted", help="Do not run the command once Tickwise starts the job.")
    ] = False,
    wait: Annotated[bool, typer.Option("--wait", help="Send it now, and say what became of it.")] = False,
    server: Server = None, token: Token = None, store: StoreUrl = None, config: ConfigFile = None,
    as_json: AsJson = False,
) -> None:  # fmt: skip
    """Note that another scheduler starts a job now, and run the command."""
    target = ApiTarget(server, token, store, config)
    if not command and (name is None or wait):
        _send_and_tell(target, _new_fire(name) if name else None, as_json=as_json)
        return
    fire = _new_fire(name or "")
    try:
        is_adopted = _note(target, fire, unless_adopted=unless_adopted)
    except Exception:  # noqa: BLE001  (whatever it is, it is no reason not to run the job)
        is_adopted = False
    if command and not is_adopted:
        _become(command)


def _new_fire(name: str) -> Fire:
    at = microseconds()
    return Fire(name, f"{socket.gethostname()[:60]}/{os.getpid()}/{at}", at / 1_000_000)


def _note(target: ApiTarget, fire: Fire, *, unless_adopted: bool) -> bool:
    """Keep the fire and have it sent; whether Tickwise starts the job, if that was asked."""
    spool = _spool_of(target)
    if unless_adopted:
        with suppress(Exception):
            return not asyncio.run(_ask(target, fire))
    spool.keep(fire)
    _send_in_background(target, spool)
    return False


def _spool_of(target: ApiTarget) -> FireSpool:
    """The spool of an API: relative names are those of this folder, as for every command."""
    where = (target.server, target.store, target.config and str(target.config.absolute()))
    text = repr((*where, "" if target.server else str(Path.cwd())))
    return FireSpool(spool_folder(sha256(text.encode()).hexdigest()[:16]))


async def _ask(target: ApiTarget, fire: Fire) -> bool:
    async with asyncio.timeout(_ANSWER_TIMEOUT), connect(_with_token(target)) as api:
        answer = await api.post(f"{schedule_path(fire.schedule)}:seen", key=fire.key, unless_adopted=True)
        return bool(answer["run"])


def _with_token(target: ApiTarget) -> ApiTarget:
    return target._replace(token=read_token(target.token))


def _send_in_background(target: ApiTarget, spool: FireSpool) -> None:
    """Send what waits in a process that nobody waits for: it holds neither the output nor the terminal."""
    if child := os.fork():
        os.waitpid(child, 0)
        return
    try:
        os.setsid()
        if os.fork() == 0:
            signal.alarm(_SEND_TIMEOUT)
            nothing = os.open(os.devnull, os.O_RDWR)
            for handle in range(3):
                os.dup2(nothing, handle)
            asyncio.run(_send(target, spool))
    finally:
        os._exit(0)


async def _send(target: ApiTarget, spool: FireSpool) -> tuple[int, dict[Fire, str]]:
    """Send what waits, the oldest first; how many were noted, and why the others were not."""
    sent, refused = 0, dict[Fire, str]()
    waiting = spool.waiting()
    if not waiting:
        return sent, refused
    async with connect(_with_token(target)) as api:
        for fire in waiting:
            age = max(0.0, microseconds() / 1_000_000 - fire.at)
            try:
                await api.post(f"{schedule_path(fire.schedule)}:seen", key=fire.key, age=age)
            except ApiRefusal as error:
                refused[fire] = str(error)
                continue
            spool.forget(fire)
            sent += 1
    return sent, refused


def _send_and_tell(target: ApiTarget, fire: Fire | None, *, as_json: bool) -> None:
    """Send what waits now, and print what became of it."""
    spool = _spool_of(target)
    if fire is not None:
        spool.keep(fire)
    sent, refused = asyncio.run(_send(target, spool))
    if as_json:
        waiting: list[dict[str, Any]] = [{**one._asdict(), "problem": why} for one, why in refused.items()]
        print_json({"sent": sent, "waiting": waiting, "spool": str(spool.folder)})
    else:
        print_line(f"{sent} fire{'s' if sent != 1 else ''} noted.")
        for one, why in refused.items():
            print_line(f"{one.schedule}: not noted, and kept in {spool.folder}: {why}", "yellow")
    if refused:
        raise typer.Exit(1)


def _become(command: Sequence[str]) -> NoReturn:
    """Run the command in place of this process."""
    for number in (signal.SIGPIPE, signal.SIGXFSZ):  # Python ignores them, and a program would inherit that
        signal.signal(number, signal.SIG_DFL)
    try:
        os.execvp(command[0], list(command))  # noqa: S606  (no shell is the point)
    except FileNotFoundError:
        problem, code = "command not found", _NOT_FOUND
    except OSError as error:
        problem, code = error.strerror or str(error), _NOT_EXECUTABLE
    sys.stderr.write(f"tickwise seen: {command[0]}: {problem}\n")
    raise typer.Exit(code)
