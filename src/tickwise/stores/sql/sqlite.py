"""SQLite: one thread writes, one reads, each with a connection of its own.

Whatever waits while a transaction is under way goes into the next one together, each move under a savepoint of
its own: so a burst costs one sync to disk, and a move that fails takes nobody along. `synchronous=FULL`, because
NORMAL may lose the last commits at a power cut, and with them a cursor. `BEGIN IMMEDIATE` takes the lock before it
reads: several processes may share the file, and wait for each other rather than fail.

A writer that finds the file locked tries again every two milliseconds. The busy handler of SQLite sleeps up to a
tenth of a second between two tries, but the gaps between transactions of busy processes are much shorter: beside
them a heartbeat could miss its turn for seconds.
"""

import asyncio
import json
import sqlite3
from collections.abc import Callable, Sequence
from contextlib import suppress
from functools import cache
from pathlib import Path
from queue import Empty, SimpleQueue
from threading import Lock, Thread
from time import sleep
from typing import Any, NamedTuple, TypeVar

from ...clock import monotonic
from ...core.errors import InputError
from ..contract import StoreUnavailableError
from .dialect import JOINS, NO_LOCKS, SCHEMA_WORDS, WORDS, Dialect, Lists, Tables, on_conflict
from .driver import Answer, Driver, Pool, answered_at_once, drive
from .fork_lock import lock_against_forks
from .sqlite_errors import MOVE_AWAY, RECOVER, DamagedError, damaged, is_held, translate
from .statement import Procedure, Query, Rows, Statement

T = TypeVar("T")
_LOOK_EVERY = 0.5  # seconds
_MAX_MOVES = 64  # moves in one transaction
_TRIES = 2  # of a move: nobody else writes meanwhile
_LOCK_TIMEOUT = 60.0  # seconds to wait for a lock that another process holds
_LOCK_RETRY = 0.002  # seconds between two tries to get the lock
_SWITCH_TRIES, _SWITCH_AGAIN = 500, 0.02  # seconds between them


def _table(places: Sequence[str], columns: Sequence[tuple[str, str]]) -> str:
    fields = ", ".join(f"value ->> {n} AS {column}" for n, (column, _) in enumerate(columns))
    return f"(SELECT {fields} FROM json_each({places[0]}))"


def _json(value: Any) -> str:
    return json.dumps(value, separators=(",", ":"), ensure_ascii=False)


DIALECT = Dialect(
    name="sqlite",
    placeholder=lambda number: f":v{number}",
    lists=Lists(
        condition=lambda placeholder, _kind: f"IN (SELECT value FROM json_each({placeholder}))",
        bind=lambda values, _kind: _json(values),
    ),
    tables=Tables(select=_table, width=lambda _columns: 1, bind=lambda rows, _columns: [_json(rows)]),
    now="CAST((julianday('now') - 2440587.5) * 86400000000 AS integer)",
    words={
        **WORDS,
        **NO_LOCKS,
        "row_id": "rowid",
        "number_runs": """INSERT OR REPLACE INTO sqlite_sequence (rowid, name, seq) VALUES
            ((SELECT rowid FROM sqlite_sequence WHERE name = 'tickwise_runs'), 'tickwise_runs', """,
        "end_number_runs": " - 1)",
    },
    upsert=on_conflict,
    joins=JOINS,
    returned=None,
    compound=None,
    schema_words={
        **SCHEMA_WORDS,
        "id": "INTEGER PRIMARY KEY AUTOINCREMENT",
        "name": "text",
        "logs": "logs.",  # the file beside, by the name under which it is attached
        "room_for_updates": "",
        "room_for_ends": "",
        "generated": "VIRTUAL",
        "range_index": "",
        "range_options": "",
        "seconds": "strftime('%Y-%m-%dT%H:%M:%SZ', ",
        "microseconds": "strftime('%Y-%m-%dT%H:%M:%SZ', 1e-6 * ",
        "to_time": ", 'unixepoch')",
    },
)


class _Move(NamedTuple):
    """A procedure that waits for its turn, and the future of its caller."""

    procedure: Callable[[], Procedure[Any]]
    loop: asyncio.AbstractEventLoop
    future: asyncio.Future[Any]


