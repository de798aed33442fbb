"""The base of the suite: what an engine's author says about the engine, and how a story is told."""

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Any, ClassVar

from ...runtime.engines.contract import Engine
from ..stories import LONGEST, AsyncStories
from .gate import Gate
from .workplace import Workplace
from .world import EngineWorld


class EngineStories(AsyncStories):
    """Tests of the engine that these describe."""

    engine: ClassVar[type[Engine]]
    settings: Mapping[str, Any] = {}  # a right table of the settings, without `kind`
    options: Mapping[str, Any] = {}  # what the job of each story says for the engine
    wrong_settings: Sequence[tuple[Mapping[str, Any], str]] = ()  # a wrong table, and a word of its error
    wrong_options: Sequence[tuple[Mapping[str, Any], str]] = ()
    secrets: Sequence[str] = ()  # texts of `settings` that nobody may see
    keeps_output: ClassVar[bool] = False  # the engine keeps what the work prints
    ends_by_force: ClassVar[bool] = True  # `kill` really ends work that does not listen

    async def open(self) -> Engine:
        """A new connection to the engine."""
        return self.engine.from_settings("conformance", self.settings)

    async def workplace(self) -> Workplace:
        """Where the work of a story happens; each story asks for it once, and closes it."""
        return Gate()

    async def cut(self) -> None:
        """From now on the engine does not answer, while its work goes on."""
        raise NotImplementedError("say how the engine is cut off: async def cut(self)")

    async def mend(self) -> None:
        """The engine answers again."""
        raise NotImplementedError("say how the engine is back: async def mend(self)")

    async def _play(self, story: Callable[..., Awaitable[None]], given: dict[str, Any]) -> None:
        workplace = await self.workplace()
        try:
            async with asyncio.timeout(LONGEST):
                world = EngineWorld(await self.open(), workplace, self.open, self.options)
                try:
                    await story(self, world, **given)
                finally:
                    await world.clean_up()
        finally:
            await workplace.close()
