"""How SQL databases differ: a table of hooks, one table for each database.

Statements are written once, in forms that `statement` reads. A dialect says what stands for each form:

    form in a statement             hook            for example
    :name                           placeholder     $1, :v1, %(v1)s
    IN :name[bigint]                lists           = ANY($1), IN (SELECT value FROM json_each(:v1))
    :name[a bigint, b text]         tables          a sub-select with these columns
    {now}                           now             the database's clock in microseconds
    {lock} {lock_free}              words           FOR UPDATE, FOR UPDATE SKIP LOCKED; nothing, as for all locks,
                                                    where one writes at a time
    {share_free}                                    FOR SHARE SKIP LOCKED: it does not end meanwhile
    {fence} {renew_free}                            FOR KEY SHARE, FOR NO KEY UPDATE SKIP LOCKED: nobody takes the
                                                    row away meanwhile, and neither keeps the other out
    {current}                                       a read that sees what others have committed meanwhile, where
                                                    the caller's transaction has an older snapshot
    {row_id}                                        ctid, rowid: where a locked row of job state is; its type in a
                                                    list or a table of values is `row_id`, too
    {insert_free} INTO … {if_free}                  INSERT INTO … ON CONFLICT DO NOTHING: rows whose keys are taken
                                                    are left out
    CAST(… AS {bigint}), {text}, {boolean}          the types of a cast
    a {div} b                                       division of whole numbers
    {length}(…)                                     the number of characters
    {materialized}                                  of a part of a query that is to be read once
    {instant}                                       the time of the part `instant`, as a bound of an index
    {urgent_first}                                  the order of priorities, as an index has it
    {number_runs} :first {end_number_runs}          the next run gets this number
    {is_lost}                                       the condition of the index of jobs that nothing would wake
    {upsert a, b: c, d}             upsert          replace c and d where the key (a, b) is taken
    Update, Delete                  joins           rows that are changed or deleted by a table of values
    Returning                       returned        none: RETURNING; else how the rows of an insert are found again
    Compound                        compound        several statements as one text; none: one after the other
    {word} in schema.sql            schema_words    types of columns, options of tables and indexes

Another database is one module with such a table and a `Driver`. Neutral code asks no dialect for its name.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, TypeAlias

Column: TypeAlias = tuple[str, str]  # its name and type
Row: TypeAlias = Sequence[Any]


class Lists(NamedTuple):
    """Lists of values: the condition after a column, from a placeholder and a type; and how values are bound."""

    condition: Callable[[str, str], str]
    bind: Callable[[Sequence[Any], str], Any]


class Tables(NamedTuple):
    """Tables of values: the sub-select, how many placeholders it takes by its columns, and how rows are bound."""

    select: Callable[[Sequence[str], Sequence[Column]], str]
    width: Callable[[int], int]
    bind: Callable[[Sequence[Row], Sequence[str]], Sequence[Any]]


class Joined(NamedTuple):
    """Rows of a table, called `t`, whose key columns equal expressions over a source; and what changes in them."""

    table: str
    source: str
    keys: Mapping[str, str]  # column of `t`: expression
    changes: Mapping[str, str]  # likewise
    where: str  # a further condition; TRUE for none


class Joins(NamedTuple):
    """Rows changed or deleted by their join with a source."""

    update: Callable[[Joined], str]
    delete: Callable[[Joined], str]


@dataclass(frozen=True, eq=False)
class Dialect:
    """The hooks of a database."""

    name: str
    placeholder: Callable[[int], str]  # by its number, from 1
    lists: Lists
    tables: Tables
    now: str
    words: Mapping[str, str]
    upsert: Callable[[Sequence[str], Sequence[str]], str]  # columns of the key, and those to replace
    joins: Joins
    returned: Callable[[str, str], str] | None  # by columns and table: selects what the last statement inserted
    compound: Callable[[Sequence[str]], str] | None
    schema_words: Mapping[str, str]


LOCKS = {
    "lock": "FOR UPDATE", "lock_free": "FOR UPDATE SKIP LOCKED",
    "share_free": "FOR SHARE SKIP LOCKED",
    "fence": "FOR KEY SHARE", "renew_free": "FOR NO KEY UPDATE SKIP LOCKED",
}  # fmt: skip
NO_LOCKS = dict.fromkeys(LOCKS, "")  # where one transaction writes at a time
WORDS = {  # of PostgreSQL and SQLite
    "insert_free": "INSERT", "if_free": "ON CONFLICT DO NOTHING", "current": "",
    "bigint": "bigint", "text": "text", "boolean": "boolean",
    "div": "/", "length": "length", "materialized": "MATERIALIZED", "instant": "(SELECT now FROM instant)",
    "urgent_first": "priority DESC", "is_lost": "wake_at IS NULL AND NOT idle",
}  # fmt: skip
SCHEMA_WORDS = {  # likewise
    "text": "text", "key": "text", "short": "text", "urgent_first": "priority DESC",
    "plain": "",  # options of a table
    "own_tables": "",  # what only the driver knows of
    "if_partial": "", "end_partial": "",  # the condition of an index
    "if_whole": "/* ", "end_whole": " */",  # columns of an index that has no condition, and of its table
}  # fmt: skip


def on_conflict(keys: Sequence[str], columns: Sequence[str]) -> str:
    """`upsert` of PostgreSQL and SQLite."""
    return f"ON CONFLICT ({', '.join(keys)}) DO UPDATE SET {', '.join(f'{c} = excluded.{c}' for c in columns)}"


def _update_from(joined: Joined) -> str:
    changes = ", ".join(f"{column} = {value}" for column, value in joined.changes.items())
    keys = " AND ".join(f"t.{column} = {value}" for column, value in joined.keys.items())
    return f"UPDATE {joined.table} AS t SET {changes} FROM {joined.source} WHERE {keys} AND {joined.where}"


def _delete_in(joined: Joined) -> str:
    keys, values = ", ".join(joined.keys), ", ".join(joined.keys.values())
    return f"DELETE FROM {joined.table} WHERE ({keys}) IN (SELECT {values} FROM {joined.source})"


JOINS = Joins(_update_from, _delete_in)  # of PostgreSQL and SQLite
