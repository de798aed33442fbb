"""SQLite: one thread writes, one reads, each with a connection of its own.

Whatever waits while a transaction is under way goes into the next one together, each move under a savepoint of
its own: so a burst costs one sync to disk, and a move that fails takes nobody along. `synchronous=FULL`, because
NORMAL may lose the last commits at a power cut, and with them a cursor. `BEGIN IMMEDIATE` takes the lock before it
reads: several processes may share the file, and wait for each other rather than fail.
"""

import asyncio
import json
import re
import sqlite3
from collections.abc import Callable, Sequence
from pathlib import Path
from queue import Empty, SimpleQueue
from threading import Lock, Thread
from time import sleep
from typing import Any, NamedTuple, TypeVar

from ...core.errors import InputError, TickwiseError
from ..contract import StoreUnavailableError
from .driver import Driver, Lane, StatementError, drive
from .statement import Ask, Dialect, Protocol, Rows, Statement

T = TypeVar("T")
_LOOK_EVERY = 0.5  # seconds
_AT_ONCE = 64  # moves in one transaction
_PATIENCE_MS = 60_000  # for a lock that another process holds
_SWITCH_TRIES, _SWITCH_AGAIN = 500, 0.02  # seconds between them
_DAMAGED = ("malformed", "not a database", "disk image")


def _table(places: Sequence[str], columns: Sequence[tuple[str, str]]) -> str:
    fields = ", ".join(f"value ->> {n} AS {column}" for n, (column, _) in enumerate(columns))
    return f"(SELECT {fields} FROM json_each({places[0]}))"


def _json(value: Any) -> str:
    return json.dumps(value, separators=(",", ":"), ensure_ascii=False)


DIALECT = Dialect(
    name="sqlite",
    place=lambda number: f"?{number}",
    listed="IN (SELECT value FROM json_each({place}))",
    table=_table,
    places_of_table=lambda _columns: 1,
    bind_list=_json,
    bind_table=lambda rows, _columns: [_json(rows)],
    now="CAST((julianday('now') - 2440587.5) * 86400000000 AS integer)",
    words=(
        (re.compile(r"\bFOR (?:UPDATE|SHARE)(?:\s+SKIP LOCKED)?"), ""),
        (re.compile(r"AS (?:bigint|boolean)\)"), "AS integer)"),
    ),
    schema_words={
        r"\bNAME\b": "text",
        r"\bID\b": "INTEGER PRIMARY KEY AUTOINCREMENT",
        r"\) FILL": ")",
        r"INDEX LOGS\.": "INDEX logs.",
        r"TABLE LOGS\.": "TABLE logs.",
        r"\bbigint\b": "integer",
    },
)


class _Move(NamedTuple):
    """A protocol that waits for its turn, and who waits for it."""

    protocol: Callable[[], Protocol[Any]]
    loop: asyncio.AbstractEventLoop
    future: asyncio.Future[Any]


class SqliteDriver(Driver):
    """A file, and beside it one for the logs."""

    dialect = DIALECT

    def __init__(self, path: Path, clock: Callable[[], int] | None = None) -> None:
        super().__init__(clock)
        self.path = path
        self._news = _News()
        self._version: int | None = None  # of the file, as other connections have made it
        self._writer = _Hand(self, writes=True)
        self._reader = _Hand(self, writes=False)

    async def run(self, protocol: Callable[[], Protocol[T]], lane: Lane) -> T:
        hand = self._reader if lane is Lane.READ else self._writer
        done: T = await hand.take(protocol)
        return done

    async def wait(self, seconds: float) -> bool:
        """News of this process come at once; whether another has written is looked up now and then."""
        left = seconds
        while left > 0:
            if await self._news.wait(min(left, _LOOK_EVERY)) or await self._others_wrote():
                return True
            left -= _LOOK_EVERY
        return False

    async def _others_wrote(self) -> bool:
        seen, self._version = self._version, (await self._reader.take(_data_version))[0][0]
        return seen not in (None, self._version)

    async def check(self) -> tuple[str, ...]:
        rows = await self._reader.take(_integrity)
        return tuple(row[0] for row in rows if row[0] != "ok")

    async def close(self) -> None:
        await asyncio.to_thread(self._writer.close)
        await asyncio.to_thread(self._reader.close)

    def announce(self) -> None:
        self._news.announce()


def _data_version() -> Protocol[Rows]:
    return (yield Statement("PRAGMA data_version")())


def _integrity() -> Protocol[Rows]:
    return (yield Statement("PRAGMA integrity_check")())


def connect(path: Path) -> sqlite3.Connection:
    """Open the file, with its logs attached; damage is told with the way out of it."""
    try:
        connection = sqlite3.connect(
            path,
            isolation_level=None,
            check_same_thread=False,
            timeout=_PATIENCE_MS / 1_000,
            cached_statements=512,
        )
        connection.execute(f"PRAGMA busy_timeout = {_PATIENCE_MS}")
        connection.execute("ATTACH DATABASE ? AS logs", (str(path.with_name(path.stem + "-logs.db")),))
        for name in ("main", "logs"):
            _switch_to_wal(connection, name)
            connection.execute(f"PRAGMA {name}.synchronous = FULL")
        connection.execute("SELECT count(*) FROM sqlite_master").fetchall()
    except sqlite3.Error as error:
        raise _told(error, path) from error
    return connection


