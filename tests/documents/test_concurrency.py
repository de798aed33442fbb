"""A scheduler with several handlers at once, here in memory: what held for one handler holds for all."""

import asyncio
from collections.abc import Sequence
from datetime import timedelta
from threading import Barrier
from typing import Any

import pytest

from tickwise.core.errors import InputError
from tickwise.documents import DocumentScheduler, Ending, Locked, LockLostError, MemoryJobStore, Release, Sleep
from tickwise.testing import FakeClock

from ..support.documents.handlers import NOON, PAST, Desk, Watched, memory, worked_off
from ..support.documents.user_collections import PATIENCE, run


class Batches(Watched):
    """Keeps the sizes of what is locked, finished and renewed together."""

    def __init__(self, *arguments: Any, **options: Any) -> None:
        self.asked: list[int] = []
        self.finished: list[int] = []
        self.held: list[int] = []
        self.refusals: list[Exception] = []
        super().__init__(*arguments, **options)

    async def lock_many(self, count: int, lock_until: timedelta) -> list[Locked]:
        self.asked.append(count)
        return await super().lock_many(count, lock_until)

    async def finish_many(self, endings: Sequence[Ending]) -> Sequence[Locked | Exception | None]:
        self.finished.append(len(endings))
        if self.refusals:
            raise self.refusals.pop()
        return await super().finish_many(endings)

    async def renew_many(self, held: Sequence[Locked], lock_until: timedelta) -> None:
        self.held.append(len(held))
        await super().renew_many(held, lock_until)

    async def until_renewed(self, times: int) -> None:
        while len(self.held) < times:
            self.renewed.clear()
            await self.renewed.wait()


def due(count: int) -> list[dict[str, Any]]:
    """Documents, the oldest first."""
    return [{"_id": number, "sleepUntil": PAST + timedelta(seconds=number)} for number in range(count)]


class Gate:
    """Handlers that wait until they are let through."""

    def __init__(self) -> None:
        self.inside: list[Any] = []
        self.most = 0
        self.open = asyncio.Event()

    async def __call__(self, document: Any) -> None:
        self.inside.append(document["_id"])
        self.most = max(self.most, len(self.inside))
        await self.open.wait()
        self.inside.remove(document["_id"])


def test_so_many_handlers_and_no_more_run_at_once() -> None:
    """Three of five documents are handled at once, the oldest; the others follow in order, each once."""
    store, gate = memory(*reversed(due(5))), Gate()
    desk = Desk(gate)

    async def work() -> None:
        async with desk.scheduler(store, concurrency=3) as scheduler:
            await desk.until("document", 3)
            assert (gate.inside, scheduler.is_processing, scheduler.is_idle) == ([0, 1, 2], True, False)
            gate.open.set()
            await desk.until("idle")
            assert not scheduler.is_processing

    run(work())
    assert gate.most == 3
    assert [document["_id"] for document in desk.documents] == [0, 1, 2, 3, 4]
    assert [store.get(key)["sleepUntil"] for key in range(5)] == [None] * 5  # type: ignore[index]
    assert desk.happened == ["start", *["document"] * 5, "idle", "stop"]


def test_sync_handlers_run_beside_each_other() -> None:
    """Handlers that are not async have a thread each: here each waits for the others."""
    barrier, idle = Barrier(4), asyncio.Event()

    def handle(_: Any) -> None:
        barrier.wait(PATIENCE)

    async def on_idle() -> None:
        idle.set()

    async def work() -> None:
        async with DocumentScheduler(memory(*due(8)), handle, on_idle=on_idle, concurrency=4):
            await idle.wait()

    run(work())
    assert barrier.n_waiting == 0


def test_one_free_handler_takes_what_comes() -> None:
    """While a handler takes its time, the others go on with what becomes due, and that is no idleness."""

    async def first_is_slow(document: Any) -> None:
        if document["_id"] == 0:
            await go_on.wait()

    store, desk, go_on = memory(*due(1)), Desk(first_is_slow), asyncio.Event()

    async def work() -> None:
        async with desk.scheduler(store, concurrency=2):
            await desk.until("document")
            for key in (1, 2, 3):
                store.add({"_id": key, "sleepUntil": PAST})
                await desk.until("document", key + 1)
            assert "idle" not in desk.happened
            go_on.set()
            await desk.until("idle")

    run(work())
    assert desk.happened == ["start", *["document"] * 4, "idle", "stop"]


