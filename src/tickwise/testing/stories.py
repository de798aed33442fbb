"""The base of the suites: each `async def test_…(self, world)` becomes a plain test with a new world to itself."""

import asyncio
from collections.abc import Awaitable, Callable
from functools import wraps
from inspect import iscoroutinefunction, signature
from typing import Any

LONGEST = 120  # seconds after which a story is taken to hang


class AsyncStories:
    """Tests written as coroutines, for any pytest and without a plugin."""

    def __init_subclass__(cls) -> None:
        for name, story in list(vars(cls).items()):
            if name.startswith("test_") and iscoroutinefunction(story):
                setattr(cls, name, _as_test(story))

    async def _play(self, story: Callable[..., Awaitable[None]], given: dict[str, Any]) -> None:
        """Make a world, and tell the story in it."""
        raise NotImplementedError


def _as_test(story: Callable[..., Awaitable[None]]) -> Callable[..., None]:
    """A function that any pytest can run; it asks for all that the story asks for, but for the world."""

    @wraps(story)
    def test(self: AsyncStories, **given: Any) -> None:
        asyncio.run(self._play(story, given))

    asked = signature(story)
    del test.__wrapped__  # pytest would ask for the world, too
    test.__signature__ = asked.replace(  # type: ignore[attr-defined]
        parameters=[parameter for name, parameter in asked.parameters.items() if name != "world"]
    )
    return test
