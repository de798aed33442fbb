"""Enqueue inside a pipeline of the user's own: the runs exist exactly if the user executes it."""

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

import pytest
from redis import Redis
from redis.asyncio import Redis as AsyncRedis
from redis.exceptions import WatchError

from tickwise.core.errors import InputError
from tickwise.core.model import Trigger
from tickwise.stores.records import Enqueue
from tickwise.stores.redis.store import RedisStore

from ...support.races.race import SOURCE, all_runs, job

Story = Callable[[RedisStore, Any], Awaitable[None]]


def within(url: str, story: Story) -> None:
    """Play a story with a store and a client of the user's own."""

    async def play() -> None:
        store, client = RedisStore(url), AsyncRedis.from_url(url.partition("?")[0], decode_responses=True)
        try:
            await store.schema.upgrade()
            await store.define(job("a"), SOURCE)
            await story(store, client)
        finally:
            await store.close()
            await client.aclose()

    asyncio.run(play())


def test_the_runs_exist_once_it_is_executed(redis_database: str) -> None:
    """They are seen as soon as the user executes the pipeline, with what else is in it, and not before."""

    async def story(store: RedisStore, client: Any) -> None:
        async with client.pipeline() as pipeline:
            pipeline.set(store.server.key("of-the-user"), "kept")
            made = await store.enqueue([Enqueue("a", params={"n": 1}), Enqueue("a")], pipeline)
            assert [one.new for one in made] == [True, True]
            assert await all_runs(store) == []
            await pipeline.execute()
        assert [run.id for run in await all_runs(store)] == [one.id for one in made]
        assert await client.get(store.server.key("of-the-user")) == "kept"
        assert (await store.enqueue([Enqueue("a")]))[0].id > made[-1].id

    within(redis_database, story)


def test_a_pipeline_that_is_not_executed_leaves_nothing(redis_database: str) -> None:
    """Nor does one whose watched key has changed."""

    async def story(store: RedisStore, client: Any) -> None:
        async with client.pipeline() as pipeline:
            await store.enqueue([Enqueue("a")], pipeline)
        async with client.pipeline() as pipeline:
            key = store.server.key("of-the-user")
            await pipeline.watch(key)
            pipeline.multi()
            await store.enqueue([Enqueue("a")], pipeline)
            await client.set(key, "changed")
            with pytest.raises(WatchError):
                await pipeline.execute()
        assert await all_runs(store) == []

    within(redis_database, story)


def test_a_pipeline_of_the_ordinary_client(redis_database: str) -> None:
    """The user's code need not be asynchronous."""

    async def story(store: RedisStore, _client: Any) -> None:
        with Redis.from_url(redis_database.partition("?")[0]) as client, client.pipeline() as pipeline:
            await store.enqueue([Enqueue("a", params={"n": 1})], pipeline)
            pipeline.execute()
        assert [run.params for run in await all_runs(store)] == [{"n": 1}]

    within(redis_database, story)


def test_a_key_is_claimed_when_the_pipeline_is_executed(redis_database: str) -> None:
    """One that is taken gives the run that has it; one that another takes meanwhile is the other's (S48)."""

    async def story(store: RedisStore, client: Any) -> None:
        async with client.pipeline() as pipeline:
            new, same = await store.enqueue([Enqueue("a", key="k"), Enqueue("a", key="k")], pipeline)
            assert (new.new, same.new, same.id) == (True, False, new.id)
            await pipeline.execute()
        async with client.pipeline() as pipeline:
            (known,) = await store.enqueue([Enqueue("a", key="k")], pipeline)
            assert (known.id, known.new) == (new.id, False)
            await store.enqueue([Enqueue("a", key="other")], pipeline)
            (faster,) = await store.enqueue([Enqueue("a", key="other")])
            await pipeline.execute()
        assert [run.id for run in await all_runs(store)] == [new.id, faster.id]

    within(redis_database, story)


REFUSED: dict[str, tuple[Callable[[Any], Any], Enqueue]] = {
    "pipeline of redis-py": (lambda client: client, Enqueue("a")),
    "transaction=True": (lambda client: client.pipeline(transaction=False), Enqueue("a")),
    "a lane": (lambda client: client.pipeline(), Enqueue("a", Trigger.MANUAL)),
    "no job 'b'": (lambda client: client.pipeline(), Enqueue("b")),
}


@pytest.mark.parametrize("words", REFUSED)
def test_what_cannot_be_promised(redis_database: str, words: str) -> None:
    """Another kind of connection, and what is decided only when it is executed, is refused with what to do."""
    connection, asked = REFUSED[words]

    async def story(store: RedisStore, client: Any) -> None:
        given = connection(client)
        with pytest.raises(InputError, match=words):
            await store.enqueue([asked], given)
        assert len(getattr(given, "command_stack", ())) == 0
        assert await all_runs(store) == []

    within(redis_database, story)


def test_a_pipeline_that_executes_at_once(redis_database: str) -> None:
    """After a watch and before multi() each command is executed at once: that is no transaction."""

    async def story(store: RedisStore, client: Any) -> None:
        async with client.pipeline() as pipeline:
            await pipeline.watch(store.server.key("of-the-user"))
            with pytest.raises(InputError, match=r"pipeline\.multi"):
                await store.enqueue([Enqueue("a")], pipeline)

    within(redis_database, story)