def test_a_document_that_a_handler_adds_is_taken_by_a_free_one() -> None:
    """The end of any handler makes the scheduler look, even if the store tells nobody of new documents."""

    class Silent(MemoryJobStore):
        async def wait(self, at_most: float) -> None:
            del at_most
            await asyncio.Event().wait()

    async def add_another(document: Any) -> None:
        if document["_id"] == 0:
            await go_on.wait()
        elif document["_id"] < 5:
            store.add({"_id": document["_id"] + 1, "sleepUntil": PAST})

    store, desk, go_on = Silent(due(2)), Desk(add_another), asyncio.Event()

    async def work() -> None:
        async with desk.scheduler(store, concurrency=3):
            await desk.until("document", 6)
            go_on.set()

    run(work())
    assert sorted(document["_id"] for document in desk.documents) == [0, 1, 2, 3, 4, 5]


def test_stop_waits_for_all_handlers() -> None:
    """`stop` returns when all have ended and their results are written; what was not locked is left alone."""
    store, gate = memory(*due(5)), Gate()
    desk = Desk(gate)

    async def work() -> None:
        scheduler = desk.scheduler(store, concurrency=3)
        await scheduler.start()
        await desk.until("document", 3)
        stopping = asyncio.create_task(scheduler.stop())
        await asyncio.wait((stopping,), timeout=0.01)
        assert not stopping.done()
        gate.open.set()
        await stopping
        assert desk.happened == ["start", *["document"] * 3, "stop"]

    run(work())
    assert [store.get(key)["sleepUntil"] is None for key in range(5)] == [True] * 3 + [False] * 2  # type: ignore[index]
    assert "lockOwner" not in str(store.get(3))


def test_a_loop_that_ends_cancels_all_handlers() -> None:
    """Documents of a scheduler that nobody stopped stay locked, and come back when their locks expire."""
    store, desk = memory(*due(3)), Desk(Gate())

    async def work() -> None:
        await desk.scheduler(store, concurrency=3).start()
        await desk.until("document", 3)

    run(work())
    assert {store.get(key)["lockUntil"] for key in range(3)} == {NOON + timedelta(minutes=10)}  # type: ignore[index]
    assert (desk.happened[-1], desk.errors) == ("stop", [])


def test_documents_are_locked_and_finished_together() -> None:
    """A batch fills the free handlers, also while another is written; verdicts are written together."""
    store = Batches(due(80), clock=FakeClock(NOON).now)
    desk = worked_off(store, concurrency=20)
    assert sorted(document["_id"] for document in desk.documents) == list(range(80))
    assert set(store.asked) == {20}
    assert store.finished == [20] * 4


def test_with_one_handler_each_verdict_is_written_before_the_next_lock() -> None:
    """`concurrency=1`: lock, handle, write; then the next."""
    store = Batches(due(3), clock=FakeClock(NOON).now)
    steps = []

    async def look(document: Any) -> None:
        steps.append((document["_id"], store.locks, len(store.changes)))

    worked_off(store, Desk(look))
    assert steps == [(0, 1, 0), (1, 2, 1), (2, 3, 2)]
    assert set(store.asked) == {1}


def test_the_next_delay_comes_before_each_batch() -> None:
    """The delay is paid once for all that are locked together."""
    store = Batches(due(6), clock=FakeClock(NOON).now)
    desk = worked_off(store, concurrency=3, next_delay=0.001)
    assert len(desk.documents) == 6
    assert store.asked[0] == 3


def test_one_write_renews_all_locks() -> None:
    """Locks are renewed together, and no document is handled twice though its handler outlasts its lock."""

    async def until_renewed(_: Any) -> None:
        await store.until_renewed(5)

    store = Batches([{"_id": key, "sleepUntil": PAST} for key in range(3)])
    desk = worked_off(store, Desk(until_renewed), concurrency=3, lock_duration=0.3)
    assert set(store.held) == {3}
    assert len(desk.documents) == 3
    assert desk.errors == []


