"""What an error of MongoDB means for a move: one table, by its code.

Most say nothing about the values that were sent: the server is away, steps down, blocks writes, has no room, or a
lock is not to be had. Then the store did not answer, and the same move succeeds later. Only the rest are about a
value.
"""

from collections.abc import Iterator

from pymongo.errors import (
    ConfigurationError,
    ConnectionFailure,
    InvalidOperation,
    OperationFailure,
    PyMongoError,
    WriteConcernError,
)

from ...core.errors import InputError, TickwiseError
from ..contract import StatementError, StoreUnavailableError

_NOT_ALLOWED = {13: "unauthorized", 18: "authentication failed", 8_000: "Atlas refuses the user"}
_UNAVAILABLE = {
    6: "host unreachable",
    7: "host not found",
    24: "lock timeout",
    43: "cursor not found",
    46: "lock busy",
    50: "time limit exceeded",
    64: "write concern timed out",
    89: "network timeout",
    91: "shutdown in progress",
    100: "write concern cannot be satisfied",
    112: "write conflict",
    134: "majority reads not available yet",
    175: "query plan killed",
    189: "primary stepped down",
    202: "network time limit exceeded",
    237: "cursor killed",
    262: "time limit exceeded",
    371: "user writes blocked",
    9_001: "socket exception",
    10_107: "not the primary",
    11_600: "interrupted at shutdown",
    11_601: "interrupted",
    11_602: "interrupted by a change of state",
    13_435: "not the primary, and no reads from secondaries",
    13_436: "not the primary or a secondary",
    14_031: "out of disk space",
}


def translate(error: PyMongoError) -> TickwiseError:
    """The error of the contract that stands for one of the driver's."""
    codes = set(_error_codes(error))
    if isinstance(error, InvalidOperation):
        return StoreUnavailableError(f"the store was closed: {_first_line(error)}")
    if codes & _NOT_ALLOWED.keys():
        return StoreUnavailableError(
            f"MongoDB does not let this user in: {_first_line(error)}; check user, password and authSource in the "
            "store's URL, and give the user the role readWrite on the database"
        )
    is_away = isinstance(error, ConnectionFailure | WriteConcernError) or error.timeout
    if is_away or codes & _UNAVAILABLE.keys():
        return StoreUnavailableError(
            f"MongoDB does not answer: {_first_line(error)}; check that it runs, and host, port and replicaSet in "
            "the store's URL"
        )
    if isinstance(error, ConfigurationError):
        return InputError(f"the store's URL cannot be used: {_first_line(error)}")
    return StatementError(f"MongoDB refused a command: {_first_line(error)}")


def _error_codes(error: PyMongoError) -> Iterator[int]:
    if isinstance(error, OperationFailure):
        details = error.details or {}
        yield from (
            each["code"] for kind in ("writeErrors", "writeConcernErrors") for each in details.get(kind, ())
        )
        yield error.code or 0


def _first_line(error: Exception) -> str:
    """Without the description of the whole topology that the driver adds."""
    return str(error).partition(", full error:")[0].partition(", Timeout:")[0][:300]
