"""A shell on another machine that is given one script at a time over a connection that stays open."""

import asyncio
from asyncio.subprocess import PIPE, Process
from contextlib import suppress
from secrets import token_hex

from .contract import EngineUnavailableError

_TIMEOUT = 30.0  # seconds for a script, with the connection if there is none
_CLOSE_TIMEOUT = 2.0  # seconds
_MAX_ANSWER = 16 << 20  # bytes
_MAX_PROBLEM = 1_000  # characters of what the program of the connection says when it fails


class RemoteShell:
    """Connects when it is first used, and again after anything went wrong."""

    def __init__(self, name: str, command: tuple[str, ...], first: str) -> None:
        self._name = name
        self._command = command  # has a shell read its stdin on the other side
        self._first = first  # the script that each connection begins with
        self._process: Process | None = None
        self._stderr: asyncio.Task[bytes] | None = None
        self._lock = asyncio.Lock()

    async def run(self, script: str) -> bytes:
        """What a script prints. `EngineUnavailableError` if nobody knows whether it was executed."""
        async with self._lock:
            try:
                async with asyncio.timeout(_TIMEOUT):
                    process = self._process or await self._connect()
                    return await _ask(process, script)
            except TimeoutError:
                await self._disconnect()
                raise EngineUnavailableError(f"{self._name} has not answered for {_TIMEOUT:g} s") from None
            except (OSError, EOFError, asyncio.LimitOverrunError) as error:
                said = await self._disconnect()
                raise EngineUnavailableError(f"{self._name} does not answer: {said or error}") from None
            except BaseException:
                await self._disconnect()
                raise

    async def _connect(self) -> Process:
        try:
            process = await asyncio.create_subprocess_exec(
                *self._command, stdin=PIPE, stdout=PIPE, stderr=PIPE, limit=_MAX_ANSWER, start_new_session=True
            )
        except FileNotFoundError:
            raise EngineUnavailableError(
                f"{self._name} needs the program {self._command[0]}: install it"
            ) from None
        self._process = process
        if process.stderr:
            self._stderr = asyncio.create_task(_read_end(process.stderr))
        if process.stdin:
            process.stdin.write(self._first.encode("utf-8", "surrogateescape"))
        return process

    async def _disconnect(self) -> str:
        """End the connection; what its program said last.

        A program that has closed its output is ending: to kill it then would take its exit code from asyncio,
        which warns of that.
        """
        process, self._process = self._process, None
        stderr, self._stderr = self._stderr, None
        if process is None:
            return ""
        if process.stdout and process.stdout.at_eof():
            await _wait_for_end(process)
        if process.returncode is None:
            with suppress(ProcessLookupError):
                process.kill()
            await process.wait()
        said = await stderr if stderr else b""
        return said.decode("utf-8", "replace").strip()[-_MAX_PROBLEM:]

    async def close(self) -> None:
        async with self._lock:
            if self._process and self._process.stdin:
                self._process.stdin.close()
                await _wait_for_end(self._process)
            await self._disconnect()


async def _wait_for_end(process: Process) -> None:
    with suppress(TimeoutError):
        async with asyncio.timeout(_CLOSE_TIMEOUT):
            await process.wait()


async def _ask(process: Process, script: str) -> bytes:
    """Everything between two marks, because a shell that starts may print a greeting."""
    mark = token_hex(16)
    body = f"(printf '%s\\n' {mark}\n{script}\n) </dev/null; printf '\\n%s\\n' {mark}\n"
    if process.stdin is None or process.stdout is None:
        raise EOFError
    process.stdin.write(body.encode("utf-8", "surrogateescape"))
    await process.stdin.drain()
    line = f"{mark}\n".encode()
    await process.stdout.readuntil(line)
    return (await process.stdout.readuntil(b"\n" + line)).removesuffix(b"\n" + line)


async def _read_end(stream: asyncio.StreamReader) -> bytes:
    end = b""
    while data := await stream.read(65_536):
        end = (end + data)[-4 * _MAX_PROBLEM :]
    return end
