"""Every store keeps the same promises: one suite over memory, SQLite, PostgreSQL, MySQL, MongoDB and Redis."""

import asyncio
from contextlib import suppress
from datetime import UTC, datetime, time, timedelta
from typing import Any

import psycopg
import pymysql
import pytest

from tickwise.documents import (
    DocumentFacts,
    DocumentScheduler,
    Fields,
    JobStore,
    Locked,
    LockLostError,
    Release,
    Renew,
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


def test_nothing_is_due(place: UserCollection) -> None:
    """A document without a time, and one whose time is to come, are not locked: a deferred one waits."""
    place.add(kind="note")
    place.add(sleep_until=None)
    place.add(sleep_until=now() + HOUR)
    assert with_store(place, lambda store: store.lock_next(HOUR)) is None


def test_the_oldest_comes_first(place: UserCollection) -> None:
    """Documents are locked in the order of their times, each once, until none is left."""
    keys = {place.add(sleep_until=ago(days=days)): days for days in (2, 30, 1, 3)}

    async def work(store: JobStore) -> list[int]:
        found = []
        while locked := await store.lock_next(HOUR):
            found.append(keys[locked.facts.key])
        return found

    assert with_store(place, work) == [30, 3, 2, 1]


def test_the_document_comes_as_it_was_before_the_lock(place: UserCollection) -> None:
    """What is handed out shows the user's own fields and times; what stands there is locked to the lock's end."""
    due, last = datetime(2026, 3, 1, 9, tzinfo=UTC), datetime(2026, 4, 1, tzinfo=UTC)
    key = place.add(sleep_until=due, interval="@daily", repeat_until=last, auto_remove=True, kind="mail")
    before = place.raw(key)
    locked = with_store(place, lock)
    assert locked.document == before
    assert locked.facts.interval == "@daily"
    assert locked.facts.auto_remove
    assert abs(locked.now - now()) < MINUTE
    after = place.read(key)
    assert after["lock_owner"] == locked.owner
    assert after["sleep_until"] == after["lock_until"]
    assert abs(after["lock_until"] - locked.now - HOUR) < timedelta(milliseconds=2)


def test_a_lock_that_ran_out(place: UserCollection) -> None:
    """A document whose owner is gone comes back when the lock's end has come, for a new owner."""
    key = place.add(sleep_until=ago(hours=1))

    async def work(store: JobStore) -> tuple[Locked, Locked]:
        return await lock(store, timedelta(0)), await lock(store)

    first, second = with_store(place, work)
    assert first.facts.key == second.facts.key == key
    assert place.read(key)["lock_owner"] == second.owner != first.owner


def test_sleep_unlocks(place: UserCollection) -> None:
    """A document that sleeps again is unlocked, has its new time and no error, and is not due before that."""
    key = place.add(sleep_until=ago(hours=1), interval="@daily", error="as it was", kind="mail")

    async def work(store: JobStore) -> Locked | None:
        assert await store.update(await lock(store), Sleep(LATER)) is None
        return await store.lock_next(HOUR)

    assert with_store(place, work) is None
    assert place.read(key) == {
        "sleep_until": LATER, "interval": "@daily", "repeat_until": None, "auto_remove": None, "lock_owner": None,
        "lock_until": None, "error": None, "kind": "mail",
    }  # fmt: skip


def test_a_time_that_was_written_is_due_when_it_comes(place: UserCollection) -> None:
    """A document that was put to sleep until an instant that has passed is locked again."""
    key = place.add(sleep_until=ago(hours=1))

    async def work(store: JobStore) -> Locked:
        await store.update(await lock(store), Sleep(ago(minutes=1)))
        return await lock(store)

    assert with_store(place, work).facts.key == key


def test_done(place: UserCollection) -> None:
    """Done is a time that is null, and never due."""
    key = place.add(sleep_until=ago(hours=1))

    async def work(store: JobStore) -> Locked | None:
        await store.update(await lock(store), Sleep(None))
        return await store.lock_next(HOUR)

    assert with_store(place, work) is None
    assert place.read(key)["sleep_until"] is None


def test_release_keeps_the_lock_end_as_the_time(place: UserCollection) -> None:
    """A released document has its error, nobody's lock, and comes back when its lock would have run out."""
    key = place.add(sleep_until=ago(hours=1))

    async def work(store: JobStore) -> Locked | None:
        await store.update(await lock(store), Release("bad interval"))
        return await store.lock_next(HOUR)

    assert with_store(place, work) is None
    found = place.read(key)
    assert (found["lock_owner"], found["lock_until"], found["error"]) == (None, None, "bad interval")
    assert abs(found["sleep_until"] - now() - HOUR) < MINUTE


def test_a_released_document_that_gets_a_new_time(place: UserCollection) -> None:
    """Nothing is in the way of a user who sets a new time: the document is due at once."""
    key = place.add(sleep_until=ago(hours=1))

    async def work(store: JobStore) -> Locked:
        await store.update(await lock(store), Release("bad interval"))
        place.change(key, sleep_until=ago(hours=1))
        return await lock(store)

    assert with_store(place, work).facts.key == key


def test_renew(place: UserCollection) -> None:
    """A renewed lock holds for so long from now on, with the same owner."""
    key = place.add(sleep_until=ago(hours=1))

    async def work(store: JobStore) -> Locked | None:
        locked = await lock(store, timedelta(0))
        assert await store.update(locked, Renew(HOUR)) is None
        return await store.lock_next(HOUR)

    assert with_store(place, work) is None
    found = place.read(key)
    assert found["sleep_until"] == found["lock_until"]
    assert abs(found["lock_until"] - now() - HOUR) < MINUTE


def test_remove(place: UserCollection) -> None:
    """A removed document is gone."""
    key = place.add(sleep_until=ago(hours=1), auto_remove=True)

    async def work(store: JobStore) -> None:
        assert await store.remove(await lock(store)) is None

    with_store(place, work)
    assert place.raw(key) is None


@pytest.mark.parametrize("change", [Sleep(None), Release("late"), Renew(HOUR), None], ids=str)
def test_a_late_owner_is_refused(place: UserCollection, change: Sleep | Release | Renew | None) -> None:
    """Who has lost the lock writes nothing and removes nothing."""
    key = place.add(sleep_until=ago(hours=1))

    async def work(store: JobStore) -> dict[str, Any]:
        first = await lock(store, timedelta(0))
        await lock(store)
        before = place.read(key)
        with pytest.raises(LockLostError, match="no longer locked by this scheduler"):
            await (store.remove(first) if change is None else store.update(first, change))
        return before

    assert with_store(place, work) == place.read(key)


def test_a_new_time_set_during_the_lock(place: UserCollection) -> None:
    """The user's time stays; until it is unlocked the document is not available, whatever its time says."""
    key = place.add(sleep_until=ago(hours=1), interval="@daily", auto_remove=True)
    moved = datetime(2026, 1, 1, tzinfo=UTC)

    async def work(store: JobStore) -> tuple[Locked | None, Locked | None]:
        locked = await lock(store)
        place.change(key, sleep_until=moved)
        assert await store.lock_next(HOUR) is None
        await store.update(locked, Renew(2 * HOUR))
        found = await store.update(locked, Sleep(LATER)), await store.remove(locked)
        await store.update(locked, Release())
        return found

    for found in with_store(place, work):
        assert found.facts.moved
        assert found.facts.key == key
    assert place.read(key)["sleep_until"] == moved
    assert place.read(key)["lock_owner"] is None


@pytest.mark.parametrize(
    "facts",
    [{"interval": None}, {"interval": "@hourly"}, {"repeat_until": LATER}, {"auto_remove": False}],
    ids=str,
)
def test_facts_that_were_changed_during_the_lock(place: UserCollection, facts: dict[str, Any]) -> None:
    """A verdict on facts that are no longer true is not written: the new ones come back, and then it is."""
    key = place.add(sleep_until=ago(hours=1), interval="@daily", auto_remove=True)

    async def work(store: JobStore) -> tuple[Locked, Locked | None]:
        locked = await lock(store)
        place.change(key, **facts)
        assert await store.remove(locked) is not None
        found = await store.update(locked, Sleep(LATER))
        assert found is not None
        assert await store.update(found, Sleep(LATER)) is None
        return locked, found

    locked, found = with_store(place, work)
    assert found.owner == locked.owner
    assert found.facts.sleep_until == locked.facts.sleep_until
    assert not found.facts.moved
    assert _differing(locked.facts, found.facts) == set(facts)
    assert place.read(key)["sleep_until"] == LATER


def _differing(one: DocumentFacts, other: DocumentFacts) -> set[str]:
    names = ("interval", "repeat_until", "auto_remove")
    return {name for name in names if getattr(one, name) != getattr(other, name)}


def test_the_users_other_fields_stay(place: UserCollection) -> None:
    """A field of the user's own that changes during the lock is not overwritten."""
    key = place.add(sleep_until=ago(hours=1), kind="mail")

    async def work(store: JobStore) -> None:
        locked = await lock(store)
        place.change(key, kind="letter")
        await store.update(locked, Sleep(LATER))

    with_store(place, work)
    assert place.read(key)["kind"] == "letter"


@pytest.mark.parametrize("change", [Sleep(LATER), Release(), Renew(HOUR), None], ids=str)
def test_a_document_that_was_deleted_during_the_lock(
    place: UserCollection, change: Sleep | Release | Renew | None
) -> None:
    """There is nothing to write any more, and that is no error."""
    key = place.add(sleep_until=ago(hours=1))

    async def work(store: JobStore) -> Locked | None:
        locked = await lock(store)
        place.delete(key)
        return await (store.remove(locked) if change is None else store.update(locked, change))

    assert with_store(place, work) is None


def test_condition(conditional_place: UserCollection) -> None:
    """Only documents that satisfy the extra condition are locked, or waited for."""
    conditional_place.add(sleep_until=ago(hours=2), kind="letter")
    conditional_place.add(sleep_until=now() + MINUTE, kind="letter")
    key = conditional_place.add(sleep_until=ago(hours=1), kind="mail")

    async def work(store: JobStore) -> tuple[Locked, Locked | None, float | None]:
        locked = await lock(store, 2 * HOUR)
        return locked, await store.lock_next(HOUR), await store.next_due()

    locked, nothing, due = with_store(conditional_place, work, condition=conditional_place.only_mail)
    assert locked.facts.key == key
    assert nothing is None
    assert due > 3600


def test_other_names(other_place: UserCollection) -> None:
    """Fields may have any names: dotted paths in documents, any columns in tables."""
    key = other_place.add(sleep_until=ago(hours=1), interval="@daily", auto_remove=True)
    assert with_store(other_place, lock).facts.interval == "@daily"

    async def work(store: JobStore) -> None:
        locked = await lock(store, timedelta(0))
        await store.update(locked, Renew(HOUR))
        await store.update(locked, Release("why not"))
        other_place.change(key, sleep_until=ago(hours=1))
        await store.update(await lock(store), Sleep(LATER))

    other_place.change(key, sleep_until=ago(hours=1), lock_until=ago(hours=1))
    with_store(other_place, work)
    assert other_place.read(key) == {
        "sleep_until": LATER, "interval": "@daily", "repeat_until": None, "auto_remove": True, "lock_owner": None,
        "lock_until": None, "error": None, "kind": None,
    }  # fmt: skip


def test_next_due(place: UserCollection) -> None:
    """An idle scheduler can ask how long it may sleep; the end of a lock counts too."""
    place.add(sleep_until=now() + 3 * HOUR)

    async def work(store: JobStore) -> list[float | None]:
        first = await store.next_due()
        place.add(sleep_until=ago(hours=1))
        await lock(store)
        return [first, await store.next_due()]

    first, second = with_store(place, work)
    assert 3 * 3600 - 60 < first <= 3 * 3600
    assert 3600 - 60 < second <= 3600


def test_no_next_due(place: UserCollection) -> None:
    """Where nothing will be due there is no such time."""
    place.add(sleep_until=None)
    assert with_store(place, lambda store: store.next_due()) is None


def test_what_is_no_time_is_never_due(place: UserCollection) -> None:
    """A text that is no time does not count as one (where a column takes it at all)."""
    with suppress(psycopg.DataError, pymysql.MySQLError):
        place.add(sleep_until="some day")
    assert with_store(place, lambda store: store.lock_next(HOUR)) is None


def test_many_at_once(place: UserCollection) -> None:
    """Of many that lock at the same moment each gets a document of its own."""
    keys = {place.add(sleep_until=ago(hours=1)) for _ in range(20)}

    async def work(store: JobStore) -> list[Locked | None]:
        return await asyncio.gather(*(store.lock_next(HOUR) for _ in range(30)))

    found = [locked.facts.key for locked in with_store(place, work) if locked]
    assert sorted(found) == sorted(keys)


def test_a_scheduler_on_every_store(place: UserCollection) -> None:
    """Documents of all kinds are worked off alike: once, recurring, removed, kept with their error.

    A9: an interval that is an empty text means once, as null does.
    """
    facts: dict[str, dict[str, Any]] = {
        "once": {},
        "empty": {"interval": ""},
        "blank": {"interval": " \t", "auto_remove": True},
        "recurring": {"interval": "@daily", "repeat_until": LATER},
        "last": {"interval": "@daily", "repeat_until": ago(days=1)},
        "removed": {"auto_remove": True},
        "bad": {"interval": "often", "auto_remove": True},
    }
    keys = {kind: place.add(sleep_until=ago(days=10), kind=kind, **given) for kind, given in facts.items()}
    got = []

    async def handle(document: Any) -> None:
        got.append(document["kind"])

    async def stop() -> None:
        await scheduler.stop()

    scheduler = DocumentScheduler(place.store(), handle, on_idle=stop)
    run(scheduler.run())
    assert sorted(got) == ["blank", "empty", "last", "once", "recurring", "removed"]
    assert (place.raw(keys["removed"]), place.raw(keys["blank"])) == (None, None)
    after = {kind: place.read(key) for kind, key in keys.items() if kind not in ("removed", "blank")}
    assert {kind: facts["lock_owner"] for kind, facts in after.items()} == dict.fromkeys(after)
    assert {after[kind]["sleep_until"] for kind in ("once", "empty", "last")} == {None}
    assert now() < after["recurring"]["sleep_until"] <= now() + timedelta(days=1)
    assert after["recurring"]["sleep_until"].time() == time()
    assert "five fields" in after["bad"]["error"]
    assert after["bad"]["sleep_until"] > now()


def test_fields_must_differ() -> None:
    """Two facts cannot share a field, and a path has no empty part."""
    for wrong in ({"interval": "sleepUntil"}, {"interval": "a..b"}, {"error": ""}):
        with pytest.raises(ValueError, match="does not name seven different fields"):
            Fields(**wrong)
