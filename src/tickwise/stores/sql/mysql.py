"""MySQL 8 and MariaDB from 10.6 on, over asyncmy: a few connections, each with its own work, and one that looks.

The SQL is what both understand. Where they differ, comments that only one of them reads say so: MariaDB reads
`/*M! … */`, MySQL reads `/*!80000 … */`.

What is different here from the other databases:

- `RETURNING` is unknown to MySQL. The server tells the id of the first row that an insert has made, and each run
  has the session that made it, so the rows of the last insert are those from there on that are the session's own.
- There are no partial indexes: the columns of the condition come first in the index.
- `UPDATE … FROM` is a join. Values come first in it, so that it never reads more rows than it changes.
- A statement that makes tables commits. An upgrade that was interrupted goes on where it ended.
- Nobody is notified by the server: see `mysql_notification`.
- A transaction that sits idle (a process that was stopped) is ended after 5 s by MariaDB. MySQL knows no such
  limit; there the whole connection is ended when it was idle for 30 s, and made again when it is needed.
"""

import asyncio
import json
from collections.abc import Callable, Sequence
from contextlib import suppress
from functools import partial
from random import uniform
from typing import Any, TypeVar

import asyncmy
from asyncmy.cursors import Cursor

from ..contract import StoreUnavailableError
from .dialect import NO_LOCKS, Column, Dialect, Joined, Joins, Lists, Row, Tables
from .driver import Answer, Driver, Pool, answered
from .mysql_caller import accepts, run_inside
from .mysql_check import settings_at_fault
from .mysql_errors import (
    DRIVER_ERRORS,
    HARMLESS,
    MADE_ALREADY,
    error_text,
    is_retried,
    number_of,
    translate,
)
from .mysql_notification import NOTIFICATION_TABLE, NOTIFY_OTHERS, NotificationPoll
from .mysql_tickets import MysqlTickets
from .mysql_url import connect_arguments
from .statement import Procedure, Query, Rows, Statement, TakeTicket

T = TypeVar("T")
_NEVER = {"text": "\uffff"}  # in a list without values: what no column has
_NO_NUMBER = -(1 << 63)
_JSON_TYPES = {
    "bigint": "BIGINT",
    "text": "LONGTEXT",
    "boolean": "BOOLEAN",
    "float8": "DOUBLE",
    "row_id": "BIGINT",
}
_TABLE_OPTIONS = (  # a collation of code points in which a space at the end counts; its name differs
    "ENGINE=InnoDB ROW_FORMAT=DYNAMIC DEFAULT CHARACTER SET utf8mb4 "
    "COLLATE /*M! utf8mb4_nopad_bin */ /*!80000 utf8mb4_0900_bin */"
)
_SESSION = (
    "SET SESSION sql_mode = 'ANSI_QUOTES,PIPES_AS_CONCAT,STRICT_ALL_TABLES,NO_ENGINE_SUBSTITUTION', "
    "time_zone = '+00:00', innodb_lock_wait_timeout = 10, max_error_count = 65535 "
    "/*M! , idle_transaction_timeout = %d, in_predicate_conversion_threshold = 0 */ "
    "/*!80000 , wait_timeout = 30 */"
)
_WRITES = (_SESSION % 5, "SET SESSION TRANSACTION ISOLATION LEVEL READ COMMITTED")
_READS = (_SESSION % 60, "SET SESSION TRANSACTION ISOLATION LEVEL REPEATABLE READ, READ ONLY")
_CONNECT, _COMMAND = 10, 60  # seconds
_TRIES, _LONGEST_PAUSE = 10, 0.1  # of a move, and seconds between two of them
_CONNECTIONS = {Pool.CLAIM: 2, Pool.FINISH: 2, Pool.READ: 4}  # the others have one


def _json_table(places: Sequence[str], columns: Sequence[Column]) -> str:
    fields = ", ".join(f"`{name}` {_JSON_TYPES[kind]} PATH '$[{n}]'" for n, (name, kind) in enumerate(columns))
    return f"JSON_TABLE({places[0]}, '$[*]' COLUMNS ({fields}))"


def _list(values: Sequence[Any], kind: str) -> tuple[Any, ...]:
    return tuple(values) or (_NEVER.get(kind, _NO_NUMBER),)


def _json(rows: Sequence[Row], kinds: Sequence[str]) -> list[str]:
    if "boolean" in kinds:
        rows = [[int(v) if isinstance(v, bool) else v for v in row] for row in rows]
    return [_encode([[*row] for row in rows])]


_encode = json.JSONEncoder(ensure_ascii=False, check_circular=False, separators=(",", ":")).encode


def _on_duplicate_key(_keys: Sequence[str], columns: Sequence[str]) -> str:
    """VALUES() is deprecated in MySQL, but the alias that replaces it is unknown to MariaDB."""
    return f"ON DUPLICATE KEY UPDATE {', '.join(f'{c} = VALUES({c})' for c in columns)}"


