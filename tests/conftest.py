"""Real servers, started when a test first asks for one and ended with the session."""

import os
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from typing import Any
from urllib.parse import urlsplit
from uuid import uuid4

import psycopg
import pytest
from psycopg import sql
from pymongo import MongoClient

from .servers import mongodb, postgres
from .servers.process import Server


@pytest.fixture(scope="session")
def postgres_url() -> Iterator[str]:
    """Where PostgreSQL answers; TICKWISE_TEST_POSTGRES names a server of your own instead."""
    yield from _given_or_started("TICKWISE_TEST_POSTGRES", postgres.server)


@pytest.fixture
def postgres_database(postgres_url: str) -> Iterator[str]:
    """A database of the test's own, empty, and gone afterwards."""
    name = f"tickwise_{uuid4().hex[:12]}"
    with psycopg.connect(postgres_url, autocommit=True) as connection:
        connection.execute(sql.SQL("CREATE DATABASE {}").format(sql.Identifier(name)))
        yield urlsplit(postgres_url)._replace(path=f"/{name}").geturl()
        connection.execute(sql.SQL("DROP DATABASE {} WITH (FORCE)").format(sql.Identifier(name)))


@pytest.fixture(scope="session")
def mongodb_url() -> Iterator[str]:
    """Where MongoDB answers, as a replica set; TICKWISE_TEST_MONGODB names a server of your own instead."""
    yield from _given_or_started("TICKWISE_TEST_MONGODB", mongodb.server)


@pytest.fixture
def mongodb_database(mongodb_url: str) -> Iterator[str]:
    """A database of the test's own, empty, and gone afterwards."""
    name = f"tickwise_{uuid4().hex[:12]}"
    yield urlsplit(mongodb_url)._replace(path=f"/{name}").geturl()
    with MongoClient[dict[str, Any]](mongodb_url) as client:
        client.drop_database(name)


def _given_or_started(variable: str, start: Callable[[], AbstractContextManager[Server]]) -> Iterator[str]:
    if url := os.environ.get(variable):
        yield url
        return
    with start() as server:
        yield server.url
