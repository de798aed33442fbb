"""The base of the suite: each `async def test_…(self, world)` becomes a plain test with a new store to itself."""

import asyncio
from collections.abc import Awaitable, Callable
from functools import wraps
from inspect import iscoroutinefunction, signature
from typing import Any

from ...stores.contract import Store
from ..clock import FakeClock
from .world import START, World, microseconds

_LONGEST = 120  # seconds after which a story is taken to hang


class Stories:
    """Tests of a store that `open` gives, empty and ready to be used; its time is the given clock's."""

    async def open(self, clock: Callable[[], int]) -> Store:
        raise NotImplementedError("say how an empty store is opened: async def open(self, clock) -> Store")

    async def close(self, store: Store) -> None:
        """What is to be done after each story."""
        await store.close()

    def __init_subclass__(cls) -> None:
        for name, story in list(vars(cls).items()):
            if name.startswith("test_") and iscoroutinefunction(story):
                setattr(cls, name, _as_test(story))

    async def _play(self, story: Callable[..., Awaitable[None]], given: dict[str, Any]) -> None:
        clock = FakeClock(START)
        store = await self.open(lambda: microseconds(clock))
        try:
            async with asyncio.timeout(_LONGEST):
                world = World(store, clock)
                await world.begin()
                await story(self, world, **given)
        finally:
            await self.close(store)


def _as_test(story: Callable[..., Awaitable[None]]) -> Callable[..., None]:
    """A function that any pytest can run; it asks for all that the story asks for, but for the world."""

    @wraps(story)
    def test(self: Stories, **given: Any) -> None:
        asyncio.run(self._play(story, given))

    asked = signature(story)
    del test.__wrapped__  # pytest would ask for the world, too
    test.__signature__ = asked.replace(  # type: ignore[attr-defined]
        parameters=[parameter for name, parameter in asked.parameters.items() if name != "world"]
    )
    return test
