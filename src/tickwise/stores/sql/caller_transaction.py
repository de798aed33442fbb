"""Procedures on the caller's own connection and inside its transaction, whatever its driver is."""

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
_PLACEHOLDER = re.compile(r"\$(\d+)")


async def on_connection(driver: Driver, connection: Any, procedure: Callable[[], Procedure[T]]) -> T:
    """Run a procedure there; nothing is committed. Its notifications go out with the caller's commit."""
    kind = type(connection).__module__.partition(".")[0]
    if isinstance(driver, SqliteDriver) and isinstance(connection, sqlite3.Connection):
        _check_file(driver, connection)
        return drive(procedure(), lambda query: _fetch_sqlite(connection, *driver.prepare(query)))[0]
    if driver.dialect.name == "postgres" and kind in ("asyncpg", "psycopg", "psycopg_pool"):
        return await _drive(
            driver, procedure(), lambda text, values: _fetch_postgres(connection, kind, text, values)
        )
    raise InputError(
        f"a {type(connection).__module__}.{type(connection).__name__} does not belong to this store: pass a "
        "connection of asyncpg or psycopg to PostgreSQL, or of sqlite3 to the same SQLite file"
    )


def _check_file(driver: SqliteDriver, connection: sqlite3.Connection) -> None:
    """On another file the run would exist in another store, or fail with an error of the database."""
    attached = _fetch_sqlite(connection, "PRAGMA database_list", [])
    theirs = next((file for _, name, file in attached if name == "main"), "")
    if not theirs or not driver.path.exists() or not Path(theirs).samefile(driver.path):
        raise InputError(
            f"the connection is to {theirs or 'a database in memory'}, and this store is {driver.path}: "
            "pass one to the same file"
        )


async def _drive(driver: Driver, procedure: Procedure[T], fetch: Callable[[str, list[Any]], Any]) -> T:
    rows: Rows = ()
    try:
        query = next(procedure)
        while True:
            text, values = (
                ("SELECT pg_notify('tickwise', '')", []) if isinstance(query, Notify) else driver.prepare(query)
            )
            rows = await fetch(text, values)
            query = procedure.send(rows)
    except StopIteration as done:
        value: T = done.value
        return value


def _fetch_sqlite(connection: sqlite3.Connection, text: str, values: list[Any]) -> Rows:
    cursor = connection.cursor()
    cursor.row_factory = None  # the caller may have rows made into anything
    return cursor.execute(text, values).fetchall()


async def _fetch_postgres(connection: Any, kind: str, text: str, values: list[Any]) -> Rows:
    if kind == "asyncpg":
        rows: Rows = await connection.fetch(text, *values)
        return rows
    named = {f"p{number}": value for number, value in enumerate(values, 1)}
    text = _PLACEHOLDER.sub(r"%(p\1)s", text.replace("%", "%%"))
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
