"""Tables of an SQL database: the statements, and the columns that they need.

`{p}1` is the first parameter of a statement: `$1` in PostgreSQL, `?1` in SQLite. The first two are always the key
and the owner; parameters 3 to 5 of `is_untouched` are the facts as they were locked.
"""

from abc import abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from datetime import datetime, timedelta
from typing import Any
from uuid import uuid4

from ..core.errors import InputError
from .connection import ConnectedStore
from .contract import COLUMNS, Fields, Locked, Renew
from .decide import DocumentFacts, Release, Sleep, instant

NOW = "tickwise now"  # a column beside those of the table
_CLAUSES = {
    "is_due": "{sleep_until} IS NOT NULL AND {due_at} <= {now} AND ({condition}) "
    "AND ({lock_until} IS NULL OR {locked_to} <= {now})",
    "is_ours": "{key} = {p}1 AND {lock_owner} = {p}2",
    "is_untouched": "{key} = {p}1 AND {lock_owner} = {p}2 AND {sleep_until} = {lock_until} "
    "AND {interval} {same} {p}3 AND {repeat_until} {same} {p}4 AND {auto_remove} {same} {p}5",
    "unlock": "{lock_owner} = NULL, {lock_until} = NULL",
}
_STATEMENTS = {
    "due": "SELECT *, {shown_now} AS {now_column} FROM {table} WHERE {is_due} ORDER BY {due_at} LIMIT 1",
    "renew": "UPDATE {table} SET {lock_until} = {later}, "
    "{sleep_until} = CASE WHEN {sleep_until} = {lock_until} THEN {later} ELSE {sleep_until} END WHERE {is_ours}",
    "release": "UPDATE {table} SET {unlock}, {error} = {p}3 WHERE {is_ours}",
    "sleep": "UPDATE {table} SET {unlock}, {error} = NULL, {sleep_until} = {p}6 WHERE {is_untouched}",
    "remove": "DELETE FROM {table} WHERE {is_untouched}",
    "read": "SELECT *, {shown_now} AS {now_column} FROM {table} WHERE {key} = {p}1",
    "next_due": "SELECT {seconds_left} FROM {table} WHERE {sleep_until} IS NOT NULL AND {due_at} > {now} "
    "AND ({condition}) ORDER BY {due_at} LIMIT 1",
    "index": "CREATE INDEX IF NOT EXISTS {index} ON {table} (({due_at})) WHERE {sleep_until} IS NOT NULL",
}


@dataclass(frozen=True, slots=True)
class TableDialect:
    """The expressions in which databases differ; `{}` is a column's name."""

    p: str  # prefix of a parameter's number
    same: str  # an operator: equal, or both null
    at: str  # a column, comparable with `now`
    now: str
    shown_now: str  # now, as a value to read
    later: str  # now plus the length in parameter 3
    seconds_left: str  # until a column's instant
    types: Mapping[str, str]  # of the columns


def quote(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'


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
        return {name: quote(column) for name, column in asdict(self._fields).items()} | {
            "table": self._quoted_table(),
            "key": quote(self._key),
            "index": quote(f"tickwise_{self._table}_{self._fields.sleep_until}"),
            "now_column": quote(NOW),
        }

    def _dialect_terms(self) -> dict[str, str]:
        dialect, sleep_until = self.dialect, quote(self._fields.sleep_until)
        return {
            "p": dialect.p,
            "same": dialect.same,
            "due_at": dialect.at.format(sleep_until),
            "locked_to": dialect.at.format(quote(self._fields.lock_until)),
            "now": dialect.now,
            "shown_now": dialect.shown_now,
            "later": dialect.later,
            "seconds_left": dialect.seconds_left.format(sleep_until),
        }

    def _quoted_table(self) -> str:
        return quote(self._table)

    async def lock_next(self, lock_until: timedelta) -> Locked | None:
        owner = uuid4().hex
        row = await self._lock(owner, lock_until)
        if row is None:
            return None
        now = instant(row.pop(NOW), "now")
        return Locked.from_document(row, self._fields, key=row[self._key], owner=owner, now=now)

    async def update(self, locked: Locked, change: Sleep | Release | Renew) -> Locked | None:
        if isinstance(change, Sleep):
            return await self._change(
                locked, "sleep", *_locked_facts(locked.facts), self._encode_time(change.until)
            )
        if isinstance(change, Release):
            return await self._change(locked, "release", change.error)
        return await self._change(locked, "renew", self._encode_length(change.lock_until))

    async def remove(self, locked: Locked) -> Locked | None:
        return await self._change(locked, "remove", *_locked_facts(locked.facts))

    async def next_due(self) -> float | None:
        rows = await self._fetch(self._statements["next_due"])
        return float(next(iter(rows[0].values()))) if rows else None

    async def create_index(self) -> None:
        """Create the index that keeps lookups fast, if it does not exist. It omits rows without a time."""
        async with self, self._explained_errors():
            await self._execute(self._statements["index"])

    async def _change(self, locked: Locked, name: str, *values: Any) -> Locked | None:
        if await self._execute(self._statements[name], locked.facts.key, locked.owner, *values):
            return None
        rows = await self._fetch(self._statements["read"], locked.facts.key)
        if not rows:
            return None
        now = instant(rows[0].pop(NOW), "now")
        return locked.refreshed(rows[0], self._fields, now)

    async def _check_columns(self) -> None:
        """Raise InputError with the statements that add what the table lacks."""
        columns = await self._columns()
        if not columns:
            raise InputError(f"there is no table {self._table}: create it, or name the one that you mean")
        if self._key not in columns:
            raise InputError(f"table {self._table} has no column {self._key}: name its primary key with key=…")
        missing = [
            f"ALTER TABLE {self._terms['table']} ADD COLUMN {quote(column)} {self.dialect.types[name]};"
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
    async def _lock(self, owner: str, length: timedelta) -> dict[str, Any] | None:
        """Lock the row that has been due the longest; returns it as it was before."""

    @abstractmethod
    async def _fetch(self, statement: str, *values: Any) -> Sequence[dict[str, Any]]:
        """Execute a query; returns rows by column."""

    @abstractmethod
    async def _execute(self, statement: str, *values: Any) -> bool:
        """Execute a statement; whether it wrote any row."""

    @abstractmethod
    async def _columns(self) -> set[str]:
        """The names of the table's columns; empty if there is no such table."""


def _locked_facts(facts: DocumentFacts) -> tuple[Any, Any, Any]:
    return facts.interval, facts.repeat_until, facts.auto_remove
