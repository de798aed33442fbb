"""Many schedulers in several processes on one collection: each document is processed once, by one of them.

`TICKWISE_DOCUMENTS=10000` races for as many; without it there are fewer.
"""

import asyncio
import json
import os
import signal
import subprocess
import sys
from collections import Counter
from collections.abc import Callable
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from tickwise.documents import DocumentScheduler

from ..support.documents import racer
from ..support.documents.user_collections import (
    PATIENCE,
    MongoCollection,
    PostgresPlace,
    SqlitePlace,
    UserCollection,
    ago,
    now,
    run,
)

RACER = Path(racer.__file__)
PROCESSES, SCHEDULERS = 4, 25
DOCUMENTS = int(os.environ.get("TICKWISE_DOCUMENTS", "600"))


def fill_mongodb(request: pytest.FixtureRequest) -> tuple[MongoCollection, list[str]]:
    place = MongoCollection(request.getfixturevalue("mongodb_url"))
    with place.collection() as collection:
        due = ago(hours=1)
        collection.insert_many([{"_id": number, "sleepUntil": due} for number in range(DOCUMENTS)])
    return place, [place.url, place.name]


def fill_postgres(request: pytest.FixtureRequest) -> tuple[PostgresPlace, list[str]]:
    place = PostgresPlace(request.getfixturevalue("postgres_url"))
    rows = "SELECT number, now() - interval '1 hour' FROM generate_series(0, %s - 1) AS number"
    place.say("INSERT INTO {table} (id, sleep_until) {rows}", DOCUMENTS, rows=rows)
    return place, [place.url, place.table]


def fill_sqlite(request: pytest.FixtureRequest) -> tuple[SqlitePlace, list[str]]:
    place = SqlitePlace(request.getfixturevalue("tmp_path"))
    rows = "WITH RECURSIVE c(n) AS (SELECT 0 UNION ALL SELECT n + 1 FROM c WHERE n < ? - 1)"
    place.execute("PRAGMA journal_mode = WAL")
    place.say(
        "INSERT INTO {table} (id, sleep_until) {rows} SELECT n, '2026-01-01 09:00' FROM c", DOCUMENTS, rows=rows
    )
    return place, [str(place.path), place.table]


@pytest.mark.parametrize(
    ("kind", "fill"),
    [("mongodb", fill_mongodb), ("postgres", fill_postgres), ("sqlite", fill_sqlite)],
    ids=["mongodb", "postgres", "sqlite"],
)
def test_each_document_is_processed_once(
    kind: str,
    fill: Callable[[pytest.FixtureRequest], tuple[UserCollection, list[str]]],
    request: pytest.FixtureRequest,
) -> None:
    """A hundred schedulers in four processes: none processes what another has, and none is left over."""
    place, where = fill(request)
    run(place.store().create_index())  # type: ignore[attr-defined]
    command = [sys.executable, str(RACER), kind, *where, str(SCHEDULERS)]
    racers = [subprocess.Popen(command, stdout=subprocess.PIPE, text=True) for _ in range(PROCESSES)]
    printed = [each.communicate(timeout=10 * PATIENCE)[0] for each in racers]
    processed = Counter(key for text in printed for key in json.loads(text))
    assert processed == Counter(str(number) for number in range(DOCUMENTS))


_HOLDER = """
import sys
from pathlib import Path
from tickwise.documents import DocumentScheduler, SqliteJobStore, ThreadedScheduler
from threading import Event
def hold(document):
    print("locked", flush=True)
    Event().wait()
store = SqliteJobStore(Path(sys.argv[1]), sys.argv[2])
ThreadedScheduler(DocumentScheduler(store, hold, lock_duration=0.6)).start()
Event().wait()
"""


def test_the_document_of_a_dead_process_comes_back(tmp_path: Path) -> None:
    """While its process lives, a lock is renewed; when that is killed, the document goes to another afterwards."""
    place = SqlitePlace(tmp_path)
    place.add(sleep_until=ago(hours=1), kind="mail")
    with subprocess.Popen(
        [sys.executable, "-c", _HOLDER, place.path, place.table], stdout=subprocess.PIPE, text=True
    ) as holder:
        assert holder.stdout is not None
        assert holder.stdout.readline() == "locked\n"
        holder.send_signal(signal.SIGKILL)
    [row] = place.say("SELECT lock_until FROM {table}")
    assert row["lock_until"] is not None
    got = asyncio.Event()

    async def handle(document: Any) -> None:
        assert document["kind"] == "mail"
        got.set()

    async def work() -> None:
        async with DocumentScheduler(place.store(), handle):
            await got.wait()

    run(work())


def test_a_change_stream_wakes_idle_schedulers(mongodb_url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """With `watch=True` a new document is taken at once, though the scheduler would look again only in an hour."""
    monkeypatch.setattr("tickwise.documents.scheduler.POLL_SECONDS", 3600.0)
    place = MongoCollection(mongodb_url)
    place.add(sleep_until=now() + timedelta(days=1))
    idle, got = asyncio.Event(), asyncio.Event()

    async def on_idle() -> None:
        idle.set()

    async def handle(_: Any) -> None:
        got.set()

    async def work() -> None:
        async with DocumentScheduler(place.store(watch=True), handle, on_idle=on_idle):
            await idle.wait()
            while not got.is_set():  # the stream begins a moment after the scheduler
                place.add(sleep_until=ago(hours=1))
                await asyncio.wait((asyncio.ensure_future(got.wait()),), timeout=1)

    run(work())
