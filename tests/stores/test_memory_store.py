"""What the memory store promises beyond the suite: it serves threads and event loops side by side."""

import asyncio
from concurrent.futures import ThreadPoolExecutor
from threading import Barrier, Event

import pytest

from tickwise.core.definition import JobDefinition
from tickwise.core.errors import InputError
from tickwise.core.requirements import Offers
from tickwise.core.settle import Succeeded
from tickwise.core.states import RunState
from tickwise.stores.memory.store import MemoryStore
from tickwise.stores.records import Enqueue, Finish, LeaseRequest

THREADS, RUNS = 8, 50


def test_threads_with_loops_of_their_own() -> None:
    """Every run is leased by one of them and finished once, whoever enqueued it."""
    store, together = MemoryStore(lambda: 0), Barrier(THREADS)
    asyncio.run(store.define(JobDefinition("a"), "app"))

    async def work(name: str) -> list[str]:
        done = []
        for _ in range(RUNS):
            await store.enqueue([Enqueue("a")])
            for lease in await store.lease(LeaseRequest(name, 2, offers=Offers.of({"a"}))):
                (settled,) = await store.finish([Finish(lease.id, lease.token, Succeeded())])
                done += [lease.id] if settled else []
        return done

    def thread(number: int) -> list[str]:
        together.wait()
        return asyncio.run(work(f"w{number}"))

    with ThreadPoolExecutor(THREADS) as pool:
        done = [run for runs in pool.map(thread, range(THREADS)) for run in runs]
    assert (len(done), len(set(done))) == (THREADS * RUNS, THREADS * RUNS)
    assert asyncio.run(store.insights.counts()).runs == {RunState.SUCCEEDED: THREADS * RUNS}


def test_news_reaches_other_loops() -> None:
    """Who waits in one thread hears of what is enqueued in another."""
    store, begun = MemoryStore(lambda: 0), Event()
    asyncio.run(store.define(JobDefinition("a"), "app"))

    async def wait() -> bool:
        waiting = asyncio.create_task(store.wait(60))
        await asyncio.sleep(0)  # it has begun to wait
        begun.set()
        return await waiting

    with ThreadPoolExecutor(1) as pool:
        heard = pool.submit(asyncio.run, wait())
        begun.wait(60)
        asyncio.run(store.enqueue([Enqueue("a")]))
        assert heard.result(60)


def test_a_closed_loop_holds_up_nobody() -> None:
    """A waiter whose loop was closed without it is passed over."""
    store = MemoryStore(lambda: 0)
    asyncio.run(store.define(JobDefinition("a"), "app"))
    loop = asyncio.new_event_loop()
    waiting = loop.create_task(store.wait(60))
    loop.run_until_complete(asyncio.sleep(0))
    loop.close()
    asyncio.run(store.enqueue([Enqueue("a")]))
    waiting._log_destroy_pending = False  # type: ignore[attr-defined]  # (that is what the test is about)


def test_there_is_no_transaction_to_share() -> None:
    """A connection of the caller's own is refused."""
    store = MemoryStore(lambda: 0)
    asyncio.run(store.define(JobDefinition("a"), "app"))
    with pytest.raises(InputError, match="connection"):
        asyncio.run(store.enqueue([Enqueue("a")], connection=object()))
    assert asyncio.run(store.insights.runs()).items == ()
