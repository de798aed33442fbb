"""PostgreSQL over asyncpg: a few connections, each with its own work, and one that listens.

Fifty connections that claim form a convoy; two do better. So claims and ends have two, and other moves one,
whatever the number of workers in the process, and batches make up for it. Reads, which hold up nobody, have a few.
A transaction that sits idle for five seconds (a process that was stopped) is ended by the server, so it blocks
nobody for longer.

Statements are prepared once for each connection. Behind a pooler that lends one for a transaction only, they are
not there the next time: as soon as that is seen, none are kept.
"""

import asyncio
import json
import re
from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import Any, TypeVar

import asyncpg

from ...core.errors import InputError
from ..contract import StoreUnavailableError
from ..validation import UNREADABLE_URL
from .dialect import LOCKS, Dialect, Lists, Tables, on_conflict
from .driver import UPGRADE, Driver, Pool, SchemaError, StatementError
from .statement import FIRST_PART, Notify, Procedure, Query, Rows, Statement, TakeTicket

T = TypeVar("T")
_NULL, _BETWEEN = "n", ";"  # in a joined column: stands for NULL, and between two values
_TYPES = {"row_id": "tid"}
CHANNEL = "tickwise"
_NOTIFY = f"SELECT pg_notify('{CHANNEL}', '')"
_NUMBERED = re.compile(r"\$(\d+)")
TICKETS, TICKET_LOCK = 2, 742638296  # how many claim at a time, and the advisory locks by which they know
_TAKE_TICKET = "SELECT 1 WHERE " + " OR ".join(
    f"pg_try_advisory_xact_lock({TICKET_LOCK}, {number})" for number in range(TICKETS)
)
_BEGIN = (  # plans are made when tables are small and kept when they have grown: all that is written goes by index
    "BEGIN; SET LOCAL idle_in_transaction_session_timeout = '5s';"
    "SET LOCAL enable_seqscan = off; SET LOCAL enable_bitmapscan = off; SET LOCAL enable_hashjoin = off;"
    "SET LOCAL enable_mergejoin = off; SET LOCAL plan_cache_mode = force_generic_plan"
)
_BEGIN_READ = (
    "BEGIN READ ONLY ISOLATION LEVEL REPEATABLE READ; SET LOCAL idle_in_transaction_session_timeout = '60s'"
)
_CONNECT, _LISTEN_AGAIN = 10.0, 1.0  # seconds for a connection that listens, and before another try
_TRIES = 5
_AT_ONCE = {Pool.CLAIM: 2, Pool.FINISH: 2, Pool.READ: 4}  # connections of a lane; the others have one
_KEPT_STATEMENTS = 100  # for each connection
_FORGOTTEN = (asyncpg.InvalidSQLStatementNameError, asyncpg.DuplicatePreparedStatementError)
_RETRY = (asyncpg.SerializationError, asyncpg.DeadlockDetectedError)
_GONE = (
    OSError, asyncpg.PostgresConnectionError, asyncpg.InterfaceError, asyncpg.CannotConnectNowError,
    asyncpg.AdminShutdownError, asyncpg.CrashShutdownError, asyncpg.IdleInTransactionSessionTimeoutError,
    asyncpg.TooManyConnectionsError, asyncpg.DiskFullError, asyncpg.QueryCanceledError,
    asyncpg.InvalidAuthorizationSpecificationError, asyncpg.InvalidCatalogNameError,
)  # fmt: skip


def _table(places: Any, columns: Any) -> str:
    arrays = ", ".join(_array(place, kind) for place, (_, kind) in zip(places, columns, strict=True))
    return f"(SELECT * FROM ROWS FROM ({arrays}) AS u({', '.join(name for name, _ in columns)}))"


def _compound(parts: Sequence[str]) -> str:
    """Statements that change rows, as parts of one query; the first is what it selects from."""
    named = ", ".join(f"part_{n} AS ({part})" for n, part in enumerate(parts))
    return f"WITH {named} SELECT * FROM {FIRST_PART}"


def _array(place: str, kind: str) -> str:
    """A column comes as one text, which costs the driver half of what an array does."""
    return (
        f"json_array_elements_text({place}::text::json)" if kind == "text" else f"unnest({_numbers(place, kind)})"
    )


def _numbers(place: str, kind: str) -> str:
    return f"string_to_array({place}, '{_BETWEEN}', '{_NULL}')::{_TYPES.get(kind, kind)}[]"


def _columns(rows: Any, kinds: Sequence[str]) -> list[Any]:
    columns = list(zip(*rows, strict=True)) if rows else [()] * len(kinds)
    return [_listed(c) if kind == "text" else _joined(c) for c, kind in zip(columns, kinds, strict=True)]


def _joined(column: Sequence[Any]) -> str:
    return _BETWEEN.join([_NULL if value is None else str(value) for value in column])


_listed = json.JSONEncoder(ensure_ascii=False, check_circular=False).encode


