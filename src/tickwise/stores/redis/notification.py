"""Notifications over Redis: scripts publish on one channel, and each waiting process listens.

A message may be lost with a connection. So a listener that is connected again says that something may be new;
and everybody who waits looks at the store after a while anyway.
"""

import asyncio
from contextlib import suppress
from typing import Any

from redis.exceptions import RedisError

_RECONNECT_SECONDS = 0.5


class Notifications:
    """Wakes waiting tasks when something is published. The subscription begins with the first wait."""

    def __init__(self, client: Any, channel: str) -> None:
        self._client = client
        self._channel = channel
        self._changed = asyncio.Event()
        self._listening: asyncio.Task[None] | None = None

    async def wait(self, seconds: float) -> bool:
        if self._listening is None:
            self._listening = asyncio.ensure_future(self._listen())
        try:
            async with asyncio.timeout(seconds):
                await self._changed.wait()
        except TimeoutError:
            return False
        self._changed.clear()
        return True

    async def _listen(self) -> None:
        """Until the store is closed. After a lost connection something may have been missed."""
        is_lost = False
        while True:
            with suppress(RedisError, OSError):
                async with self._client.pubsub() as subscription:
                    await subscription.subscribe(self._channel)
                    async for message in subscription.listen():
                        if message["type"] == "message" or is_lost:
                            is_lost = False
                            self._changed.set()
            is_lost = True
            await asyncio.sleep(_RECONNECT_SECONDS)

    async def close(self) -> None:
        if self._listening is not None:
            self._listening.cancel()
            await asyncio.wait((self._listening,))
