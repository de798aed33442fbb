"""Real servers, started when a test first asks for one and ended with the session."""

import asyncio
import os
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from typing import Any
from urllib.parse import urlsplit
from uuid import uuid4

import psycopg
import pytest
import structlog
from psycopg import sql
from pymongo import MongoClient

from tickwise.stores.url import open_store

from .support.servers import mariadb, mongodb, postgres, valkey
from .support.servers.process import Server


@pytest.fixture(autouse=True)
def own_logging() -> Iterator[None]:
    """A test leaves structlog as it was: what `capture_logs` leaves behind would print to stdout."""
    yield
    if structlog.is_configured():
        structlog.reset_defaults()


@pytest.fixture(scope="session")
def postgres_url() -> Iterator[str]:
    """Where PostgreSQL answers; TICKWISE_TEST_POSTGRES names a server of your own instead."""
    yield from _given_or_started("TICKWISE_TEST_POSTGRES", postgres.server)


@pytest.fixture
def postgres_database(postgres_url: str) -> Iterator[str]:
    """A database of the test's own, empty, and gone afterwards."""
    with _own_postgres(postgres_url) as url:
        yield url


@contextmanager
def _own_postgres(server: str) -> Iterator[str]:
    name = f"tickwise_{uuid4().hex[:12]}"
    with psycopg.connect(server, autocommit=True) as connection:
        connection.execute(sql.SQL("CREATE DATABASE {}").format(sql.Identifier(name)))
        yield urlsplit(server)._replace(path=f"/{name}").geturl()
        connection.execute(sql.SQL("DROP DATABASE {} WITH (FORCE)").format(sql.Identifier(name)))


@pytest.fixture(scope="session")
def _prepared_postgres(postgres_url: str) -> Iterator[str]:
    with _own_postgres(postgres_url) as url:
        asyncio.run(_upgrade(url))
        yield url


@pytest.fixture
def emptied_postgres(_prepared_postgres: str) -> str:
    """A store without rows: faster than a new one."""
    with psycopg.connect(_prepared_postgres, autocommit=True) as connection:
        rows = connection.execute("SELECT tablename FROM pg_tables WHERE tablename LIKE 'tickwise%'").fetchall()
        names = [sql.Identifier(name) for (name,) in rows if name != "tickwise_migrations"]
        connection.execute(sql.SQL("TRUNCATE {} RESTART IDENTITY").format(sql.SQL(", ").join(names)))
    return _prepared_postgres


@pytest.fixture(scope="session")
def mysql_url() -> Iterator[str]:
    """Where MySQL or MariaDB answers; TICKWISE_TEST_MYSQL names a server of your own instead."""
    yield from _given_or_started("TICKWISE_TEST_MYSQL", mariadb.server)


@pytest.fixture
def mysql_database(mysql_url: str) -> Iterator[str]:
    """A database of the test's own, empty, and gone afterwards."""
    with _own_mysql(mysql_url) as url:
        yield url


@contextmanager
def _own_mysql(server: str) -> Iterator[str]:
    name = f"tickwise_{uuid4().hex[:12]}"
    with mariadb.connected(server) as cursor:
        cursor.execute(f"CREATE DATABASE {name}")
        yield urlsplit(server)._replace(path=f"/{name}").geturl()
        cursor.execute(f"DROP DATABASE {name}")


@pytest.fixture(scope="session")
def _prepared_mysql(mysql_url: str) -> Iterator[str]:
    with _own_mysql(mysql_url) as url:
        asyncio.run(_upgrade(url))
        yield url


@pytest.fixture
def emptied_mysql(_prepared_mysql: str) -> str:
    """A store without rows: faster than a new one."""
    with mariadb.connected(_prepared_mysql) as cursor:
        mariadb.empty(cursor)
    return _prepared_mysql


@pytest.fixture(scope="session")
def _prepared_mongodb(mongodb_url: str) -> Iterator[str]:
    with _own_mongodb(mongodb_url) as url:
        asyncio.run(_upgrade(url))
        yield url


@pytest.fixture
def emptied_mongodb(_prepared_mongodb: str) -> str:
    """A store without documents: faster than a new one."""
    with MongoClient[dict[str, Any]](_prepared_mongodb) as client:
        database = client.get_default_database()
        for name in database.list_collection_names():
            if name != "tickwise_schema":
                database[name].delete_many({})
    return _prepared_mongodb


async def _upgrade(url: str) -> None:
    store = open_store(url)
    await store.schema.upgrade()
    await store.close()


@pytest.fixture(scope="session")
def mongodb_url() -> Iterator[str]:
    """Where MongoDB answers, as a replica set; TICKWISE_TEST_MONGODB names a server of your own instead."""
    yield from _given_or_started("TICKWISE_TEST_MONGODB", mongodb.server)


@pytest.fixture
def mongodb_database(mongodb_url: str) -> Iterator[str]:
    """A database of the test's own, empty, and gone afterwards."""
    with _own_mongodb(mongodb_url) as url:
        yield url


@contextmanager
def _own_mongodb(server: str) -> Iterator[str]:
    name = f"tickwise_{uuid4().hex[:12]}"
    yield urlsplit(server)._replace(path=f"/{name}").geturl()
    with MongoClient[dict[str, Any]](server) as client:
        client.drop_database(name)


@pytest.fixture(scope="session")
def redis_url() -> Iterator[str]:
    """Where Valkey or Redis answers; TICKWISE_TEST_REDIS names a server of your own instead."""
    yield from _given_or_started("TICKWISE_TEST_REDIS", valkey.server)


@pytest.fixture
def redis_database(redis_url: str) -> Iterator[str]:
    """A store of the test's own, empty, and gone afterwards."""
    url = f"{redis_url}?name=tickwise-{uuid4().hex[:12]}"
    yield url
    valkey.forget_store(url)


@pytest.fixture
def emptied_redis(redis_database: str) -> str:
    """A store without keys is a new one."""
    asyncio.run(_upgrade(redis_database))
    return redis_database


def _given_or_started(variable: str, start: Callable[[], AbstractContextManager[Server]]) -> Iterator[str]:
    if url := os.environ.get(variable):
        yield url
        return
    with start() as server:
        yield server.url
