"""Hand-overs in stores that read, decide and write: whatever happens between reading and writing counts."""

import asyncio
from collections.abc import Awaitable, Callable
from concurrent.futures import ThreadPoolExecutor
from types import ModuleType
from typing import Any

import pytest

from tickwise.core.handover import Accepted, Began, HandOver, Intended, digest
from tickwise.core.settle import Succeeded
from tickwise.stores.contract import Store
from tickwise.stores.mongo import handover as in_mongodb
from tickwise.stores.records import Finish, Lease
from tickwise.stores.redis import handover as in_redis
from tickwise.stores.url import open_store
from tickwise.testing.conformance.handover import WATCHER, handed, record_of
from tickwise.testing.conformance.world import World, worker_node

from ..support.app import Clock, patiently

PLACES = {"emptied_mongodb": in_mongodb, "emptied_redis": in_redis}
Act = Callable[[Store, Lease], Awaitable[object]]


@pytest.fixture(params=PLACES)
def place(request: pytest.FixtureRequest) -> tuple[str, ModuleType]:
    return request.getfixturevalue(request.param), PLACES[request.param]


def ask_first(store: Store, lease: Lease) -> Awaitable[object]:
    return store.hand_over(lease.id, lease.token, Began("ticket", "first"))


def be_cancelled(store: Store, lease: Lease) -> Awaitable[object]:
    return store.cancel(lease.id)


def end(store: Store, lease: Lease) -> Awaitable[object]:
    return store.finish([Finish(lease.id, lease.token, Succeeded())])


def be_renewed(store: Store, lease: Lease) -> Awaitable[object]:
    return store.beat(worker_node("w1"), {lease.id: lease.token})


def be_accepted(store: Store, lease: Lease) -> Awaitable[object]:
    return store.hand_over(lease.id, lease.token, Accepted("there"))


@pytest.mark.parametrize(
    ("meanwhile", "winner"),
    [(ask_first, "first"), (be_cancelled, ""), (end, ""), (be_renewed, "mine"), (be_accepted, "mine")],
)
@patiently
async def test_the_gate_counts_what_came_first(
    place: tuple[str, ModuleType], monkeypatch: pytest.MonkeyPatch, meanwhile: Act, winner: str
) -> None:
    """Another claim, a cancellation and an end close it; what has nothing to do with it does not (S53, S56)."""
    (url, module), clock = place, Clock()
    world = World(open_store(url, clock), clock)
    await world.begin()
    await world.define(handed())
    run = await world.enqueue("a")
    (lease,) = await world.lease(offers=WATCHER)
    await world.store.hand_over(run, lease.token, Intended(record_of(lease)))
    _between_read_and_write(monkeypatch, module, lambda: _act(url, clock, meanwhile, lease))
    let_in = await world.store.hand_over(run, lease.token, Began("ticket", "mine"))
    stored = (await world.run(run)).hand_over
    await world.store.close()
    assert stored is not None
    assert stored.claim == (digest(winner) if winner else "")
    assert let_in == (stored if winner == "mine" else None)


def _between_read_and_write(
    monkeypatch: pytest.MonkeyPatch, module: ModuleType, act: Callable[[], object]
) -> None:
    """Act once, in another thread, after the record was read and before its change is written."""
    plain, is_done = module.changed, False

    def changed(*given: Any, **named: Any) -> HandOver | None:
        nonlocal is_done
        if not is_done:
            is_done = True
            with ThreadPoolExecutor(1) as thread:
                thread.submit(act).result()
        after: HandOver | None = plain(*given, **named)
        return after

    monkeypatch.setattr(module, "changed", changed)


def _act(url: str, clock: Clock, meanwhile: Act, lease: Lease) -> None:
    async def act() -> None:
        store = open_store(url, clock)
        await meanwhile(store, lease)
        await store.close()

    asyncio.run(act())
