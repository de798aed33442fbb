"""News for who waits: a number that every move with news raises, and that each process looks at while it waits.

MongoDB tells nobody by itself, but for change streams, which a standalone server does not have. Looking at one
small document a few times a second costs next to nothing, and survives restarts and failovers.
"""

import asyncio
from typing import Any

from pymongo.asynchronous.collection import AsyncCollection
from pymongo.errors import PyMongoError

_LOOK_EVERY = 0.2  # seconds
_ID = {"_id": "news"}


class ChangeNumber:
    """Told at once to who waits in this process, and soon to others."""

    def __init__(self, counters: AsyncCollection[dict[str, Any]]) -> None:
        self._counters = counters
        self._heard = asyncio.Event()
        self._looking: asyncio.Task[None] | None = None

    async def tell(self) -> None:
        self._heard.set()
        await self._counters.update_one(_ID, {"$inc": {"last": 1}}, upsert=True)

    async def wait(self, seconds: float) -> bool:
        if self._looking is None:
            self._looking = asyncio.ensure_future(self._look())
        try:
            async with asyncio.timeout(seconds):
                await self._heard.wait()
        except TimeoutError:
            return False
        self._heard.clear()
        return True

    async def _look(self) -> None:
        """Until the store is closed. What was said while the server was away is seen when it is back."""
        known = None
        while True:
            try:
                found = await self._counters.find_one(_ID)
            except PyMongoError:
                found = known
            if found != known:
                known = found
                self._heard.set()
            await asyncio.sleep(_LOOK_EVERY)

    async def close(self) -> None:
        if self._looking is not None:
            self._looking.cancel()
            await asyncio.wait((self._looking,))
