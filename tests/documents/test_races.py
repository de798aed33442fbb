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
    MysqlPlace,
    PostgresPlace,
    RedisCollection,
    SqlitePlace,
    UserCollection,
    ago,
    now,
    run,
)
from .conftest import KINDS

RACER = Path(racer.__file__)
HOLDER = RACER.with_name("holder.py")
PROCESSES = 4
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


def fill_mysql(request: pytest.FixtureRequest) -> tuple[MysqlPlace, list[str]]:
    place = MysqlPlace(request.getfixturevalue("mysql_url"))
    rows = ", ".join(f"('{number}', '2026-01-01')" for number in range(DOCUMENTS))
    place.execute(f"INSERT INTO {place.table} (id, sleep_until) VALUES {rows}")
    return place, [place.url, place.table]


def fill_redis(request: pytest.FixtureRequest) -> tuple[RedisCollection, list[str]]:
    place = RedisCollection(request.getfixturevalue("redis_url"))
    for number in range(DOCUMENTS):
        place.write_text(str(number), json.dumps({"sleepUntil": "2026-01-01T00:00:00Z"}))
    return place, [place.url, place.name]


FILLS: dict[str, Callable[[pytest.FixtureRequest], tuple[UserCollection, list[str]]]] = {
    "mongodb": fill_mongodb,
    "mysql": fill_mysql,
    "postgres": fill_postgres,
    "redis": fill_redis,
    "sqlite": fill_sqlite,
}


@pytest.mark.parametrize(("schedulers", "concurrency"), [(25, 1), (2, 16)], ids=["many", "batches"])
@pytest.mark.parametrize("kind", FILLS)
def test_each_document_is_processed_once(
    kind: str, schedulers: int, concurrency: int, request: pytest.FixtureRequest
) -> None:
    """Many schedulers in four processes: none processes what another has, and none is left over."""
    place, where = FILLS[kind](request)
    if kind != "redis":
        run(place.store().create_index())  # type: ignore[attr-defined]
    command = [sys.executable, str(RACER), kind, *where, str(schedulers), str(concurrency)]
    racers = [subprocess.Popen(command, stdout=subprocess.PIPE, text=True) for _ in range(PROCESSES)]
    printed = [each.communicate(timeout=10 * PATIENCE)[0] for each in racers]
    processed = Counter(key for text in printed for key in json.loads(text))
    assert processed == Counter(str(number) for number in range(DOCUMENTS))


@pytest.mark.parametrize("concurrency", [1, 3])
@pytest.mark.parametrize("kind", FILLS)
def test_the_documents_of_a_dead_process_come_back(
    kind: str, concurrency: int, request: pytest.FixtureRequest
) -> None:
    """While its process lives, locks are renewed; when that is killed, its documents go to another afterwards."""
    place = KINDS[kind](request, False)
    keys = [place.add(sleep_until=ago(hours=1), kind="mail") for _ in range(concurrency)]
    where = [str(getattr(place, "path", None) or place.url), getattr(place, "table", None) or place.name]  # type: ignore[attr-defined]
    command = [sys.executable, str(HOLDER), kind, *where, str(concurrency)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as holder:
        assert holder.stdout is not None
        for _ in range(concurrency):
            assert holder.stdout.readline() == "locked\n"
        holder.send_signal(signal.SIGKILL)
    assert all(place.read(key)["lock_until"] is not None for key in keys)
    got: list[Any] = []

    async def handle(document: Any) -> None:
        got.append(document["kind"])
        if len(got) == concurrency:
            all_handled.set()

    async def work() -> None:
        async with DocumentScheduler(place.store(), handle, concurrency=concurrency):
            await all_handled.wait()

    all_handled = asyncio.Event()
    run(work())
    assert got == ["mail"] * concurrency
    assert [place.read(key)["sleep_until"] for key in keys] == [None] * concurrency


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
