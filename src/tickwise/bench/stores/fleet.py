"""How fast many workers in several processes claim what is due, and how long a claim takes."""

import asyncio
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from multiprocessing import get_context
from multiprocessing.connection import Connection
from typing import Any, NamedTuple

import numpy as np

from ...clock import monotonic
from ..measure import Figures
from .bed import Bed
from .contender import WrongResultError
from .databases import database, tidy
from .load import Size
from .member import Claim, Member, live

_PATIENCE = 120  # seconds for a process to be ready, or to do a round
_START = 0.05  # seconds between an order and the round


class Shape(NamedTuple):
    """So many workers in so many processes, which share a store in each, or have one each."""

    workers: int
    processes: int
    share: bool

    def members(self, due: int) -> list[Member]:
        each, more = divmod(self.workers, self.processes)
        return [Member(each + (n < more), self.share, due) for n in range(self.processes)]


def shapes(size: Size) -> dict[str, Shape]:
    """What is measured, by name."""
    workers, processes = size.workers, size.processes
    what = f"claim {size.due:,} due"
    return {
        f"{what}, {workers} workers in {processes} processes": Shape(workers, processes, share=True),
        f"{what}, 1 connection": Shape(1, 1, share=False),
        f"{what}, {processes} connections": Shape(processes, processes, share=False),
        f"{what}, {workers} connections": Shape(workers, processes, share=False),
    }


def figures(server: str, size: Size) -> Figures:
    for name, shape in shapes(size).items():
        rates, seconds = asyncio.run(_measure(server, shape, size))
        yield name, max(rates), "claims/s", None
        for percent in (50, 99):
            yield f"{name}, p{percent}", float(np.percentile(seconds, percent)) * 1e3, "ms", None


async def _measure(server: str, shape: Shape, size: Size) -> tuple[list[float], list[float]]:
    """Claims a second, round by round, and the seconds of each claim of all rounds but the first."""
    rates, seconds = list[float](), list[float]()
    async with database(server) as url:
        bed = await Bed.laid(url, stored=size.due, due=size.due)
        try:
            with _fleet(url, shape.members(size.due)) as (orders, left):
                for round_ in range(size.rounds + 1):
                    await bed.arm()
                    await tidy(url)
                    left.value = size.due
                    start, claims = _round(orders)
                    await _check(bed, shape, claims)
                    if round_:  # in the first, definitions are read
                        rates.append(size.due / (max(c.ended for c in claims if c.jobs) - start))
                        seconds += [claim.ended - claim.begun for claim in claims]
        finally:
            await bed.store.close()
    return rates, seconds


async def _check(bed: Bed, shape: Shape, claims: Sequence[Claim]) -> None:
    runs, jobs = await bed.runs(finished=shape.share), sum(claim.jobs for claim in claims)
    if (runs, jobs) != (bed.due, bed.due):
        raise WrongResultError(f"{runs:,} runs were made of {jobs:,} claims, and {bed.due:,} were due")


def _round(orders: Sequence[Connection]) -> tuple[float, list[Claim]]:
    """When it began, and all claims of all processes."""
    start = monotonic() + _START
    for order in orders:
        order.send(start)
    return start, [claim for order in orders for claim in _answer(order)]


@contextmanager
def _fleet(url: str, members: Sequence[Member]) -> Iterator[tuple[list[Connection], Any]]:
    """The processes, ready to begin; they end with the block."""
    context = get_context("spawn")
    left = context.Value("q", 0)
    with ExitStack() as stack:
        orders = [stack.enter_context(_member(context, member, url, left)) for member in members]
        for order in orders:
            _answer(order)
        yield orders, left


@contextmanager
def _member(context: Any, member: Member, url: str, left: Any) -> Iterator[Connection]:
    ours, theirs = context.Pipe()
    process = context.Process(target=live, args=(member, url, left, theirs), daemon=True)
    process.start()
    theirs.close()
    try:
        yield ours
        ours.send(None)
        process.join(_PATIENCE)
    finally:
        process.kill()
        process.join()


def _answer(order: Connection) -> Any:
    if not order.poll(_PATIENCE):
        raise WrongResultError(f"a process of the fleet did not answer within {_PATIENCE} s")
    return order.recv()
