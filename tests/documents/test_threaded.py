"""The same scheduler for code that does not await."""

from collections.abc import Mapping
from pathlib import Path
from queue import SimpleQueue
from threading import Event, current_thread
from typing import Any

import pytest

from tickwise.core.errors import InputError
from tickwise.documents import DocumentScheduler, MemoryJobStore, SqliteJobStore, ThreadedScheduler

from ..support.documents.user_collections import PATIENCE, SqlitePlace, UserCollection, ago


def test_work_in_the_background(connected: UserCollection) -> None:
    """Handlers are called while the caller goes on; `stop` returns when all is written; then it starts again."""
    got: SimpleQueue[Any] = SimpleQueue()
    scheduler = ThreadedScheduler(DocumentScheduler(connected.store(), got.put, on_stop=lambda: got.put("stop")))
    for _ in range(2):
        key = connected.add(sleep_until=ago(hours=1), kind="mail")
        with scheduler:
            assert scheduler.is_running
            assert got.get(timeout=PATIENCE)["kind"] == "mail"
        assert got.get(timeout=PATIENCE) == "stop"
        assert not scheduler.is_running
        assert connected.read(key)["sleep_until"] is None


def test_handlers_run_in_another_thread() -> None:
    """A handler that blocks does not hold up the caller."""
    asked, answered = Event(), Event()
    threads = []

    def handle(_: Mapping[str, Any]) -> None:
        threads.append(current_thread())
        asked.set()
        answered.wait(PATIENCE)

    scheduler = ThreadedScheduler(DocumentScheduler(MemoryJobStore([{"sleepUntil": ago(hours=1)}]), handle))
    with scheduler:
        assert asked.wait(PATIENCE)
        assert scheduler.is_processing
        assert not scheduler.is_idle
        answered.set()
    assert current_thread() not in threads


def test_new_documents_of_another_thread_are_heard_of() -> None:
    """A document that any thread adds to a memory store wakes the scheduler."""
    got: SimpleQueue[Any] = SimpleQueue()
    store = MemoryJobStore()
    idle = Event()
    with ThreadedScheduler(DocumentScheduler(store, got.put, on_idle=idle.set)):
        assert idle.wait(PATIENCE)
        store.add({"sleepUntil": ago(hours=1), "kind": "mail"})
        assert got.get(timeout=PATIENCE)["kind"] == "mail"


def test_a_start_that_fails() -> None:
    """What is wrong with the store is raised where `start` was called."""
    scheduler = ThreadedScheduler(DocumentScheduler(SqliteJobStore("nowhere/none.db", "jobs"), print))
    with pytest.raises(InputError, match="cannot be used"):
        scheduler.start()
    assert not scheduler.is_running
    scheduler.stop()


def test_start_and_stop_twice(tmp_path: Path) -> None:
    """Starting what runs and stopping what does not is nothing."""
    scheduler = ThreadedScheduler(DocumentScheduler(SqlitePlace(tmp_path).store(), print))
    scheduler.stop()
    for _ in range(2):
        scheduler.start()
        scheduler.start()
        scheduler.stop()
        scheduler.stop()


def test_a_handler_may_stop_it() -> None:
    """Called by a handler, `stop` only asks; the thread ends when the handler has."""
    stopped = Event()
    store = MemoryJobStore([{"_id": 1, "sleepUntil": ago(hours=1)}])
    scheduler = ThreadedScheduler(DocumentScheduler(store, lambda _: scheduler.stop(), on_stop=stopped.set))
    scheduler.start()
    assert stopped.wait(PATIENCE)
    scheduler.stop()
    assert store.get(1) == {"_id": 1, "sleepUntil": None}
