"""Rows of another scheduler's database, which is only read: SQLite, PostgreSQL or MySQL."""

import sqlite3
from collections.abc import Sequence
from contextlib import closing
from importlib import import_module
from typing import Any
from urllib.parse import unquote, urlsplit

from ..core.errors import InputError
from ..stores.url import hidden


def query_rows(url: str, query: str, otherwise: str = "") -> Sequence[Sequence[Any]]:
    """What the query finds. `sqlite+aiosqlite:` and the like name the same databases, as in SQLAlchemy."""
    scheme, _, rest = url.partition("://")
    connect = _CONNECT.get(scheme.partition("+")[0])
    if connect is None:
        kinds = ", ".join(f"{each}://…" for each in _CONNECT)
        raise InputError(f"{hidden(url)}: write {kinds}{otherwise}")
    plain = f"{scheme.partition('+')[0]}://{rest}"
    with closing(connect(plain)) as connection, closing(connection.cursor()) as cursor:
        cursor.execute(query)
        rows: list[Sequence[Any]] = cursor.fetchall()
        return rows


def first_line(error: Exception) -> str:
    """What a driver says, shortly."""
    said = str(error).strip().split("\n", 1)[0]
    return f"{error.name} is not installed here" if isinstance(error, ModuleNotFoundError) else said


def _connect_sqlite(url: str) -> Any:
    file = unquote(urlsplit(url).path).removeprefix("/")
    return sqlite3.connect(
        f"file:{file.replace('%', '%25').replace('?', '%3f').replace('#', '%23')}?mode=ro", uri=True
    )


def _connect_postgres(url: str) -> Any:
    return import_module("psycopg").connect(url)


def _connect_mysql(url: str) -> Any:
    parts = urlsplit(url)
    return import_module("pymysql").connect(
        host=parts.hostname, port=parts.port or 3_306, user=unquote(parts.username or ""),
        password=unquote(parts.password or ""), database=parts.path.removeprefix("/"),
    )  # fmt: skip


_CONNECT = {"sqlite": _connect_sqlite, "postgresql": _connect_postgres, "mysql": _connect_mysql}
