"""What every store promises about several documents at once: the same as about one."""

import asyncio
from datetime import timedelta
from typing import Any

from tickwise.documents import (
    DocumentScheduler,
    Ending,
    JobStore,
    Locked,
    LockLostError,
    Release,
    Remove,
    Sleep,
)

from ..support.documents.user_collections import (
    HOUR,
    LATER,
    MINUTE,
    UserCollection,
    ago,
    lock,
    now,
    run,
    with_store,
)


async def lock_all(store: JobStore, length: timedelta = HOUR) -> list[Locked]:
    """Lock in batches until nothing is due."""
    locked: list[Locked] = []
    while batch := await store.lock_many(10, length):
        locked += batch
    return locked


def test_a_batch_is_locked_in_order(place: UserCollection) -> None:
    """The oldest come first, each as it was before the lock, and no more than were asked for."""
    days = {place.add(sleep_until=ago(days=number), kind=str(number)): number for number in (4, 30, 1, 3, 2)}
    place.add(sleep_until=now() + HOUR)
    before = {key: place.raw(key) for key in days}

    async def work(store: JobStore) -> list[Locked]:
        first: list[Locked] = []
        while len(first) < 3:
            batch = await store.lock_many(3 - len(first), HOUR)
            assert len(batch) <= 3 - len(first)
            first += batch
        return first + await lock_all(store)

    found = with_store(place, work)
    assert [days[locked.facts.key] for locked in found] == [30, 4, 3, 2, 1]
    for locked in found:
        assert locked.document == before[locked.facts.key]
        after = place.read(locked.facts.key)
        assert after["lock_owner"] == locked.owner
        assert after["sleep_until"] == after["lock_until"]
        assert abs(after["lock_until"] - locked.now - HOUR) < MINUTE


def test_other_names_in_a_batch(other_place: UserCollection) -> None:
    """Where the fields have other names, the documents come as they were before the lock, too."""
    keys = [other_place.add(sleep_until=ago(hours=hours), interval="@daily") for hours in (3, 2)]
    before = [other_place.raw(key) for key in keys]
    found = with_store(other_place, lock_all)
    assert [locked.document for locked in found] == before
    assert [locked.facts.interval for locked in found] == ["@daily"] * 2


def test_expired_locks_in_a_batch(place: UserCollection) -> None:
    """Documents whose owner is gone are locked again, with the old lock in what they were before."""
    keys = [place.add(sleep_until=ago(hours=hours)) for hours in (3, 2)]

    async def work(store: JobStore) -> list[Locked]:
        await store.lock_many(1, timedelta(0))
        await store.lock_many(2, timedelta(0))
        before = {key: place.raw(key) for key in keys}
        found = await lock_all(store)
        assert {locked.facts.key: locked.document for locked in found} == before
        return found

    assert {locked.facts.key for locked in with_store(place, work)} == set(keys)


def test_verdicts_of_all_kinds_at_once(place: UserCollection) -> None:
    """Each is written as if it were alone."""
    kinds: dict[str, Sleep | Release | Remove] = {
        "done": Sleep(None),
        "slept": Sleep(LATER),
        "failed": Release(),
        "bad": Release("why not"),
        "removed": Remove(),
    }
    keys = {kind: place.add(sleep_until=ago(hours=1), kind=kind, error="old") for kind in kinds}

    async def work(store: JobStore) -> list[Any]:
        locked = await lock_all(store)
        endings = [Ending(each, kinds[each.document["kind"]]) for each in locked]
        return list(await store.finish_many(endings))

    assert with_store(place, work) == [None] * 5
    assert place.raw(keys.pop("removed")) is None
    after = {kind: place.read(key) for kind, key in keys.items()}
    assert {(each["lock_owner"], each["lock_until"]) for each in after.values()} == {(None, None)}
    assert (after["done"]["sleep_until"], after["slept"]["sleep_until"]) == (None, LATER)
    assert [after[kind]["error"] for kind in ("done", "slept", "failed", "bad")] == [None, None, None, "why not"]
    assert all(abs(after[kind]["sleep_until"] - now() - HOUR) < MINUTE for kind in ("failed", "bad"))


