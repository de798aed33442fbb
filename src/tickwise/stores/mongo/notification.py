"""Notifications over MongoDB: a counter that moves increment, and that each waiting process polls.

Change streams need a replica set, which a standalone server is not. Reading one small document a few times a
second costs next to nothing, and survives restarts and failovers.
"""

import asyncio
from typing import Any

from pymongo.asynchronous.collection import AsyncCollection
from pymongo.errors import PyMongoError

_POLL_INTERVAL = 0.2  # seconds
_ID = {"_id": "news"}


class ChangeNumber:
    """Wakes waiting tasks of this process at once, and those of others at their next poll."""

    def __init__(self, counters: AsyncCollection[dict[str, Any]]) -> None:
        self._counters = counters
        self._changed = asyncio.Event()
        self._polling: asyncio.Task[None] | None = None

    async def tell(self) -> None:
        self._changed.set()
        await self._counters.update_one(_ID, {"$inc": {"last": 1}}, upsert=True)

    async def wait(self, seconds: float) -> bool:
        if self._polling is None:
            self._polling = asyncio.ensure_future(self._poll())
        try:
            async with asyncio.timeout(seconds):
                await self._changed.wait()
        except TimeoutError:
            return False
        self._changed.clear()
        return True

    async def _poll(self) -> None:
        """Until the store is closed. What changed while the server was away is seen when it is back."""
        known = None
        while True:
            try:
                counter = await self._counters.find_one(_ID)
            except PyMongoError:
                counter = known
            if counter != known:
                known = counter
                self._changed.set()
            await asyncio.sleep(_POLL_INTERVAL)

    async def close(self) -> None:
        if self._polling is not None:
            self._polling.cancel()
            await asyncio.wait((self._polling,))
