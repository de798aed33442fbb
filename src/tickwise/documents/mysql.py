"""A table of MySQL 8 or MariaDB. Times are `datetime(3)` columns, in UTC.

A lock finds rows without locking them, and then locks these by their keys: InnoDB locks all rows that a statement
reads, so a search that locks could hold every due row. It skips rows that others are locking (`SKIP LOCKED`), so
no scheduler waits for another, and looks for more if it got none.

A few connections serve all schedulers of a process. A connection whose command did not come to its end is closed,
not used again.
"""

import asyncio
import re
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager
from datetime import UTC, datetime, timedelta
from typing import Any, TypeVar

from ..core.errors import InputError
from ..stores.sql.mysql_url import connect_arguments
from .connection import load_driver, split_url, version_error
from .contract import Fields
from .sql import SqlJobStore, TableDialect, Write

T = TypeVar("T")
_OLDEST_VERSIONS = {"MySQL": (8, 0), "MariaDB": (10, 6)}  # the first with SKIP LOCKED
_CONNECTIONS = 4
_FOUND_ROWS = 2  # a flag of the protocol: an update counts rows that it matched, changed or not
_DEADLOCK = 1213
_TRIES = 5  # of a transaction that the server has rolled back because of a deadlock
_BEGIN = ("SET TRANSACTION ISOLATION LEVEL READ COMMITTED", "BEGIN")
_FIND = "SELECT {key} AS name FROM {table} WHERE {is_due} AND {key} NOT IN {p1} ORDER BY {due_at}"
_FIND_FIRST = "SELECT {key} AS name FROM {table} WHERE {is_due} ORDER BY {due_at}"
_HOLD = (
    "SELECT *, {shown_now} AS {now_column} FROM {table} FORCE INDEX (PRIMARY) WHERE {key} IN {p1} AND {is_due} "
    "FOR UPDATE SKIP LOCKED"
)
_LOCK = (
    "UPDATE {table} SET {sleep_until} = {later}, {lock_until} = {later}, {lock_owner} = {p2} WHERE {key} IN {p1}"
)
_COLUMNS = (
    "SELECT column_name AS name FROM information_schema.columns "
    "WHERE table_schema = coalesce(%(p1)s, database()) AND table_name = %(p2)s"
)
_INDEX = (
    "SELECT index_name AS name FROM information_schema.statistics "
    "WHERE table_schema = coalesce(%(p1)s, database()) AND table_name = %(p2)s AND index_name = %(p3)s"
)
_FIXES = {  # by the server's codes
    1045: "see the user and the password in the URL",
    1049: "create the database, or name another at the end of the URL",
    1054: "see the columns that the condition names",
    1064: "see the condition",
    1142: "GRANT SELECT, UPDATE, DELETE ON {table} TO '{user}'; an index also needs INDEX",
}


