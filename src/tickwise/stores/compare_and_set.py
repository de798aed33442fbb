"""Moves by compare-and-set: read, decide, write if nothing has changed; else again."""

import asyncio
from collections.abc import Awaitable, Callable
from typing import TypeVar

from .contract import StoreUnavailableError

T = TypeVar("T")
_MAX_TRIES = 200


class LostRaceError(Exception):
    """Somebody else has changed it since it was read: look again."""


async def persist(attempt: Callable[[], Awaitable[T]]) -> T:
    """Retry until no race is lost. One of the racers always wins, so a few tries are enough."""
    for tries in range(_MAX_TRIES):
        try:
            return await attempt()
        except LostRaceError:
            await asyncio.sleep(min(tries, 20) / 1_000)
    raise StoreUnavailableError(f"others were first {_MAX_TRIES} times in a row: try again")
