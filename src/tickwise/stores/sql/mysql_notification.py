"""Wake-ups without a server that notifies: a table of notifications, at which one connection of a process looks.

A move that notifies inserts a row in its own transaction, so it is seen when that is committed, and not before. A
process looks four times a second while somebody waits: at the number of rows and the sum of their ids, because ids
may be committed in another order than they were made. Notifications of the process itself come at once.
"""

import asyncio
from collections.abc import Awaitable, Callable
from contextlib import suppress
from typing import Any

from ...clock import monotonic
from ..contract import StoreUnavailableError
from .mysql_errors import DRIVER_ERRORS

NOTIFICATION_TABLE = "CREATE TABLE tickwise_notifications (id bigint NOT NULL AUTO_INCREMENT PRIMARY KEY)"
NOTIFY_OTHERS = "INSERT INTO tickwise_notifications () VALUES ()"
_LOOK = "SELECT count(*), coalesce(CAST(sum(id) AS SIGNED), 0), coalesce(max(id), 0) FROM tickwise_notifications"
_FORGET = "DELETE FROM tickwise_notifications WHERE id <= %d"
_LOOK_EVERY, _LOOK_AGAIN = 0.25, 1.0  # seconds between two looks, and after one that failed
_MAX_ROWS, _KEPT_ROWS = 1_000, 100


class NotificationPoll:
    """The connection that looks; made when somebody first waits, and again when it is lost."""

    def __init__(self, connect: Callable[[], Awaitable[Any]]) -> None:
        self._connect = connect
        self._connection: Any = None
        self._seen: tuple[int, int] | None = None
        self._notified = asyncio.Event()
        self._looking = asyncio.Lock()

    def notify(self) -> None:
        """Wake who waits in this process."""
        self._notified.set()

    async def wait(self, seconds: float) -> bool:
        """Wait for a notification; one may have been missed before, so the first look counts as one."""
        until = monotonic() + seconds
        try:
            while not await self._is_notified(min(_LOOK_EVERY, max(0.0, until - monotonic()))):
                await self._look()
                if monotonic() >= until and not self._notified.is_set():
                    return False
        except (*DRIVER_ERRORS, StoreUnavailableError):
            if self._lose():
                return True
            await asyncio.sleep(min(seconds, _LOOK_AGAIN))
            return False
        self._notified.clear()
        return True

    async def _is_notified(self, seconds: float) -> bool:
        with suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                await self._notified.wait()
        return self._notified.is_set()

    async def _look(self) -> None:
        async with self._looking:
            if self._connection is None:
                self._connection = await self._connect()
            number, total, newest = await self._ask(_LOOK)
            if self._seen != (number, total):
                self._seen = number, total
                self._notified.set()
            if number > _MAX_ROWS:
                await self._connection.query(_FORGET % (newest - _KEPT_ROWS))

    async def _ask(self, text: str) -> Any:
        cursor = self._connection.cursor()
        await cursor.execute(text)
        return (await cursor.fetchall())[0]

    def _lose(self) -> bool:
        """Give up the connection, if there was one: a notification may have been missed."""
        connection, self._connection, self._seen = self._connection, None, None
        if connection is not None:
            connection.close()
        return connection is not None

    async def close(self) -> None:
        connection, self._connection = self._connection, None
        if connection is not None:
            with suppress(*DRIVER_ERRORS):
                await connection.ensure_closed()
