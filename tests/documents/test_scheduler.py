"""What a document scheduler makes of documents, here in memory."""

import asyncio
from datetime import timedelta
from threading import current_thread, main_thread
from typing import Any

import pytest

from tickwise.documents import DocumentFacts, DocumentScheduler, JobStore, Locked, Release, Renew, Sleep
from tickwise.testing import FakeClock

from ..support.documents.handlers import NOON, PAST, Desk, Watched, memory, worked_off
from ..support.documents.user_collections import run


def test_one_time_documents() -> None:
    """Each due document is handed out once, the oldest first, as it was; then it is done."""
    store = memory({"_id": 1, "sleepUntil": NOON, "to": "ada"}, {"_id": 2, "sleepUntil": PAST})
    desk = worked_off(store)
    assert desk.documents == [{"_id": 2, "sleepUntil": PAST}, {"_id": 1, "sleepUntil": NOON, "to": "ada"}]
    assert store.get(1) == {"_id": 1, "sleepUntil": None, "to": "ada"}
    assert desk.happened == ["start", "document", "document", "idle", "stop"]
    assert desk.errors == []


@pytest.mark.usefixtures("impatient")
def test_a_deferred_document_waits() -> None:
    """A document whose time is to come is left alone until the store's clock says so."""
    clock = FakeClock(NOON)
    store = memory({"_id": 1, "sleepUntil": NOON + timedelta(hours=1)}, clock=clock)
    desk = Desk()

    async def work() -> None:
        async with desk.scheduler(store):
            await desk.until("idle")
            assert desk.documents == []
            clock.advance(3600)
            await desk.until("document")

    run(work())
    assert store.get(1) == {"_id": 1, "sleepUntil": None}


def test_a_recurring_document_keeps_its_pace() -> None:
    """After its run a recurring document is unlocked and sleeps until its next slot."""
    store = memory({"_id": 1, "sleepUntil": PAST, "interval": "*/15 * * * *"})
    worked_off(store)
    assert store.get(1) == {"_id": 1, "sleepUntil": NOON + timedelta(minutes=15), "interval": "*/15 * * * *"}


@pytest.mark.usefixtures("impatient")
def test_ten_days_overdue() -> None:
    """A recurring document that is ten days overdue runs once, and then at its next slot."""
    clock = FakeClock(NOON)
    store = memory({"_id": 1, "sleepUntil": NOON - timedelta(days=10), "interval": "@hourly"}, clock=clock)
    desk = Desk()

    async def work() -> None:
        async with desk.scheduler(store):
            await desk.until("idle")
            assert len(desk.documents) == 1
            clock.advance(3600)
            await desk.until("idle", 2)

    run(work())
    assert [document["sleepUntil"] for document in desk.documents] == [
        NOON - timedelta(days=10),
        NOON + timedelta(hours=1),
    ]
    assert store.get(1)["sleepUntil"] == NOON + timedelta(hours=2)  # type: ignore[index]


def test_it_stops_at_repeat_until() -> None:
    """A slot at `repeat_until` is the last one."""
    at_one = NOON + timedelta(hours=1)
    store = memory(
        {"_id": 1, "sleepUntil": PAST, "interval": "@hourly", "repeatUntil": at_one},
        {"_id": 2, "sleepUntil": PAST, "interval": "@hourly", "repeatUntil": at_one - timedelta(seconds=1)},
    )
    worked_off(store)
    assert [store.get(key)["sleepUntil"] for key in (1, 2)] == [at_one, None]  # type: ignore[index]


def test_auto_remove() -> None:
    """A document that asks for it is deleted when it is done, and not before."""
    store = memory(
        {"_id": 1, "sleepUntil": PAST, "autoRemove": True},
        {"_id": 2, "sleepUntil": PAST, "autoRemove": True, "interval": "@daily"},
        {"_id": 3, "sleepUntil": PAST, "autoRemove": True, "interval": "@daily", "repeatUntil": NOON},
    )
    desk = worked_off(store)
    assert len(desk.documents) == 3
    assert [store.get(key) is None for key in (1, 2, 3)] == [True, False, True]


def test_reprocess_delay() -> None:
    """The delay is added to a recurring document's time before its next one is computed."""
    store = memory({"_id": 1, "sleepUntil": NOON, "interval": "@every 10s"})
    worked_off(store, reprocess_delay=60)
    assert store.get(1)["sleepUntil"] == NOON + timedelta(seconds=70)  # type: ignore[index]


def test_timezone() -> None:
    """Intervals are meant in the scheduler's zone."""
    store = memory({"_id": 1, "sleepUntil": NOON, "interval": "0 9 * * *"})
    worked_off(store, timezone="America/New_York")
    assert store.get(1)["sleepUntil"] == NOON.replace(hour=14)  # type: ignore[index]


def test_sync_handlers_and_hooks() -> None:
    """Functions that are not async run in a thread, where they may block without holding up anything else."""
    threads = []

    async def answer() -> None:
        """The loop is free to do this while the handler blocks."""

    async def work() -> None:
        def handle(_: Any) -> None:
            threads.append(current_thread())
            asyncio.run_coroutine_threadsafe(answer(), loop).result()

        def on_idle() -> None:
            loop.call_soon_threadsafe(idle.set)

        loop, idle = asyncio.get_running_loop(), asyncio.Event()
        async with DocumentScheduler(memory({"sleepUntil": PAST}), handle, on_idle=on_idle):
            await idle.wait()

    run(work())
    assert [thread is main_thread() for thread in threads] == [False]


