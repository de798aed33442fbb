"""One app and several event loops: each has its own way to the store."""

import asyncio
import threading

import pytest

from tickwise import AsyncTickwise, ConflictError, Tickwise
from tickwise.stores.contract import Store

from ..support.app import PATIENCE, Clock


def declare(app: AsyncTickwise) -> None:
    @app.job()
    async def work(number: int) -> int:
        return number


@pytest.mark.parametrize("url", ["memory"], indirect=True)
def test_a_memory_store_that_is_closed(app: AsyncTickwise) -> None:
    """It keeps nothing: the next use begins with what the code declares, and no run (A24)."""
    declare(app)

    async def enqueue() -> int:
        async with app:
            await app.schedules.add("other", schedule="@daily", command="true")
            await app.enqueue("work", {"number": 1})
            return len(await app.runs.list())

    async def look() -> tuple[int, list[str]]:
        async with app:
            return len(await app.runs.list()), await app.jobs.list()

    assert asyncio.run(enqueue()) == 1
    assert asyncio.run(look()) == (0, ["work"])


@pytest.mark.parametrize("url", ["sqlite"], indirect=True)
def test_one_loop_after_the_other(app: AsyncTickwise) -> None:
    """What was enqueued in one loop is run in the next, and what ended loops had open is forgotten."""
    declare(app)

    async def enqueue(number: int) -> str:
        async with app:
            return (await app.enqueue("work", {"number": number})).id

    ids = [asyncio.run(enqueue(number)) for number in range(3)]

    async def look() -> list[int]:
        async with app:
            assert await app.drain() == 3
            return [(await app.runs.get(run)).result for run in ids]

    assert asyncio.run(look()) == [0, 1, 2]
    assert len(app._stores._locks) == 1, "that of the last loop"


def test_a_loop_that_nobody_closed(app: AsyncTickwise) -> None:
    """An app that was left open in a loop that has ended can be used in another."""
    declare(app)

    async def enqueue() -> Store:
        await app.enqueue("work", {"number": 1})
        return await app.store()

    async def look(left_open: Store) -> int:
        async with app:
            await left_open.close()
            return await app.drain()

    assert asyncio.run(look(asyncio.run(enqueue()))) == 1


def test_two_loops_at_once(url: str, clock: Clock) -> None:
    """A node in one thread's loop runs what another thread's loop enqueues; only its own loop can stop it."""
    with Tickwise(url, clock=clock, poll=0.05) as tw:
        ended = threading.Event()
        declare(tw.awaited)
        tw.hooks.on_run = lambda event: ended.set() if event.what == "succeeded" else None
        tw.start()

        async def elsewhere() -> str:
            run = await tw.awaited.enqueue("work", {"number": 7})
            with pytest.raises(ConflictError, match="it runs in another event loop: stop it there"):
                await tw.awaited.stop()
            await tw.awaited._stores.close()
            return run.id

        run = asyncio.run(elsewhere())
        assert ended.wait(PATIENCE)
        assert tw.runs.get(run).result == 7
