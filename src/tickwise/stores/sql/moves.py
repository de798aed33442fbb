"""Procedures as methods: each part of the store is a table of moves, and says which pool each runs on."""

from collections.abc import Callable, Coroutine
from functools import wraps
from typing import Any, Concatenate, ParamSpec, TypeVar

from .definitions import DefinitionCache
from .driver import Driver, Pool
from .statement import Procedure

_T = TypeVar("_T")
_P = ParamSpec("_P")


class SqlMoves:
    """A driver, and the cache of definitions that procedures share."""

    def __init__(self, driver: Driver, definitions: DefinitionCache) -> None:
        self.driver = driver
        self.definitions = definitions

    async def execute(
        self, pool: Pool, procedure: Callable[_P, Procedure[_T]], *given: _P.args, **named: _P.kwargs
    ) -> _T:
        """Run a procedure in one transaction."""
        return await self.driver.run(lambda: procedure(*given, **named), pool)


def move(
    pool: Pool, procedure: Callable[_P, Procedure[_T]]
) -> Callable[Concatenate[SqlMoves, _P], Coroutine[Any, Any, _T]]:
    """A method that runs a procedure in one transaction."""

    @wraps(procedure)
    async def method(self: SqlMoves, /, *given: _P.args, **named: _P.kwargs) -> _T:
        return await self.driver.run(lambda: procedure(*given, **named), pool)

    return method


def cached_move(
    pool: Pool, procedure: Callable[Concatenate[DefinitionCache, _P], Procedure[_T]]
) -> Callable[Concatenate[SqlMoves, _P], Coroutine[Any, Any, _T]]:
    """The same for a procedure that reads definitions: the cache is its first argument."""

    @wraps(procedure)
    async def method(self: SqlMoves, /, *given: _P.args, **named: _P.kwargs) -> _T:
        return await self.driver.run(lambda: procedure(self.definitions, *given, **named), pool)

    return method
