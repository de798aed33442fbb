"""Statements are written once, with forms for what differs between databases, and compiled for each dialect.

A procedure is a generator: it yields queries and receives their rows, so that neither statements nor the logic
between them know how a database is reached. Rows are tuples, in the order of the columns.
"""

import re
from abc import ABC, abstractmethod
from collections.abc import Callable, Generator, Mapping, Sequence
from functools import lru_cache
from typing import Any, NamedTuple, TypeAlias, TypeVar

from .dialect import Dialect, Joined, Joins

T = TypeVar("T")
Rows: TypeAlias = Sequence[Any]


class Statement:
    """A text with named places for values; called with values it is a query.

    `alone` promises that a procedure which asks this first asks nothing else, so that it needs no transaction.
    """

    def __init__(self, text: str, *, alone: bool = False) -> None:
        self.text = text
        self.alone = alone

    def __call__(self, **values: Any) -> "Query":
        return Query(self, values)

    @property
    def parts(self) -> "Sequence[Statement]":
        """The statements that it is made of."""
        return (self,)

    def steps(self, _dialect: Dialect, /) -> "Sequence[StatementStep]":
        """The texts that a database takes one after the other; the rows of one of them are the result."""
        return (StatementStep(self.text, is_result=True),)


class StatementStep(NamedTuple):
    """One of the texts of a statement, with its forms. It sees the result so far as the table `:made[…]`.

    After an insert, `:first_id` is the id of the first row that this has made.
    """

    text: str
    is_result: bool = False


class _Join(Statement, ABC):
    """Rows of a table that are changed by their join with a source."""

    def __init__(
        self,
        table: str,
        source: str,
        keys: Mapping[str, str],
        changes: Mapping[str, str] | None = None,
        where: str = "TRUE",
    ) -> None:
        super().__init__(source)
        self.joined = Joined(table, source, keys, changes or {}, where)

    @abstractmethod
    def write(self, joins: Joins) -> str:
        """The text of the change."""

    def steps(self, dialect: Dialect, /) -> Sequence[StatementStep]:
        return (StatementStep(self.write(dialect.joins), is_result=True),)


class Update(_Join):
    """Write values to the rows of a table, in it called `t`, whose keys are in a source."""

    def write(self, joins: Joins) -> str:
        return joins.update(self.joined)


class Delete(_Join):
    """Delete the rows of a table whose keys are in a source."""

    def write(self, joins: Joins) -> str:
        return joins.delete(self.joined)


class Returning(Statement):
    """A change with the rows that it has made or changed.

    A database without RETURNING finds the rows of an insert again by itself. For any other change `found` says
    how; `locked` says how these are locked before the change, if they cannot be told afterwards.
    """

    def __init__(
        self, change: Statement | str, columns: str, *, table: str = "", found: str = "", locked: str = ""
    ) -> None:
        self._change = change if isinstance(change, Statement) else Statement(change)
        super().__init__(self._change.text)
        self._columns, self._table, self._found, self._locked = columns, table, found, locked

    def steps(self, dialect: Dialect, /) -> Sequence[StatementStep]:
        [change] = self._change.steps(dialect)
        if dialect.returned is None:
            return (StatementStep(f"{change.text} RETURNING {self._columns}", is_result=True),)
        change = StatementStep(change.text)
        if self._locked:
            return StatementStep(self._locked, is_result=True), change
        return change, StatementStep(self._found or dialect.returned(self._columns, self._table), is_result=True)


class Compound(Statement):
    """Several statements in one. The rows of the first are the result.

    The others see the first columns of these as the table of values `:made[…]`; else none depends on another.
    """

    def __init__(self, *parts: Statement) -> None:
        super().__init__("; ".join(part.text for part in parts))
        self._parts = parts

    @property
    def parts(self) -> Sequence[Statement]:
        return self._parts

    def steps(self, dialect: Dialect, /) -> Sequence[StatementStep]:
        first, *others = (part.steps(dialect) for part in self._parts)
        return (*first, *(StatementStep(step.text) for steps in others for step in steps))


def as_wide_as(columns: str, *values: str) -> str:
    """Values as a row of these columns, with NULL in the columns that are left."""
    return ", ".join([*values, *["NULL"] * (columns.count(",") + 1 - len(values))])