class SqliteDriver(Driver):
    """A file, and beside it one for the logs."""

    dialect = DIALECT
    logs_lost = Statement(
        "SELECT 1 WHERE NOT EXISTS (SELECT 1 FROM logs.sqlite_master WHERE name = 'tickwise_logs')"
    )

    def __init__(self, path: Path, clock: Callable[[], int] | None = None) -> None:
        super().__init__(clock)
        self.path = path
        self._notifications = _Notifications()
        self._writer = _ConnectionThread(self, writes=True)
        self._reader = _ConnectionThread(self, writes=False)
        self._version = self._reader.version()  # of the file, as other connections have made it

    async def run(self, procedure: Callable[[], Procedure[T]], pool: Pool) -> T:
        thread = self._reader if pool is Pool.READ else self._writer
        done: T = await thread.take(procedure)
        return done

    def accepts(self, connection: Any) -> bool:
        return isinstance(connection, sqlite3.Connection)

    async def run_inside(self, connection: Any, procedure: Procedure[T]) -> T:
        self._check_file(connection)

        def ask(query: Query) -> Rows:
            return answered_at_once(self.ask(query), lambda *step: Answer(_fetch(connection, *step)))

        return drive(procedure, ask)[0]

    def _check_file(self, connection: sqlite3.Connection) -> None:
        """In another file the run would exist in another store, or fail with an error of the database."""
        attached = _fetch(connection, "PRAGMA database_list", [])
        theirs = next((file for _, name, file in attached if name == "main"), "")
        if not theirs or not self.path.exists() or not Path(theirs).samefile(self.path):
            raise InputError(
                f"the connection is to {theirs or 'a database in memory'}, and this store is {self.path}: "
                "pass one to the same file"
            )

    async def wait(self, seconds: float) -> bool:
        """Writes of this process notify at once; whether another process has written is polled."""
        left = seconds
        while left > 0:
            if await self._notifications.wait(min(left, _LOOK_EVERY)) or await self._others_wrote():
                return True
            left -= _LOOK_EVERY
        return False

    async def _others_wrote(self) -> bool:
        seen, self._version = self._version, (await self._reader.take(_data_version))[0][0]
        return bool(seen != self._version)

    async def check(self) -> tuple[str, ...]:
        try:
            found = [row[0] for row in await self._reader.take(_integrity) if row[0] != "ok"]
        except DamagedError as error:
            return (str(error),)
        return (str(damaged(_both(self.path), found[0], RECOVER)),) if found else ()

    async def close(self) -> None:
        await asyncio.to_thread(self._writer.close)
        await asyncio.to_thread(self._reader.close)

    def announce(self) -> None:
        self._notifications.announce()


def _fetch(connection: sqlite3.Connection, text: str, values: list[Any]) -> Rows:
    cursor = connection.cursor()
    cursor.row_factory = None  # the caller may have rows made into anything
    return cursor.execute(text, named_values(values)).fetchall()


def named_values(values: Sequence[Any]) -> dict[str, Any]:
    """By the names of their placeholders: from Python 3.14 on sqlite3 takes a sequence only for bare `?`."""
    return dict(zip(_placeholder_names(len(values)), values, strict=True))


@cache
def _placeholder_names(width: int) -> tuple[str, ...]:
    return tuple(f"v{number}" for number in range(1, width + 1))


def _data_version() -> Procedure[Rows]:
    return (yield Statement("PRAGMA data_version")())


def _integrity() -> Procedure[Rows]:
    return (yield Statement("PRAGMA integrity_check")())


def connect(path: Path) -> sqlite3.Connection:
    """Open the file, with its logs attached; an error about damage says how to recover, and nothing is changed."""
    connection = sqlite3.connect(
        path, isolation_level=None, check_same_thread=False, timeout=_LOCK_TIMEOUT, cached_statements=512
    )
    logs, file, remedy = _logs(path), path.name, RECOVER
    try:
        _set_up(connection, "main")
        file, remedy = logs.name, MOVE_AWAY
        logs.touch(mode=0o600)  # as private as the other; SQLite itself would let everybody read it
        connection.execute("ATTACH DATABASE ? AS logs", (str(logs),))
        _set_up(connection, "logs")
    except sqlite3.Error as error:
        connection.close()
        raise translate(error, file, remedy) from error
    return connection


def files_of(path: Path) -> list[Path]:
    """All files of a store: SQLite reads a journal that lies beside a database before it reads that."""
    return [Path(f"{file}{suffix}") for file in (path, _logs(path)) for suffix in ("", "-wal", "-shm", "-journal")]


def _logs(path: Path) -> Path:
    return path.with_name(path.stem + "-logs.db")


def _both(path: Path) -> str:
    return f"{path.name} or {_logs(path).name}"


def _set_up(connection: sqlite3.Connection, name: str) -> None:
    connection.execute(f"SELECT count(*) FROM {name}.sqlite_master").fetchall()
    _switch_to_wal(connection, name)
    connection.execute(f"PRAGMA {name}.synchronous = FULL")


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


