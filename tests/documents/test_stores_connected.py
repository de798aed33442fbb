"""What stores with a connection promise besides: the server's clock, sharing, and the index."""

import asyncio
from collections.abc import Coroutine
from typing import Any

import pytest

from tickwise import clock
from tickwise.core.errors import ConflictError
from tickwise.documents import (
    JobStore,
    Locked,
    Renew,
    Sleep,
)

from ..support.documents.user_collections import (
    HOUR,
    LATER,
    MINUTE,
    MongoCollection,
    PostgresPlace,
    SqlitePlace,
    UserCollection,
    ago,
    lock,
    now,
    run,
    with_store,
)


def test_the_clock_of_the_node_has_no_say(connected: UserCollection, monkeypatch: pytest.MonkeyPatch) -> None:
    """What is due, locked and over is judged by the store's clock alone (S5)."""

    def refuse() -> Any:
        raise AssertionError

    monkeypatch.setattr(clock, "now", refuse)
    monkeypatch.setattr(clock, "microseconds", refuse)
    key = connected.add(sleep_until=ago(seconds=1))
    connected.add(sleep_until=now() + MINUTE)

    async def work(store: JobStore) -> Locked | None:
        locked = await lock(store)
        await store.update(locked, Renew(HOUR))
        await store.update(locked, Sleep(LATER))
        return locked if await store.lock_next(HOUR) is None else None

    assert with_store(connected, work).facts.key == key


def test_a_store_may_be_shared_and_opened_again(connected: UserCollection) -> None:
    """Who leaves last closes it; after that it can be opened again, also on another event loop."""
    store = connected.store()

    async def work() -> None:
        async with store:
            async with store:
                assert await store.next_due() is None
            assert await store.next_due() is None

    run(work())
    run(work())


def test_a_store_serves_one_event_loop_at_a_time(connected: UserCollection) -> None:
    """A second loop is refused, and told what to do, while the first uses the store."""
    store = connected.store()

    async def enter() -> None:
        async with store:
            pass

    async def work() -> None:
        async with store:
            with pytest.raises(ConflictError, match="a store of its own"):
                await asyncio.to_thread(asyncio.run, enter())

    run(work())


def test_index_of_mongodb(mongodb_url: str) -> None:
    """The recommended index is sparse, is made on request, and then decides what is looked at."""
    place = MongoCollection(mongodb_url)
    for _ in range(20):
        place.add(sleep_until=now() + HOUR)
    store = place.store()
    run(_indexed(store))
    run(_indexed(store))
    with place.collection() as collection:
        assert collection.index_information()["sleepUntil_1"]["sparse"]
        plan = collection.find(store._commands.due()).sort("sleepUntil").explain()  # type: ignore[attr-defined]
    assert plan["executionStats"]["totalDocsExamined"] == 0
    assert plan["executionStats"]["totalKeysExamined"] <= 1


def test_index_of_sqlite(tmp_path: Any) -> None:
    """The recommended index leaves rows without a time out, is made on request, and is used."""
    place = SqlitePlace(tmp_path)
    store = place.store()
    run(_indexed(store))
    run(_indexed(store))
    statements = store._statements  # type: ignore[attr-defined]
    for statement in (f"{statements['due']} LIMIT 9", statements["next_due"]):
        plan = place.execute(f"EXPLAIN QUERY PLAN {statement}")
        assert "USING INDEX tickwise_jobs" in str(plan)
        assert "TEMP B-TREE" not in str(plan)


def test_index_of_postgres(postgres_url: str) -> None:
    """The recommended index leaves rows without a time out, is made on request, and is used."""
    place = PostgresPlace(postgres_url)
    store = place.store()
    run(_indexed(store))
    run(_indexed(store))
    rows = "SELECT number, now() + number * interval '1 hour' FROM generate_series(1, 5000) AS number"
    place.execute(f"INSERT INTO {place.table} (id, sleep_until) {rows}")
    place.execute(f"ANALYZE {place.table}")
    plan = place.execute(f"EXPLAIN {store._statements['due']} LIMIT 9")  # type: ignore[attr-defined]
    assert "Index Scan using tickwise_jobs" in str(plan)
    assert "Sort" not in str(plan)


def _indexed(store: Any) -> Coroutine[Any, Any, None]:
    created: Coroutine[Any, Any, None] = store.create_index()
    return created
