"""Enqueue inside a transaction of the user's own: the runs exist exactly if the user commits."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import Any

import pytest
from pymongo import AsyncMongoClient, MongoClient

from tickwise.core.errors import ConflictError, InputError
from tickwise.core.model import Trigger
from tickwise.stores.mongo.store import MongoStore
from tickwise.stores.records import Enqueue, Enqueued

from ...support.races.race import SOURCE, all_runs, job
from .servers import database

Told = Callable[[MongoStore, Any], Awaitable[Any]]


@asynccontextmanager
async def store_at(url: str) -> AsyncIterator[MongoStore]:
    store = MongoStore(url)
    await store.schema.upgrade()
    await store.define(job("a"), SOURCE)
    yield store
    await store.close()


def within(url: str, story: Told) -> Any:
    """Play a story with a store and a client of the user's own."""

    async def play() -> Any:
        async with store_at(url) as store, AsyncMongoClient[Any](url) as client:
            return await story(store, client)

    return asyncio.run(play())


def test_a_commit_makes_the_runs_exist(mongodb_database: str) -> None:
    """They are seen as soon as the user commits, and not before; a key counts inside too (S48)."""

    async def story(store: MongoStore, client: AsyncMongoClient[Any]) -> None:
        async with client.start_session() as session, await session.start_transaction():
            made = await store.enqueue([Enqueue("a", key="k"), Enqueue("a"), Enqueue("a", key="k")], session)
            assert [one.new for one in made] == [True, True, False]
            assert await store.enqueue([Enqueue("a", key="k")], session) == (Enqueued(made[0].id, new=False),)
            assert await all_runs(store) == []
        assert [run.id for run in await all_runs(store)] == [made[0].id, made[1].id]

    within(mongodb_database, story)


def test_a_rollback_leaves_nothing(mongodb_database: str) -> None:
    """A run that was enqueued in a transaction goes with it, and its key is free."""

    async def story(store: MongoStore, client: AsyncMongoClient[Any]) -> None:
        async with client.start_session() as session:
            await session.start_transaction()
            await store.enqueue([Enqueue("a", key="k")], session)
            await session.abort_transaction()
        assert await all_runs(store) == []
        assert (await store.enqueue([Enqueue("a", key="k")]))[0].new

    within(mongodb_database, story)


def test_a_session_of_the_ordinary_client(mongodb_database: str) -> None:
    """The user's code need not be asynchronous."""

    async def story(store: MongoStore, _client: AsyncMongoClient[Any]) -> None:
        with (
            MongoClient[Any](mongodb_database) as client,
            client.start_session() as session,
            session.start_transaction(),
        ):
            await store.enqueue([Enqueue("a", params={"n": 1})], session)
        assert [run.params for run in await all_runs(store)] == [{"n": 1}]

    within(mongodb_database, story)


def test_a_key_that_was_taken_meanwhile(mongodb_database: str) -> None:
    """The transaction is refused, or the driver is let to repeat it; then it gets the run that has the key."""

    async def story(store: MongoStore, client: AsyncMongoClient[Any]) -> None:
        seen: list[tuple[Enqueued, ...]] = []

        async def transaction(session: Any) -> None:
            await client[store.mongo.name].own.find_one({}, session=session)  # the snapshot is taken here
            if not seen:
                seen.append(await store.enqueue([Enqueue("a", key="k")]))
            seen.append(await store.enqueue([Enqueue("a", key="k")], session))

        async with client.start_session() as session:
            try:
                await session.with_transaction(transaction)
            except ConflictError:
                await session.with_transaction(transaction)
        (first,), *others, (last,) = seen
        assert (last, others) == (Enqueued(first.id, new=False), [])
        assert len(await all_runs(store)) == 1

    within(mongodb_database, story)


@pytest.mark.parametrize(
    ("connection", "asked", "word"),
    [
        (lambda _: object(), Enqueue("a"), "session"),
        (lambda client: client.start_session(), Enqueue("a"), "start_transaction"),
    ],
)
def test_what_is_no_transaction(
    mongodb_database: str, connection: Callable[[Any], Any], asked: Enqueue, word: str
) -> None:
    """Another kind of connection, or a session without a transaction, is refused with what to do."""

    async def story(store: MongoStore, client: AsyncMongoClient[Any]) -> None:
        with pytest.raises(InputError, match=word):
            await store.enqueue([asked], connection(client))
        assert await all_runs(store) == []

    within(mongodb_database, story)


def test_a_run_by_hand_is_refused(mongodb_database: str) -> None:
    """It takes a lane, for which everybody else would have to wait; beside the others it may run (S30)."""

    async def story(store: MongoStore, client: AsyncMongoClient[Any]) -> None:
        async with client.start_session() as session, await session.start_transaction():
            with pytest.raises(InputError, match="lane"):
                await store.enqueue([Enqueue("a", Trigger.MANUAL)], session)
            await store.enqueue([Enqueue("a", Trigger.MANUAL, allow_overlap=True)], session)
        assert [run.trigger for run in await all_runs(store)] == [Trigger.MANUAL]

    within(mongodb_database, story)


def test_a_standalone_server_has_none(standalone_url: str) -> None:
    """The refusal says what is missing."""

    async def story(store: MongoStore, client: AsyncMongoClient[Any]) -> None:
        session = client.start_session()
        await session.start_transaction()
        with pytest.raises(InputError, match="replica set"):
            await store.enqueue([Enqueue("a")], session)
        await session.abort_transaction()
        await session.end_session()

    with database(standalone_url) as url:
        within(url, story)
