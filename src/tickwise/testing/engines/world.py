"""What a story has: an engine, a second connection to it, work to order, and words to wait with."""

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from typing import Any
from uuid import uuid4

from ...core.handover import Sight, Sighting
from ...runtime.engines.contract import Engine, EngineUnavailableError, Order, Submitted
from .workplace import Work, Workplace

_PAUSE = 0.02  # seconds between two looks at work that has to come to something


async def until(engine: Engine, reference: str, *sights: Sight) -> Sighting:
    """Look until it is one of these."""
    while True:
        seen = await _look_at(engine, reference)
        if seen.sight in sights:
            return seen
        await asyncio.sleep(_PAUSE)  # engines tell nobody by themselves


async def _look_at(engine: Engine, reference: str) -> Sighting:
    return (await engine.look([reference])).get(reference, Sighting(Sight.UNKNOWN))


@dataclass(slots=True)
class EngineWorld:
    """One engine during one story."""

    engine: Engine
    workplace: Workplace
    open: Callable[[], Awaitable[Engine]]  # another connection to the same engine, as another watcher has
    options: Mapping[str, Any]
    ordered: list[str] = field(default_factory=list)
    opened: list[Engine] = field(default_factory=list)

    def order(self, work: Work = Work.FINISHES, *, fingerprint: str = "print", reference: str = "") -> Order:
        """An order under a reference of its own: engines keep what earlier stories left."""
        reference = reference or f"{uuid4().int % 10**18}.1"
        self.ordered.append(reference)
        return self.workplace.order(reference, work, fingerprint=fingerprint, options=self.options)

    async def submit(self, work: Work = Work.FINISHES) -> str:
        """Order such work, and give its reference."""
        order = self.order(work)
        await self.engine.submit(order)
        return order.reference

    async def begin(self, work: Work) -> str:
        """Order such work, and wait until it has begun."""
        reference = await self.submit(work)
        await self.workplace.until_begun(reference)
        return reference

    async def connect(self) -> Engine:
        other = await self.open()
        self.opened.append(other)
        return other

    async def look(self, reference: str, engine: Engine | None = None) -> Sighting:
        return await _look_at(engine or self.engine, reference)

    async def until(self, reference: str, *sights: Sight, engine: Engine | None = None) -> Sighting:
        """Look until it is one of these."""
        return await until(engine or self.engine, reference, *sights)

    async def until_answering(self, order: Order) -> Submitted:
        """Order until the engine answers again."""
        while True:
            try:
                return await self.engine.submit(order)
            except EngineUnavailableError:
                await asyncio.sleep(_PAUSE)

    async def clean_up(self) -> None:
        """End what the story has begun, and have it forgotten."""
        try:
            for reference in self.ordered:
                self.workplace.release(reference)
                await self.engine.kill(reference)
                await self._until_forgotten(reference)
        finally:
            for engine in (*self.opened, self.engine):
                await engine.close()

    async def _until_forgotten(self, reference: str) -> None:
        """Some engines forget only what they have seen end."""
        while True:
            try:
                return await self.engine.forget(reference)
            except EngineUnavailableError:
                await asyncio.sleep(_PAUSE)
