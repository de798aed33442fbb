"""A table of SQLite. Times are ISO 8601 texts, in UTC unless they say otherwise.

The connection belongs to one thread. The file's own settings (journal mode, durability) are not changed.
"""

import asyncio
import sqlite3
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from functools import partial
from pathlib import Path
from typing import Any, TypeVar

from ..core.errors import InputError
from .contract import Fields
from .sql import SqlJobStore, TableDialect, Write

T = TypeVar("T")
_LOCK_TIMEOUT = 60.0  # seconds
_LOCK = "UPDATE {table} SET {sleep_until} = {later}, {lock_until} = {later}, {lock_owner} = :p2 WHERE {key} = :p1"
_ISO = "%Y-%m-%dT%H:%M:%fZ"


class SqliteJobStore(SqlJobStore):
    """The rows of a table in a file."""

    dialect = TableDialect(
        parameter=":p{}",
        same="IS",
        at="julianday({})",
        now="julianday('now')",
        shown_now=f"strftime('{_ISO}', 'now')",
        later=f"strftime('{_ISO}', 'now', :p3)",
        seconds_left="(julianday({}) - julianday('now')) * 86400.0",
        types={
            "sleep_until": "text",
            "interval": "text",
            "repeat_until": "text",
            "auto_remove": "boolean",
            "lock_owner": "text",
            "lock_until": "text",
            "error": "text",
        },
    )

    def __init__(
        self,
        path: str | Path,
        table: str,
        *,
        key: str = "id",
        fields: Fields | None = None,
        condition: str = "TRUE",
    ) -> None:
        super().__init__(table, key=key, fields=fields, condition=condition)
        self._path = Path(path)
        self._statements["lock"] = _LOCK.format_map(self._terms)
        self._thread: ThreadPoolExecutor
        self._connection: Any = None

    async def _connect(self) -> None:
        self._thread = ThreadPoolExecutor(1, "tickwise-documents-sqlite")
        self._connection = await self._in_thread(self._open_file)
        await self._check_columns()

    def _open_file(self) -> sqlite3.Connection:
        address = f"{self._path.absolute().as_uri()}?mode=rw"
        connection = sqlite3.connect(address, uri=True, isolation_level=None, timeout=_LOCK_TIMEOUT)
        connection.row_factory = sqlite3.Row
        return connection

    async def _close(self) -> None:
        connection, self._connection = self._connection, None
        if connection is not None:
            await self._in_thread(connection.close)
        self._thread.shutdown()

    @property
    def _errors(self) -> tuple[type[Exception], ...]:
        return (sqlite3.Error,)

    def _explain(self, error: Exception) -> InputError:
        return InputError(
            f"{self._path} cannot be used: {error}. It must be an SQLite database that exists and that this user "
            "may write"
        )

    async def _lock(self, count: int, owner: str, length: timedelta) -> Sequence[dict[str, Any]]:
        return await self._in_thread(partial(self._lock_in_thread, count, owner, self._encode_length(length)))

    def _lock_in_thread(self, count: int, owner: str, length: str) -> list[dict[str, Any]]:
        with self._transaction() as connection:
            due = connection.execute(f"{self._statements['due']} LIMIT :p1", _by_name((count,))).fetchall()
            for row in due:
                connection.execute(self._statements["lock"], _by_name((row[self._key], owner, length)))
        return [dict(row) for row in due]

    async def _execute_all(self, writes: Sequence[Write]) -> list[bool]:
        return await self._in_thread(partial(self._execute_in_thread, writes))

    def _execute_in_thread(self, writes: Sequence[Write]) -> list[bool]:
        with self._transaction() as connection:
            return [connection.execute(statement, _by_name(values)).rowcount > 0 for statement, values in writes]

    @contextmanager
    def _transaction(self) -> Iterator[sqlite3.Connection]:
        """A transaction, which takes the file's write lock before it reads."""
        connection = self._connection
        connection.execute("BEGIN IMMEDIATE")
        try:
            yield connection
        except BaseException:
            connection.execute("ROLLBACK")
            raise
        connection.execute("COMMIT")

    async def _fetch(self, statement: str, *values: Any) -> Sequence[dict[str, Any]]:
        rows = await self._in_thread(lambda: self._connection.execute(statement, _by_name(values)).fetchall())
        return [dict(row) for row in rows]

    async def _execute(self, statement: str, *values: Any) -> bool:
        return await self._in_thread(lambda: self._connection.execute(statement, _by_name(values)).rowcount > 0)

    async def _columns(self) -> set[str]:
        rows = await self._fetch("SELECT name FROM pragma_table_info(:p1)", self._table)
        return {row["name"] for row in rows}

    def _encode_time(self, time: datetime | None) -> str | None:
        return None if time is None else f"{time.astimezone(UTC):%Y-%m-%dT%H:%M:%S}.000Z"

    def _encode_length(self, length: timedelta) -> str:
        return f"+{length.total_seconds():.3f} seconds"

    async def _in_thread(self, work: Callable[[], T]) -> T:
        return await asyncio.get_running_loop().run_in_executor(self._thread, work)


def _by_name(values: Sequence[Any]) -> dict[str, Any]:
    """The values by the names of their places."""
    return {f"p{number}": value for number, value in enumerate(values, 1)}
