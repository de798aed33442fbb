"""Functions as methods: each part of the store is a table of moves, timed and with the contract's errors."""

from collections.abc import Awaitable, Callable, Coroutine, Iterator
from contextlib import contextmanager
from functools import wraps
from typing import Any, Concatenate, ParamSpec, TypeVar

import pymongo
from pymongo.errors import (
    ConfigurationError,
    ConnectionFailure,
    InvalidOperation,
    OperationFailure,
    PyMongoError,
    WriteConcernError,
)

from ...core.errors import InputError, TickwiseError
from ..contract import StoreUnavailableError
from .base import MOVE_SECONDS, Mongo

_T = TypeVar("_T")
_P = ParamSpec("_P")
_NOT_ALLOWED = {13, 18, 8_000}  # codes: unauthorized, wrong credentials
_GOING_AWAY = {
    6,
    7,
    89,
    91,
    189,
    9_001,
    10_107,
    11_600,
    11_602,
    13_435,
    13_436,
}  # shutdown, failover, lost network


@contextmanager
def translated_errors(seconds: float = MOVE_SECONDS) -> Iterator[None]:
    """Limit the time of a move, and raise the errors of the contract instead of the driver's."""
    try:
        with pymongo.timeout(seconds):
            yield
    except PyMongoError as error:
        raise _translate(error) from error


class MongoMoves:
    """A database on which moves are made."""

    def __init__(self, mongo: Mongo) -> None:
        self.mongo = mongo

    async def execute(
        self, function: Callable[Concatenate[Mongo, _P], Awaitable[_T]], *given: _P.args, **named: _P.kwargs
    ) -> _T:
        """Make a move, on a database that is ready for it."""
        with translated_errors():
            await self.mongo.ready()
            return await function(self.mongo, *given, **named)


def move(
    function: Callable[Concatenate[Mongo, _P], Awaitable[_T]],
) -> Callable[Concatenate[MongoMoves, _P], Coroutine[Any, Any, _T]]:
    """A method that makes a move; the database is the function's first argument."""

    @wraps(function)
    async def method(self: MongoMoves, /, *given: _P.args, **named: _P.kwargs) -> _T:
        return await self.execute(function, *given, **named)

    return method


def _translate(error: PyMongoError) -> TickwiseError:
    codes = set(_error_codes(error))
    if isinstance(error, InvalidOperation):
        return StoreUnavailableError(f"the store was closed: {_first_line(error)}")
    if codes & _NOT_ALLOWED:
        return InputError(
            f"MongoDB does not let this user in: {_first_line(error)}; check user, password and authSource in the "
            "store's URL, and give the user the role readWrite on the database"
        )
    if isinstance(error, ConnectionFailure | WriteConcernError) or error.timeout or codes & _GOING_AWAY:
        return StoreUnavailableError(
            f"MongoDB does not answer: {_first_line(error)}; check that it runs, and host, port and replicaSet in "
            "the store's URL"
        )
    if isinstance(error, ConfigurationError):
        return InputError(f"the store's URL cannot be used: {_first_line(error)}")
    return TickwiseError(f"MongoDB refused a command: {_first_line(error)}")


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
