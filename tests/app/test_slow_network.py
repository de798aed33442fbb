"""A network that delays every message by a fifth of a second: what is leased stays leased (E4)."""

import asyncio
from collections.abc import Iterator
from typing import Any
from urllib.parse import urlsplit

import pytest
from pymongo import AsyncMongoClient

from tickwise import AsyncTickwise
from tickwise.core.states import RunState
from tickwise.stores.records import MICRO
from tickwise.stores.url import open_store

from ..chaos.proxy import Proxy
from ..support.app import Heard, patiently

DELAY = 0.2  # seconds, in each direction
LEASE = 4  # seconds; a worker that cannot renew for two thirds of that stops its runs (S42)
RUNS = 4


@pytest.fixture
def slow_mongodb(emptied_mongodb: str) -> Iterator[str]:
    """The same database over a slow network."""
    address = urlsplit(emptied_mongodb)
    with Proxy(address.hostname or "", address.port or 0, lambda _: False, DELAY) as proxy:
        yield f"mongodb://127.0.0.1:{proxy.port}{address.path}?directConnection=true"


@patiently
async def test_leases_outlive_a_slow_network(emptied_mongodb: str, slow_mongodb: str) -> None:
    """Runs that take twice as long as their lease are renewed all the while, and executed once (E4, S42)."""
    store, heard, go = open_store(emptied_mongodb), Heard(), asyncio.Event()
    await store.schema.upgrade()
    await store.close()
    tw = AsyncTickwise(slow_mongodb, hooks=heard.hooks, lease=LEASE)

    @tw.job()
    async def works() -> str:
        await go.wait()
        return "done"

    async with tw:
        await tw.start()
        await asyncio.gather(*(tw.enqueue(works) for _ in range(RUNS)))
        await heard.until(*["started works"] * RUNS)
        await _until_renewed(emptied_mongodb)
        go.set()
        await heard.until(*["succeeded works"] * RUNS)
        runs = await tw.runs.list()
    assert [(run.state, run.attempt, run.result) for run in runs] == [(RunState.SUCCEEDED, 1, "done")] * RUNS


async def _until_renewed(url: str) -> None:
    """Until every run has outlived its first lease, or one of them has been taken back."""
    outlived: set[int] = set()
    async with AsyncMongoClient[Any](url) as client:
        runs = client.get_default_database()["tickwise_runs"]
        async with await runs.watch(full_document="updateLookup") as changes:
            async for change in changes:
                run = change["fullDocument"]
                if run.get("lease_until", 0) > run["started_at"] + 2 * LEASE * MICRO:
                    outlived.add(run["_id"])
                if len(outlived) == RUNS or run["attempt"] > 1:
                    return