DIALECT = Dialect(
    name="postgres",
    placeholder=lambda number: f"${number}",
    lists=Lists(
        condition=lambda place, kind: (
            f"= ANY({place}::text[])" if kind == "text" else f"= ANY({_numbers(place, kind)})"
        ),
        bind=lambda values, kind: list(values) if kind == "text" else _joined(values),
    ),
    tables=Tables(select=_table, width=lambda columns: columns, bind=_columns),
    now="CAST(extract(epoch FROM clock_timestamp()) * 1000000 AS bigint)",
    locks=LOCKS,
    row_id="ctid",
    insert_ignore="ON CONFLICT DO NOTHING",
    upsert=on_conflict,
    compound=_compound,
    schema_words={
        "id": "bigint GENERATED BY DEFAULT AS IDENTITY PRIMARY KEY",
        "name": 'text COLLATE "C"',  # so that pages are in the same order everywhere
        "logs": "",
        "room_for_updates": "WITH (fillfactor = 70)",
        "room_for_ends": "WITH (fillfactor = 50)",  # on the page of each run
        "generated": "STORED",
        "range_index": "USING brin",
        "range_options": "WITH (autosummarize = on)",
        "json": "json",
        "seconds": "to_timestamp(",
        "microseconds": "to_timestamp(1e-6 * ",
        "to_time": ")",
    },
)


class PostgresDriver(Driver):
    """A server."""

    dialect = DIALECT
    upgrade_lock = Statement("SELECT pg_advisory_xact_lock(742638295)")

    def __init__(self, url: str, clock: Callable[[], int] | None = None) -> None:
        super().__init__(clock)
        self._url = url
        self._pool: asyncpg.Pool | None = None
        self._left: list[asyncpg.Pool] = []  # whose connections end when they have been idle for a while
        self._statements = _KEPT_STATEMENTS
        self._opening = asyncio.Lock()
        self._turns = {lane: asyncio.Semaphore(_AT_ONCE.get(lane, 1)) for lane in Pool}
        self._ears = _Listener(url)

    async def run(self, protocol: Callable[[], Procedure[T]], lane: Pool) -> T:
        async with self._turns[lane]:
            for left in reversed(range(_TRIES)):
                try:
                    return await (
                        self._read(protocol) if lane is Pool.READ else self._transact(protocol(), _BEGIN)
                    )
                except (*_RETRY, asyncpg.UniqueViolationError) as error:  # somebody was first: look again
                    if not left:
                        kind = StoreUnavailableError if isinstance(error, _RETRY) else StatementError
                        raise kind(f"PostgreSQL refused a move {_TRIES} times: {error}") from error
                except _FORGOTTEN as error:
                    if not left:
                        raise StoreUnavailableError(f"PostgreSQL forgets statements: {error}") from error
                    self._keep_no_statements()
                except _GONE as error:
                    raise StoreUnavailableError(f"PostgreSQL does not answer: {_said(error)}") from error
                except (asyncpg.UndefinedTableError, asyncpg.UndefinedColumnError) as error:
                    raise SchemaError(f"{error}: {UPGRADE}") from error
                except asyncpg.PostgresError as error:
                    raise StatementError(f"PostgreSQL refused a statement: {error}") from error
        raise AssertionError  # the loop returns or raises

    async def _read(self, protocol: Callable[[], Procedure[T]]) -> T:
        """All that a procedure reads is as of one instant. One statement alone needs no transaction for that."""
        reading = protocol()
        first = next(reading)
        if not isinstance(first, Query) or not first.statement.alone:
            return await self._transact(protocol(), _BEGIN_READ)
        text, values = self.prepare(first)
        pool = await self._connected()
        async with pool.acquire() as connection:
            rows = await connection.fetch(text, *values)
        try:
            reading.send(rows)
        except StopIteration as done:
            result: T = done.value
            return result
        raise AssertionError(f"more than one statement: {text}")

    async def _transact(self, protocol: Procedure[T], begin: str) -> T:
        pool = await self._connected()
        async with pool.acquire() as connection:
            try:
                answer, news = await self._drive(protocol, connection, begin)
                await connection.execute(f"{_NOTIFY}; COMMIT" if news else "COMMIT")
            except BaseException:
                with suppress(*_GONE, asyncpg.PostgresError):
                    await connection.execute("ROLLBACK")
                raise
            return answer

    async def _drive(self, protocol: Procedure[T], connection: Any, begin: str) -> tuple[T, bool]:
        """Its result, and whether it has news."""
        news = False
        rows: Rows = ()
        try:
            asked = next(protocol)
            begun = await connection.execute(
                f"{begin}; {_TAKE_TICKET}" if isinstance(asked, TakeTicket) else begin
            )
            while True:
                if isinstance(asked, Notify):
                    news, rows = True, ()
                elif isinstance(asked, TakeTicket):
                    rows = [begun] if begun == "SELECT 1" else []
                else:
                    text, values = self.prepare(asked)
                    rows = await connection.fetch(text, *values)
                asked = protocol.send(rows)
        except StopIteration as done:
            return done.value, news

    async def _connected(self) -> Any:
        if self._pool is None:
            async with self._opening:
                if self._pool is None:
                    self._pool = await connect_pool(self._url, self._statements)
        return self._pool

    def _keep_no_statements(self) -> None:
        if self._pool is not None and self._statements:
            self._left.append(self._pool)
            self._pool, self._statements = None, 0

    def accepts(self, connection: Any) -> bool:
        return _library(connection) in ("asyncpg", "psycopg", "psycopg_pool")

    async def run_inside(self, connection: Any, procedure: Procedure[T]) -> T:
        try:
            asked = next(procedure)
            while True:
                text, values = self.prepare(asked) if isinstance(asked, Query) else (_NOTIFY, [])
                asked = procedure.send(await _fetch(connection, text, values))
        except StopIteration as done:
            result: T = done.value
            return result

    async def wait(self, seconds: float) -> bool:
        return await self._ears.wait(seconds)

    async def check(self) -> tuple[str, ...]:
        return ()

    async def close(self) -> None:
        await self._ears.close()
        for pool in (*self._left, self._pool):
            if pool is not None:
                await pool.close()


