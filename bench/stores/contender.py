"""Contenders are measured in turns, each on an event loop of its own, and the best turn counts.

Times are wall time, because most of the work is done by another process and by the disk.
"""

import asyncio
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from contextlib import AsyncExitStack, contextmanager
from statistics import median
from time import perf_counter
from typing import NamedTuple

from tickwise.core.errors import TickwiseError


class WrongResultError(TickwiseError):
    """A contender did not do its work, so its time means nothing."""


class Contender(ABC):
    """Fires or runs `due` schedules in each turn. It lives on one event loop."""

    name: str
    new_loop: Callable[[], asyncio.AbstractEventLoop] | None = None  # None for asyncio's own

    def __init__(self, due: int) -> None:
        self.due = due
        self.stack = AsyncExitStack()  # closed at the end

    @abstractmethod
    async def open(self) -> None:
        """Create what all turns share."""

    @abstractmethod
    async def prepare(self) -> None:
        """Make the schedules due, off the clock."""

    @abstractmethod
    async def work(self) -> None:
        """Do the work; this is timed, and returns when all results are stored."""

    @abstractmethod
    async def done(self) -> int:
        """Count what was done, from what is stored."""


class Turns(NamedTuple):
    """Schedules per second, turn by turn."""

    rates: list[float]

    @property
    def best(self) -> float:
        return max(self.rates)

    @property
    def median(self) -> float:
        return median(self.rates)

    @property
    def first(self) -> float:
        return self.rates[0]


def in_turns(turns: int, contenders: Sequence[Contender]) -> list[Turns]:
    """Measure all contenders. Returns the rates of each."""
    measured: list[Turns] = [Turns([]) for _ in contenders]
    with _opened(contenders) as runners:
        for _ in range(turns):
            for contender, runner, turn in zip(contenders, runners, measured, strict=True):
                turn.rates.append(contender.due / runner.run(_turn(contender)))
    return measured


async def _turn(contender: Contender) -> float:
    """The seconds of one turn, after a check of its result."""
    await contender.prepare()
    begun = perf_counter()
    await contender.work()
    took = perf_counter() - begun
    done = await contender.done()
    if done != contender.due:
        raise WrongResultError(f"{contender.name} did {done:,} of {contender.due:,}")
    return took


@contextmanager
def _opened(contenders: Sequence[Contender]) -> Iterator[list[asyncio.Runner]]:
    runners = [asyncio.Runner(loop_factory=contender.new_loop) for contender in contenders]
    opened: list[tuple[Contender, asyncio.Runner]] = []
    try:
        for contender, runner in zip(contenders, runners, strict=True):
            opened.append((contender, runner))
            runner.run(contender.open())
        yield runners
    finally:
        for contender, runner in reversed(opened):
            runner.run(contender.stack.aclose())
            runner.close()