class Query(NamedTuple):
    """A statement with its values."""

    statement: Statement
    values: Mapping[str, Any]


class Notify:
    """Wake every process that waits for a notification, once the transaction is committed."""


class TakeTicket:
    """Ask to be one of the few that claim at a time: no rows mean that there are enough of them."""


NOTIFY = Notify()
TICKET = TakeTicket()
Procedure: TypeAlias = Generator[Query | Notify | TakeTicket, Rows, T]


class Compiled(NamedTuple):
    """A text that the database understands, and how to lay out the values for it."""

    text: str
    bind: Callable[[Mapping[str, Any]], list[Any]]
    is_result: bool


FIRST_PART = "part_0"  # what a compound calls the rows of its first statement
_FORM = re.compile(
    r"(?P<in>\bIN )?:(?P<name>[a-z_]+)(?:\[(?P<columns>[^\]]+)\])?(?![:\w])"
    r"|\{(?P<word>[a-z_]+)(?: (?P<keys>[^:}]+): (?P<replaced>[^}]+))?\}"
)


@lru_cache(maxsize=1_024)
def compiled(statement: Statement, dialect: Dialect) -> Sequence[Compiled]:
    """The steps of a statement in a dialect; done once for each."""
    steps = statement.steps(dialect)
    if dialect.compound and len(steps) > 1:
        layout = _Layout(dialect, is_compound=True)
        text = dialect.compound([layout.write(step.text) for step in steps])
        return (Compiled(text, layout.bind, is_result=True),)
    return tuple(_compiled_step(step, dialect) for step in steps)


def _compiled_step(step: StatementStep, dialect: Dialect) -> Compiled:
    layout = _Layout(dialect, is_compound=False)
    return Compiled(layout.write(step.text), layout.bind, step.is_result)


class _Layout:
    """Where the values of a statement go."""

    def __init__(self, dialect: Dialect, *, is_compound: bool) -> None:
        self._dialect = dialect
        self._is_compound = is_compound
        self._placeholders: dict[str, list[str]] = {}
        self._binders: list[tuple[str, Callable[[Any], Sequence[Any]]]] = []
        self._taken = 0

    def write(self, text: str) -> str:
        """The text with all its forms replaced."""
        return _FORM.sub(self._replace, text)

    def _replace(self, form: re.Match[str]) -> str:
        if form["word"]:
            return self._write_word(form["word"], form["keys"], form["replaced"])
        name, columns = form["name"], form["columns"]
        if columns is None:
            return (form["in"] or "") + self._at(name, 1, lambda value: (value,))[0]
        if form["in"]:
            lists = self._dialect.lists
            placeholder = self._at(name, 1, lambda values: (lists.bind(values, columns),))[0]
            return lists.condition(placeholder, columns)
        return self._write_table(name, columns)

    def _write_word(self, word: str, keys: str | None, replaced: str | None) -> str:
        if keys and replaced:
            return self._dialect.upsert(keys.split(", "), replaced.split(", "))
        if word == "now":  # tests can give a time of their own
            given = self._at("clock", 1, lambda value: (value,))[0]
            return f"coalesce(CAST({given} AS {self._dialect.words['bigint']}), {self._dialect.now})"
        return self.write(self._dialect.words[word])

    def _write_table(self, name: str, columns: str) -> str:
        if name == "made" and self._is_compound:
            return FIRST_PART
        tables = self._dialect.tables
        fields = [(column, kind) for column, kind in (field.split() for field in columns.split(","))]
        kinds = [kind for _, kind in fields]
        return tables.select(
            self._at(name, tables.width(len(fields)), lambda rows: tables.bind(rows, kinds)), fields
        )

    def _at(self, name: str, width: int, bind: Callable[[Any], Sequence[Any]]) -> list[str]:
        if name not in self._placeholders:
            self._placeholders[name] = [self._dialect.placeholder(self._taken + n + 1) for n in range(width)]
            self._taken += width
            self._binders.append((name, bind))
        return self._placeholders[name]

    def bind(self, values: Mapping[str, Any]) -> list[Any]:
        return [bound for name, bind in self._binders for bound in bind(values[name])]
