"""Coalescing: equal questions that come together share one answer.

When something happens, every open page of the dashboard sends the same requests, and a busy client sends one token
with all of its requests. A question that comes while an equal one is being answered does not get that answer,
which may be older than what its sender has just done: it waits for the next one, which is made for all that came
meanwhile.
"""

import asyncio
from collections.abc import Awaitable, Callable, Hashable
from typing import Generic, TypeVar

T = TypeVar("T")


class _SharedAnswer(Generic[T]):
    """An answer for all questions that come before it is begun."""

    def __init__(self) -> None:
        self.begun = False
        self.done = asyncio.Event()
        self.answer: T | None = None  # none if it failed, or cannot be shared


class Coalescer(Generic[T]):
    """One for each kind of question of an application."""

    def __init__(self, can_share: Callable[[T], bool] = lambda _: True) -> None:
        self._can_share = can_share
        self._newest: dict[Hashable, _SharedAnswer[T]] = {}

    async def answer(self, key: Hashable, make: Callable[[], Awaitable[T]]) -> T:
        """What `make` gives, for this or for an equal question."""
        before = self._newest.get(key)
        if before and not before.begun:
            await before.done.wait()
            return before.answer or await make()
        shared = self._newest[key] = _SharedAnswer[T]()
        try:
            if before:
                await before.done.wait()
            shared.begun = True
            answer = await make()
            shared.answer = answer if self._can_share(answer) else None
            return answer
        finally:
            shared.begun = True
            shared.done.set()
            if self._newest[key] is shared:
                del self._newest[key]
