"""What is particular to MongoDB: collection objects of the user's own, and many schedulers without a fight."""

import asyncio
from collections import Counter
from typing import Any

import pytest
from pymongo import AsyncMongoClient, MongoClient

from tickwise.core.errors import InputError
from tickwise.documents import DocumentScheduler, MongoJobStore, ThreadedScheduler
from tickwise.documents import mongodb as mongodb_module

from ..support.documents.user_collections import HOUR, PATIENCE, MongoCollection, ago, now, run

DOCUMENTS = 12


@pytest.fixture
def place(mongodb_url: str) -> MongoCollection:
    return MongoCollection(mongodb_url)


async def process_all(store: MongoJobStore) -> list[Any]:
    got = []

    async def handle(document: Any) -> None:
        assert document["sleepUntil"].utcoffset() is not None
        got.append(document["_id"])

    async def stop() -> None:
        await scheduler.stop()

    scheduler = DocumentScheduler(store, handle, on_idle=stop, concurrency=4)
    await scheduler.run()
    return got


def test_a_collection_of_an_async_client(place: MongoCollection) -> None:
    """An `AsyncCollection` is used as it is, and its client stays open."""
    keys = [place.add(sleep_until=ago(hours=number + 1)) for number in range(DOCUMENTS)]

    async def work() -> list[Any]:
        async with AsyncMongoClient[dict[str, Any]](place.url) as client:
            collection = client.get_default_database()[place.name]
            got = await process_all(MongoJobStore(collection))
            assert await collection.count_documents({"sleepUntil": None}) == DOCUMENTS
            return got

    assert sorted(run(work())) == sorted(keys)


def test_a_collection_of_a_sync_client(place: MongoCollection) -> None:
    """A `Collection` works in threads, its dates are aware whatever its client says, and its client stays open."""
    keys = [place.add(sleep_until=ago(hours=number + 1)) for number in range(DOCUMENTS)]
    with MongoClient[dict[str, Any]](place.url, tz_aware=False) as client:
        collection = client.get_default_database()[place.name]
        assert sorted(run(process_all(MongoJobStore(collection)))) == sorted(keys)
        assert collection.count_documents({"sleepUntil": None}) == DOCUMENTS
        run(MongoJobStore(collection).create_index())
        assert collection.index_information()["sleepUntil_1"]["sparse"]


def test_a_change_stream_of_a_sync_client(place: MongoCollection, monkeypatch: pytest.MonkeyPatch) -> None:
    """`watch=True` wakes idle schedulers over a `Collection`, too."""
    monkeypatch.setattr("tickwise.documents.scheduler.POLL_SECONDS", 3600.0)
    place.add(sleep_until=now() + HOUR)
    got = asyncio.Event()

    async def handle(_: Any) -> None:
        got.set()

    async def work(collection: Any) -> None:
        async with DocumentScheduler(MongoJobStore(collection, watch=True), handle):
            while not got.is_set():  # the stream begins a moment after the scheduler
                place.add(sleep_until=ago(hours=1))
                await asyncio.wait((asyncio.ensure_future(got.wait()),), timeout=1)

    with MongoClient[dict[str, Any]](place.url) as client:
        run(work(client.get_default_database()[place.name]))


def test_a_threaded_scheduler_over_a_sync_collection(place: MongoCollection) -> None:
    """Code that never awaits hands over its own collection."""
    key = place.add(sleep_until=ago(hours=1))
    with MongoClient[dict[str, Any]](place.url) as client:
        store = MongoJobStore(client.get_default_database()[place.name])
        scheduler = ThreadedScheduler(DocumentScheduler(store, lambda _: scheduler.stop(), concurrency=2))
        scheduler.start()
        thread = scheduler._thread
        assert thread is not None
        thread.join(PATIENCE)
    assert place.read(key)["sleep_until"] is None


@pytest.mark.parametrize(
    ("source", "name", "said"),
    [
        ("mongodb://localhost/shop", None, "str does not say which collection is meant"),
        (MongoClient("mongodb://localhost", connect=False), None, "MongoClient does not say"),
        (
            MongoClient("mongodb://localhost", connect=False).shop.jobs,
            "mail",
            "Collection and 'mail' does not say",
        ),
    ],
    ids=["no name", "a client", "both"],
)
def test_what_is_no_collection(source: Any, name: Any, said: str) -> None:
    """Anything else is refused, with what to give."""
    with pytest.raises(InputError, match=f"{said}.*give MongoJobStore a URL and the name of a collection, or"):
        MongoJobStore(source, name)


def test_one_scheduler_keeps_the_order(place: MongoCollection) -> None:
    """A store that nobody competes with never looks ahead: its locks are in the order of the times."""
    keys = [place.add(sleep_until=ago(hours=100 - number)) for number in range(60)]

    async def work() -> list[Any]:
        found = []
        async with place.store() as store:
            for count in (1, 7, 1, 20, *[1] * 40):
                found += [locked.facts.key for locked in await store.lock_many(count, HOUR)]
        return found

    assert run(work()) == keys


def test_schedulers_that_lose_look_elsewhere(place: MongoCollection, monkeypatch: pytest.MonkeyPatch) -> None:
    """When another has locked what was chosen, the store reads further ahead and takes a batch of its own choice.

    The other scheduler here always comes first: it locks whatever the store has chosen at the front.
    """
    due = ago(hours=1)
    with place.collection() as collection:
        collection.insert_many([{"_id": number, "sleepUntil": due} for number in range(100)])
    rival = place.store()
    drawn: list[int] = []

    def choose_last(slices: int) -> int:
        drawn.append(slices)
        return slices - 1

    monkeypatch.setattr(mongodb_module, "randbelow", choose_last)

    async def work() -> tuple[list[Any], list[Any]]:
        async with place.store() as store, rival:
            choose = store._choose  # type: ignore[attr-defined]

            async def choose_late(count: int) -> Any:
                batch = await choose(count)
                if not drawn:
                    theirs.extend(await rival.lock_many(count, HOUR))
                return batch

            monkeypatch.setattr(store, "_choose", choose_late)
            theirs: list[Any] = []
            ours = await store.lock_many(5, HOUR)
            return [each.facts.key for each in theirs], [each.facts.key for each in ours]

    theirs, ours = run(work())
    assert len(ours) == len(theirs) == 5
    assert not set(ours) & set(theirs)
    assert drawn == [2]


def test_many_stores_on_one_collection(place: MongoCollection) -> None:
    """Eight stores that lock at the same moment, singly and in batches: each document goes to one of them."""
    due = ago(hours=1)
    with place.collection() as collection:
        collection.insert_many([{"_id": number, "sleepUntil": due} for number in range(400)])

    async def lock_all(count: int) -> list[Any]:
        found = []
        async with place.store() as store:
            while batch := await store.lock_many(count, HOUR):
                found += [locked.facts.key for locked in batch]
        return found

    async def work() -> list[list[Any]]:
        return await asyncio.gather(*(lock_all(count) for count in (1, 1, 1, 3, 3, 8, 8, 20)))

    found = Counter(key for keys in run(work()) for key in keys)
    assert found == Counter(range(400))
