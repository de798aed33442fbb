"""A place for each race: a SQLite file, or a database of a server, that nobody else uses."""

import asyncio
from collections.abc import Iterator
from itertools import count
from pathlib import Path
from urllib.parse import urlsplit, urlunsplit

import pytest

from ...support.races.file_clock import SharedClock
from ...support.races.race import Race, execute
from ...support.servers import mariadb, postgres
from ...support.servers.process import Server

_numbers = count(1)


@pytest.fixture
def database(postgres_url: str) -> Iterator[str]:
    """The address of an empty database; whoever is still connected at the end is thrown out."""
    name = f"races_{next(_numbers)}"
    asyncio.run(execute(postgres_url, f"CREATE DATABASE {name}"))
    yield urlunsplit(urlsplit(postgres_url)._replace(path=f"/{name}"))
    asyncio.run(execute(postgres_url, f"DROP DATABASE {name} WITH (FORCE)"))


@pytest.fixture(params=["postgres", "mysql"])
def mortal(request: pytest.FixtureRequest) -> Iterator[Server]:
    """A server of the test's own, for it will be ended."""
    with {"postgres": postgres.server, "mysql": mariadb.server}[request.param]() as server:
        yield server


@pytest.fixture
def file(tmp_path: Path) -> str:
    return f"sqlite:///{tmp_path / 'races.db'}"


@pytest.fixture
def on_postgres(database: str, clock: SharedClock) -> Race:
    return Race(database, clock)


@pytest.fixture
def on_sqlite(file: str, clock: SharedClock) -> Race:
    return Race(file, clock)


@pytest.fixture
def on_mysql(mysql_database: str, clock: SharedClock) -> Race:
    return Race(mysql_database, clock)


@pytest.fixture(params=["postgres", "mysql", "sqlite", "mongodb", "redis"])
def place(request: pytest.FixtureRequest) -> Race:
    return _place(request)


@pytest.fixture(params=["postgres", "mysql"])
def on_server(request: pytest.FixtureRequest) -> Race:
    """One with several sessions that write at a time."""
    return _place(request)


@pytest.fixture(params=["postgres", "mysql", "sqlite"])
def on_sql(request: pytest.FixtureRequest) -> Race:
    """One whose statements can be watched."""
    return _place(request)


def _place(request: pytest.FixtureRequest) -> Race:
    found: Race = request.getfixturevalue(f"on_{request.param}")
    return found
