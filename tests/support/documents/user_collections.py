"""The user's side of each kind of collection: how documents are put there, read and changed behind our back.

Facts go by the names of `Fields`, wherever a place keeps them; `kind` is a field of the user's own.
"""

import asyncio
import json
import sqlite3
from abc import ABC, abstractmethod
from collections.abc import Coroutine, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, TypeVar
from uuid import uuid4

import psycopg
from psycopg.rows import dict_row
from pymongo import MongoClient
from redis import Redis

from tickwise.documents import (
    COLUMNS,
    Fields,
    JobStore,
    Locked,
    MemoryJobStore,
    MongoJobStore,
    MysqlJobStore,
    PostgresJobStore,
    RedisJobStore,
    SqliteJobStore,
)
from tickwise.documents.contract import set_at, value_at
from tickwise.documents.decide import instant

from ..servers import mariadb

T = TypeVar("T")
PATIENCE = 120  # seconds before a test that hangs is given up
HOUR, MINUTE = timedelta(hours=1), timedelta(minutes=1)
LATER = datetime(2040, 1, 1, tzinfo=UTC)
OTHER_PATHS = Fields(
    "cron.sleepUntil", "cron.every", "cron.to", "cron.once", "cron.lock.by", "cron.lock.to", "why"
)
OTHER_COLUMNS = Fields("due at", "every", "last", "once", "by", "held", "why")


def run(work: Coroutine[Any, Any, T]) -> T:
    async def patiently() -> T:
        async with asyncio.timeout(PATIENCE):
            return await work

    return asyncio.run(patiently())


def now() -> datetime:
    return datetime.now(UTC)


def ago(**length: float) -> datetime:
    return now() - timedelta(**length)


class UserCollection(ABC):
    """A collection of the user's own."""

    only_mail: Any  # the condition kind = mail
    fields: Fields

    @abstractmethod
    def store(self, **options: Any) -> JobStore:
        """A store over it."""

    @abstractmethod
    def add(self, **facts: Any) -> Any:
        """A new document; returns its key."""

    @abstractmethod
    def raw(self, key: Any) -> dict[str, Any] | None:
        """The document as it stands there."""

    @abstractmethod
    def change(self, key: Any, **facts: Any) -> None:
        """Set fields of a document."""

    @abstractmethod
    def delete(self, key: Any) -> None:
        """Remove a document."""

    def read(self, key: Any) -> dict[str, Any]:
        """What a document says, by the names of `Fields`."""
        document = self.raw(key)
        assert document is not None
        facts = {name: value_at(document, path) for name, path in self.paths().items()}
        for name in ("sleep_until", "repeat_until", "lock_until"):
            facts[name] = None if facts[name] is None else instant(facts[name], name)
        return facts

    def paths(self) -> dict[str, str]:
        return {**asdict(self.fields), "kind": "kind"}


class MemoryCollection(UserCollection):
    def __init__(self, *, other_fields: bool = False) -> None:
        self.fields = OTHER_PATHS if other_fields else Fields()
        self.documents = MemoryJobStore(fields=self.fields)

    @staticmethod
    def only_mail(document: Any) -> bool:
        return bool(document.get("kind") == "mail")

    def store(self, **options: Any) -> JobStore:
        if "condition" in options:
            self.documents._condition = options["condition"]  # one memory is one store
        return self.documents

    def add(self, **facts: Any) -> Any:
        document: dict[str, Any] = {}
        for name, value in facts.items():
            set_at(document, self.paths()[name], value)
        return self.documents.add(document)

    def raw(self, key: Any) -> dict[str, Any] | None:
        return self.documents.get(key)

    def change(self, key: Any, **facts: Any) -> None:
        self.documents.change(key, {self.paths()[name]: value for name, value in facts.items()})

    def delete(self, key: Any) -> None:
        self.documents.delete(key)


