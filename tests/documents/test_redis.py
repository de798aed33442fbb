"""What is particular to Redis: idle schedulers hear of new documents."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import Any

import pytest
import redis.asyncio

from tickwise.documents import DocumentScheduler, RedisJobStore

from ..support.documents.user_collections import PATIENCE, RedisCollection, ago, run


@pytest.fixture
def place(redis_url: str, monkeypatch: pytest.MonkeyPatch) -> RedisCollection:
    """A collection whose schedulers look again only if somebody tells them to."""
    monkeypatch.setattr("tickwise.documents.scheduler.POLL_SECONDS", 3600.0)
    return RedisCollection(redis_url)


@asynccontextmanager
async def idle_scheduler(place: RedisCollection) -> AsyncIterator[asyncio.Queue[Any]]:
    """What its handler gets; the block begins when it waits and hears what is said."""
    got, is_idle = asyncio.Queue[Any](), asyncio.Event()
    async with (
        asyncio.timeout(PATIENCE),
        redis.asyncio.Redis.from_url(place.url) as client,
        DocumentScheduler(place.store(), got.put, on_idle=is_idle.set),
    ):
        await is_idle.wait()
        while not await client.publish(f"{{{place.name}}}:news", ""):  # to how many that was told
            pass
        yield got


async def _add(store: RedisJobStore) -> None:
    await store.add({"_id": "ada", "sleepUntil": ago(hours=1)})


async def _change(store: RedisJobStore) -> None:
    await store.change("eve", {"sleepUntil": ago(hours=1)})


@pytest.mark.parametrize(("act", "key"), [(_add, "ada"), (_change, "eve")])
def test_an_idle_scheduler_is_woken(
    place: RedisCollection, act: Callable[[RedisJobStore], Awaitable[None]], key: str
) -> None:
    """A document that the store of another process adds, or makes due, is taken at once."""
    place.write_text("eve", "{}")

    async def work() -> str:
        async with idle_scheduler(place) as got, RedisJobStore(place.url, place.name) as other:
            await act(other)
            return str((await got.get())["_id"])

    assert run(work()) == key


def test_a_lost_connection_wakes(place: RedisCollection) -> None:
    """What was said while nobody listened may be missed, so a scheduler that listens again looks again."""

    async def work() -> str:
        async with idle_scheduler(place) as got, redis.asyncio.Redis.from_url(place.url) as client:
            key = place.add(sleep_until=ago(hours=1))  # by another program, which tells nobody
            await client.client_kill_filter(_type="pubsub")
            return str((await got.get())["_id"] == key)

    assert run(work()) == "True"
