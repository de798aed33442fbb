"""What an error of MySQL or MariaDB means for a move: one table, by its number.

Most errors say nothing about the values that were sent: the server is away, is read only, has no room, or a lock
is not to be had. Then the store did not answer, and the same move succeeds later. Only the rest are about a value.
The two servers share the numbers below 1900; the others are named.
"""

from asyncmy import errors

from ...core.errors import TickwiseError
from ..contract import StatementError, StoreUnavailableError
from .driver import UPGRADE, SchemaError

DRIVER_ERRORS = (OSError, errors.MySQLError)  # a timeout is an OSError
DUPLICATE = 1062
MADE_ALREADY = frozenset({1050, 1060, 1061})  # table, column, index: by an upgrade that was interrupted
HARMLESS = frozenset({  # warnings
    1051,  # nothing to drop
    DUPLICATE,  # a row that INSERT IGNORE has left out
    1287,  # VALUES() of an upsert is deprecated from MySQL 8.0.20 on; what replaces it is unknown to MariaDB
})  # fmt: skip
_AGAIN = frozenset({  # the server asks for the move again
    1213,  # a deadlock
    1205,  # a lock was not to be had in time
    1020,  # a row has changed since it was read
    1467,  # no id: what a deadlock at the lock of the ids is called
})  # fmt: skip
_UNAVAILABLE = _AGAIN | {
    3, 28, 1021, 1026, 1030, 1114, 1180,  # no room, or the disk fails
    1037, 1038, 1041, 1135, 1206,  # no memory, or no more threads or locks
    1040, 1203, 1226,  # too many connections, or a limit of the user
    1044, 1045, 1049, 1129, 1130, 1142, 1143, 1227, 1370, 1698,  # not allowed, or no such database
    1053, 1077, 1079, 1152, 1158, 1159, 1160, 1161, 1184, 1317, 1927, 1969, 3024, 4031,  # shut down, cut, killed
    1290, 1792, 1836, 3100,  # read only
}  # fmt: skip
_CLIENT = range(2000, 3000)  # of the driver: cannot connect, connection lost
_NO_TABLES = frozenset({1054, 1146})  # no such column, no such table


def is_retried(error: BaseException) -> bool:
    """Whether the same move may succeed at once: somebody was first."""
    return number_of(error) in _AGAIN or number_of(error) == DUPLICATE


def number_of(error: BaseException) -> int:
    """The number of an error; 0 if it has none."""
    return error.args[0] if error.args and isinstance(error.args[0], int) else 0


def translate(error: BaseException) -> TickwiseError:
    """The error of the contract that stands for one of the driver's."""
    number = number_of(error)
    is_away = not isinstance(error, errors.MySQLError) or isinstance(error, errors.InterfaceError)
    if is_away or number in _UNAVAILABLE or number in _CLIENT:
        return StoreUnavailableError(f"MySQL does not answer: {error_text(error)}")
    if number in _NO_TABLES:
        return SchemaError(f"{error_text(error)}: {UPGRADE}")
    return StatementError(f"MySQL refused a statement: {error_text(error)}")


def error_text(error: BaseException) -> str:
    """What it says, with its number."""
    number, text = number_of(error), str(error.args[-1]) if error.args else ""
    return f"{text} ({number})" if number else text or type(error).__name__
