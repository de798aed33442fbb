"""A table of PostgreSQL. Times are `timestamptz`.

A few connections serve all schedulers of a process: more concurrent locks would only compete with each other. A
lock skips rows that others are locking (`SKIP LOCKED`), so no scheduler waits for another.
"""

from collections.abc import Sequence
from datetime import timedelta
from typing import Any

from ..core.errors import InputError
from .connection import load_driver, split_url, version_error
from .contract import Fields
from .sql import SqlJobStore, TableDialect, Write

_OLDEST_VERSION = 9, 5  # the first with SKIP LOCKED
_CONNECTIONS = 4
_LOCK = (
    "WITH due AS ({due} LIMIT $3 FOR UPDATE SKIP LOCKED), locked AS ("
    "UPDATE {table} AS held SET {sleep_until} = {later}, {lock_until} = {later}, {lock_owner} = $2 "
    "FROM due WHERE held.{key} = due.{key} RETURNING due.*) SELECT * FROM locked ORDER BY {sleep_until}"
)
_FIXES = {
    "InvalidPasswordError": "see the user and the password in the URL, and pg_hba.conf",
    "InvalidAuthorizationSpecificationError": "see the user and the password in the URL, and pg_hba.conf",
    "InvalidCatalogNameError": "create the database, or name another at the end of the URL",
    "InsufficientPrivilegeError": "as the table's owner, GRANT SELECT, UPDATE, DELETE ON {table} TO {user}; "
    "an index can be made by the owner only",
    "UndefinedColumnError": "see the columns that the condition names",
    "PostgresSyntaxError": "see the condition",
}
_COLUMNS = "SELECT attname FROM pg_attribute WHERE attrelid = to_regclass($1) AND attnum > 0 AND NOT attisdropped"


class PostgresJobStore(SqlJobStore):
    """The rows of a table on a server; the table's name may begin with a schema."""

    dialect = TableDialect(
        parameter="${}",
        same="IS NOT DISTINCT FROM",
        at="{}",
        now="now()",
        shown_now="now()",
        later="now() + $3::interval",
        seconds_left="extract(epoch FROM {} - now())::float8",
        types={
            "sleep_until": "timestamptz",
            "interval": "text",
            "repeat_until": "timestamptz",
            "auto_remove": "boolean",
            "lock_owner": "text",
            "lock_until": "timestamptz",
            "error": "text",
        },
    )

    def __init__(
        self, url: str, table: str, *, key: str = "id", fields: Fields | None = None, condition: str = "TRUE"
    ) -> None:
        self._driver = load_driver("asyncpg", "postgres")
        super().__init__(table, key=key, fields=fields, condition=condition)
        self._url = url
        self._address = split_url(url)
        terms = {"due": self._statements["due"], "later": "now() + $1::interval"}
        self._statements["lock"] = _LOCK.format_map(self._terms | terms)
        self._pool: Any = None

    def _quoted_table(self) -> str:
        return ".".join(self.dialect.quote(part) for part in self._table.split("."))

    async def _connect(self) -> None:
        self._pool = await self._driver.create_pool(self._url, min_size=1, max_size=_CONNECTIONS)
        await self._check_version()
        await self._check_columns()
        await self._check_permissions()

    async def _close(self) -> None:
        pool, self._pool = self._pool, None
        if pool is not None:
            await pool.close()

    async def _check_version(self) -> None:
        async with self._pool.acquire() as connection:
            version = connection.get_server_version()
        if tuple(version[:2]) < _OLDEST_VERSION:
            raise version_error("PostgreSQL", version, _OLDEST_VERSION)

    async def _check_permissions(self) -> None:
        """EXPLAIN requires the same permissions as the statement itself."""
        for name, parameters in (("lock", 3), ("remove", 5)):
            await self._fetch(f"EXPLAIN {self._statements[name]}", *[None] * parameters)

    @property
    def _errors(self) -> tuple[type[Exception], ...]:
        return OSError, ValueError, self._driver.PostgresError, self._driver.InterfaceError

    def _explain(self, error: Exception) -> InputError:
        host = self._address.netloc.rpartition("@")[2]
        fix = _FIXES.get(type(error).__name__, "is the server running, and is the address right?")
        text = fix.format(table=self._terms["table"], user=self._address.username)
        return InputError(f"PostgreSQL at {host}, table {self._table}: {error}. Fix: {text}")

    async def _lock(self, count: int, owner: str, length: timedelta) -> Sequence[dict[str, Any]]:
        return await self._fetch(self._statements["lock"], length, owner, count)

    async def _execute_all(self, writes: Sequence[Write]) -> list[bool]:
        async with self._pool.acquire() as connection, connection.transaction():
            return [_has_written(await connection.execute(statement, *values)) for statement, values in writes]

    async def _fetch(self, statement: str, *values: Any) -> Sequence[dict[str, Any]]:
        return [dict(row) for row in await self._pool.fetch(statement, *values)]

    async def _execute(self, statement: str, *values: Any) -> bool:
        return _has_written(await self._pool.execute(statement, *values))

    async def _columns(self) -> set[str]:
        return {row["attname"] for row in await self._fetch(_COLUMNS, self._quoted_table())}


def _has_written(answer: str) -> bool:
    return not answer.endswith(" 0")
