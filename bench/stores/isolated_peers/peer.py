"""A peer in its own environment, as a contender: a process that gets each step over a pipe."""

import asyncio
from asyncio import StreamReader, StreamWriter
from asyncio.subprocess import PIPE, Process
from collections.abc import Sequence
from contextlib import AbstractAsyncContextManager, nullcontext
from pathlib import Path
from typing import cast

from ...postgres import database
from ..contender import Contender, WrongResultError

_FOLDER = Path(__file__).parent


class IsolatedPeer(Contender):
    """A program that serves turns (see `programs.protocol`), given a database URL, if any, and what is due."""

    def __init__(
        self,
        name: str,
        program: Sequence[str | Path],
        due: int,
        new_database: AbstractAsyncContextManager[str | None] | None = None,
    ) -> None:
        super().__init__(due)
        self.name = name
        self._program = program
        self._new_database = new_database or nullcontext()

    async def open(self) -> None:
        url = await self.stack.enter_async_context(self._new_database)
        arguments = [*filter(None, [url]), str(self.due)]
        self._process = await asyncio.create_subprocess_exec(
            *self._program, *arguments, stdin=PIPE, stdout=PIPE, cwd=_FOLDER
        )
        self.stack.push_async_callback(_end_process, self._process)

    async def prepare(self) -> None:
        await self._request("prepare")

    async def work(self) -> None:
        await self._request("work")

    async def done(self) -> int:
        return int(await self._request("done"))

    async def _request(self, step: str) -> str:
        stdin, stdout = cast(StreamWriter, self._process.stdin), cast(StreamReader, self._process.stdout)
        stdin.write(f"{step}\n".encode())
        answer = await stdout.readline()
        if not answer:
            raise WrongResultError(f"{self.name} ended with {await self._process.wait()} when asked to {step}")
        return answer.decode()


async def _end_process(process: Process) -> None:
    """A program ends when its standard input is closed."""
    await process.communicate(b"")


def apscheduler_4(python: Path, server: str, due: int) -> IsolatedPeer:
    return IsolatedPeer("APScheduler 4", [python, "-m", "programs.apscheduler4"], due, database(server))


def celery_beat(python: Path, stored: int, due: int) -> IsolatedPeer:
    return IsolatedPeer("Celery beat", [python, "-m", "programs.celery_beat", str(stored)], due)
