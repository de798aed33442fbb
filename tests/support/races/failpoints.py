"""Points between the statements of a store at which something can be made to happen to its process.

They lie before each statement, `BEGIN` and `COMMIT` too, and after a `COMMIT` was sent: with a server before
its answer is heard, when its fate is unknown; SQLite has answered by then. With MongoDB they lie before each
write, with Redis before each script that writes and after the server has executed it.
"""

import asyncio
import sqlite3
from collections.abc import Callable
from typing import Any, Self

from asyncpg.pool import PoolConnectionProxy
from pymongo import monitoring

from tickwise.stores.redis.base import RedisServer
from tickwise.stores.sql import mysql
from tickwise.stores.sql.sqlite import SqliteDriver
from tickwise.stores.sql.store import SqlStore

_WRITES = {"insert", "update", "delete", "findAndModify"}


class Failpoints:
    """Counts the points that are passed, and acts at one of them; `passed` holds what they were."""

    def __init__(self) -> None:
        self.passed: list[str] = []
        self._at: int | str = 0
        self._act: Callable[[], object] = lambda: None

    def arm(self, at: int | str, act: Callable[[], object]) -> None:
        """Act once: at the point of this number, counted from now and from 1, or at the first that says this."""
        self.passed, self._at, self._act = [], at, act

    def given_up(self) -> list[int | None]:
        """The connections on which a server may still do what nobody waits for, since this was last asked."""
        return []

    def reach(self, what: str) -> None:
        self.passed.append(" ".join(what.split()))
        if len(self.passed) == self._at or (isinstance(self._at, str) and self._at in what):
            self._at = 0
            self._act()


def in_sql(store: SqlStore) -> Failpoints:
    """Those of a store on SQLite, PostgreSQL or MySQL."""
    points = Failpoints()
    if isinstance(store.driver, SqliteDriver):
        hand: Any = store.driver._writer
        hand._connection = _Watched(hand._connection, points)
    elif isinstance(store.driver, mysql.MysqlDriver):
        _watch_mysql(points)
    else:
        _watch_postgres(points)
    return points


class Writes(Failpoints, monitoring.CommandListener):
    """Those of MongoDB stores that are opened after it was made: before each write. Reads change nothing."""

    def __init__(self) -> None:
        super().__init__()
        self._unanswered: dict[int, int | None] = {}  # requests, and the server's numbers of their connections
        monitoring.register(self)

    def started(self, event: monitoring.CommandStartedEvent) -> None:
        collection = event.command.get(event.command_name)
        if event.command_name in _WRITES and collection != "tickwise_counters":
            self._unanswered[event.request_id] = event.server_connection_id
            self.reach(f"{event.command_name} {collection}")

    def succeeded(self, event: monitoring.CommandSucceededEvent) -> None:
        self._unanswered.pop(event.request_id, None)

    def failed(self, event: monitoring.CommandFailedEvent) -> None:
        self._unanswered.pop(event.request_id, None)

    def given_up(self) -> list[int | None]:
        connections = list(self._unanswered.values())
        self._unanswered.clear()
        return connections


_READS = frozenset(
    "claim jobs_of key_holders facts rows decisions nodes limits pauses counts due_names recent info".split()
)


class Scripts(Failpoints):
    """Those of stores on Redis that are opened after it was made: around each script that may write."""

    def __init__(self) -> None:
        super().__init__()
        plain = RedisServer.call

        async def call(server: RedisServer, name: str, /, **given: Any) -> Any:
            if name in _READS:
                return await plain(server, name, **given)
            self.reach(f"before {name}")
            answer = await plain(server, name, **given)
            self.reach(f"after {name}")
            return answer

        RedisServer.call = call  # type: ignore[method-assign]


def of_moves(url: str) -> Failpoints:
    """Those of a store without transactions: around its writes."""
    return Scripts() if url.startswith("redis") else Writes()


class _Watched:
    """A connection of sqlite3 whose statements are counted."""

    def __init__(self, connection: Any, points: Failpoints) -> None:
        self._connection = connection
        self._points = points

    def execute(self, text: str, values: Any = ()) -> Any:
        self._points.reach(text)
        answer = self._connection.execute(text, values)
        if text == "COMMIT":
            self._points.reach("sent")
        return answer

    def cursor(self) -> Any:
        points = self._points

        class Cursor(sqlite3.Cursor):
            def execute(self, text: str, values: Any = (), /) -> Self:
                points.reach(text)
                super().execute(text, values)
                return self

        return self._connection.cursor(Cursor)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._connection, name)


def _watch_postgres(points: Failpoints) -> None:
    plain = {name: getattr(PoolConnectionProxy, name) for name in ("execute", "fetch")}

    async def fetch(self: Any, text: str, *values: Any) -> Any:
        points.reach(text)
        return await plain["fetch"](self, text, *values)

    async def execute(self: Any, text: str) -> Any:
        points.reach(text)
        answer = asyncio.ensure_future(plain["execute"](self, text))
        if text == "COMMIT":
            answer.get_loop().call_soon(points.reach, "sent")  # the answer has begun by then
        return await answer

    PoolConnectionProxy.execute, PoolConnectionProxy.fetch = execute, fetch


def _watch_mysql(points: Failpoints) -> None:
    answer, say = mysql._answer, mysql.MysqlDriver._say

    async def answered(connection: Any, text: str, values: Any) -> Any:
        points.reach(text)
        return await answer(connection, text, values)

    async def said(connection: Any, text: str) -> None:
        points.reach(text)
        done = asyncio.ensure_future(say(connection, text))
        if text == "COMMIT":
            done.get_loop().call_soon(points.reach, "sent")  # the answer has begun by then
        await done

    setattr(mysql, "_answer", answered)  # noqa: B010  (mypy: a function of a module)
    setattr(mysql.MysqlDriver, "_say", staticmethod(said))  # noqa: B010
