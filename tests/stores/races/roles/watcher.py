"""Watchers, and the work that they have handed over: each does on word what others do at the same moment."""

import os
import signal
from collections.abc import Awaitable, Callable
from typing import Any

from tickwise.core.handover import Accepted, Alive, Began, Intended, Silent
from tickwise.core.settle import Succeeded
from tickwise.stores.contract import Store
from tickwise.stores.records import Enqueue, Finish, LeaseRequest
from tickwise.testing.conformance.handover import record_of
from tickwise.testing.conformance.world import worker_node

from ....support.races.channel import Line
from ....support.races.failpoints import in_sql
from ....support.races.race import opened, opened_sql
from .worker import finish

Held = dict[str, str]  # runs with their tokens


async def do_on_word(line: Line, url: str, clock: str, node: str) -> None:
    """At each word, which names a duty and runs, do it and say for which of them it was done."""
    store = opened(url, clock)
    await store.insights.counts()
    line.say("ready")
    while True:
        duty, held = line.hear()
        line.say(await _DUTIES[duty](store, node, held))


async def _ask_the_gate(store: Store, node: str, held: Held) -> list[str]:
    return [run for run, token in held.items() if await store.hand_over(run, token, Began("ticket", node))]


async def _adopt(store: Store, node: str, _held: Held) -> list[str]:
    adopted = list[str]()
    while leases := await store.adopt(LeaseRequest(node, 3)):
        adopted += [lease.id for lease in leases]
    return adopted


async def _renew(store: Store, node: str, held: Held) -> list[str]:
    return sorted((await store.beat(worker_node(node), held)).held)


async def _finish(store: Store, _node: str, held: Held) -> list[str]:
    """One by one, as ends come."""
    ends = [Finish(run, token, Succeeded()) for run, token in held.items()]
    return [end.run for end in ends if (await store.finish([end]))[0]]


async def _expire(store: Store, _node: str, _held: Held) -> int:
    return (await store.expire()).leases


_DUTIES: dict[str, Callable[[Store, str, Held], Awaitable[Any]]] = {
    "ask the gate": _ask_the_gate, "adopt": _adopt, "renew": _renew, "finish": _finish, "expire": _expire,
}  # fmt: skip


async def hand_over_and_end(store: Store, node: str) -> None:
    """A run is handed over to an engine, begins there and ends; what was left by others is adopted."""
    await store.enqueue([Enqueue("far", params={"by": node})])
    for lease in await store.lease(LeaseRequest(node, 1, ("far",))):
        for change in (Intended(record_of(lease)), Accepted("there"), Began("ticket", node), Silent("…")):
            await store.hand_over(lease.id, lease.token, change)
        await store.beat(worker_node(node), {lease.id: lease.token})
        await store.hand_over(lease.id, lease.token, Alive(node))
        await finish(store, [lease])
    await store.adopt(LeaseRequest(node, 1, ("far",)))
    await store.expire()


async def die(line: Line, url: str, clock: str, node: str, die_at: int) -> list[str]:
    """The same, killed at the point of that number, or else the points that were passed."""
    del line
    store = opened_sql(url, clock)
    points = in_sql(store)
    points.arm(die_at, lambda: os.kill(os.getpid(), signal.SIGKILL))
    await hand_over_and_end(store, node)
    passed = points.passed
    await store.close()
    return passed