class _ConnectionThread:
    """A thread with a connection, that does one transaction after the other."""

    def __init__(self, driver: SqliteDriver, *, writes: bool) -> None:
        self._driver = driver
        self._writes = writes
        self._moves: SimpleQueue[_Move | None] = SimpleQueue()  # none is the last
        self._closing = Lock()
        self._closed = False
        self._inside = lock_against_forks()
        with self._inside:
            self._connection = connect(driver.path)
            self._connection.execute("PRAGMA busy_timeout = 0" if writes else "PRAGMA query_only = ON")
        self._thread = Thread(target=self._work, name=f"tickwise-sqlite-{'w' if writes else 'r'}", daemon=True)
        self._thread.start()

    def version(self) -> int:
        """Of the file, before anything has been asked."""
        return int(self._connection.execute("PRAGMA data_version").fetchone()[0])

    async def take(self, procedure: Callable[[], Procedure[T]]) -> T:
        loop = asyncio.get_running_loop()
        future: asyncio.Future[T] = loop.create_future()
        with self._closing:
            if self._closed or not self._thread.is_alive():
                raise StoreUnavailableError(f"{self._driver.path.name} has been closed")
            self._moves.put(_Move(procedure, loop, future))
        return await future

    def close(self) -> None:
        with self._closing:
            self._closed = True
            self._moves.put(None)
        self._thread.join()

    def _work(self) -> None:
        while (move := self._moves.get()) is not None:
            moves = [move]
            while len(moves) < _MAX_MOVES:
                try:
                    following = self._moves.get_nowait()
                except Empty:
                    break
                if following is None:
                    self._moves.put(None)
                    break
                moves.append(following)
            with self._inside:
                self._transact(moves)
        with self._inside:
            self._connection.close()

    def _transact(self, moves: Sequence[_Move]) -> None:
        """Run moves in one transaction, and answer their callers only when it is on disk."""
        answers: list[tuple[_Move, Any, BaseException | None]] = []
        notify = False
        try:
            self._begin()
            for move in moves:
                answer, failure, wanted = self._attempt(move)
                answers.append((move, answer, failure))
                notify = notify or wanted
            self._connection.execute("COMMIT")
        except sqlite3.Error as error:
            if self._connection.in_transaction:
                self._connection.execute("ROLLBACK")
            failure = translate(error, _both(self._driver.path), RECOVER)
            answers, notify = [(move, None, failure) for move in moves], False
        for move, answer, failure in answers:
            with suppress(RuntimeError):  # the caller is gone, with its event loop
                move.loop.call_soon_threadsafe(_settle, move.future, answer, failure)
        if notify:
            self._driver.announce()

    def _begin(self) -> None:
        if not self._writes:
            self._connection.execute("BEGIN")
            return
        until = monotonic() + _LOCK_TIMEOUT
        while True:
            try:
                self._connection.execute("BEGIN IMMEDIATE")
            except sqlite3.OperationalError as error:
                if monotonic() > until or not is_held(error):
                    raise
                sleep(_LOCK_RETRY)
            else:
                return

    def _attempt(self, move: _Move, tries: int = _TRIES) -> tuple[Any, BaseException | None, bool]:
        self._connection.execute("SAVEPOINT move")
        try:
            answer, notify = drive(move.procedure(), self._ask)
        except sqlite3.Error as error:
            if not self._connection.in_transaction:  # the disk is full: SQLite has undone all of it
                raise
            self._undo()
            if isinstance(error, sqlite3.IntegrityError) and tries > 1:  # somebody was first: look again
                return self._attempt(move, tries - 1)
            return None, translate(error, _both(self._driver.path), RECOVER), False
        except Exception as error:  # noqa: BLE001  (it is the caller's, and goes to the caller)
            self._undo()
            return None, error, False
        self._connection.execute("RELEASE move")
        return answer, None, notify

    def _undo(self) -> None:
        self._connection.execute("ROLLBACK TO move")
        self._connection.execute("RELEASE move")

    def _ask(self, query: Query) -> Rows:
        return answered_at_once(self._driver.ask(query), lambda *step: Answer(_fetch(self._connection, *step)))


def _settle(future: "asyncio.Future[Any]", answer: Any, failure: BaseException | None) -> None:
    if future.done():  # its caller has given up
        return
    if failure is None:
        future.set_result(answer)
    else:
        future.set_exception(failure)


class _Notifications:
    """Wakes callers that wait in this process; other processes poll."""

    def __init__(self) -> None:
        self._lock = Lock()
        self._unheard = False  # a notification that came while nobody waited
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
            with suppress(RuntimeError):  # its event loop is closed
                loop.call_soon_threadsafe(_settle, future, None, None)