class MongoCollection(UserCollection):
    def __init__(self, url: str, *, other_fields: bool = False) -> None:
        self.only_mail = {"kind": "mail"}
        self.fields = OTHER_PATHS if other_fields else Fields()
        self.url = url.replace("/?", "/tickwise_documents?")
        self.name = f"jobs-{uuid4().hex}"

    def store(self, **options: Any) -> JobStore:
        return MongoJobStore(self.url, self.name, **{"fields": self.fields, **options})

    @contextmanager
    def collection(self) -> Iterator[Any]:
        with MongoClient[dict[str, Any]](self.url, tz_aware=True) as client:
            yield client.get_default_database()[self.name]

    def add(self, **facts: Any) -> Any:
        document: dict[str, Any] = {}
        for name, value in facts.items():
            set_at(document, self.paths()[name], value)
        with self.collection() as collection:
            return collection.insert_one(document).inserted_id

    def raw(self, key: Any) -> dict[str, Any] | None:
        with self.collection() as collection:
            found: dict[str, Any] | None = collection.find_one({"_id": key})
            return found

    def change(self, key: Any, **facts: Any) -> None:
        values = {self.paths()[name]: value for name, value in facts.items()}
        with self.collection() as collection:
            collection.update_one({"_id": key}, {"$set": values})

    def delete(self, key: Any) -> None:
        with self.collection() as collection:
            collection.delete_one({"_id": key})


class RedisCollection(UserCollection):
    """Written by another client, as docs/documents.md says: the text, and an entry with the score 0."""

    def __init__(self, url: str, *, other_fields: bool = False) -> None:
        self.fields = OTHER_PATHS if other_fields else Fields()
        self.url = url
        self.name = f"jobs-{uuid4().hex}"

    def store(self, **options: Any) -> JobStore:
        return RedisJobStore(self.url, self.name, **{"fields": self.fields, **options})

    def add(self, **facts: Any) -> Any:
        key = uuid4().hex
        self._write(key, {}, facts)
        return key

    def raw(self, key: Any) -> dict[str, Any] | None:
        with Redis.from_url(self.url, decode_responses=True) as client:
            text = client.hget(f"{{{self.name}}}:documents", key)
        return None if text is None else {"_id": key, **json.loads(str(text))}

    def change(self, key: Any, **facts: Any) -> None:
        document = self.raw(key)
        assert document is not None
        self._write(key, document, facts)

    def _write(self, key: str, document: dict[str, Any], facts: Mapping[str, Any]) -> None:
        for name, value in facts.items():
            set_at(document, self.paths()[name], value.isoformat() if isinstance(value, datetime) else value)
        document.pop("_id", None)
        self.write_text(key, json.dumps(document))

    def write_text(self, key: str, text: str) -> None:
        with Redis.from_url(self.url) as client:
            client.hset(f"{{{self.name}}}:documents", key, text)
            client.zadd(f"{{{self.name}}}:due", {key: 0})

    def delete(self, key: Any) -> None:
        with Redis.from_url(self.url) as client:
            client.hdel(f"{{{self.name}}}:documents", key)


class SqlPlace(UserCollection):
    only_mail: Any = "kind = 'mail'"
    place: str
    types: Mapping[str, str]
    key_type = "text"

    def __init__(self, *, other_fields: bool = False) -> None:
        self.fields = OTHER_COLUMNS if other_fields else COLUMNS
        self.key = "no" if other_fields else "id"
        self.table = f"jobs_{uuid4().hex}"
        columns = ", ".join(f"{self.quote(self.paths()[name])} {kind}" for name, kind in self.types.items())
        key = f"{self.quote(self.key)} {self.key_type} PRIMARY KEY"
        self.execute(f"CREATE TABLE {self.table} ({key}, {columns}, kind text)")

    def quote(self, name: str) -> str:
        return f'"{name}"'

    @abstractmethod
    def execute(self, statement: str, *values: Any) -> list[dict[str, Any]]:
        """Rows, if it gives any."""

    def say(self, template: str, *arguments: Any, **words: str) -> list[dict[str, Any]]:
        """A statement about this table."""
        words |= {"table": self.table, "key": self.quote(self.key), "place": self.place}
        return self.execute(template.format(**words), *arguments)

    def add(self, **facts: Any) -> Any:
        names = ", ".join(self.quote(name) for name in (self.key, *(self.paths()[name] for name in facts)))
        places = ", ".join([self.place] * (len(facts) + 1))
        key = uuid4().hex
        self.say(
            "INSERT INTO {table} ({names}) VALUES ({places})", key, *facts.values(), names=names, places=places
        )
        return key

    def raw(self, key: Any) -> dict[str, Any] | None:
        rows = self.say("SELECT * FROM {table} WHERE {key} = {place}", key)
        return rows[0] if rows else None

    def change(self, key: Any, **facts: Any) -> None:
        values = ", ".join(f"{self.quote(self.paths()[name])} = {self.place}" for name in facts)
        self.say("UPDATE {table} SET {values} WHERE {key} = {place}", *facts.values(), key, values=values)

    def delete(self, key: Any) -> None:
        self.say("DELETE FROM {table} WHERE {key} = {place}", key)


