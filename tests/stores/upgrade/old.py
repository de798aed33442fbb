"""Stores as released versions left them, made of their fixtures."""

import asyncio
import json
import sqlite3
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

import psycopg
from bson import json_util
from pymongo import IndexModel, MongoClient

from tickwise.stores.contract import Store
from tickwise.stores.mongo import base
from tickwise.stores.sql import schema
from tickwise.stores.url import open_store
from tickwise.testing.conformance.world import instant

from .make import FOLDER

T = TypeVar("T")
ALL = tuple(migration.name for migration in schema.migrations())
ALL_OF_MONGODB = ("0001_begin", "0002_access")
STORES = {"sqlite": ALL, "postgres": ALL, "mongodb": ALL_OF_MONGODB}  # and the names of their schemas
THEN, LATER = instant("01:59") * 1_000_000, instant("02:00") * 1_000_000
_OPTIONS = ("unique", "partialFilterExpression")


class Old(NamedTuple):
    """A store of a schema of the past."""

    kind: str
    url: str
    version: int

    def do(self, act: Callable[[Store], Awaitable[T]], now: int = THEN) -> T:
        """Let a process do something that has just been started."""

        async def with_store() -> T:
            store = open_store(self.url, lambda: now)
            try:
                return await act(store)
            finally:
                await store.close()

        return asyncio.run(with_store())

    @property
    def newer(self) -> tuple[str, ...]:
        """The schemas that came after its own."""
        return STORES[self.kind][self.version :]

    @property
    def newest(self) -> int:
        return len(STORES[self.kind])

    @property
    def was_seen(self) -> Any:
        """What people saw of it."""
        return json.loads((FOLDER / f"seen-{self.version}.json").read_text("utf-8"))

    def upgrade(self) -> tuple[str, ...]:
        return self.do(lambda store: store.schema.upgrade())

    def check(self) -> tuple[str, ...]:
        return self.do(lambda store: store.schema.check())

    def restore(self) -> None:
        """Put there what the fixture says."""
        self.say(self.text)

    @property
    def text(self) -> str:
        """The fixture."""
        path = FOLDER / f"{self.kind}-{self.version}.{'json' if self.kind == 'mongodb' else 'sql'}"
        return path.read_text("utf-8")

    def say(self, text: str) -> None:
        """Statements, or documents and indexes."""
        _SAY[self.kind](self.url, text)


def _to_sqlite(url: str, text: str) -> None:
    file = Path(url.removeprefix("sqlite:///"))
    with sqlite3.connect(file) as connection:
        connection.execute("ATTACH DATABASE ? AS logs", (str(file.with_name(f"{file.stem}-logs.db")),))
        connection.executescript(text)
    connection.close()


def _to_postgres(url: str, text: str) -> None:
    with psycopg.connect(url) as connection:
        connection.execute(text.encode())


def _to_mongodb(url: str, text: str) -> None:
    with MongoClient[Any](url) as client:
        for name, held in json_util.loads(text).items():
            collection = client.get_default_database()[base.PREFIX + name]
            if held["documents"]:
                collection.insert_many(held["documents"])
            collection.create_indexes([_index(name, made) for name, made in held["indexes"].items()])


def _index(name: str, made: Any) -> IndexModel:
    keys = [(field, int(order)) for field, order in made["key"]]
    return IndexModel(keys, name=name, **{option: made[option] for option in _OPTIONS if option in made})


_SAY = {"sqlite": _to_sqlite, "postgres": _to_postgres, "mongodb": _to_mongodb}
