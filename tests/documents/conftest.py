"""Collections of every kind, each test with one of its own."""

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest
from pymongo import MongoClient

from tickwise.documents import processor, scheduler

from ..stores.mongo.servers import standalone
from ..support.documents.user_collections import (
    MemoryCollection,
    MongoCollection,
    MysqlPlace,
    PostgresPlace,
    RedisCollection,
    SqlitePlace,
    UserCollection,
)

KINDS: dict[str, Callable[[pytest.FixtureRequest, bool], UserCollection]] = {
    "memory": lambda _, other: MemoryCollection(other_fields=other),
    "sqlite": lambda request, other: SqlitePlace(_folder(request), other_fields=other),
    "postgres": lambda request, other: PostgresPlace(request.getfixturevalue("postgres_url"), other_fields=other),
    "mysql": lambda request, other: MysqlPlace(request.getfixturevalue("mysql_url"), other_fields=other),
    "mongodb": lambda request, other: MongoCollection(request.getfixturevalue("mongodb_url"), other_fields=other),
    "redis": lambda request, other: RedisCollection(request.getfixturevalue("redis_url"), other_fields=other),
}

PASSWORD = "secret"  # noqa: S105  (of a server that lives as long as the tests)


def _folder(request: pytest.FixtureRequest) -> Path:
    folder: Path = request.getfixturevalue("tmp_path")
    return folder


@pytest.fixture(params=KINDS)
def place(request: pytest.FixtureRequest) -> UserCollection:
    return KINDS[request.param](request, False)


@pytest.fixture(params=[kind for kind in KINDS if kind != "redis"])
def conditional_place(request: pytest.FixtureRequest) -> UserCollection:
    """One whose store takes a condition."""
    return KINDS[request.param](request, False)


@pytest.fixture(params=KINDS)
def other_place(request: pytest.FixtureRequest) -> UserCollection:
    """Its fields have other names: dotted paths, or columns that must be quoted."""
    return KINDS[request.param](request, True)


@pytest.fixture(params=[kind for kind in KINDS if kind != "memory"])
def connected(request: pytest.FixtureRequest) -> UserCollection:
    """One that is reached through a connection."""
    return KINDS[request.param](request, False)


@pytest.fixture
def impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    """Idle schedulers look often, and try again soon."""
    monkeypatch.setattr(scheduler, "POLL_SECONDS", 0.01)
    monkeypatch.setattr(scheduler, "RETRY_SECONDS", 0.01)
    monkeypatch.setattr(processor, "RETRY_SECONDS", 0.01)


@pytest.fixture(scope="session")
def standalone_mongodb() -> Iterator[str]:
    """A server that is no replica set and wants passwords: `root` may do all, `reader` only read `shop`."""
    with standalone("--auth") as server:
        address = urlsplit(server.url).netloc
        _make_user(server.url, "root", "root")
        _make_user(f"mongodb://root:{PASSWORD}@{address}/", "reader", {"role": "read", "db": "shop"})
        yield address


def _make_user(url: str, name: str, role: Any) -> None:
    with MongoClient[dict[str, Any]](url) as client:
        client.admin.command("createUser", name, pwd=PASSWORD, roles=[role])
