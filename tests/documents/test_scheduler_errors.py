"""What a document scheduler does about handlers, hooks, stores and documents that fail."""

import asyncio
from datetime import timedelta
from typing import Any

import pytest
from structlog.testing import capture_logs

from tickwise.core.errors import InputError, TickwiseError
from tickwise.documents import (
    DocumentScheduler,
    Locked,
    LockLostError,
    Renew,
    Sleep,
)
from tickwise.testing import FakeClock

from ..support.documents.handlers import NOON, PAST, Desk, Watched, memory, worked_off
from ..support.documents.user_collections import run


@pytest.mark.usefixtures("impatient")
def test_a_failed_document_comes_back_after_its_lock() -> None:
    """A handler's error goes to `on_error` with the document, which comes back when its lock runs out."""

    async def fail_once(_: Any) -> None:
        if len(desk.documents) == 1:
            raise LookupError("first")

    clock = FakeClock(NOON)
    store, desk = memory({"_id": 1, "sleepUntil": PAST}, clock=clock), Desk(fail_once)

    async def work() -> None:
        async with desk.scheduler(store):
            await desk.until("idle")
            assert store.get(1) == {"_id": 1, "sleepUntil": NOON + timedelta(minutes=10)}
            clock.advance(600)
            await desk.until("document", 2)

    run(work())
    assert [(str(error), document["_id"]) for error, document in desk.errors] == [("first", 1)]
    assert store.get(1) == {"_id": 1, "sleepUntil": None}


@pytest.mark.parametrize("raised", [SystemExit(3), asyncio.CancelledError(), LookupError()], ids=repr)
@pytest.mark.parametrize("is_async", [True, False], ids=["async", "sync"])
def test_whatever_a_handler_raises(raised: BaseException, is_async: bool) -> None:
    """Nothing that a handler raises ends the scheduler: the next document is worked off (S46)."""
    documents = []

    def fail(document: Any) -> None:
        documents.append(document["_id"])
        if document["_id"] == 1:
            raise raised

    async def fail_on_the_loop(document: Any) -> None:
        fail(document)

    store = memory({"_id": 1, "sleepUntil": PAST}, {"_id": 2, "sleepUntil": NOON})
    desk = Desk()

    async def work() -> None:
        handler = fail_on_the_loop if is_async else fail
        on_idle, on_error = desk.hook("idle"), desk.failed
        async with DocumentScheduler(store, handler, on_idle=on_idle, on_error=on_error):
            await desk.until("idle")

    run(work())
    assert documents == [1, 2]
    [(error, document)] = desk.errors
    assert isinstance(error, TickwiseError | LookupError)
    assert document["_id"] == 1


def test_hooks_that_fail() -> None:
    """An error in a hook goes to `on_error`, without a document, and ends nothing; nor does one in `on_error`."""

    def fail() -> None:
        raise LookupError("hook")

    async def fail_to_report(error: Exception, document: Any) -> None:
        await desk.failed(error, document)
        raise RuntimeError("report")

    store, desk = memory({"sleepUntil": PAST}), Desk()

    async def work() -> None:
        options = dict.fromkeys(("on_start", "on_stop", "on_idle"), fail)
        async with desk.scheduler(store, **options, on_error=fail_to_report):
            await desk.until("error", 2)

    run(work())
    assert len(desk.documents) == 1
    assert [(str(error), document) for error, document in desk.errors] == [("hook", None)] * 3


def test_without_on_error_it_is_logged() -> None:
    """An error that nobody takes is in the log."""

    async def fail(_: Any) -> None:
        raise LookupError("nobody takes this")

    with capture_logs() as lines:
        worked_off(memory({"sleepUntil": PAST}), Desk(fail), on_error=None)
    assert [(line["error"], line["kind"]) for line in lines] == [("nobody takes this", "LookupError")]


@pytest.mark.usefixtures("impatient")
def test_a_store_that_fails() -> None:
    """An error of the store is reported, and tried again after a while."""
    store, desk = memory({"sleepUntil": PAST}), Desk()
    store.failures = {Locked: [OSError("gone"), OSError("still gone")]}
    worked_off(store, desk)
    assert [str(error) for error, _ in desk.errors] == ["gone", "still gone"]
    assert len(desk.documents) == 1


@pytest.mark.usefixtures("impatient")
def test_a_result_that_cannot_be_written_at_once() -> None:
    """What a run came to is written again if the store fails, so that the run is not repeated."""
    store, desk = memory({"_id": 1, "sleepUntil": PAST}), Desk()
    store.failures = {Sleep: [OSError("gone"), OSError("still gone")]}
    worked_off(store, desk)
    assert [(str(error), document["_id"]) for error, document in desk.errors] == [("gone", 1), ("still gone", 1)]
    assert store.get(1) == {"_id": 1, "sleepUntil": None}


