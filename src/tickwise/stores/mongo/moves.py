"""Functions as methods: each part of the store is a table of moves, timed and with the contract's errors."""

from collections.abc import Awaitable, Callable, Coroutine, Iterator
from contextlib import contextmanager
from functools import wraps
from typing import Any, Concatenate, ParamSpec, TypeVar

import pymongo
from pymongo.errors import PyMongoError

from .base import MOVE_SECONDS, Mongo
from .errors import translate

_T = TypeVar("_T")
_P = ParamSpec("_P")


@contextmanager
def translated_errors(seconds: float = MOVE_SECONDS) -> Iterator[None]:
    """Limit the time of a move, and raise the errors of the contract instead of the driver's."""
    try:
        with pymongo.timeout(seconds):
            yield
    except PyMongoError as error:
        raise translate(error) from error


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
