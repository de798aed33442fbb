"""What a driver of a database does for the store: run procedures in transactions, and notify waiting processes."""

from abc import ABC, abstractmethod
from collections.abc import Awaitable, Callable, Generator
from enum import Enum
from typing import Any, NamedTuple, TypeAlias, TypeVar

from ...core.errors import TickwiseError
from .dialect import Dialect
from .statement import Notify, Procedure, Query, Rows, Statement, TakeTicket, compiled

T = TypeVar("T")
_ALONE: Rows = ("alone",)  # the only ticket, where one writes at a time
_NO_ID = (1 << 63) - 1  # above every id
Prepared: TypeAlias = tuple[str, list[Any]]  # a text with its values, as the database takes them
Watch: TypeAlias = Callable[[str], None]  # is called with each statement before it is run
UPGRADE = "run `tickwise store upgrade`, which makes what is missing, or says that this version is too old"


class Pool(Enum):
    """Connections of their own, so that none of these waits for another."""

    CLAIM = "claim"
    LEASE = "lease"
    FINISH = "finish"
    OTHER = "other"
    READ = "read"


class SchemaError(TickwiseError):
    """The tables are not as this version needs them; the text says what to do."""


class Driver(ABC):
    """One database, reached in its own way."""

    dialect: Dialect
    upgrade_lock: Statement | None = None
    logs_lost: Statement | None = None  # where logs have a file of their own: a row if its tables are missing

    def __init__(self, clock: Callable[[], int] | None) -> None:
        self.clock = clock
        self.watch: Watch | None = None

    @abstractmethod
    async def run(self, procedure: Callable[[], Procedure[T]], pool: Pool) -> T:
        """Run a procedure in one transaction; it may be begun again if the database asks for that."""

    @abstractmethod
    def accepts(self, connection: Any) -> bool:
        """Whether a connection of the caller's is of a library that speaks to this kind of database."""

    @abstractmethod
    async def run_inside(self, connection: Any, procedure: Procedure[T]) -> T:
        """Run a procedure inside the transaction of a caller's connection; raises InputError for another store."""

    @abstractmethod
    async def wait(self, seconds: float) -> bool:
        """Wait for a notification from any node."""

    @abstractmethod
    async def check(self) -> tuple[str, ...]:
        """What is wrong with the database itself."""

    @abstractmethod
    async def close(self) -> None: ...

    def prepare(self, query: Query) -> "Prepared":
        """The text and the values of a query that takes one step."""
        return next(self.ask(query))

    def ask(self, query: Query) -> "Generator[Prepared, Answer, Rows]":
        """The steps of a query, one after the other; their answers are sent in, and its rows come back."""
        rows: Rows = ()
        first_id = _NO_ID
        for step in compiled(query.statement, self.dialect):
            if self.watch:
                self.watch(step.text)
            clock = self.clock() if self.clock else None
            known = {"clock": clock, "made": rows, "first_id": first_id, **query.values}
            answer = yield step.text, step.bind(known)
            first_id = answer.first_id or _NO_ID
            rows = answer.rows if step.is_result else rows
        return rows


class Answer(NamedTuple):
    """What a database answered to a step: rows, and the id of the first row that it has inserted, if any."""

    rows: Rows
    first_id: int = 0


def answered_at_once(steps: "Generator[Prepared, Answer, Rows]", answer: Callable[..., Answer]) -> Rows:
    """The rows of a query whose steps are answered at once, by their text and values."""
    try:
        step = next(steps)
        while True:
            step = steps.send(answer(*step))
    except StopIteration as done:
        rows: Rows = done.value
        return rows


async def answered(steps: "Generator[Prepared, Answer, Rows]", answer: Callable[..., Awaitable[Answer]]) -> Rows:
    """The same, where answers are awaited."""
    try:
        step = next(steps)
        while True:
            step = steps.send(await answer(*step))
    except StopIteration as done:
        rows: Rows = done.value
        return rows


def drive(procedure: Procedure[T], ask: Callable[[Query], Rows]) -> tuple[T, bool]:
    """Run a procedure to its end where statements are answered at once; its result, and whether to notify."""
    rows: Rows = ()
    notify = False
    try:
        asked = next(procedure)
        while True:
            if isinstance(asked, Notify):
                notify, rows = True, ()
            elif isinstance(asked, TakeTicket):
                rows = _ALONE
            else:
                rows = ask(asked)
            asked = procedure.send(rows)
    except StopIteration as done:
        return done.value, notify