@pytest.mark.usefixtures("impatient")
def test_a_result_that_cannot_be_written() -> None:
    """In the end the document is left to its lock."""
    store, desk = memory({"_id": 1, "sleepUntil": PAST}), Desk()
    store.failures = {Sleep: [OSError("gone")] * 9}
    worked_off(store, desk)
    assert [str(error) for error, _ in desk.errors] == ["gone"] * 3
    assert store.get(1)["lockUntil"] == NOON + timedelta(minutes=10)  # type: ignore[index]


def test_a_renewal_that_fails_is_tried_again() -> None:
    """An error of the store during a renewal is reported, and the next renewal comes."""

    async def until_renewed(_: Any) -> None:
        await store.renewed.wait()

    store, desk = Watched([{"_id": 1, "sleepUntil": PAST}]), Desk(until_renewed)
    store.failures = {Renew: [OSError("gone")]}
    worked_off(store, desk, lock_duration=0.3)
    assert [str(error) for error, _ in desk.errors] == ["gone"]
    assert store.get(1) == {"_id": 1, "sleepUntil": None}


def test_a_lock_that_was_lost() -> None:
    """Whoever finds the document with another owner at the end reports it, and writes nothing."""

    async def lose(document: Any) -> None:
        store.change(document["_id"], {"lockOwner": "somebody else"})

    store, desk = memory({"_id": 1, "sleepUntil": PAST}), Desk(lose)
    worked_off(store, desk)
    [(error, _)] = desk.errors
    assert isinstance(error, LockLostError)
    assert store.get(1)["lockOwner"] == "somebody else"  # type: ignore[index]


def test_a_renewal_that_finds_the_lock_lost() -> None:
    """It renews no more; the end of the run tells of the loss once."""

    async def lose(document: Any) -> None:
        store.change(document["_id"], {"lockOwner": "somebody else"})
        await store.renewed.wait()

    store, desk = Watched([{"_id": 1, "sleepUntil": PAST}]), Desk(lose)
    worked_off(store, desk, lock_duration=0.3)
    assert [type(error) for error, _ in desk.errors] == [LockLostError]


@pytest.mark.usefixtures("impatient")
def test_a_bad_interval_is_reported_and_kept() -> None:
    """It is not run, not done and not deleted: it has the error, and comes back after its lock, or when mended."""
    clock = FakeClock(NOON)
    store = memory({"_id": 1, "sleepUntil": PAST, "interval": "61 * * * *", "autoRemove": True}, clock=clock)
    desk = Desk()

    async def work() -> None:
        async with desk.scheduler(store):
            await desk.until("idle")
            kept = store.get(1)
            assert kept is not None
            assert "minute: 61 is out of range 0-59" in kept.pop("error")
            assert kept == {
                "_id": 1, "sleepUntil": NOON + timedelta(minutes=10), "interval": "61 * * * *", "autoRemove": True,
            }  # fmt: skip
            clock.advance(600)
            await desk.until("error", 2)
            store.change(1, {"interval": "1 * * * *", "sleepUntil": PAST})
            await desk.until("document")
            await desk.until("idle", 2)

    run(work())
    assert [type(error) for error, _ in desk.errors] == [InputError, InputError]
    assert "document 1: minute: 61" in str(desk.errors[0][0])
    assert store.get(1) == {
        "_id": 1, "sleepUntil": NOON + timedelta(hours=1, minutes=1), "interval": "1 * * * *", "autoRemove": True,
    }  # fmt: skip


def test_an_interval_that_turns_bad_during_the_run() -> None:
    """The run counts; the new interval is an error that is kept, and nothing is deleted."""

    async def spoil(document: Any) -> None:
        store.change(document["_id"], {"interval": "often"})

    store = memory({"_id": 1, "sleepUntil": PAST, "autoRemove": True})
    desk = worked_off(store, Desk(spoil))
    assert len(desk.documents) == 1
    assert [type(error) for error, _ in desk.errors] == [InputError]
    assert "five fields" in store.get(1)["error"]  # type: ignore[index]


def test_a_store_that_cannot_be_closed() -> None:
    """What is raised while the connection is closed is reported, and `stop` returns."""

    class Stubborn(Watched):
        async def __aexit__(self, *_: object) -> None:
            raise OSError("cannot close")

    desk = worked_off(Stubborn())
    assert [str(error) for error, _ in desk.errors] == ["cannot close"]
    assert desk.happened[-1] == "stop"