class SqlitePlace(SqlPlace):
    place = "?"
    types = SqliteJobStore.dialect.types

    def __init__(self, folder: Path, *, other_fields: bool = False) -> None:
        self.path = folder / "own.db"
        super().__init__(other_fields=other_fields)

    def store(self, **options: Any) -> JobStore:
        return SqliteJobStore(self.path, self.table, **{"fields": self.fields, "key": self.key, **options})

    def execute(self, statement: str, *values: Any) -> list[dict[str, Any]]:
        connection = sqlite3.connect(self.path)
        connection.row_factory = sqlite3.Row
        try:
            texts = [value.isoformat() if isinstance(value, datetime) else value for value in values]
            with connection:
                return [dict(row) for row in connection.execute(statement, texts).fetchall()]
        finally:
            connection.close()


class PostgresPlace(SqlPlace):
    place = "%s"
    types = PostgresJobStore.dialect.types

    def __init__(self, url: str, *, other_fields: bool = False) -> None:
        self.url = url
        super().__init__(other_fields=other_fields)

    def store(self, **options: Any) -> JobStore:
        return PostgresJobStore(self.url, self.table, **{"fields": self.fields, "key": self.key, **options})

    def execute(self, statement: str, *values: Any) -> list[dict[str, Any]]:
        with psycopg.connect(self.url, row_factory=dict_row, autocommit=True) as connection:
            done = connection.execute(statement.encode(), values)
            return done.fetchall() if done.description else []


class MysqlPlace(SqlPlace):
    place = "%s"
    types = MysqlJobStore.dialect.types
    key_type = "varchar(40)"

    def __init__(self, url: str, *, other_fields: bool = False) -> None:
        self.url = url.replace("/mysql", "/tickwise_documents")
        with mariadb.connected(url) as cursor:
            cursor.execute("CREATE DATABASE IF NOT EXISTS tickwise_documents")
        super().__init__(other_fields=other_fields)

    def quote(self, name: str) -> str:
        return f"`{name}`"

    def store(self, **options: Any) -> JobStore:
        return MysqlJobStore(self.url, self.table, **{"fields": self.fields, "key": self.key, **options})

    def execute(self, statement: str, *values: Any) -> list[dict[str, Any]]:
        with mariadb.connected(self.url) as cursor:
            cursor.execute(statement, values or None)
            names = [column[0] for column in cursor.description or ()]
            return [dict(zip(names, row, strict=True)) for row in cursor.fetchall()]

    def raw(self, key: Any) -> dict[str, Any] | None:
        row = super().raw(key)
        for name, value in (row or {}).items():
            if row and isinstance(value, datetime):
                row[name] = value.replace(tzinfo=UTC)
        return row


def with_store(place: UserCollection, work: Any, **options: Any) -> Any:
    """What the work with a store comes to."""

    async def working() -> Any:
        async with place.store(**options) as store:
            return await work(store)

    return run(working())


async def lock(store: JobStore, length: timedelta = HOUR) -> Locked:
    locked = await store.lock_next(length)
    assert locked is not None
    return locked
