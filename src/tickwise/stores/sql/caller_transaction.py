"""Procedures on the caller's own connection and inside its transaction, whatever its driver is."""

from collections.abc import Callable
from typing import Any, TypeVar

from ...core.errors import InputError
from .driver import Driver
from .statement import Procedure

T = TypeVar("T")


async def on_connection(driver: Driver, connection: Any, procedure: Callable[[], Procedure[T]]) -> T:
    """Run a procedure there; nothing is committed. Its notifications go out with the caller's commit."""
    kind = type(connection)
    if not driver.accepts(connection):
        raise InputError(
            f"a {kind.__module__}.{kind.__name__} does not belong to this store: pass a connection of asyncpg or "
            "psycopg to PostgreSQL, of asyncmy, aiomysql, pymysql or mysqlclient to MySQL, or of sqlite3 to the "
            "same SQLite file"
        )
    return await driver.run_inside(connection, procedure())
