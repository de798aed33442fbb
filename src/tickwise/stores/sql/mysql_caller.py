"""A procedure on the caller's own connection to MySQL: of asyncmy, aiomysql, PyMySQL or mysqlclient."""

import sys
from collections.abc import Sequence
from functools import cache, partial
from inspect import isawaitable
from typing import Any, TypeVar

from ...core.errors import InputError
from .driver import Answer, Driver, answered
from .mysql_notification import NOTIFY_OTHERS
from .statement import Procedure, Query

T = TypeVar("T")
_LIBRARIES = ("asyncmy", "aiomysql", "pymysql", "MySQLdb")
_TALKATIVE = ("asyncmy", "aiomysql")


def accepts(connection: Any) -> bool:
    return _library(connection) in _LIBRARIES


async def run_inside(driver: Driver, connection: Any, procedure: Procedure[T], database: str) -> T:
    """Run it there; nothing is committed, and its notifications go out with the caller's commit."""
    await _check_database(connection, database)
    try:
        asked = next(procedure)
        while True:
            if isinstance(asked, Query):
                rows = await answered(driver.ask(asked), partial(_answer, connection))
            else:
                await _answer(connection, NOTIFY_OTHERS, [])
                rows = ()
            asked = procedure.send(rows)
    except StopIteration as done:
        result: T = done.value
        return result


async def _answer(connection: Any, text: str, values: Sequence[Any]) -> Answer:
    """The same calls in each library; in two they are awaited. The caller's rows may be of another kind."""
    cursor = await _awaited(connection.cursor(_cursor_class(_library(connection))))
    await _awaited(cursor.execute(*_spread(text, values)))
    rows = await _awaited(cursor.fetchall()) if cursor.description else ()
    return Answer(rows, cursor.lastrowid or 0)


@cache
def _cursor_class(library: str) -> type:
    """The library's plain cursor; two would tell the caller's log of rows that INSERT IGNORE leaves out."""
    plain: type = sys.modules[f"{library}.cursors"].Cursor
    if library not in _TALKATIVE:
        return plain
    return type("SilentCursor", (plain,), {"_show_warnings": _show_nothing})


async def _show_nothing(_cursor: Any, _connection: Any) -> None:
    """A row whose key is taken is asked for afterwards."""


def _spread(text: str, values: Sequence[Any]) -> tuple[str, dict[str, Any] | None]:
    """The text and its values by name; not every library takes a list, so each of its values gets a name."""
    given: dict[str, Any] = {}
    for number, value in enumerate(values, 1):
        if isinstance(value, tuple):
            names = {f"v{number}_{n}": each for n, each in enumerate(value)}
            text = text.replace(f"%(v{number})s", f"({', '.join(f'%({name})s' for name in names)})")
            given |= names
        else:
            given[f"v{number}"] = value
    return text, given or None


async def _awaited(value: Any) -> Any:
    return await value if isawaitable(value) else value


async def _check_database(connection: Any, database: str) -> None:
    """In another database the run would exist in another store; in another character set, with other letters."""
    [(theirs, letters)] = (await _answer(connection, "SELECT database(), @@character_set_client", [])).rows
    if theirs != database:
        raise InputError(
            f"the connection is to the database {theirs!r}, and this store is {database!r}: pass one to the same "
            "database"
        )
    if letters != "utf8mb4":
        raise InputError(f"the connection speaks {letters}: open it with charset='utf8mb4'")


def _library(connection: Any) -> str:
    return type(connection).__module__.partition(".")[0]