class MysqlJobStore(SqlJobStore):
    """The rows of a table on a server; the table's name may begin with a database."""

    dialect = TableDialect(
        quote_mark="`",
        parameter="%(p{})s",
        same="<=>",
        at="{}",
        now="utc_timestamp(3)",
        shown_now="utc_timestamp(3)",
        later="utc_timestamp(3) + INTERVAL %(p3)s MICROSECOND",
        seconds_left="timestampdiff(MICROSECOND, utc_timestamp(6), {}) / 1000000.0",
        types={
            "sleep_until": "datetime(3)",
            "interval": "text",
            "repeat_until": "datetime(3)",
            "auto_remove": "boolean",
            "lock_owner": "varchar(64)",
            "lock_until": "datetime(3)",
            "error": "text",
        },
    )

    def __init__(
        self, url: str, table: str, *, key: str = "id", fields: Fields | None = None, condition: str = "TRUE"
    ) -> None:
        self._driver = load_driver("asyncmy", "mysql")
        super().__init__(table, key=key, fields=fields, condition=condition.replace("%", "%%"))
        self._address = split_url(url)
        self._arguments = connect_arguments(url)
        own = {"find": _FIND, "find_first": _FIND_FIRST, "hold": _HOLD, "lock": _LOCK}
        self._statements |= {name: text.format_map(self._terms) for name, text in own.items()}
        self._free: list[Any] = []
        self._places = asyncio.Semaphore(_CONNECTIONS)

    def _quoted_table(self) -> str:
        return ".".join(self.dialect.quote(part) for part in self._table.split("."))

    async def _connect(self) -> None:
        self._places = asyncio.Semaphore(_CONNECTIONS)
        await self._check_version()
        await self._check_columns()
        await self._fetch(f"{self._statements['due']} LIMIT 0")
        await self._execute_all([(self._statements["remove"], (None,) * 5)])  # as it needs rights, too

    async def _close(self) -> None:
        free, self._free = self._free, []
        for connection in free:
            await connection.ensure_closed()

    async def _check_version(self) -> None:
        [row] = await self._fetch("SELECT version() AS name")
        kind = "MariaDB" if "MariaDB" in row["name"] else "MySQL"
        version = [int(part) for part in re.findall(r"\d+", row["name"])[:2]]
        if tuple(version) < _OLDEST_VERSIONS[kind]:
            raise version_error(kind, version, _OLDEST_VERSIONS[kind])

    @property
    def _errors(self) -> tuple[type[Exception], ...]:
        return OSError, ValueError, self._driver.errors.MySQLError

    def _explain(self, error: Exception) -> InputError:
        host = self._address.netloc.rpartition("@")[2]
        fix = _FIXES.get(_code(error), "is the server running, and is the address right?")
        text = fix.format(table=self._terms["table"], user=self._address.username)
        return InputError(f"MySQL at {host}, table {self._table}: {error}. Fix: {text}")

    async def create_index(self) -> None:
        """Create the index that keeps lookups fast, if it does not exist."""
        name = f"tickwise_{self._fields.sleep_until}"
        column, table = self._terms["sleep_until"], self._terms["table"]
        async with self, self._explained_errors():
            if not await self._fetch(_INDEX, *self._schema_and_table(), name):
                await self._execute(f"CREATE INDEX {self.dialect.quote(name)} ON {table} ({column})")

    async def _lock(self, count: int, owner: str, length: timedelta) -> Sequence[dict[str, Any]]:
        async def lock(connection: Any) -> list[dict[str, Any]]:
            rows = await self._hold_due(connection, count)
            if rows:
                keys = tuple(row[self._key] for row in rows)
                values = (keys, owner, self._encode_length(length))
                await self._query(connection, self._statements["lock"], values)
            return rows

        return await self._in_transaction(lock)

    async def _hold_due(self, connection: Any, count: int) -> list[dict[str, Any]]:
        """The rows that have been due the longest, but for those that others are locking."""
        lost: tuple[Any, ...] = ()
        while True:
            find = self._statements["find" if lost else "find_first"]
            found = await self._query(connection, f"{find} LIMIT {count:d}", (lost,))
            keys = tuple(row["name"] for row in found)
            if not keys:
                return []
            if rows := await self._query(connection, self._statements["hold"], (keys,)):
                return sorted(rows, key=lambda row: keys.index(row[self._key]))
            lost += keys

    async def _execute_all(self, writes: Sequence[Write]) -> list[bool]:
        async def write(connection: Any) -> list[bool]:
            return [await self._change_rows(connection, statement, values) for statement, values in writes]

        return await self._in_transaction(write)

    async def _fetch(self, statement: str, *values: Any) -> Sequence[dict[str, Any]]:
        async with self._connection() as connection:
            return await self._query(connection, statement, values)

    async def _execute(self, statement: str, *values: Any) -> bool:
        async with self._connection() as connection:
            return await self._change_rows(connection, statement, values)

    async def _columns(self) -> set[str]:
        return {row["name"] for row in await self._fetch(_COLUMNS, *self._schema_and_table())}

    def _schema_and_table(self) -> tuple[str | None, str]:
        schema, _, table = self._table.rpartition(".")
        return schema or None, table

    async def _query(self, connection: Any, statement: str, values: Sequence[Any]) -> list[dict[str, Any]]:
        """Execute a statement; returns rows, if it has any."""
        async with connection.cursor(self._driver.cursors.DictCursor) as cursor:
            await cursor.execute(statement, _parameter_values(values))
            return [self._decode(row) for row in await cursor.fetchall() or ()]

    async def _change_rows(self, connection: Any, statement: str, values: Sequence[Any]) -> bool:
        async with connection.cursor() as cursor:
            await cursor.execute(statement, _parameter_values(values))
            return bool(cursor.rowcount > 0)

    def _decode(self, row: dict[str, Any]) -> dict[str, Any]:
        """A row whose times are aware."""
        for name in (self._fields.sleep_until, self._fields.repeat_until, self._fields.lock_until):
            if isinstance(row.get(name), datetime):
                row[name] = row[name].replace(tzinfo=UTC)
        return row

    def _encode_time(self, time: datetime | None) -> datetime | None:
        return None if time is None else time.astimezone(UTC).replace(tzinfo=None)

    def _encode_length(self, length: timedelta) -> int:
        return length // timedelta(microseconds=1)

    async def _in_transaction(self, work: Callable[[Any], Awaitable[T]]) -> T:
        """What the work comes to; it is done again if the server has rolled it back because of a deadlock."""
        tries_left = _TRIES
        while True:
            try:
                async with self._connection() as connection:
                    for statement in _BEGIN:
                        await self._query(connection, statement, ())
                    result = await work(connection)
                    await connection.commit()
            except self._driver.errors.MySQLError as error:
                tries_left -= 1
                if _code(error) != _DEADLOCK or not tries_left:
                    raise
            else:
                return result

    @asynccontextmanager
    async def _connection(self) -> AsyncIterator[Any]:
        """A connection that is in no transaction; one that raises is closed."""
        async with self._places:
            connection = self._free.pop() if self._free else await self._driver.connect(
                **self._arguments, charset="utf8mb4", autocommit=True, client_flag=_FOUND_ROWS,
                init_command="SET SESSION time_zone = '+00:00'",
            )  # fmt: skip
            try:
                yield connection
            except BaseException:
                connection.close()
                raise
            self._free.append(connection)


def _parameter_values(values: Sequence[Any]) -> dict[str, Any]:
    """The values by the names of their places; an aware time is one of UTC."""
    return {f"p{number}": _naive(value) for number, value in enumerate(values, 1)}


def _naive(value: Any) -> Any:
    return value.astimezone(UTC).replace(tzinfo=None) if isinstance(value, datetime) and value.tzinfo else value


def _code(error: Exception) -> int:
    return error.args[0] if error.args and isinstance(error.args[0], int) else 0
