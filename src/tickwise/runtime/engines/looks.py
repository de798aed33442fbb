"""Looks at all references of one engine together, in turns."""

import asyncio
from collections.abc import Awaitable, Callable
from typing import NamedTuple

from ...core.handover import Sight, Sighting
from ...core.payload import clip
from ...stores.records import MICRO
from ..executors.failure import failure_text
from .contract import Engine, EngineUnavailableError

_BATCH_SIZE = 500  # references that an engine is asked about at once
_MAX_PROBLEM_LENGTH = 500
_LONGEST_PAUSE = 5_000_000  # microseconds between two turns; after a longer one nobody knows what the engine did


def problem_text(error: Exception) -> str:
    """Why an engine did not answer. Its own words are enough; any other error is shown with where it happened."""
    return clip(
        str(error) if isinstance(error, EngineUnavailableError) else failure_text(error), _MAX_PROBLEM_LENGTH
    )


class Look(NamedTuple):
    """What an engine said about a reference, and when that was by the store's time, in microseconds."""

    seen: Sighting
    now: int
    asked_since: int  # since when the engine was asked without a pause


class EngineLooks:
    """Those who wait for a look at their reference get it from one call of the engine."""

    def __init__(self, engine: Engine, now: Callable[[], Awaitable[int]], every: float) -> None:
        self._engine = engine
        self._now = now
        self._every = every
        self._waiting: dict[str, asyncio.Future[Look]] = {}
        self._turns: asyncio.Task[None] | None = None
        self._asked_since = self._asked_until = 0

    async def next(self, reference: str) -> Look:
        """The next look at a reference, which begins at least `every` seconds from now."""
        future = self._waiting.setdefault(reference, asyncio.get_running_loop().create_future())
        if self._turns is None or self._turns.done():
            self._turns = asyncio.create_task(self._take_turns())
        return await asyncio.shield(future)

    async def _take_turns(self) -> None:
        while self._waiting:
            await asyncio.sleep(self._every)
            await self._begin_turn()
            waiting, self._waiting = self._waiting, {}
            asked = tuple(waiting)
            for first in range(0, len(asked), _BATCH_SIZE):
                looks = await self._look(asked[first : first + _BATCH_SIZE])
                for reference, look in looks.items():
                    if not waiting[reference].done():
                        waiting[reference].set_result(look)

    async def _begin_turn(self) -> None:
        """Notice a pause: the node stood still, or nobody waited for a look."""
        now = await self._store_time()
        if now - self._asked_until > self._every * MICRO + _LONGEST_PAUSE:
            self._asked_since = now

    async def _look(self, references: tuple[str, ...]) -> dict[str, Look]:
        try:
            seen = {
                reference: self._sighting(one) for reference, one in (await self._engine.look(references)).items()
            }
            unseen = self._sighting(Sighting(Sight.UNKNOWN))
        except Exception as error:  # noqa: BLE001  (whatever it is, nobody knows how the work is)
            seen, unseen = {}, Sighting(Sight.SILENT, error=problem_text(error))
        now = self._asked_until = await self._store_time()
        since = self._asked_since
        return {reference: Look(seen.get(reference, unseen), now, since) for reference in references}

    def _sighting(self, seen: Sighting) -> Sighting:
        """What the engine said. One that cannot tell unknown references is not sure of those that wait, either."""
        unsure = not self._engine.tells_unknown and seen.sight in (Sight.WAITING, Sight.UNKNOWN)
        return seen._replace(sight=Sight.UNSURE) if unsure else seen

    async def _store_time(self) -> int:
        """The store's time (S5). Without it no look means anything, so it is asked for until it comes."""
        while True:
            try:
                return await self._now()
            except Exception:  # noqa: BLE001  (the heartbeat reports that the store does not answer)
                await asyncio.sleep(self._every)

    def close(self) -> None:
        if self._turns:
            self._turns.cancel()
