"""How SQL databases differ: a table of hooks, one table for each database.

Statements are written once, in forms that `statement` reads. A dialect says what stands for each form:

    form in a statement             hook            for example
    :name                           placeholder     $1, ?1, %s
    IN :name[bigint]                lists           = ANY($1), IN (SELECT value FROM json_each(?1))
    :name[a bigint, b text]         tables          a sub-select with these columns
    {now}                           now             the database's clock in microseconds
    {lock} {lock_free}              locks           FOR UPDATE, FOR UPDATE SKIP LOCKED; nothing, as in all below,
                                                    where one writes at a time
    {share_free}                                    FOR SHARE SKIP LOCKED: it does not end meanwhile
    {fence} {renew_free}                            FOR KEY SHARE, FOR NO KEY UPDATE SKIP LOCKED: nobody takes the
                                                    row away meanwhile, and neither keeps the other out
    {row_id}                        row_id          ctid, rowid: where a locked row is; its type in a list or a
                                                    table of values is `row_id`, too
    INSERT … {ignore}               insert_ignore   ON CONFLICT DO NOTHING: rows whose keys are taken are left out
    {upsert a, b: c, d}             upsert          replace c and d where the key (a, b) is taken
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


@dataclass(frozen=True, eq=False)
class Dialect:
    """The hooks of a database."""

    name: str
    placeholder: Callable[[int], str]  # by its number, from 1
    lists: Lists
    tables: Tables
    now: str
    locks: Mapping[str, str]
    row_id: str
    insert_ignore: str
    upsert: Callable[[Sequence[str], Sequence[str]], str]  # columns of the key, and those to replace
    compound: Callable[[Sequence[str]], str] | None
    schema_words: Mapping[str, str]


LOCKS = {
    "lock": "FOR UPDATE", "lock_free": "FOR UPDATE SKIP LOCKED",
    "share_free": "FOR SHARE SKIP LOCKED",
    "fence": "FOR KEY SHARE", "renew_free": "FOR NO KEY UPDATE SKIP LOCKED",
}  # fmt: skip
NO_LOCKS = dict.fromkeys(LOCKS, "")  # where one transaction writes at a time


def on_conflict(keys: Sequence[str], columns: Sequence[str]) -> str:
    """`upsert` of PostgreSQL and SQLite."""
    return f"ON CONFLICT ({', '.join(keys)}) DO UPDATE SET {', '.join(f'{c} = excluded.{c}' for c in columns)}"
