"""The base of the suite: each `async def test_…(self, world)` becomes a plain test with a new store to itself."""

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

from ...stores.contract import Store
from ..clock import FakeClock
from ..stories import LONGEST, AsyncStories
from .world import START, World, microseconds


class Stories(AsyncStories):
    """Tests of a store that `open` gives, empty and ready to be used; its time is the given clock's."""

    async def open(self, clock: Callable[[], int]) -> Store:
        raise NotImplementedError("say how an empty store is opened: async def open(self, clock) -> Store")

    async def close(self, store: Store) -> None:
        """What is to be done after each story."""
        await store.close()

    async def _play(self, story: Callable[..., Awaitable[None]], given: dict[str, Any]) -> None:
        clock = FakeClock(START)
        store = await self.open(lambda: microseconds(clock))
        try:
            async with asyncio.timeout(LONGEST):
                world = World(store, clock)
                await world.begin()
                await story(self, world, **given)
        finally:
            await self.close(store)
