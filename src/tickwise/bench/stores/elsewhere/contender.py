"""A peer that is elsewhere, as a contender: each step is asked of a process of its own, over a pipe."""

import asyncio
from asyncio import StreamReader, StreamWriter
from asyncio.subprocess import PIPE, Process
from collections.abc import Sequence
from contextlib import AbstractAsyncContextManager, nullcontext
from pathlib import Path
from typing import cast

from ..contender import Contender, WrongResultError
from ..databases import database

_HERE = Path(__file__).parent


class Elsewhere(Contender):
    """A program that takes turns (see `inside.turns`), told its place, if it has one, and how much is due."""

    def __init__(
        self,
        name: str,
        program: Sequence[str | Path],
        due: int,
        place: AbstractAsyncContextManager[str | None] | None = None,
    ) -> None:
        super().__init__(due)
        self.name = name
        self._program = program
        self._place = place or nullcontext()

    async def open(self) -> None:
        place = await self.stack.enter_async_context(self._place)
        arguments = [*filter(None, [place]), str(self.due)]
        self._process = await asyncio.create_subprocess_exec(
            *self._program, *arguments, stdin=PIPE, stdout=PIPE, cwd=_HERE
        )
        self.stack.push_async_callback(_end, self._process)

    async def prepare(self) -> None:
        await self._ask("prepare")

    async def work(self) -> None:
        await self._ask("work")

    async def done(self) -> int:
        return int(await self._ask("done"))

    async def _ask(self, step: str) -> str:
        to, back = cast(StreamWriter, self._process.stdin), cast(StreamReader, self._process.stdout)
        to.write(f"{step}\n".encode())
        answer = await back.readline()
        if not answer:
            raise WrongResultError(f"{self.name} ended with {await self._process.wait()} when asked to {step}")
        return answer.decode()


async def _end(process: Process) -> None:
    """A program ends when nobody can ask it any more."""
    await process.communicate(b"")


def apscheduler_4(python: Path, server: str, due: int) -> Elsewhere:
    return Elsewhere("APScheduler 4", [python, "-m", "inside.apscheduler4"], due, database(server))


def celery_beat(python: Path, stored: int, due: int) -> Elsewhere:
    return Elsewhere("Celery beat", [python, "-m", "inside.celery_beat", str(stored)], due)
