"""What a driver of a database does for the store: run procedures in transactions, and notify waiting processes."""

from abc import ABC, abstractmethod
from collections.abc import Callable
from enum import Enum
from typing import Any, TypeAlias, TypeVar

from ...core.errors import TickwiseError
from .dialect import Dialect
from .statement import Compiled, Notify, Procedure, Query, Rows, Statement, TakeTicket, compiled

T = TypeVar("T")
_ALONE: Rows = ("alone",)  # the only ticket, where one writes at a time
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

    def prepare(self, ask: Query) -> tuple[str, list[Any]]:
        """The text and the values of a statement, as the database takes them."""
        made: Compiled = compiled(ask.statement, self.dialect)
        if self.watch:
            self.watch(made.text)
        return made.text, made.bind({"clock": self.clock() if self.clock else None, **ask.values})


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
