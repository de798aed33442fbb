"""A child's line to the test that started it."""

import asyncio
from collections.abc import Awaitable
from contextlib import suppress
from multiprocessing.connection import Connection
from typing import Any


class Line:
    """Say and hear."""

    def __init__(self, connection: "Connection[Any, Any]") -> None:
        self._connection = connection

    def say(self, value: Any) -> None:
        self._connection.send(("said", value))

    def hear(self) -> Any:
        """Wait for a word, and do nothing else meanwhile."""
        return self._connection.recv()

    async def listen(self) -> Any:
        """Wait for a word while the loop goes on."""
        heard = asyncio.Event()
        loop, fd = asyncio.get_running_loop(), self._connection.fileno()
        loop.add_reader(fd, heard.set)
        try:
            await heard.wait()
        finally:
            loop.remove_reader(fd)
        return self._connection.recv()


class Stop:
    """A word that may come at any time and ends what goes on."""

    def __init__(self, line: Line) -> None:
        self._heard = asyncio.ensure_future(line.listen())

    def __bool__(self) -> bool:
        return self._heard.done()

    async def or_done(self, waiting: Awaitable[Any]) -> Any:
        """Wait for the one or for the word; what came of the one, if it was first."""
        task = asyncio.ensure_future(waiting)
        await asyncio.wait((task, self._heard), return_when=asyncio.FIRST_COMPLETED)
        if task.done():
            return task.result()
        task.cancel()
        with suppress(asyncio.CancelledError):
            await task
        return None
