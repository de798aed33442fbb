"""What an error of Redis means for a move.

Most say nothing about the values that were sent: the server is away, starts, fails over, is read only, has no
memory left, or executes a long script. Then the store did not answer, and the same move succeeds later. Only
the rest are about a value.
"""

from redis.exceptions import (
    AuthenticationError,
    AuthorizationError,
    BusyLoadingError,
    ClusterDownError,
    ClusterError,
    ConnectionError,  # noqa: A004  (the driver's name for it)
    MasterDownError,
    NoPermissionError,
    OutOfMemoryError,
    ReadOnlyError,
    RedisClusterException,
    RedisError,
    ResponseError,
    TimeoutError,  # noqa: A004  (the same)
    TryAgainError,
)

from ...core.errors import TickwiseError
from ..contract import StatementError, StoreUnavailableError

_NOT_ALLOWED = (AuthenticationError, AuthorizationError, NoPermissionError)
_AWAY = (
    ClusterDownError, ClusterError, ConnectionError, OutOfMemoryError, ReadOnlyError, RedisClusterException,
    TimeoutError, TryAgainError,
)  # fmt: skip
_UNAVAILABLE = {  # by the first word of what the server says
    "BUSY": "it executes a long script",
    "CLUSTERDOWN": "its cluster is down",
    "LOADING": "it reads its data after a start",
    "MASTERDOWN": "it is a replica whose master is away",
    "MISCONF": "it cannot write to its disk",
    "NOREPLICAS": "too few replicas are connected",
    "OOM": "it has no memory left (maxmemory)",
    "READONLY": "it is a replica",
    "UNBLOCKED": "its role has changed",
}


_CODES = {
    OutOfMemoryError: "OOM",
    ReadOnlyError: "READONLY",
    BusyLoadingError: "LOADING",
    MasterDownError: "MASTERDOWN",
}


def translate(error: RedisError) -> TickwiseError:
    """The error of the contract that stands for one of the driver's, which takes some codes out of the words."""
    said = _first_line(error)
    code = next((code for kind, code in _CODES.items() if isinstance(error, kind)), said.partition(" ")[0])
    if isinstance(error, _NOT_ALLOWED) or code in {"NOAUTH", "NOPERM", "WRONGPASS"}:
        return StoreUnavailableError(
            f"Redis does not let this user in: {said}; check user and password in the store's URL, and allow the "
            "user all commands on keys and channels of the store (ACL SETUSER NAME ~* &* +@all)"
        )
    if code in _UNAVAILABLE:
        return StoreUnavailableError(f"Redis does not take the move now, {_UNAVAILABLE[code]}: {said}")
    if isinstance(error, _AWAY) or not isinstance(error, ResponseError):
        return StoreUnavailableError(
            f"Redis does not answer: {said}; check that it runs, and host and port in the store's URL"
        )
    return StatementError(f"Redis refused a command: {said}")


def _first_line(error: Exception) -> str:
    return str(error).partition("\n")[0][:300] or type(error).__name__
