"""Users with a transaction of their own, in each of the drivers that `enqueue` takes."""

import sqlite3
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from typing import Any
from urllib.parse import urlsplit

import aiomysql
import asyncmy.cursors
import asyncpg
import psycopg
import pymysql.cursors

from tickwise.stores.records import Enqueue

from ....support.races.channel import Line
from ....support.races.race import opened


async def enqueue_inside(line: Line, url: str, clock: str, node: str, driver: str, key: str | None = None) -> None:
    """Enqueue in a transaction, say what came of it, and end it as told: `commit` or `rollback`."""
    store = opened(url, clock)
    async with DRIVERS[driver](url) as (connection, execute):
        await execute("BEGIN IMMEDIATE" if driver.startswith("sqlite3") else "BEGIN")
        line.say("begun")
        (made,) = await store.enqueue([Enqueue("a", params={"by": node}, key=key)], connection)
        line.say((made.id, made.new))
        await execute(line.hear())
    await store.close()


Execute = Callable[[str], Awaitable[Any]]


@asynccontextmanager
async def _asyncpg(url: str) -> AsyncIterator[tuple[Any, Execute]]:
    connection = await asyncpg.connect(url)
    yield connection, connection.execute
    await connection.close()


@asynccontextmanager
async def _psycopg(url: str, row_factory: Any = psycopg.rows.tuple_row) -> AsyncIterator[tuple[Any, Execute]]:
    with psycopg.connect(url, autocommit=True, row_factory=row_factory) as connection:
        yield connection, _awaited(connection.execute)


@asynccontextmanager
async def _psycopg_async(
    url: str, row_factory: Any = psycopg.rows.tuple_row
) -> AsyncIterator[tuple[Any, Execute]]:
    connection = await psycopg.AsyncConnection.connect(url, autocommit=True, row_factory=row_factory)
    async with connection:
        yield connection, connection.execute


@asynccontextmanager
async def _sqlite3(url: str, row_factory: Any = None) -> AsyncIterator[tuple[Any, Execute]]:
    connection = sqlite3.connect(url.removeprefix("sqlite:///"), isolation_level=None, timeout=60)
    connection.row_factory = row_factory
    yield connection, _awaited(connection.execute)
    connection.close()


def _where(url: str) -> dict[str, Any]:
    where = urlsplit(url)
    return {
        "host": where.hostname, "port": where.port, "user": where.username, "db": where.path[1:],
        "charset": "utf8mb4",
    }  # fmt: skip


@asynccontextmanager
async def _asyncmy(url: str, cursor: Any = asyncmy.cursors.Cursor) -> AsyncIterator[tuple[Any, Execute]]:
    connection = await asyncmy.connect(**_where(url), cursor_cls=cursor)
    yield connection, connection.query
    await connection.ensure_closed()


@asynccontextmanager
async def _aiomysql(url: str) -> AsyncIterator[tuple[Any, Execute]]:
    connection = await aiomysql.connect(**_where(url))
    yield connection, connection.query
    await connection.ensure_closed()


@asynccontextmanager
async def _pymysql(url: str, cursor: Any = pymysql.cursors.Cursor) -> AsyncIterator[tuple[Any, Execute]]:
    with pymysql.connect(**_where(url), cursorclass=cursor) as connection:
        yield connection, _awaited(connection.query)


def _awaited(execute: Callable[[Any], Any]) -> Execute:
    async def execute_now(text: str) -> Any:
        return execute(text)

    return execute_now


def _dict_row(cursor: sqlite3.Cursor, row: tuple[Any, ...]) -> dict[str, Any]:
    return {column[0]: value for column, value in zip(cursor.description, row, strict=True)}


DRIVERS: dict[str, Callable[[str], AbstractAsyncContextManager[tuple[Any, Execute]]]] = {
    "asyncpg": _asyncpg,
    "psycopg": _psycopg,
    "psycopg async": _psycopg_async,
    "psycopg with dict rows": lambda url: _psycopg(url, psycopg.rows.dict_row),
    "psycopg async with dict rows": lambda url: _psycopg_async(url, psycopg.rows.dict_row),
    "asyncmy": _asyncmy,
    "asyncmy with dict rows": lambda url: _asyncmy(url, asyncmy.cursors.DictCursor),
    "aiomysql": _aiomysql,
    "pymysql": _pymysql,
    "pymysql with dict rows": lambda url: _pymysql(url, pymysql.cursors.DictCursor),
    "sqlite3": _sqlite3,
    "sqlite3 with dict rows": lambda url: _sqlite3(url, _dict_row),
}
