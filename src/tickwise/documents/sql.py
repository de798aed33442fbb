"""Tables of an SQL database: the statements, and the columns that they need.

`{p1}` is the first parameter of a statement: `$1` in PostgreSQL, `:p1` in SQLite, `%(p1)s` in MySQL. The first two
are always the key and the owner; parameters 3 to 5 of `is_untouched` are the facts as they were locked.
"""

from abc import abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from datetime import datetime, timedelta
from typing import Any, TypeAlias
from uuid import uuid4

from ..core.errors import InputError
from .connection import ConnectedStore
from .contract import COLUMNS, Ending, Fields, Locked, LockLostError, Renew
from .decide import Release, Remove, Sleep, instant

Write: TypeAlias = tuple[str, tuple[Any, ...]]  # a statement and its values

NOW = "tickwise now"  # a column beside those of the table
_CLAUSES = {
    "is_due": "{sleep_until} IS NOT NULL AND {due_at} <= {now} AND ({condition}) "
    "AND ({lock_until} IS NULL OR {locked_to} <= {now})",
    "is_ours": "{key} = {p1} AND {lock_owner} = {p2}",
    "is_untouched": "{key} = {p1} AND {lock_owner} = {p2} AND {sleep_until} = {lock_until} "
    "AND {interval} {same} {p3} AND {repeat_until} {same} {p4} AND {auto_remove} {same} {p5}",
    "unlock": "{lock_owner} = NULL, {lock_until} = NULL",
}
_STATEMENTS = {
    "due": "SELECT *, {shown_now} AS {now_column} FROM {table} WHERE {is_due} ORDER BY {due_at}",
    "renew": "UPDATE {table} SET "  # MySQL assigns from left to right
    "{sleep_until} = CASE WHEN {sleep_until} = {lock_until} THEN {later} ELSE {sleep_until} END, "
    "{lock_until} = {later} WHERE {is_ours}",
    "release": "UPDATE {table} SET {unlock}, {error} = {p3} WHERE {is_ours}",
    "sleep": "UPDATE {table} SET {unlock}, {error} = NULL, {sleep_until} = {p6} WHERE {is_untouched}",
    "remove": "DELETE FROM {table} WHERE {is_untouched}",
    "read": "SELECT *, {shown_now} AS {now_column} FROM {table} WHERE {key} = {p1}",
    "next_due": "SELECT {seconds_left} FROM {table} WHERE {sleep_until} IS NOT NULL AND {due_at} > {now} "
    "AND ({condition}) ORDER BY {due_at} LIMIT 1",
    "index": "CREATE INDEX IF NOT EXISTS {index} ON {table} (({due_at})) WHERE {sleep_until} IS NOT NULL",
}


@dataclass(frozen=True, slots=True)
class TableDialect:
    """The expressions in which databases differ; `{}` is a column's name."""

    parameter: str  # `{}` is its number
    same: str  # an operator: equal, or both null
    at: str  # a column, comparable with `now`
    now: str
    shown_now: str  # now, as a value to read
    later: str  # now plus the length in parameter 3
    seconds_left: str  # until a column's instant
    types: Mapping[str, str]  # of the columns
    quote_mark: str = '"'  # around a name

    def quote(self, name: str) -> str:
        mark = self.quote_mark
        return mark + name.replace(mark, 2 * mark) + mark