def _switch_to_wal(connection: sqlite3.Connection, name: str) -> None:
    """Processes that switch a new file at the same moment are told `locked` at once, whatever the busy timeout."""
    for left in reversed(range(_SWITCH_TRIES)):
        try:
            connection.execute(f"PRAGMA {name}.journal_mode = WAL")
        except sqlite3.OperationalError as error:
            if "locked" not in str(error) or not left:
                raise
            sleep(_SWITCH_AGAIN)
        else:
            return


def _told(error: sqlite3.Error, path: Path) -> TickwiseError:
    """The error in words that help."""
    text = str(error)
    if any(word in text for word in _DAMAGED):
        return DamagedError(
            f"{path.name} is damaged or is no SQLite database ({text}): stop all processes that use it, keep a "
            f"copy, and "
            f"restore a backup, or run `sqlite3 {path.name} .recover | sqlite3 recovered.db` and put "
            f"recovered.db in "
            "its place"
        )
    if isinstance(error, sqlite3.OperationalError):
        hint = (
            "another process holds the file for too long" if "locked" in text else "see disk space and permissions"
        )
        return StoreUnavailableError(f"{path.name}: {text}: {hint}")
    return StatementError(f"{path.name}: {text}")


class DamagedError(InputError):
    """The file cannot be used."""


class _Hand:
    """A thread with a connection, that does one transaction after the other."""

    def __init__(self, driver: SqliteDriver, *, writes: bool) -> None:
        self._driver = driver
        self._writes = writes
        self._moves: SimpleQueue[_Move | None] = SimpleQueue()
        self._connection = connect(driver.path)
        if not writes:
            self._connection.execute("PRAGMA query_only = ON")
        self._thread = Thread(target=self._work, name=f"tickwise-sqlite-{'w' if writes else 'r'}", daemon=True)
        self._thread.start()

    async def take(self, protocol: Callable[[], Protocol[T]]) -> T:
        if not self._thread.is_alive():
            raise StoreUnavailableError(f"{self._driver.path.name} has been closed")
        loop = asyncio.get_running_loop()
        future: asyncio.Future[T] = loop.create_future()
        self._moves.put(_Move(protocol, loop, future))
        return await future

    def close(self) -> None:
        self._moves.put(None)
        self._thread.join()

    def _work(self) -> None:
        while (move := self._moves.get()) is not None:
            moves = [move]
            while len(moves) < _AT_ONCE:
                try:
                    following = self._moves.get_nowait()
                except Empty:
                    break
                if following is None:
                    self._moves.put(None)
                    break
                moves.append(following)
            self._transact(moves)
        self._connection.close()

    def _transact(self, moves: Sequence[_Move]) -> None:
        """Run moves in one transaction, and tell who waits for them only when it is on disk."""
        answers: list[tuple[_Move, Any, BaseException | None]] = []
        news = False
        try:
            self._connection.execute("BEGIN IMMEDIATE" if self._writes else "BEGIN")
            for move in moves:
                answer, failure, said = self._attempt(move)
                answers.append((move, answer, failure))
                news = news or said
            self._connection.execute("COMMIT")
        except sqlite3.Error as error:
            if self._connection.in_transaction:
                self._connection.execute("ROLLBACK")
            failure = _told(error, self._driver.path)
            answers, news = [(move, None, failure) for move in moves], False
        for move, answer, failure in answers:
            move.loop.call_soon_threadsafe(_settle, move.future, answer, failure)
        if news:
            self._driver.announce()

    def _attempt(self, move: _Move) -> tuple[Any, BaseException | None, bool]:
        self._connection.execute("SAVEPOINT move")
        try:
            answer, news = drive(move.protocol(), self._ask)
        except sqlite3.Error as error:
            self._undo()
            return None, _told(error, self._driver.path), False
        except Exception as error:  # noqa: BLE001  (it is the caller's, and goes to the caller)
            self._undo()
            return None, error, False
        self._connection.execute("RELEASE move")
        return answer, None, news

    def _undo(self) -> None:
        self._connection.execute("ROLLBACK TO move")
        self._connection.execute("RELEASE move")

    def _ask(self, ask: Ask) -> Rows:
        text, values = self._driver.prepare(ask)
        return self._connection.execute(text, values).fetchall()


def _settle(future: "asyncio.Future[Any]", answer: Any, failure: BaseException | None) -> None:
    if future.done():  # who waited has given up
        return
    if failure is None:
        future.set_result(answer)
    else:
        future.set_exception(failure)


class _News:
    """Wakes who waits in this process; other processes look for themselves."""

    def __init__(self) -> None:
        self._lock = Lock()
        self._unheard = False  # news that came while nobody waited
        self._waiting: set[tuple[asyncio.AbstractEventLoop, asyncio.Future[Any]]] = set()

    async def wait(self, seconds: float) -> bool:
        loop = asyncio.get_running_loop()
        entry = (loop, loop.create_future())
        with self._lock:
            if self._unheard:
                self._unheard = False
                return True
            self._waiting.add(entry)
        try:
            await asyncio.wait_for(entry[1], seconds)
        except TimeoutError:
            return False
        finally:
            with self._lock:
                self._waiting.discard(entry)
        return True

    def announce(self) -> None:
        with self._lock:
            waiting, self._waiting = self._waiting, set()
            self._unheard = not waiting
        for loop, future in waiting:
            if not loop.is_closed():
                loop.call_soon_threadsafe(_settle, future, None, None)
