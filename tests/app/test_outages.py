"""A store that refuses every write for a while: what has ended meanwhile is kept, and stored when it is back."""

import asyncio
import sqlite3
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, closing, contextmanager
from pathlib import Path
from typing import Any, TypeAlias
from urllib.parse import urlsplit

import psycopg
import pytest
from psycopg import sql
from pymongo import MongoClient
from redis import Redis

from tickwise import AsyncTickwise
from tickwise.core.states import RunState

from ..support.app import Heard, patiently
from ..support.servers import mongodb, postgres, valkey
from ..support.worker import until

Outage: TypeAlias = Callable[[], AbstractContextManager[None]]
RUNS = 4


@pytest.fixture(scope="module")
def own_postgres() -> Iterator[str]:
    """A server whose settings the tests may change."""
    with postgres.server() as server:
        yield server.url


@pytest.fixture(scope="module")
def own_mongodb() -> Iterator[str]:
    with mongodb.server() as server:
        yield server.url


@pytest.fixture(scope="module")
def own_redis() -> Iterator[str]:
    with valkey.server() as server:
        yield server.url


@contextmanager
def read_only_postgres(url: str) -> Iterator[None]:
    """As a primary that was demoted: sessions go on, and every transaction refuses to write."""
    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute("ALTER SYSTEM SET default_transaction_read_only = on")
        connection.execute("SELECT pg_reload_conf()")
        while not _is_read_only(url):  # the sessions are told before the server takes a new one
            pass
        try:
            yield
        finally:
            connection.execute("SET default_transaction_read_only = off")
            connection.execute("ALTER SYSTEM RESET default_transaction_read_only")
            connection.execute("SELECT pg_reload_conf()")


def _is_read_only(url: str) -> bool:
    with psycopg.connect(url) as new:
        return new.execute("SHOW default_transaction_read_only").fetchone() == ("on",)


@contextmanager
def locked_postgres(url: str) -> Iterator[None]:
    """Somebody holds the runs."""
    with psycopg.connect(url) as connection:
        connection.execute("LOCK TABLE tickwise_runs IN EXCLUSIVE MODE")
        yield


@contextmanager
def without_rights(url: str) -> Iterator[None]:
    """Somebody has taken the right to write away."""
    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute("REVOKE UPDATE ON tickwise_runs FROM CURRENT_USER")
        yield
        connection.execute("GRANT UPDATE ON tickwise_runs TO CURRENT_USER")


@contextmanager
def blocked_mongodb(url: str) -> Iterator[None]:
    with MongoClient[Any](url) as client:
        client.admin.command({"setUserWriteBlockMode": 1, "global": True})
        yield
        client.admin.command({"setUserWriteBlockMode": 1, "global": False})


@contextmanager
def demoted_redis(url: str) -> Iterator[None]:
    """It is a replica now, whose master is away; one that is only full still takes the end of a run."""
    with Redis.from_url(url) as client:
        client.replicaof("127.0.0.1", "1")
        yield
        client.replicaof("NO", "ONE")


def _own_role(server: str, name: str) -> str:
    """The URL of a database of a role that is no superuser, and waits for a lock for a tenth of a second."""
    with psycopg.connect(server, autocommit=True) as connection:
        connection.execute(sql.SQL("CREATE ROLE {} LOGIN").format(sql.Identifier(name)))
        connection.execute(sql.SQL("ALTER ROLE {} SET lock_timeout = '100ms'").format(sql.Identifier(name)))
        connection.execute(sql.SQL("CREATE DATABASE {0} OWNER {0}").format(sql.Identifier(name)))
    return (
        urlsplit(server)._replace(netloc=f"{name}@{urlsplit(server).netloc.partition('@')[2]}", path=name).geturl()
    )


@pytest.fixture(params=["read_only", "locked", "without_rights", "mongodb", "redis"])
def outage(request: pytest.FixtureRequest) -> tuple[str, Outage]:
    """A store, and how it refuses to write."""
    if request.param == "mongodb":
        url = request.getfixturevalue("own_mongodb")
        return url, lambda: blocked_mongodb(url)
    if request.param == "redis":
        url = request.getfixturevalue("own_redis")
        return url, lambda: demoted_redis(url)
    server = request.getfixturevalue("own_postgres")
    url = _own_role(server, request.param)
    begin = {"read_only": read_only_postgres, "locked": locked_postgres, "without_rights": without_rights}
    return url, lambda: begin[request.param](server if request.param == "read_only" else url)


class Work:
    """A job that ends when it is let go, and counts how often it was executed."""

    def __init__(self) -> None:
        self.go = asyncio.Event()
        self.executed = 0

    async def __call__(self) -> str:
        await self.go.wait()
        self.executed += 1
        return "done"


async def _started(tw: AsyncTickwise, heard: Heard, work: Work) -> None:
    async def works() -> str:
        return await work()

    tw.job()(works)
    await tw.start()
    for _ in range(RUNS):
        await tw.enqueue(works)
    await heard.until(*["started works"] * RUNS)


async def _check(tw: AsyncTickwise, work: Work) -> None:
    runs = await tw.runs.list()
    assert [(run.state, run.attempt, run.result) for run in runs] == [(RunState.SUCCEEDED, 1, "done")] * RUNS
    assert work.executed == RUNS


@patiently
async def test_an_end_is_stored_when_the_store_takes_writes_again(outage: tuple[str, Outage]) -> None:
    """Nothing is executed twice or recorded as failed because the store refused to write (E6, E7, S42)."""
    url, begins = outage
    heard, work = Heard(), Work()
    tw = AsyncTickwise(url, hooks=heard.hooks, lease=20)
    async with tw:
        await _started(tw, heard, work)
        with begins():
            work.go.set()
            await heard.until(*["error finisher"] * 2)
        await heard.until(*["succeeded works"] * RUNS)
        await _check(tw, work)


@patiently
async def test_a_file_that_another_holds_delays_an_end(tmp_path: Path) -> None:
    """A writer of SQLite's file that goes on for long costs no result (E7)."""
    heard, work = Heard(), Work()
    tw = AsyncTickwise(f"sqlite:///{tmp_path / 'tickwise.db'}", hooks=heard.hooks, lease=20)
    async with tw:
        await _started(tw, heard, work)
        with closing(sqlite3.connect(tmp_path / "tickwise.db", isolation_level=None)) as other:
            other.execute("BEGIN IMMEDIATE")
            work.go.set()
            await until(lambda: work.executed == RUNS)
            other.execute("COMMIT")
        await heard.until(*["succeeded works"] * RUNS)
        await _check(tw, work)