def _join(joined: Joined) -> str:
    """Row by row, by the primary key: a scan of a small table would wait for the locks of all its rows."""
    keys = " AND ".join(f"t.{column} = {value}" for column, value in joined.keys.items())
    return f"{joined.source} STRAIGHT_JOIN {joined.table} AS t FORCE INDEX (PRIMARY) ON {keys}"


def _update_join(joined: Joined) -> str:
    changes = ", ".join(f"t.{column} = {value}" for column, value in joined.changes.items())
    return f"UPDATE {_join(joined)} SET {changes} WHERE {joined.where}"


def _delete_join(joined: Joined) -> str:
    return f"DELETE t FROM {_join(joined)}"


def _inserted(columns: str, table: str) -> str:
    """Ids grow, a session does one thing at a time, and no other has its number meanwhile."""
    return f"SELECT {columns} FROM {table} WHERE id >= :first_id AND session = CONNECTION_ID()"


DIALECT = Dialect(
    name="mysql",
    placeholder=lambda number: f"%(v{number})s",
    lists=Lists(condition=lambda placeholder, _kind: f"IN {placeholder}", bind=_list),
    tables=Tables(select=_json_table, width=lambda _columns: 1, bind=_json),
    now="TIMESTAMPDIFF(MICROSECOND, '1970-01-01', UTC_TIMESTAMP(6))",
    words={
        **NO_LOCKS,
        "lock": "FOR UPDATE", "lock_free": "FOR UPDATE SKIP LOCKED",
        # MySQL says FOR SHARE SKIP LOCKED, MariaDB LOCK IN SHARE MODE SKIP LOCKED: what both know is stronger
        "share_free": "FOR UPDATE SKIP LOCKED",
        "fence": "LOCK IN SHARE MODE", "renew_free": "FOR UPDATE SKIP LOCKED",
        "row_id": "job_id",
        "insert_free": "INSERT IGNORE", "if_free": "", "current": "LOCK IN SHARE MODE",
        "bigint": "SIGNED", "text": "CHAR", "boolean": "SIGNED",
        "div": "DIV", "length": "CHAR_LENGTH", "materialized": "",
        "instant": "{now}",  # the same in all of a statement; by a sub-select, all jobs would be read
        "urgent_first": "urgency", "is_lost": "lost = TRUE",
        "number_runs": "ALTER TABLE tickwise_runs AUTO_INCREMENT = ", "end_number_runs": "",
    },
    upsert=_on_duplicate_key,
    joins=Joins(_update_join, _delete_join),
    returned=_inserted,
    compound=None,
    schema_words={
        "id": "bigint NOT NULL AUTO_INCREMENT PRIMARY KEY",
        "name": "varchar(200)",
        "key": "varchar(200)",
        "short": "varchar(1000)",
        "text": "longtext",
        "logs": "",
        "plain": _TABLE_OPTIONS,
        "room_for_updates": _TABLE_OPTIONS,
        "room_for_ends": _TABLE_OPTIONS,
        "generated": "VIRTUAL",
        "range_index": "",
        "range_options": "",
        "if_partial": "/* ", "end_partial": " */",
        "if_whole": "", "end_whole": "",
        "urgent_first": "urgency",
        "seconds": "TIMESTAMPADD(SECOND, ",
        "microseconds": "TIMESTAMPADD(MICROSECOND, ",
        "to_time": ", TIMESTAMP'1970-01-01 00:00:00')",
        "own_tables": f"; {NOTIFICATION_TABLE} {_TABLE_OPTIONS}",
    },
)  # fmt: skip


class _Cursor(Cursor):
    """A cursor for which a warning is an error, unless it says what INSERT IGNORE was asked for."""

    async def _show_warnings(self, conn: Any) -> None:
        for level, number, text in await conn.show_warnings():
            if level != "Note" and number not in HARMLESS:
                raise asyncmy.errors.DataError(number, text)


