"""One program in a process group of its own, from its start until nothing of it is left.

The program leads a new session, so that whatever it starts can be signalled together. When it exits, or when the
wait for it is cancelled, the group is asked to end (SIGTERM) and, if somebody is left after the grace, ended
(SIGKILL). Who has gone into a session of its own (a daemon) escapes that, and is not waited for.

Output is taken by a protocol as it comes, without tasks of its own; the log it goes to is bounded.
"""

import asyncio
import os
import signal
from collections.abc import Sequence
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import IO, NamedTuple

from ...core.errors import InputError
from ..step_context import StepContext
from .log import ERR, OUT, Sink
from .timeout import finishes

_STREAMS = {1: OUT, 2: ERR}
_LAST_WORDS = 4_096
_PIPE_GRACE = 1.0  # for output of those who escaped


@dataclass(frozen=True, slots=True)
class Program:
    """What to start. The first argument is looked for in PATH; a relative one counts from the folder."""

    arguments: Sequence[str]
    stdin: IO[bytes] | int = asyncio.subprocess.DEVNULL
    pass_fds: tuple[int, ...] = ()


class Exit(NamedTuple):
    """How the program ended."""

    code: int  # below zero: the signal that ended it
    last_words: str  # the end of what it wrote to stderr

    def in_words(self) -> str:
        names = {number.value: number.name for number in signal.Signals}
        killer = names.get(-self.code, f"signal {-self.code}")
        return f"exit code {self.code}" if self.code >= 0 else f"ended by {killer}"


async def run_program(program: Program, here: StepContext) -> Exit:
    """Start it and wait; if that is cancelled, end all of it. Raises InputError if it cannot be started."""
    watch = _Watch(here.log)
    starting = asyncio.ensure_future(_start(program, here, watch))
    try:
        transport = await asyncio.shield(starting)
        await asyncio.shield(watch.exited)
    finally:
        await asyncio.wait({starting})
        if starting.exception() is None:
            await _end(starting.result(), watch, here)
    return Exit(transport.get_returncode() or 0, watch.last_words.decode("utf-8", "replace").strip())


class _Watch(asyncio.SubprocessProtocol):
    """Passes output on, and knows when the program has exited and when its output has ended too."""

    def __init__(self, log: Sink) -> None:
        loop = asyncio.get_running_loop()
        self.exited: asyncio.Future[None] = loop.create_future()
        self.closed: asyncio.Future[None] = loop.create_future()
        self.last_words = b""
        self._log = log

    def pipe_data_received(self, fd: int, data: bytes) -> None:
        self._log.feed(_STREAMS[fd], data)
        if fd == 2:
            self.last_words = (self.last_words + data)[-_LAST_WORDS:]

    def process_exited(self) -> None:
        self.exited.set_result(None)

    def connection_lost(self, _error: Exception | None) -> None:
        self.closed.set_result(None)


async def _start(program: Program, here: StepContext, watch: _Watch) -> asyncio.SubprocessTransport:
    name = program.arguments[0]
    _check_folder(here.folder)
    try:
        transport, _ = await asyncio.get_running_loop().subprocess_exec(
            lambda: watch,
            *program.arguments,
            stdin=program.stdin,
            cwd=here.folder,
            env=here.environment(),
            start_new_session=True,
            pass_fds=program.pass_fds,
        )
    except FileNotFoundError:
        raise InputError(
            f"the program {name} was not found on this worker: install it, or give its path"
        ) from None
    except PermissionError:
        raise InputError(f"the program {name} is not executable: chmod +x it, or name its interpreter") from None
    except (OSError, ValueError) as error:
        raise InputError(f"the program {name} cannot be started: {error}") from None
    return transport


def _check_folder(folder: str | None) -> None:
    if folder is not None and not Path(folder).is_dir():
        raise InputError(f"the folder {folder} does not exist on this worker")


async def _end(transport: asyncio.SubprocessTransport, watch: _Watch, here: StepContext) -> None:
    group = transport.get_pid()
    sleep = here.tools.sleep
    with closing(transport):
        try:
            if _signal(group, signal.SIGTERM):
                await finishes(watch.closed, here.tools.kill_grace, sleep)
        finally:
            _signal(group, signal.SIGKILL)
            if not await finishes(watch.closed, _PIPE_GRACE, sleep):
                here.log.caution(
                    "a process that left the program's session holds its output: it is not waited for"
                )


def _signal(group: int, what: signal.Signals) -> bool:
    """Whether anybody was there to get it."""
    try:
        os.killpg(group, what)
    except (ProcessLookupError, PermissionError):
        return False
    return True
