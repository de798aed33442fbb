"""One program in a process group of its own, from its start until nothing of it is left.

The program leads a new session, so that it can be signalled together with everything that it starts. When it
exits, or when the wait for it is cancelled, the group gets SIGTERM and, if a process is left after the grace,
SIGKILL. A process that starts a session of its own (a daemon) escapes that, and is not waited for. If the worker
itself is killed, the guard kills the group.

A protocol receives the output as it comes, without tasks of its own; the log that it goes to is bounded.
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
from .guard import MARK, GuardedProgram, guard
from .log import ERR, OUT, OutputTail
from .timeout import finishes

_STREAMS = {1: OUT, 2: ERR}
_STDERR_TAIL = 4_096  # bytes
_PIPE_GRACE = 1.0  # seconds for the output of processes that escaped


@dataclass(frozen=True, slots=True)
class Program:
    """What to start. The first argument is looked up in PATH; a relative path starts at the folder."""

    arguments: Sequence[str]
    stdin: IO[bytes] | int = asyncio.subprocess.DEVNULL
    pass_fds: tuple[int, ...] = ()


class Exit(NamedTuple):
    """How the program ended."""

    code: int  # below zero: the signal that ended it
    stderr_tail: str  # the end of what it wrote to stderr

    def describe(self) -> str:
        names = {number.value: number.name for number in signal.Signals}
        killer = names.get(-self.code, f"signal {-self.code}")
        return f"exit code {self.code}" if self.code >= 0 else f"ended by {killer}"


async def run_program(program: Program, context: StepContext) -> Exit:
    """Start it and wait; if that is cancelled, end the group. Raises InputError if it cannot be started."""
    protocol = _ProgramProtocol(context)
    with guard.watched() as guarded:
        starting = asyncio.ensure_future(_start(program, context, protocol, guarded))
        try:
            transport = await asyncio.shield(starting)
            await asyncio.shield(protocol.exited)
        finally:
            await asyncio.wait({starting})
            if starting.exception() is None:
                await _end(starting.result(), protocol, context)
    return Exit(transport.get_returncode() or 0, protocol.errors.text().strip())


class _ProgramProtocol(asyncio.SubprocessProtocol):
    """Passes output on to the log, and reports when the program has exited and when its output has ended."""

    def __init__(self, context: StepContext) -> None:
        loop = asyncio.get_running_loop()
        self.exited: asyncio.Future[None] = loop.create_future()
        self.closed: asyncio.Future[None] = loop.create_future()
        self.errors = OutputTail(context.services.redactor, _STDERR_TAIL)
        self._log = context.log

    def pipe_data_received(self, fd: int, data: bytes) -> None:
        self._log.feed(_STREAMS[fd], data)
        if fd == 2:
            self.errors.feed(data)

    def process_exited(self) -> None:
        self.exited.set_result(None)

    def connection_lost(self, _error: Exception | None) -> None:
        self.closed.set_result(None)


async def _start(
    program: Program, context: StepContext, protocol: _ProgramProtocol, guarded: GuardedProgram
) -> asyncio.SubprocessTransport:
    name = program.arguments[0]
    _check_folder(context.folder)
    try:
        transport, _ = await asyncio.get_running_loop().subprocess_exec(
            lambda: protocol,
            *program.arguments,
            stdin=program.stdin,
            cwd=context.folder,
            env={**context.environment(), MARK: guarded.mark},
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
    guarded.started(transport.get_pid())
    return transport


def _check_folder(folder: str | None) -> None:
    if folder is not None and not Path(folder).is_dir():
        raise InputError(f"the folder {folder} does not exist on this worker")


async def _end(transport: asyncio.SubprocessTransport, protocol: _ProgramProtocol, context: StepContext) -> None:
    group = transport.get_pid()
    sleep = context.services.sleep
    with closing(transport):
        try:
            if _signal(group, signal.SIGTERM):
                await finishes(protocol.closed, context.services.kill_grace, sleep)
        finally:
            _signal(group, signal.SIGKILL)
            if not await finishes(protocol.closed, _PIPE_GRACE, sleep):
                context.log.write_warning(
                    "a process that left the program's session holds its output: it is not waited for"
                )


def _signal(group: int, number: signal.Signals) -> bool:
    """Signal a group; whether it had any process."""
    try:
        os.killpg(group, number)
    except (ProcessLookupError, PermissionError):
        return False
    return True