def test_a_function_that_returns_an_awaitable() -> None:
    """Whatever comes back and can be awaited is awaited, on the loop."""
    store, desk = memory({"sleepUntil": PAST}), Desk()

    async def work() -> None:
        async with DocumentScheduler(store, lambda document: desk.handle(document), on_idle=desk.hook("idle")):  # noqa: PLW0108  (it must not look async)
            await desk.until("idle")

    run(work())
    assert len(desk.documents) == 1


@pytest.mark.usefixtures("impatient")
def test_a_handler_longer_than_its_lock_is_not_run_twice() -> None:
    """The lock is renewed every third of its length, so the document stays with the one that runs it."""

    async def long_work(_: Any) -> None:
        for _ in range(5):
            store.renewed.clear()
            await store.renewed.wait()

    store, desk = Watched([{"_id": 1, "sleepUntil": PAST}]), Desk(long_work)

    async def work() -> None:
        async with desk.scheduler(store, lock_duration=0.3), desk.scheduler(store, lock_duration=0.3):
            await desk.until("idle", 2)
            await desk.until("document")
            while store.get(1) != {"_id": 1, "sleepUntil": None}:
                await store.wait(0.01)

    run(work())
    assert len(desk.documents) == 1
    assert len([change for change in store.changes if isinstance(change, Renew)]) >= 5
    assert desk.errors == []


def test_what_the_user_changed_during_the_run() -> None:
    """A time that was set meanwhile wins, a changed interval counts, and other fields stay as they are."""
    soon = NOON + timedelta(minutes=5)

    async def change(document: Any) -> None:
        store.change(document["_id"], changes[document["_id"]])

    changes: dict[str, dict[str, Any]] = {
        "moved": {"sleepUntil": soon, "note": "new"},
        "paced": {"interval": "@daily"},
        "ended": {"interval": None},
        "kept": {"sleepUntil": soon},
    }
    store = memory(
        {"_id": "moved", "sleepUntil": PAST, "interval": "@hourly", "note": "old"},
        {"_id": "paced", "sleepUntil": PAST, "interval": "@hourly"},
        {"_id": "ended", "sleepUntil": PAST, "interval": "@hourly"},
        {"_id": "kept", "sleepUntil": PAST, "autoRemove": True},
    )
    assert worked_off(store, Desk(change)).errors == []
    assert store.get("moved") == {"_id": "moved", "sleepUntil": soon, "interval": "@hourly", "note": "new"}
    assert store.get("paced")["sleepUntil"] == NOON.replace(hour=0) + timedelta(days=1)  # type: ignore[index]
    assert store.get("ended")["sleepUntil"] is None  # type: ignore[index]
    assert store.get("kept") == {"_id": "kept", "sleepUntil": soon, "autoRemove": True}


def test_a_document_that_its_handler_deletes() -> None:
    """There is nothing left to write, and that is no error."""

    async def delete(document: Any) -> None:
        store.delete(document["_id"])

    store = memory({"_id": 1, "sleepUntil": PAST})
    assert worked_off(store, Desk(delete)).errors == []
    assert store.get(1) is None


@pytest.mark.usefixtures("impatient")
def test_a_store_with_three_operations_will_do() -> None:
    """Locking, updating and removing is all that a store must be able to do."""

    class Plain(JobStore):
        def __init__(self) -> None:
            self.due = [1, 2, 3]
            self.changes: list[Any] = []

        async def lock_next(self, lock_until: timedelta) -> Locked | None:
            if not self.due or lock_until != timedelta(minutes=10):
                return None
            key = self.due.pop(0)
            return Locked({"_id": key}, DocumentFacts(key, NOON, auto_remove=key == 3), "token", NOON)

        async def update(self, locked: Locked, change: Sleep | Release | Renew) -> Locked | None:
            self.changes.append((locked.facts.key, change))
            return None

        async def remove(self, locked: Locked) -> Locked | None:
            self.changes.append(locked.facts.key)
            return None

    store, desk = Plain(), Desk()

    async def work() -> None:
        async with desk.scheduler(store):
            await desk.until("idle")
            store.due.append(4)
            await desk.until("idle", 2)

    run(work())
    assert store.changes == [(1, Sleep(None)), (2, Sleep(None)), 3, (4, Sleep(None))]


def test_several_schedulers_share_the_work() -> None:
    """A hundred schedulers on one collection of ten thousand documents: each is processed once."""
    store = memory(*({"_id": number, "sleepUntil": PAST} for number in range(10_000)))
    desk = Desk()

    async def work() -> None:
        schedulers = [desk.scheduler(store) for _ in range(100)]
        await asyncio.gather(*(scheduler.start() for scheduler in schedulers))
        await desk.until("idle", 100)
        await asyncio.gather(*(scheduler.stop() for scheduler in schedulers))

    run(work())
    assert sorted(document["_id"] for document in desk.documents) == list(range(10_000))
