"""How fast many workers in several processes claim due jobs, how long a claim takes, and what it uses."""

import asyncio
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from multiprocessing import get_context
from multiprocessing.connection import Connection
from typing import Any, NamedTuple

import numpy as np

from tickwise.clock import monotonic

from ..measure import Figures
from ..postgres import connection, database, vacuum
from .contender import WrongResultError
from .prepared_store import PreparedStore
from .resource_usage import ResourceSampler, ResourcesUsed
from .size import StoresSize
from .worker_process import TimedClaim, WorkerProcess, run_worker_process

_TIMEOUT = 120  # seconds for a process to be ready, or to finish a round
_START_DELAY = 0.05  # seconds between an order and the round


class FleetShape(NamedTuple):
    """Workers spread over processes. Those of one process share a store, or each has its own."""

    workers: int
    processes: int
    share: bool

    def worker_processes(self, due: int) -> list[WorkerProcess]:
        workers, rest = divmod(self.workers, self.processes)
        return [WorkerProcess(workers + (n < rest), self.share, due) for n in range(self.processes)]


def shapes(size: StoresSize) -> dict[str, FleetShape]:
    """The measured fleets, by row name."""
    workers, processes = size.workers, size.processes
    what = f"claim {size.due:,} due"
    return {
        f"{what}, {workers} workers in {processes} processes": FleetShape(workers, processes, share=True),
        f"{what}, 1 connection": FleetShape(1, 1, share=False),
        f"{what}, {processes} connections": FleetShape(processes, processes, share=False),
        f"{what}, {workers} connections": FleetShape(workers, processes, share=False),
    }


def figures(server: str, size: StoresSize) -> Figures:
    for name, shape in shapes(size).items():
        yield from claim_figures(name, asyncio.run(measure_fleet(server, shape, due=size.due, rounds=size.rounds)))


class FleetRound(NamedTuple):
    """All due jobs, done once by all processes. Instants are of the monotonic clock that the processes share."""

    due: int
    begun: float
    ended: float  # when the last process has answered
    claims: list[TimedClaim]
    resources: ResourcesUsed

    @property
    def claims_per_second(self) -> float:
        return self.due / (max(claim.ended for claim in self.claims if claim.jobs) - self.begun)

    @property
    def runs_per_second(self) -> float:
        return self.due / (self.ended - self.begun)


def claim_figures(name: str, rounds: Sequence[FleetRound]) -> Figures:
    """Claims per second in the best round, and percentiles of claim time over all rounds."""
    yield name, max(round_.claims_per_second for round_ in rounds), "claims/s", None
    seconds = [claim.ended - claim.begun for round_ in rounds for claim in round_.claims]
    for percent in (50, 99):
        yield f"{name}, p{percent}", float(np.percentile(seconds, percent)) * 1e3, "ms", None


async def measure_fleet(server: str, shape: FleetShape, *, due: int, rounds: int) -> list[FleetRound]:
    """Measure a fleet, after a first round in which it reads definitions."""
    async with database(server) as url, connection(url) as connected:
        prepared = await PreparedStore.create(url, stored=due, due=due)
        sampler = await ResourceSampler.create(connected)
        try:
            with _start_fleet(url, shape.worker_processes(due)) as fleet:
                return [await _measure_round(prepared, url, shape, fleet, sampler) for _ in range(rounds + 1)][1:]
        finally:
            await prepared.store.close()


class _FleetProcesses(NamedTuple):
    pids: list[int]
    orders: list[Connection]
    unfinished: Any  # number of runs, shared by all processes


async def _measure_round(
    prepared: PreparedStore, url: str, shape: FleetShape, fleet: _FleetProcesses, sampler: ResourceSampler
) -> FleetRound:
    await prepared.make_due()
    await vacuum(url)
    fleet.unfinished.value = prepared.due
    before = await sampler.take(fleet.pids)
    begun = monotonic() + _START_DELAY
    for order in fleet.orders:
        order.send(begun)
    claims = [claim for order in fleet.orders for claim in _receive(order)]
    ended = monotonic()
    resources = (await sampler.take(fleet.pids)).since(before)
    await _check(prepared, shape, claims)
    return FleetRound(due=prepared.due, begun=begun, ended=ended, claims=claims, resources=resources)


async def _check(prepared: PreparedStore, shape: FleetShape, claims: Sequence[TimedClaim]) -> None:
    runs, jobs = await prepared.count_runs(finished=shape.share), sum(claim.jobs for claim in claims)
    if (runs, jobs) != (prepared.due, prepared.due):
        raise WrongResultError(f"{runs:,} runs were made of {jobs:,} claims, and {prepared.due:,} were due")


@contextmanager
def _start_fleet(url: str, workers: Sequence[WorkerProcess]) -> Iterator[_FleetProcesses]:
    """Start the processes and wait until they are ready; they end with the block."""
    context = get_context("spawn")
    unfinished = context.Value("q", 0)
    with ExitStack() as stack:
        pids, orders = zip(
            *(stack.enter_context(_start_process(context, worker, url, unfinished)) for worker in workers),
            strict=True,
        )
        for order in orders:
            _receive(order)
        yield _FleetProcesses(list(pids), list(orders), unfinished)


@contextmanager
def _start_process(
    context: Any, worker: WorkerProcess, url: str, unfinished: Any
) -> Iterator[tuple[int, Connection]]:
    ours, theirs = context.Pipe()
    process = context.Process(target=run_worker_process, args=(worker, url, unfinished, theirs), daemon=True)
    process.start()
    theirs.close()
    try:
        yield process.pid, ours
        ours.send(None)
        process.join(_TIMEOUT)
    finally:
        process.kill()
        process.join()


def _receive(order: Connection) -> Any:
    if not order.poll(_TIMEOUT):
        raise WrongResultError(f"a process of the fleet did not answer within {_TIMEOUT} s")
    return order.recv()
