"""Functions as methods: each part of the store is a table of moves, with the contract's errors."""

from collections.abc import Awaitable, Callable, Coroutine, Iterator
from contextlib import contextmanager
from functools import wraps
from typing import Any, Concatenate, ParamSpec, TypeVar

from redis.exceptions import RedisError

from ..contract import StoreUnavailableError
from .base import RedisServer
from .errors import translate
from .schema import make_ready

_T = TypeVar("_T")
_P = ParamSpec("_P")


@contextmanager
def translated_errors() -> Iterator[None]:
    """Raise the errors of the contract instead of the driver's."""
    try:
        yield
    except RedisError as error:
        raise translate(error) from error
    except OSError as error:
        raise StoreUnavailableError(f"Redis does not answer: {error}") from error


class RedisMoves:
    """A server on which moves are made."""

    def __init__(self, server: RedisServer) -> None:
        self.server = server

    async def execute(
        self, function: Callable[Concatenate[RedisServer, _P], Awaitable[_T]], *given: _P.args, **named: _P.kwargs
    ) -> _T:
        """Make a move, on a server that is ready for it."""
        with translated_errors():
            await make_ready(self.server)
            return await function(self.server, *given, **named)


def move(
    function: Callable[Concatenate[RedisServer, _P], Awaitable[_T]],
) -> Callable[Concatenate[RedisMoves, _P], Coroutine[Any, Any, _T]]:
    """A method that makes a move; the server is the function's first argument."""

    @wraps(function)
    async def method(self: RedisMoves, /, *given: _P.args, **named: _P.kwargs) -> _T:
        return await self.execute(function, *given, **named)

    return method
