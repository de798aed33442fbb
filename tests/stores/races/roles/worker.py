"""Tickers that claim and workers that run: the ordinary roles."""

import asyncio
from collections.abc import Iterable
from time import monotonic_ns
from typing import Any, NamedTuple

from tickwise.core.planner import plan
from tickwise.core.settle import Succeeded
from tickwise.stores.contract import Store
from tickwise.stores.records import MICRO, Finish, Lease, LeaseRequest

from ....support.races.channel import Line, Stop
from ....support.races.race import opened

LONG = 3_600.0  # seconds that nobody waits: whoever does has missed his wake-up


class Worked(NamedTuple):
    """A run in the hands of a worker, by the machine's own clock."""

    run: str
    job: str
    schedule: str | None
    slot: int | None
    began: int
    ended: int


async def tick_on_word(line: Line, url: str, clock: str, node: str) -> None:
    """Tick once at each word, and say how many runs that made."""
    store = opened(url, clock)
    await store.tick(plan, node)
    line.say("ready")
    while line.hear() == "go":
        line.say((await store.tick(plan, node)).runs)
    await store.close()


async def claim_everything(line: Line, url: str, clock: str, node: str, stores: int, limit: int) -> Any:
    """Tick until nothing is due, on several stores at once; the runs made, and how long each claim took."""
    mine = [opened(url, clock) for _ in range(stores)]
    await asyncio.gather(*(store.tick(plan, node) for store in mine))
    line.say("ready")
    line.hear()
    took: list[float] = []

    async def claim(store: Store, name: str) -> int:
        runs = 0
        while True:
            began = monotonic_ns()
            ticked = await store.tick(plan, name, limit=limit)
            took.append((monotonic_ns() - began) / 1e6)
            runs += ticked.runs
            if not ticked.more and (ticked.next_due is None or ticked.next_due * MICRO > ticked.now):
                return runs

    made = await asyncio.gather(*(claim(store, f"{node}-{n}") for n, store in enumerate(mine)))
    for store in mine:
        await store.close()
    return sum(made), took


async def keep_ticking(line: Line, url: str, clock: str, node: str, poll: float = LONG) -> int:
    """Tick whatever is due, and wait for news; how many runs were made."""
    store = opened(url, clock)
    stop, runs = Stop(line), 0
    line.say("ready")
    while not stop:
        ticked = await store.tick(plan, node)
        runs += ticked.runs
        if ticked.more or (ticked.next_due is not None and ticked.next_due * MICRO <= ticked.now):
            continue
        await stop.or_done(store.wait(poll))
    await store.close()
    return runs


async def keep_working(
    line: Line, url: str, clock: str, node: str, capacity: int = 4, poll: float = LONG
) -> list[Worked]:
    """Lease and finish whatever is queued, saying how many were finished; wait for news when that is 0."""
    store = opened(url, clock)
    stop, worked, idle = Stop(line), list[Worked](), True
    line.say("ready")
    while not stop:
        leases = await store.lease(LeaseRequest(node, capacity))
        began = monotonic_ns()
        worked += [_worked(lease, began) for lease in leases]
        if leases or not idle:
            line.say(await finish(store, leases))
        idle = not leases
        if idle:
            await stop.or_done(store.wait(poll))
    await store.close()
    return worked


def _worked(lease: Lease, began: int) -> Worked:
    return Worked(lease.id, lease.job.name, lease.schedule, lease.slot, began, monotonic_ns())


async def finish(store: Store, leases: Iterable[Lease]) -> int:
    """End runs well; how many ends were taken."""
    settled = await store.finish([Finish(lease.id, lease.token, Succeeded()) for lease in leases])
    return sum(one is not None for one in settled)
