"""Protocols on a connection of the caller's own, inside the caller's transaction, whatever driver it is of."""

import re
import sqlite3
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

from ...core.errors import InputError
from .driver import Driver, drive
from .sqlite import SqliteDriver
from .statement import Notify, Procedure, Rows

T = TypeVar("T")
_PLACE = re.compile(r"\$(\d+)")


async def on_connection(driver: Driver, connection: Any, protocol: Callable[[], Procedure[T]]) -> T:
    """Run a protocol there; nothing is committed. Its news go out with the caller's commit."""
    kind = type(connection).__module__.partition(".")[0]
    if isinstance(driver, SqliteDriver) and isinstance(connection, sqlite3.Connection):
        _check_file(driver, connection)
        return drive(protocol(), lambda ask: _ask(connection, *driver.prepare(ask)))[0]
    if driver.dialect.name == "postgres" and kind in ("asyncpg", "psycopg", "psycopg_pool"):
        return await _drive_with_news(
            driver, protocol(), lambda text, values: _fetch(connection, kind, text, values)
        )
    raise InputError(
        f"a {type(connection).__module__}.{type(connection).__name__} does not belong to this store: pass a "
        f"connection of "
        "asyncpg or psycopg to PostgreSQL, or of sqlite3 to the same SQLite file"
    )


def _check_file(driver: SqliteDriver, connection: sqlite3.Connection) -> None:
    """The run would exist in another store, or fail in words of the database."""
    attached = _ask(connection, "PRAGMA database_list", [])
    theirs = next((file for _, name, file in attached if name == "main"), "")
    if not theirs or not driver.path.exists() or not Path(theirs).samefile(driver.path):
        raise InputError(
            f"the connection is to {theirs or 'a database in memory'}, and this store is {driver.path}: "
            "pass one to the same file"
        )


async def _drive_with_news(driver: Driver, protocol: Procedure[T], fetch: Callable[[str, list[Any]], Any]) -> T:
    rows: Rows = ()
    try:
        asked = next(protocol)
        while True:
            text, values = (
                ("SELECT pg_notify('tickwise', '')", []) if isinstance(asked, Notify) else driver.prepare(asked)
            )
            rows = await fetch(text, values)
            asked = protocol.send(rows)
    except StopIteration as done:
        value: T = done.value
        return value


def _ask(connection: sqlite3.Connection, text: str, values: list[Any]) -> Rows:
    cursor = connection.cursor()
    cursor.row_factory = None  # the caller may have rows made into anything
    return cursor.execute(text, values).fetchall()


async def _fetch(connection: Any, kind: str, text: str, values: list[Any]) -> Rows:
    if kind == "asyncpg":
        rows: Rows = await connection.fetch(text, *values)
        return rows
    named = {f"p{number}": value for number, value in enumerate(values, 1)}
    text = _PLACE.sub(r"%(p\1)s", text.replace("%", "%%"))
    cursor = connection.cursor(row_factory=lambda _cursor: tuple)
    done = cursor.execute(text, named)
    if hasattr(done, "__await__"):
        await done
    if cursor.description is None:
        return ()
    rows = cursor.fetchall()
    if hasattr(rows, "__await__"):
        rows = await rows
    return rows
