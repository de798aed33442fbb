"""What an error of SQLite means for a move: one table, by its result code.

Most say nothing about the values that were sent: another connection holds the file, the disk is full, the file may
not be written. Then the store did not answer, and the same move succeeds later. Damage needs a person.
"""

import sqlite3

from ...core.errors import TickwiseError
from ..contract import StatementError, StoreUnavailableError
from .driver import UPGRADE, SchemaError

_HELD = "another connection, maybe one of your own, holds the file for too long"
_DISK = "see disk space and permissions"
_UNAVAILABLE = {
    sqlite3.SQLITE_PERM: _DISK,
    sqlite3.SQLITE_BUSY: _HELD,
    sqlite3.SQLITE_LOCKED: _HELD,
    sqlite3.SQLITE_NOMEM: "see the memory that is left",
    sqlite3.SQLITE_READONLY: _DISK,
    sqlite3.SQLITE_INTERRUPT: "it was interrupted",
    sqlite3.SQLITE_IOERR: _DISK,
    sqlite3.SQLITE_FULL: _DISK,
    sqlite3.SQLITE_CANTOPEN: _DISK,
    sqlite3.SQLITE_PROTOCOL: _HELD,
    sqlite3.SQLITE_AUTH: _DISK,
}
_DAMAGED = (sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB)
_NO_TABLES = ("no such table", "no such column", "has no column named")
RECOVER = (
    "stop all processes that use it, keep a copy, and restore a backup, or run `sqlite3 FILE .recover | sqlite3 "
    "recovered.db` and put recovered.db in its place"
)
MOVE_AWAY = "it holds only what runs have printed: move it away, and `tickwise store upgrade` makes it anew"


class DamagedError(StoreUnavailableError):
    """The file cannot be used as it is."""


def translate(error: sqlite3.Error, file: str, remedy: str) -> TickwiseError:
    """The error of the contract that stands for one of SQLite's."""
    text, code = str(error), _primary_code(error)
    if code in _DAMAGED:
        return damaged(file, text, remedy)
    if any(words in text for words in _NO_TABLES):
        return SchemaError(f"{file}: {text}: {UPGRADE}")
    if code in _UNAVAILABLE:
        return StoreUnavailableError(f"{file}: {text}: {_UNAVAILABLE[code]}")
    return StatementError(f"{file}: {text}")


def is_held(error: sqlite3.Error) -> bool:
    """Whether another connection has the lock."""
    return _primary_code(error) in (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED)


def _primary_code(error: sqlite3.Error) -> int:
    """Extended result codes have more in the higher bits."""
    return getattr(error, "sqlite_errorcode", 0) & 0xFF


def damaged(file: str, problem: str, remedy: str) -> DamagedError:
    return DamagedError(f"{file} is damaged or is no SQLite database ({problem}): {remedy}")
