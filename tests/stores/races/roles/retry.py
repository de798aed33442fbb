"""Tickers and workers that go on whatever the store does."""

import asyncio
from collections.abc import Awaitable, Callable

from tickwise.core.planner import plan
from tickwise.stores.contract import Store, StoreUnavailableError
from tickwise.stores.records import MICRO, Enqueue, Lease, LeaseRequest
from tickwise.testing.conformance.world import worker_node

from ....support.races.channel import Line, Stop
from ....support.races.race import opened
from .worker import finish

_POLL = 0.02


async def persevere(line: Line, url: str, clock: str, node: str) -> int:
    """Tick, lease and finish on one store object, whether it answers or not; how often it did not.

    After a silence nobody knows what was done: what the store says we hold is adopted, and what we meant to finish
    is finished again.
    """
    store, stop = opened(url, clock), Stop(line)
    held: dict[str, Lease] = {}
    silences, in_doubt = 0, False
    while not stop:
        try:
            if in_doubt:
                await store.expire()
                unknown = (await store.beat(worker_node(node))).unknown
                held |= {lease.id: lease for lease in unknown}
                in_doubt = False
            await store.tick(plan, node, limit=10)
            held |= {lease.id: lease for lease in await store.lease(LeaseRequest(node, 4))}
            if held:
                await finish(store, held.values())
                line.say(len(held))
                held = {}
            else:
                await stop.or_done(store.wait(_POLL))
        except StoreUnavailableError:
            silences, in_doubt = silences + 1, True
            await stop.or_done(store.wait(_POLL))
    await store.close()
    return silences


async def do_everything(line: Line, url: str, clock: str, node: str, enqueues: int = 0) -> None:
    """Tick, lease, finish and enqueue, all at once on one store; say how many runs are finished."""
    store, stop = opened(url, clock), Stop(line)

    async def tick() -> bool:
        ticked = await store.tick(plan, node, limit=5)
        return ticked.more or (ticked.next_due is not None and ticked.next_due * MICRO <= ticked.now)

    async def work() -> bool:
        leases = await store.lease(LeaseRequest(node, 3))
        if leases:
            line.say(await finish(store, leases))
        return bool(leases)

    async def ask() -> None:
        for n in range(enqueues):
            await store.enqueue([Enqueue("asked", key=f"{node}-{n}"), Enqueue("asked", key=f"all-{n}")])

    await asyncio.gather(_keep(store, stop, tick), _keep(store, stop, work), _keep(store, stop, work), ask())
    await store.close()


async def _keep(store: Store, stop: Stop, turn: Callable[[], Awaitable[bool]]) -> None:
    while not stop:
        if not await turn():
            await stop.or_done(store.wait(_POLL))