def _library(connection: Any) -> str:
    return type(connection).__module__.partition(".")[0]


async def _fetch(connection: Any, text: str, values: list[Any]) -> Rows:
    """Rows by way of asyncpg or psycopg; psycopg has other placeholders."""
    if _library(connection) == "asyncpg":
        rows: Rows = await connection.fetch(text, *values)
        return rows
    named = {f"p{number}": value for number, value in enumerate(values, 1)}
    cursor = connection.cursor(row_factory=lambda _cursor: tuple)
    done = cursor.execute(_NUMBERED.sub(r"%(p\1)s", text.replace("%", "%%")), named)
    if hasattr(done, "__await__"):
        await done
    if cursor.description is None:
        return ()
    rows = cursor.fetchall()
    if hasattr(rows, "__await__"):
        rows = await rows
    return rows


async def connect_pool(url: str, statements: int) -> Any:
    try:
        pool = await asyncpg.create_pool(
            url,
            min_size=0,  # a floor would be restored in the background, loudly, while the server is away
            max_size=sum(_AT_ONCE.get(lane, 1) for lane in Pool),
            command_timeout=60,
            statement_cache_size=statements,
            server_settings={"application_name": "tickwise"},
            reset=_as_it_is,
        )
        async with pool.acquire():  # a wrong address is told here
            return pool
    except ValueError:  # its text may have a piece of the password in it
        raise InputError(UNREADABLE_URL) from None
    except (*_GONE, asyncpg.PostgresError) as error:
        raise StoreUnavailableError(
            f"cannot connect to PostgreSQL: {_said(error)}; check host, port, name, user and "
            "password in the store's URL"
        ) from error


async def _as_it_is(_connection: Any) -> None:
    """All that a transaction sets here ends with it: nothing need be undone when a connection is given back."""


def _said(error: BaseException) -> str:
    return str(error) or type(error).__name__


class _Listener:
    """The connection that listens; made when somebody first waits, and again when it is lost.

    It is made beside: who gives up meanwhile leaves it to the next who waits, and never makes it deaf.
    """

    def __init__(self, url: str) -> None:
        self._url = url
        self._listening: asyncio.Task[Any] | None = None  # its result is the connection
        self._news = asyncio.Event()

    async def wait(self, seconds: float) -> bool:
        """Wait for news; the time that it takes to begin to listen does not count."""
        try:
            if self._listening is None or _is_lost(self._listening):
                self._listening = asyncio.ensure_future(self._listen())
            await asyncio.shield(self._listening)
            async with asyncio.timeout(seconds):
                await self._news.wait()
        except TimeoutError:
            return False
        except (*_GONE, asyncpg.PostgresError):
            await asyncio.sleep(min(seconds, _LISTEN_AGAIN))
            return False
        self._news.clear()
        return True

    async def _listen(self) -> Any:
        connection = await asyncpg.connect(
            self._url, timeout=_CONNECT, server_settings={"application_name": "tickwise"}
        )
        try:
            connection.add_termination_listener(self._heard)
            await connection.add_listener(CHANNEL, self._heard)
        except BaseException:
            connection.terminate()
            raise
        self._news.set()  # what was said while nobody listened is not known: look
        return connection

    def _heard(self, *_: object) -> None:
        self._news.set()

    async def close(self) -> None:
        if self._listening is not None:
            self._listening.cancel()
            with suppress(asyncio.CancelledError, *_GONE, asyncpg.PostgresError):
                await (await self._listening).close(timeout=5)


def _is_lost(listening: "asyncio.Task[Any]") -> bool:
    return listening.done() and (listening.exception() is not None or listening.result().is_closed())
