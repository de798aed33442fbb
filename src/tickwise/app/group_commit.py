"""Group commit: calls of one move that come while it is being made are made together by the next.

A move of one item costs a store nearly what one of a hundred does: a transaction, its round trips, and a
notification that wakes every node. The first call goes alone and at once; nothing waits for company.
"""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from typing import Generic, NamedTuple, TypeVar

from ..core.errors import ConflictError, InputError
from ..stores.contract import StatementError

T = TypeVar("T")
R = TypeVar("R")
_GROUP_SIZE = 200
REFUSALS = (ConflictError, InputError, StatementError)  # a move that is refused has changed nothing


class _Call(NamedTuple, Generic[T, R]):
    item: T
    result: "asyncio.Future[R]"


class GroupCommit(Generic[T, R]):
    """Groups of one move, one after the other. `commit` takes items, all or none, and gives a result for each."""

    def __init__(self, commit: Callable[[Sequence[T]], Awaitable[Sequence[R]]]) -> None:
        self._commit = commit
        self._waiting: list[_Call[T, R]] = []
        self._committing: asyncio.Task[None] | None = None

    async def add(self, item: T) -> R:
        """The result of one item. Items are committed in the order in which they came."""
        call = _Call[T, R](item, asyncio.get_running_loop().create_future())
        self._waiting.append(call)
        if self._committing is None:
            self._committing = asyncio.create_task(self._commit_all())
        return await call.result

    async def _commit_all(self) -> None:
        try:
            while self._waiting:
                group, self._waiting = self._waiting[:_GROUP_SIZE], self._waiting[_GROUP_SIZE:]
                await self._commit_group([call for call in group if not call.result.done()])  # or it was given up
        finally:
            self._committing = None

    async def _commit_group(self, group: Sequence[_Call[T, R]]) -> None:
        """A refusal is of one item: the others must not suffer, so each is then committed by itself."""
        if not group:
            return
        try:
            results = await self._commit([call.item for call in group])
        except Exception as error:  # noqa: BLE001  (each caller gets it)
            if len(group) > 1 and isinstance(error, REFUSALS):
                for call in group:
                    await self._commit_group([call])
                return
            for call in group:
                _answer(call, error=error)
        else:
            for call, result in zip(group, results, strict=True):
                _answer(call, result)


def _answer(call: _Call[T, R], result: R | None = None, error: Exception | None = None) -> None:
    if call.result.done():  # nobody waits any longer
        return
    if error is not None:
        call.result.set_exception(error)
    else:
        call.result.set_result(result)  # type: ignore[arg-type]