class MysqlDriver(Driver):
    """A server."""

    dialect = DIALECT
    upgrade_lock = Statement("SELECT GET_LOCK(concat('tickwise upgrade ', md5(database())), 50)")

    def __init__(self, url: str, clock: Callable[[], int] | None = None) -> None:
        super().__init__(clock)
        self._arguments = connect_arguments(url)
        self._idle: dict[bool, list[Any]] = {True: [], False: []}  # connections that only read, and others
        self._is_closed = False
        self._turns = {role: asyncio.Semaphore(_CONNECTIONS.get(role, 1)) for role in Pool}
        self._tickets = MysqlTickets()
        self._poll = NotificationPoll(lambda: self._connect(_WRITES))

    async def run(self, procedure: Callable[[], Procedure[T]], role: Pool) -> T:
        async with self._turns[role]:
            for left in reversed(range(_TRIES)):
                try:
                    return await self._transact(procedure, reads=role is Pool.READ)
                except DRIVER_ERRORS as error:
                    if not is_retried(error) or not left:
                        raise translate(error) from error
                    await asyncio.sleep(uniform(0, _LONGEST_PAUSE / (left + 1)))  # noqa: S311  (apart from others)
        raise AssertionError  # the loop returns or raises

    async def _transact(self, procedure: Callable[[], Procedure[T]], *, reads: bool) -> T:
        connection = await self._begin(reads=reads)
        try:
            answer, notify = await self._drive(procedure(), connection)
            if notify:
                await self._say(connection, NOTIFY_OTHERS)
            await self._end(connection, "COMMIT", reads=reads)
        except BaseException:
            with suppress(*DRIVER_ERRORS):
                await self._end(connection, "ROLLBACK", reads=reads)
            raise
        if notify:
            self._poll.notify()
        return answer

    async def _begin(self, *, reads: bool) -> Any:
        """A connection with a transaction; the server may have ended those that were idle for long."""
        if self._is_closed:
            raise StoreUnavailableError("the store has been closed")
        idle = self._idle[reads]
        while idle:
            connection = idle.pop()
            try:
                await self._say(connection, "BEGIN")
            except DRIVER_ERRORS:
                connection.close()
            else:
                return connection
        connection = await self._connect(_READS if reads else _WRITES)
        await self._say(connection, "BEGIN")
        return connection

    async def _drive(self, procedure: Procedure[T], connection: Any) -> tuple[T, bool]:
        """Its result, and whether waiting processes are to be notified."""
        notify = False
        rows: Rows = ()
        try:
            asked = next(procedure)
            while True:
                if isinstance(asked, Query):
                    rows = await self._ask(connection, asked)
                    if asked.statement is self.upgrade_lock:
                        self._note_upgrade(connection, rows)
                elif isinstance(asked, TakeTicket):
                    rows = await self._tickets.take(connection)
                else:
                    notify, rows = True, ()
                asked = procedure.send(rows)
        except StopIteration as done:
            return done.value, notify

    def _note_upgrade(self, connection: Any, rows: Rows) -> None:
        if not rows[0][0]:
            raise StoreUnavailableError("another upgrade of the tables is under way: try again when it has ended")
        self._tickets.hold(connection)

    async def _ask(self, connection: Any, query: Query) -> Rows:
        return await answered(self.ask(query), partial(_answer, connection))

    async def _end(self, connection: Any, how: str, *, reads: bool) -> None:
        """End a transaction; a connection that cannot is given up, and the server undoes what it began."""
        try:
            await self._say(connection, how)
            await self._tickets.give_back(connection)
        except BaseException:
            self._tickets.forget(connection)
            connection.close()
            raise
        self._idle[reads].append(connection)

    @staticmethod
    async def _say(connection: Any, text: str) -> None:
        await connection.query(text)

    async def _connect(self, session: Sequence[str]) -> Any:
        try:
            connection = await asyncmy.connect(
                **self._arguments, charset="utf8mb4", autocommit=True, cursor_cls=_Cursor, program_name="tickwise",
                connect_timeout=_CONNECT, read_timeout=_COMMAND,
            )  # fmt: skip
        except DRIVER_ERRORS as error:
            raise StoreUnavailableError(
                f"cannot connect to MySQL: {error_text(error)}; check host, port, name, user and password in the "
                "store's URL"
            ) from error
        try:
            for text in session:
                await self._say(connection, text)
        except BaseException:
            connection.close()
            raise
        return connection

    def accepts(self, connection: Any) -> bool:
        return accepts(connection)

    async def run_inside(self, connection: Any, procedure: Procedure[T]) -> T:
        return await run_inside(self, connection, procedure, self._arguments["db"])

    async def wait(self, seconds: float) -> bool:
        return await self._poll.wait(seconds)

    async def check(self) -> tuple[str, ...]:
        return tuple(await self.run(settings_at_fault, Pool.READ))

    async def close(self) -> None:
        self._is_closed = True  # who waits for a turn is refused, and who has one ends first
        await self._poll.close()
        for role, turns in self._turns.items():
            for _ in range(_CONNECTIONS.get(role, 1)):
                await turns.acquire()
        for connection in (*self._idle[True], *self._idle[False]):
            with suppress(*DRIVER_ERRORS):
                await connection.ensure_closed()
        for role, turns in self._turns.items():
            for _ in range(_CONNECTIONS.get(role, 1)):
                turns.release()


async def _answer(connection: Any, text: str, values: Sequence[Any]) -> Answer:
    cursor = connection.cursor()
    given = {f"v{number}": value for number, value in enumerate(values, 1)}
    try:
        await cursor.execute(text, given or None)
    except asyncmy.errors.MySQLError as error:
        if number_of(error) in MADE_ALREADY:
            return Answer(())
        if not given:  # it makes tables, and the server may not say which
            raise type(error)(number_of(error), f"{error.args[-1]}, in: {' '.join(text.split())[:80]}") from error
        raise
    return Answer(await cursor.fetchall() if cursor.description else (), cursor.lastrowid)
