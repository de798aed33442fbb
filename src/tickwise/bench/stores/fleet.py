"""How fast many workers in several processes claim what is due, how long a claim takes, and what it costs."""

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
from .databases import connection, database, tidy
from .load import Size
from .member import Claim, Member, live
from .meter import Meter, Spent

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
        yield from claims(name, asyncio.run(measured(server, shape, due=size.due, rounds=size.rounds)))


class Round(NamedTuple):
    """All that was due, done once by all processes. Instants are of the clock that they share."""

    due: int
    begun: float
    ended: float  # when each process has said so
    claims: list[Claim]
    spent: Spent

    @property
    def claims_per_second(self) -> float:
        return self.due / (max(claim.ended for claim in self.claims if claim.jobs) - self.begun)

    @property
    def runs_per_second(self) -> float:
        return self.due / (self.ended - self.begun)


def claims(name: str, rounds: Sequence[Round]) -> Figures:
    """Claims a second in the best round, and percentiles of the time of each claim in all rounds."""
    yield name, max(round_.claims_per_second for round_ in rounds), "claims/s", None
    seconds = [claim.ended - claim.begun for round_ in rounds for claim in round_.claims]
    for percent in (50, 99):
        yield f"{name}, p{percent}", float(np.percentile(seconds, percent)) * 1e3, "ms", None


async def measured(server: str, shape: Shape, *, due: int, rounds: int) -> list[Round]:
    """So many rounds of a fleet, after a first in which definitions are read."""
    async with database(server) as url, connection(url) as asked:
        bed = await Bed.laid(url, stored=due, due=due)
        meter = await Meter.over(asked)
        try:
            with _fleet(url, shape.members(due)) as fleet:
                return [await _round(bed, url, shape, fleet, meter) for _ in range(rounds + 1)][1:]
        finally:
            await bed.store.close()


class _Fleet(NamedTuple):
    pids: list[int]
    orders: list[Connection]
    left: Any  # how many runs have not ended yet, shared by all processes


async def _round(bed: Bed, url: str, shape: Shape, fleet: _Fleet, meter: Meter) -> Round:
    await bed.arm()
    await tidy(url)
    fleet.left.value = bed.due
    before = await meter.read(fleet.pids)
    begun = monotonic() + _START
    for order in fleet.orders:
        order.send(begun)
    claims = [claim for order in fleet.orders for claim in _answer(order)]
    ended = monotonic()
    spent = (await meter.read(fleet.pids)).since(before)
    await _check(bed, shape, claims)
    return Round(bed.due, begun, ended, claims, spent)


async def _check(bed: Bed, shape: Shape, claims: Sequence[Claim]) -> None:
    runs, jobs = await bed.runs(finished=shape.share), sum(claim.jobs for claim in claims)
    if (runs, jobs) != (bed.due, bed.due):
        raise WrongResultError(f"{runs:,} runs were made of {jobs:,} claims, and {bed.due:,} were due")


@contextmanager
def _fleet(url: str, members: Sequence[Member]) -> Iterator[_Fleet]:
    """The processes, ready to begin; they end with the block."""
    context = get_context("spawn")
    left = context.Value("q", 0)
    with ExitStack() as stack:
        pids, orders = zip(
            *(stack.enter_context(_member(context, member, url, left)) for member in members), strict=True
        )
        for order in orders:
            _answer(order)
        yield _Fleet(list(pids), list(orders), left)


@contextmanager
def _member(context: Any, member: Member, url: str, left: Any) -> Iterator[tuple[int, Connection]]:
    ours, theirs = context.Pipe()
    process = context.Process(target=live, args=(member, url, left, theirs), daemon=True)
    process.start()
    theirs.close()
    try:
        yield process.pid, ours
        ours.send(None)
        process.join(_PATIENCE)
    finally:
        process.kill()
        process.join()


def _answer(order: Connection) -> Any:
    if not order.poll(_PATIENCE):
        raise WrongResultError(f"a process of the fleet did not answer within {_PATIENCE} s")
    return order.recv()