def test_what_is_not_written_says_so_in_its_place(place: UserCollection) -> None:
    """In one batch: written, lost, changed, moved, deleted; each learns its own, and the others are written."""
    kinds = ("written", "lost", "changed", "moved", "deleted", "lost removal", "changed removal", "removed")
    keys = {kind: place.add(sleep_until=ago(hours=1), kind=kind) for kind in kinds}

    async def work(store: JobStore) -> dict[str, Any]:
        locked = await lock_all(store)
        for kind in ("lost", "lost removal"):
            place.change(keys[kind], lock_owner="somebody else")
        for kind in ("changed", "changed removal"):
            place.change(keys[kind], interval="@daily")
        place.change(keys["moved"], sleep_until=LATER)
        place.delete(keys["deleted"])
        endings = [Ending(each, Remove() if "remov" in each.document["kind"] else Sleep(None)) for each in locked]
        results = await store.finish_many(endings)
        return {each.document["kind"]: result for each, result in zip(locked, results, strict=True)}

    results = with_store(place, work)
    assert [results[kind] for kind in ("written", "deleted", "removed")] == [None] * 3
    assert isinstance(results["lost"], LockLostError)
    assert isinstance(results["lost removal"], LockLostError)
    assert results["changed"].facts.interval == results["changed removal"].facts.interval == "@daily"
    assert results["moved"].facts.moved
    assert place.read(keys["written"])["sleep_until"] is None
    assert place.raw(keys["removed"]) is None
    for kind in ("lost", "changed", "moved", "lost removal", "changed removal"):
        assert place.read(keys[kind])["lock_until"] is not None


def test_all_locks_are_renewed_at_once(place: UserCollection) -> None:
    """Those that are still ours hold for so long from now on; one that is lost or moved keeps what it has."""
    keys = [place.add(sleep_until=ago(hours=1)) for _ in range(4)]
    lost, moved, *_ = keys

    async def work(store: JobStore) -> None:
        held = await lock_all(store)
        place.change(lost, lock_owner="somebody else")
        place.change(moved, sleep_until=LATER)
        await store.renew_many(held, 3 * HOUR)

    with_store(place, work)
    after = {key: place.read(key) for key in keys}
    assert abs(after.pop(lost)["lock_until"] - now() - HOUR) < MINUTE
    assert after[moved]["sleep_until"] == LATER
    for each in after.values():
        assert abs(each["lock_until"] - now() - 3 * HOUR) < MINUTE


def test_batches_at_the_same_moment(place: UserCollection) -> None:
    """Of many that lock batches at once each gets documents of its own, and none is left over."""
    keys = {place.add(sleep_until=ago(hours=1)) for _ in range(40)}

    async def work(store: JobStore) -> list[list[Locked]]:
        return await asyncio.gather(*(lock_all(store) for _ in range(6)))

    found = [locked.facts.key for batch in with_store(place, work) for locked in batch]
    assert sorted(found) == sorted(keys)


def test_many_handlers_on_every_store(place: UserCollection) -> None:
    """Each document is handled once, whatever its verdict, and all verdicts are written."""
    facts: list[dict[str, Any]] = [{}, {"interval": "@daily"}, {"auto_remove": True}, {"interval": "often"}]
    keys = [place.add(sleep_until=ago(hours=1), kind=str(number), **facts[number % 4]) for number in range(24)]
    got = []

    async def handle(document: Any) -> None:
        got.append(int(document["kind"]))

    async def stop() -> None:
        await scheduler.stop()

    scheduler = DocumentScheduler(place.store(), handle, on_idle=stop, concurrency=7)
    run(scheduler.run())
    assert sorted(got) == [number for number in range(24) if number % 4 != 3]
    for number, key in enumerate(keys):
        if number % 4 == 2:
            assert place.raw(key) is None
            continue
        after = place.read(key)
        assert after["lock_owner"] is None
        assert (after["sleep_until"] is None) == (number % 4 == 0)
        assert (after["error"] is not None) == (number % 4 == 3)


def test_a_lock_of_one_and_of_many_agree(place: UserCollection) -> None:
    """`lock_next` takes what a batch has left."""
    keys = [place.add(sleep_until=ago(hours=hours)) for hours in (5, 4, 3)]

    async def work(store: JobStore) -> list[Locked]:
        first = list(await store.lock_many(1, HOUR))
        return [*first, await lock(store), *await store.lock_many(9, HOUR)]

    assert [locked.facts.key for locked in with_store(place, work)] == keys