def test_a_renewal_that_fails_concerns_all_that_are_held() -> None:
    """Each held document is reported with the error, and the next renewal comes even while `on_error` blocks."""

    async def until_renewed(_: Any) -> None:
        await store.until_renewed(3)

    async def report(error: Exception, document: Any) -> None:
        await until_renewed(document)
        await desk.failed(error, document)

    class Failing(Batches):
        async def renew_many(self, held: Sequence[Locked], lock_until: timedelta) -> None:
            await super().renew_many(held, lock_until)
            if len(self.held) == 1:
                raise OSError("gone")

    store = Failing([{"_id": key, "sleepUntil": PAST} for key in range(2)])
    desk = Desk(until_renewed)
    worked_off(store, desk, concurrency=2, lock_duration=0.3, on_error=report)
    assert [(str(error), document["_id"]) for error, document in desk.errors] == [("gone", 0), ("gone", 1)]


def test_one_of_many_fails() -> None:
    """A handler's error, a lost lock and a bad interval concern their own documents only."""

    async def trouble(document: Any) -> None:
        if document["_id"] == 1:
            raise LookupError("first")
        if document["_id"] == 2:
            store.change(2, {"lockOwner": "somebody else"})

    store = memory(*due(4), {"_id": 4, "sleepUntil": NOON, "interval": "often"})
    desk = worked_off(store, Desk(trouble), concurrency=5)
    kinds = {document["_id"]: type(error) for error, document in desk.errors}
    assert kinds == {1: LookupError, 2: LockLostError, 4: InputError}
    assert [store.get(key)["sleepUntil"] for key in (0, 3)] == [None, None]  # type: ignore[index]
    assert store.get(1)["sleepUntil"] == NOON + timedelta(minutes=10)  # type: ignore[index]
    assert store.get(2)["lockOwner"] == "somebody else"  # type: ignore[index]
    assert "five fields" in store.get(4)["error"]  # type: ignore[index]


@pytest.mark.usefixtures("impatient")
def test_a_batch_that_cannot_be_written_at_once() -> None:
    """Each of its documents is reported and written again, so that no run is repeated."""
    store, desk = Batches(due(3), clock=FakeClock(NOON).now), Desk()
    store.refusals = [OSError("gone")]
    worked_off(store, desk, concurrency=3)
    assert sorted((str(error), document["_id"]) for error, document in desk.errors) == [
        ("gone", 0), ("gone", 1), ("gone", 2),
    ]  # fmt: skip
    assert len(desk.documents) == 3
    assert [store.get(key)["sleepUntil"] for key in range(3)] == [None] * 3  # type: ignore[index]


@pytest.mark.usefixtures("impatient")
def test_a_store_that_does_not_answer_for_each_document() -> None:
    """What a store gets wrong is reported with the documents that it concerns, and ends nothing."""

    class Odd(Watched):
        async def finish_many(self, endings: Sequence[Ending]) -> Sequence[Locked | Exception | None]:
            return [] if endings[0].locked.facts.key == 0 else await super().finish_many(endings)

    store = Odd(due(2), clock=FakeClock(NOON).now)
    desk = worked_off(store)
    assert len(desk.documents) == 2
    assert {str(error) for error, _ in desk.errors} == {"finish_many returned 0 results for 1 verdicts"}
    assert store.get(1)["sleepUntil"] is None  # type: ignore[index]


@pytest.mark.usefixtures("impatient")
def test_three_operations_will_do_for_many_handlers() -> None:
    """A store that has no batches locks and finishes one document at a time, for as many handlers."""

    class Plain(Watched):
        lock_many = MemoryJobStore.__base__.lock_many  # type: ignore[union-attr]

    store, gate = Plain(due(6), clock=FakeClock(NOON).now), Gate()
    desk = Desk(gate)

    async def work() -> None:
        async with desk.scheduler(store, concurrency=4):
            await desk.until("document", 4)
            gate.open.set()
            await desk.until("idle")

    run(work())
    assert gate.most == 4
    assert [document["_id"] for document in desk.documents] == [0, 1, 2, 3, 4, 5]
    assert {type(change) for change in store.changes} <= {Sleep, Release}


@pytest.mark.parametrize("wrong", [0, -3, 2.5, None])
def test_no_handlers_make_no_sense(wrong: Any) -> None:
    """What is no whole number from one on is refused when the scheduler is made."""
    with pytest.raises(InputError, match=f"concurrency is {wrong}: give 1 or more handlers at once"):
        DocumentScheduler(memory(), print, concurrency=wrong)
