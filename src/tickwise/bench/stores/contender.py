"""Who is measured, and how: in turns, each on a loop of its own, by the wall clock, and the best turn counts.

The wall clock, because most of the work is done by another process and by the disk.
"""

import asyncio
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from contextlib import AsyncExitStack, contextmanager
from statistics import median
from time import perf_counter
from typing import NamedTuple

from ...core.errors import TickwiseError


class WrongResultError(TickwiseError):
    """What was measured did not do its work, so its time means nothing."""


class Contender(ABC):
    """Something that fires or runs `due` things in each turn. Used on one event loop for all of its life."""

    name: str
    new_loop: Callable[[], asyncio.AbstractEventLoop] | None = None  # none: asyncio's own

    def __init__(self, due: int) -> None:
        self.due = due
        self.stack = AsyncExitStack()  # what is to be closed at the end

    @abstractmethod
    async def open(self) -> None:
        """Make what all turns share."""

    @abstractmethod
    async def prepare(self) -> None:
        """Make the things due, off the clock."""

    @abstractmethod
    async def work(self) -> None:
        """Do it; this is timed, and returns when all of it is stored."""

    @abstractmethod
    async def done(self) -> int:
        """How many things were done, by what is stored."""


class Turns(NamedTuple):
    """Things a second, turn by turn."""

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
    """The rates of each contender."""
    found: list[Turns] = [Turns([]) for _ in contenders]
    with _opened(contenders) as runners:
        for _ in range(turns):
            for contender, runner, rates in zip(contenders, runners, found, strict=True):
                rates.rates.append(contender.due / runner.run(_turn(contender)))
    return found


async def _turn(contender: Contender) -> float:
    """The seconds of one turn, whose result was right."""
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
