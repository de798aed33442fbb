"""Statements, written once in PostgreSQL's words and turned into what a database speaks.

    :name                    a value
    IN :name[bigint]         one of a list of values
    :name[a bigint, b text]  a table of values, to select from; given as rows
    {now}                    the database's time in microseconds; tests can give theirs instead
    ctid                     the place of a row, good as long as the row is locked; IN :name[tid]

A dialect is a table of such forms. Rows come back as tuples, in the order of the columns.
"""

import re
from collections.abc import Callable, Generator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, NamedTuple, TypeAlias, TypeVar

T = TypeVar("T")
Rows: TypeAlias = Sequence[Any]


class Statement:
    """A text with named places for values; called with them it is ready to be asked."""

    def __init__(self, text: str) -> None:
        self.text = text

    def __call__(self, **values: Any) -> "Query":
        return Query(self, values)

    @property
    def parts(self) -> "Sequence[Statement]":
        """The statements that it is made of, for a database that takes one at a time."""
        return (self,)


_MADE = re.compile(r":made\[[^\]]*\]")


class Compound(Statement):
    """Statements in one. The first one's rows are the answer, and `:made[…]` to the others: their first columns.

    Else none depends on another.
    """

    def __init__(self, *parts: Statement) -> None:
        named = ", ".join(f"part_{n} AS ({_MADE.sub('part_0', part.text)})" for n, part in enumerate(parts))
        super().__init__(f"WITH {named} SELECT * FROM part_0")
        self._parts = parts

    @property
    def parts(self) -> Sequence[Statement]:
        return self._parts


def as_wide_as(columns: str, *values: str) -> str:
    """Values that stand beside rows of these columns, in the same answer: nothing in the columns that are left."""
    return ", ".join([*values, *["NULL"] * (columns.count(",") + 1 - len(values))])


class Query(NamedTuple):
    """A statement with its values."""

    statement: Statement
    values: Mapping[str, Any]

    @property
    def parts(self) -> "list[Query]":
        return [Query(part, self.values) for part in self.statement.parts]


class Notify:
    """Tell everybody who waits for news, once the transaction is committed."""


NOTIFY = Notify()
TICKETS, TICKET_LOCK = 2, 742638296
_FREE = " OR ".join(f"pg_try_advisory_xact_lock({TICKET_LOCK}, {number})" for number in range(TICKETS))
TICKET = Statement(f"SELECT 1 WHERE {_FREE}")()  # a row for who is among the few that have one at a time
Procedure: TypeAlias = Generator[Query | Notify, Rows, T]


@dataclass(frozen=True, eq=False)
class Dialect:
    """How a database differs."""

    name: str
    place: Callable[[int], str]  # of a value, by its number
    listed: Callable[[str, str], str]  # a list, after the column: from its place and type
    table: Callable[[Sequence[str], Sequence[tuple[str, str]]], str]  # from places and (column, type)
    places_of_table: Callable[[int], int]  # how many it takes, by its columns
    bind_list: Callable[[Sequence[Any], str], Any]  # values and their type
    bind_table: Callable[[Sequence[Sequence[Any]], Sequence[str]], Sequence[Any]]  # rows and types of columns
    now: str
    words: Sequence[tuple[re.Pattern[str], str]]  # what is said otherwise
    schema_words: Mapping[str, str]  # the same, in migrations


class Compiled(NamedTuple):
    """A text that the database understands, and how to lay out the values for it."""

    text: str
    bind: Callable[[Mapping[str, Any]], list[Any]]


_FORM = re.compile(r"(?P<in>\bIN )?:(?P<name>[a-z_]+)(?:\[(?P<columns>[^\]]+)\])?(?![:\w])")


@lru_cache(maxsize=1_024)
def compiled(statement: Statement, dialect: Dialect) -> Compiled:
    """The statement in a dialect; done once for each."""
    layout = _Layout(dialect)
    text = statement.text.replace("{now}", f"coalesce(CAST(:clock AS bigint), {dialect.now})")
    text = _FORM.sub(layout.write, text)
    for word, other in dialect.words:
        text = word.sub(other, text)
    return Compiled(text, layout.bind)


class _Layout:
    """Where the values of a statement go."""

    def __init__(self, dialect: Dialect) -> None:
        self._dialect = dialect
        self._places: dict[str, list[str]] = {}
        self._binders: list[tuple[str, Callable[[Any], Sequence[Any]]]] = []
        self._taken = 0

    def write(self, found: re.Match[str]) -> str:
        """What stands in the text for a form."""
        dialect, name, columns = self._dialect, found["name"], found["columns"]
        if columns is None:
            return (found["in"] or "") + self._at(name, 1, lambda value: (value,))[0]
        if found["in"]:
            place = self._at(name, 1, lambda values: (dialect.bind_list(values, columns),))[0]
            return dialect.listed(place, columns)
        fields = [(column, kind) for column, kind in (field.split() for field in columns.split(","))]
        kinds = [kind for _, kind in fields]
        places = self._at(name, dialect.places_of_table(len(fields)), lambda rows: dialect.bind_table(rows, kinds))
        return dialect.table(places, fields)

    def _at(self, name: str, width: int, bind: Callable[[Any], Sequence[Any]]) -> list[str]:
        if name not in self._places:
            self._places[name] = [self._dialect.place(self._taken + n + 1) for n in range(width)]
            self._taken += width
            self._binders.append((name, bind))
        return self._places[name]

    def bind(self, values: Mapping[str, Any]) -> list[Any]:
        return [bound for name, bind in self._binders for bound in bind(values[name])]
