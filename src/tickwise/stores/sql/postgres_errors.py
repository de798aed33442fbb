"""What an error of PostgreSQL means for a move: one table, by SQLSTATE.

Most errors say nothing about the values that were sent: the server is away, is read only, has no room, or a lock
is not to be had. Then the store did not answer, and the same move succeeds later. Only the rest are about a value.
"""

import asyncpg

from ...core.errors import TickwiseError
from ..contract import StatementError, StoreUnavailableError
from .driver import UPGRADE, SchemaError

DRIVER_ERRORS = (OSError, asyncpg.InterfaceError, asyncpg.InternalClientError, asyncpg.PostgresError)
RETRIED = (asyncpg.SerializationError, asyncpg.DeadlockDetectedError)  # the server asks for the move again
FORGOTTEN = (asyncpg.InvalidSQLStatementNameError, asyncpg.DuplicatePreparedStatementError)
_UNAVAILABLE = {  # by class, or by the whole state
    "08": "connection exception",
    "25006": "read-only transaction",
    "25P03": "idle in transaction for too long",
    "25P04": "transaction timeout",
    "28": "invalid authorization",
    "3D": "no such database",
    "40": "transaction rollback",
    "42501": "insufficient privilege",
    "53": "insufficient resources: disk full, out of memory, too many connections",
    "55": "not in the prerequisite state: lock not available, object in use",
    "57": "operator intervention: shutdown, query cancelled",
    "58": "system error",
}
_NO_TABLES = ("42P01", "42703")  # undefined table, undefined column


def translate(error: BaseException) -> TickwiseError:
    """The error of the contract that stands for one of the driver's."""
    if not isinstance(error, asyncpg.PostgresError):  # the driver's own; it refuses a value by a ValueError
        is_away, state = not isinstance(error, ValueError), ""
    else:
        state = error.sqlstate or ""
        is_away = state in _UNAVAILABLE or state[:2] in _UNAVAILABLE
    if is_away:
        return StoreUnavailableError(f"PostgreSQL does not answer: {error_text(error)}")
    if state in _NO_TABLES:
        return SchemaError(f"{error}: {UPGRADE}")
    return StatementError(f"PostgreSQL refused a statement: {error_text(error)}")


def error_text(error: BaseException) -> str:
    return str(error) or type(error).__name__
