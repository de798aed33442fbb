"""Callers that time out in the middle of a move. They must leave a whole state and block nobody."""

import asyncio
from collections.abc import Awaitable, Callable
from functools import partial
from itertools import count
from random import Random
from threading import Event, Thread
from typing import Any

from tickwise.core.planner import plan
from tickwise.stores.contract import StoreUnavailableError
from tickwise.stores.records import Enqueue, LeaseRequest
from tickwise.stores.sql.store import SqlStore
from tickwise.testing.conformance.world import worker_node

from ....support.races.channel import Line
from ....support.races.failpoints import in_sql
from ....support.races.file_clock import SharedClock
from ....support.races.race import opened, opened_sql
from .crash import settle_everything
from .worker import finish


async def cancel_everywhere(line: Line, url: str, clock: str, node: str) -> int:
    """Give up a cycle at each of its points in turn, and go on with the same store; how many points there were."""
    del line
    time, store = SharedClock(clock), opened_sql(url, clock)
    points, loop = in_sql(store), asyncio.get_running_loop()
    for point in count(1):
        time.advance(60)
        cycle = asyncio.ensure_future(_cycle(store, node))
        points.arm(point, partial(loop.call_soon_threadsafe, cycle.cancel))
        await asyncio.wait((cycle,))
        if not cycle.cancelled():
            cycle.result()
            break
        points.arm(0, bool)
        await finish(store, (await store.beat(worker_node(node))).unknown)
        await settle_everything(store, node)
    passed = len(points.passed)
    await settle_everything(store, node)
    await store.close()
    return passed


async def _cycle(store: SqlStore, node: str) -> None:
    held = (await store.tick(plan, node, reserve=LeaseRequest(node, 1))).leases
    await finish(store, held)
    await store.tick(plan, node)
    await finish(store, await store.lease(LeaseRequest(node, 1)))


async def many_callers(line: Line, url: str, clock: str, node: str) -> None:
    """Hundreds of calls of all kinds on one store, many of them given up; at the end it is as good as new."""
    store, chance = opened(url, clock), Random(1)
    moves: list[Callable[[], Awaitable[object]]] = [
        lambda: store.tick(plan, node),
        lambda: store.lease(LeaseRequest(node, 1)),
        lambda: store.enqueue([Enqueue("a")]),
        lambda: store.beat(worker_node(node)),
        store.expire,
        store.now,
        store.insights.counts,
    ]
    for _ in range(5):
        calls = [asyncio.ensure_future(chance.choice(moves)()) for _ in range(100)]
        await asyncio.wait(calls, return_when=asyncio.FIRST_COMPLETED)
        for call in chance.sample(calls, 50):
            call.cancel()
        for ended in await asyncio.gather(*calls, return_exceptions=True):
            if isinstance(ended, Exception):
                raise ended
    await asyncio.gather(*(move() for move in moves))
    line.say("done")
    line.hear()
    await store.close()


class _Held:
    """A store on SQLite whose thread stops in the first move that it takes, until it may go on."""

    def __init__(self, store: SqlStore) -> None:
        self.in_hand, self.may_go_on = Event(), Event()
        store.driver.watch = self._hold

    def _hold(self, _: str) -> None:
        self.in_hand.set()
        self.may_go_on.wait()


async def leave_a_loop(line: Line, url: str, clock: str, node: str) -> str:
    """Close an event loop whose move the store has in hand; then use the store from another loop."""
    del line
    store = opened_sql(url, clock)
    held = _Held(store)

    async def give_up() -> None:
        ticking = asyncio.ensure_future(store.tick(plan, node))
        await asyncio.to_thread(held.in_hand.wait)
        ticking.cancel()

    other = Thread(target=lambda: asyncio.run(give_up()))
    other.start()
    await asyncio.to_thread(other.join)
    held.may_go_on.set()
    await asyncio.wait_for(store.tick(plan, node), 60)
    await store.close()
    return "the next loop works"


async def call_behind_the_end(line: Line, url: str, clock: str, node: str) -> str:
    """Call a store that is to be closed after the move it has in hand; what it says."""
    del line
    store = opened_sql(url, clock)
    held = _Held(store)
    first = asyncio.ensure_future(store.tick(plan, node))
    await asyncio.to_thread(held.in_hand.wait)
    closing = asyncio.ensure_future(store.close())
    waiting: Any = store.driver
    while waiting._writer._moves.empty():  # noqa: ASYNC110  (nobody tells when a store begins to close)
        await asyncio.sleep(0)
    late = asyncio.ensure_future(store.tick(plan, node))
    await asyncio.sleep(0)
    held.may_go_on.set()
    await asyncio.gather(first, closing)
    try:
        await asyncio.wait_for(late, 30)
    except StoreUnavailableError as error:
        return str(error)
    return "answered"


async def close_under_way(line: Line, url: str, clock: str, node: str) -> tuple[int, int]:
    """Close the store among two hundred calls; how many were answered, and how many refused."""
    del line
    store = opened(url, clock)
    await store.now()
    calls = [asyncio.ensure_future(store.tick(plan, node)) for _ in range(100)]
    closing = asyncio.ensure_future(store.close())
    await asyncio.wait(calls, return_when=asyncio.FIRST_COMPLETED)
    calls += [asyncio.ensure_future(store.tick(plan, node)) for _ in range(100)]
    ended = await asyncio.wait_for(asyncio.gather(*calls, return_exceptions=True), 60)
    await closing
    refused = sum(isinstance(one, StoreUnavailableError) for one in ended)
    return sum(not isinstance(one, BaseException) for one in ended), refused
