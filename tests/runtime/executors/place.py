"""What the tests of executors share: a place to execute in, timers that ring on demand, a pipe of deaths."""

import asyncio
import os
from collections.abc import AsyncIterator, Callable, Coroutine, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, TypeVar

from tickwise.runtime.context import RunContext, StepRecord, StepState
from tickwise.runtime.executors.log import StepLog
from tickwise.runtime.step_context import Services, StepContext

T = TypeVar("T")
PATIENCE = 120  # seconds before a test that hangs is given up


def run(work: Coroutine[Any, Any, T]) -> T:
    async def patiently() -> T:
        async with asyncio.timeout(PATIENCE):
            return await work

    return asyncio.run(patiently())


class Timers:
    """A sleep that lasts until the test says that its time has passed."""

    def __init__(self) -> None:
        self.asked: list[float] = []
        self._sleeping: list[tuple[float, asyncio.Future[None]]] = []
        self._news = asyncio.Event()

    async def sleep(self, seconds: float) -> None:
        self.asked.append(seconds)
        bell: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._sleeping.append((seconds, bell))
        self._news.set()
        await bell

    async def ring(self, seconds: float) -> None:
        """Wait until somebody sleeps for so long, and wake him."""
        (await self.asleep(seconds)).set_result(None)

    async def asleep(self, seconds: float) -> "asyncio.Future[None]":
        """Wait until somebody sleeps for so long."""
        while not (found := [bell for asked, bell in self._sleeping if asked == seconds and not bell.done()]):
            self._news.clear()
            await self._news.wait()
        return found[0]


@dataclass
class Witness:
    """Keeps what is logged and reported."""

    lines: list[tuple[str, str, str]] = field(default_factory=list)
    records: list[StepRecord] = field(default_factory=list)

    def log(self, step: str, stream: str, line: str) -> None:
        self.lines.append((step, stream, line))

    async def report(self, record: StepRecord) -> None:
        self.records.append(record)

    def said(self, stream: str = "stdout") -> list[str]:
        return [line for _, of, line in self.lines if of == stream]

    def states(self, step: str) -> list[StepState]:
        return [record.state for record in self.records if record.name == step]


@dataclass
class Place:
    """A step context, with a witness."""

    witness: Witness
    context: StepContext
    log: StepLog

    @property
    def lines(self) -> list[str]:
        self.log.close()
        return self.witness.said()


def place(
    *,
    params: Mapping[str, Any] | None = None,
    env: Mapping[str, str] | None = None,
    folder: Path | None = None,
    **services: Any,
) -> Place:
    witness = Witness()
    log = StepLog(lambda stream, line: witness.log("", stream, line))
    run = RunContext("17", "etl", "nightly", 3_600, 0, "schedule", attempt=2, params=params or {})
    context = StepContext(run, Services(**services), log, env or {}, str(folder) if folder else None)
    return Place(witness, context, log)


def timed(there: Place, timers: Timers) -> Place:
    services = replace(there.context.services, sleep=timers.sleep)
    return replace(there, context=replace(there.context, services=services))


@asynccontextmanager
async def deaths(path: Path) -> AsyncIterator[asyncio.StreamReader]:
    """A pipe by name. Whoever has it open for writing lives; its end tells that all of them are gone."""
    os.mkfifo(path)
    loop = asyncio.get_running_loop()
    reader = asyncio.StreamReader()
    with os.fdopen(os.open(path, os.O_RDONLY | os.O_NONBLOCK), "rb", buffering=0) as pipe:
        transport, _ = await loop.connect_read_pipe(lambda: asyncio.StreamReaderProtocol(reader), pipe)
        try:
            yield reader
        finally:
            transport.close()


async def until(holds: Callable[[], bool]) -> None:
    """Let others go on until something holds."""
    while not holds():  # noqa: ASYNC110 (it is not told by any event)
        await asyncio.sleep(0)


async def ended(task: "asyncio.Task[Any]") -> None:
    """Cancel it, and wait until it has come to that."""
    task.cancel()
    await asyncio.gather(task, return_exceptions=True)
    assert task.cancelled()