class SqlJobStore(ConnectedStore):
    """A table of the user's own; each row is a document."""

    dialect: TableDialect

    def __init__(self, table: str, *, key: str, fields: Fields | None, condition: str) -> None:
        super().__init__()
        self._table = table
        self._key = key
        self._fields = fields or COLUMNS
        self._terms = self._name_terms() | self._dialect_terms() | {"condition": condition}
        self._terms |= {name: text.format_map(self._terms) for name, text in _CLAUSES.items()}
        self._statements = {name: text.format_map(self._terms) for name, text in _STATEMENTS.items()}

    def _name_terms(self) -> dict[str, str]:
        quote = self.dialect.quote
        return {name: quote(column) for name, column in asdict(self._fields).items()} | {
            "table": self._quoted_table(),
            "key": quote(self._key),
            "index": quote(f"tickwise_{self._table}_{self._fields.sleep_until}"),
            "now_column": quote(NOW),
        }

    def _dialect_terms(self) -> dict[str, str]:
        dialect = self.dialect
        sleep_until = dialect.quote(self._fields.sleep_until)
        return {
            **{f"p{number}": dialect.parameter.format(number) for number in range(1, 7)},
            "same": dialect.same,
            "due_at": dialect.at.format(sleep_until),
            "locked_to": dialect.at.format(dialect.quote(self._fields.lock_until)),
            "now": dialect.now,
            "shown_now": dialect.shown_now,
            "later": dialect.later,
            "seconds_left": dialect.seconds_left.format(sleep_until),
        }

    def _quoted_table(self) -> str:
        return self.dialect.quote(self._table)

    async def lock_next(self, lock_until: timedelta) -> Locked | None:
        return next(iter(await self.lock_many(1, lock_until)), None)

    async def lock_many(self, count: int, lock_until: timedelta) -> list[Locked]:
        owner = uuid4().hex
        locked = []
        for row in await self._lock(count, owner, lock_until):
            now = instant(row.pop(NOW), "now")
            locked.append(Locked.from_document(row, self._fields, key=row[self._key], owner=owner, now=now))
        return locked

    async def update(self, locked: Locked, change: Sleep | Release | Renew) -> Locked | None:
        return await self._change(locked, change)

    async def remove(self, locked: Locked) -> Locked | None:
        return await self._change(locked, Remove())

    async def finish_many(self, endings: Sequence[Ending]) -> "Sequence[Locked | Exception | None]":
        if len(endings) == 1:
            return [await self._finish(endings[0])]
        written = await self._execute_all([self._write(*ending) for ending in endings])
        return [
            None if is_written else await self._current_or_error(ending.locked)
            for ending, is_written in zip(endings, written, strict=True)
        ]

    async def renew_many(self, held: Sequence[Locked], lock_until: timedelta) -> None:
        await self._execute_all([self._write(locked, Renew(lock_until)) for locked in held])

    def _write(self, locked: Locked, change: Sleep | Release | Renew | Remove) -> Write:
        """The statement that writes a change, with its values."""
        facts = (locked.facts.interval, locked.facts.repeat_until, locked.facts.auto_remove)
        name: str
        values: tuple[Any, ...]
        match change:
            case Sleep(until):
                name, values = "sleep", (*facts, self._encode_time(until))
            case Release(error):
                name, values = "release", (error,)
            case Renew(length):
                name, values = "renew", (self._encode_length(length),)
            case Remove():
                name, values = "remove", facts
        return self._statements[name], (locked.facts.key, locked.owner, *values)

    async def _change(self, locked: Locked, change: Sleep | Release | Renew | Remove) -> Locked | None:
        statement, values = self._write(locked, change)
        return None if await self._execute(statement, *values) else await self._current(locked)

    async def _current(self, locked: Locked) -> Locked | None:
        rows = await self._fetch(self._statements["read"], locked.facts.key)
        if not rows:
            return None
        now = instant(rows[0].pop(NOW), "now")
        return locked.refreshed(rows[0], self._fields, now)

    async def _current_or_error(self, locked: Locked) -> Locked | Exception | None:
        try:
            return await self._current(locked)
        except LockLostError as error:
            return error

    async def next_due(self) -> float | None:
        rows = await self._fetch(self._statements["next_due"])
        return float(next(iter(rows[0].values()))) if rows else None

    async def create_index(self) -> None:
        """Create the index that keeps lookups fast, if it does not exist. It omits rows without a time."""
        async with self, self._explained_errors():
            await self._execute(self._statements["index"])

    async def _check_columns(self) -> None:
        """Raise InputError with the statements that add what the table lacks."""
        columns = await self._columns()
        if not columns:
            raise InputError(f"there is no table {self._table}: create it, or name the one that you mean")
        if self._key not in columns:
            raise InputError(f"table {self._table} has no column {self._key}: name its primary key with key=…")
        dialect, table = self.dialect, self._terms["table"]
        missing = [
            f"ALTER TABLE {table} ADD COLUMN {dialect.quote(column)} {dialect.types[name]};"
            for name, column in asdict(self._fields).items()
            if column not in columns
        ]
        if missing:
            raise InputError(
                f"table {self._table} lacks columns. Add them, or name your own with fields=Fields(…):\n  "
                + "\n  ".join(missing)
            )

    def _encode_time(self, time: datetime | None) -> Any:
        return time

    def _encode_length(self, length: timedelta) -> Any:
        return length

    @abstractmethod
    async def _lock(self, count: int, owner: str, length: timedelta) -> Sequence[dict[str, Any]]:
        """Lock the rows that have been due the longest; returns them in order, as they were before."""

    @abstractmethod
    async def _execute_all(self, writes: Sequence[Write]) -> list[bool]:
        """Execute these in one transaction; for each, whether it wrote a row."""

    @abstractmethod
    async def _fetch(self, statement: str, *values: Any) -> Sequence[dict[str, Any]]:
        """Execute a query; returns rows by column."""

    @abstractmethod
    async def _execute(self, statement: str, *values: Any) -> bool:
        """Execute a statement; whether it wrote any row."""

    @abstractmethod
    async def _columns(self) -> set[str]:
        """The names of the table's columns; empty if there is no such table."""
