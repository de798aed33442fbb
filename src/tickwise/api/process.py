"""The API beside a node, in a process of its own: what people ask must not delay ticks and renewals.

The node listens on the socket before the process starts, so a taken port is told at once and a connection made
while the process starts, or starts again, waits instead of failing. The process ends when its node says so, or is
gone: then the pipe between them closes. Whether the node is well is told by a clock that both can read.
"""

import asyncio
import os
import signal
import socket
import sys
from collections.abc import Callable, Mapping
from contextlib import suppress
from multiprocessing import get_context
from multiprocessing.connection import Connection
from typing import Any

from ..app import AsyncTickwise
from ..clock import monotonic
from ..config import DEFAULT, NAMES, Settings
from ..core.errors import TickwiseError
from ..log import get_logger

_log = get_logger()
_SPAWN = get_context("spawn")
_PULSE, _FRESH = 0.5, 3.0  # seconds between two signs of life, and after which one is old
_FIRST_WAIT, _LONGEST_WAIT = 1.0, 30.0  # seconds before it is started again
_TO_END = 5.0  # seconds
_YIELDS = 10  # how far it stands back behind the node if both want a processor


class ApiProcess:
    """Started, watched, and started again, for as long as its node runs."""

    def __init__(self, settings: Settings, listener: socket.socket, healthy: Callable[[], bool]) -> None:
        self._given = {name: getattr(settings, name) for name in NAMES if settings.origins[name] != DEFAULT}
        self._listener = listener
        self._healthy = healthy
        self._pulse = _SPAWN.Value("d", 0.0, lock=False)

    async def run(self, stop: asyncio.Event) -> None:
        """Until the word is given."""
        beating = asyncio.create_task(self._beat())
        wait = _FIRST_WAIT
        try:
            while not stop.is_set():
                code = await self._once(stop)
                if not stop.is_set():
                    _log.error("the API has ended and is started again", code=code, seconds=wait)
                    with suppress(TimeoutError):
                        await asyncio.wait_for(stop.wait(), wait)
                    wait = min(2 * wait, _LONGEST_WAIT)
        finally:
            beating.cancel()
            self._listener.close()

    async def _beat(self) -> None:
        while True:
            if self._healthy():
                self._pulse.value = monotonic()
            await asyncio.sleep(_PULSE)

    async def _once(self, stop: asyncio.Event) -> int | None:
        """One life of the process; its exit code."""
        theirs, ours = _SPAWN.Pipe(duplex=False)
        process = _SPAWN.Process(
            target=_main, args=(self._given, self._listener, self._pulse, theirs), name="tickwise api", daemon=True
        )
        process.start()
        theirs.close()
        ended, told = asyncio.Event(), asyncio.create_task(stop.wait())
        loop = asyncio.get_running_loop()
        loop.add_reader(process.sentinel, ended.set)
        gone = asyncio.create_task(ended.wait())
        try:
            await asyncio.wait((gone, told), return_when=asyncio.FIRST_COMPLETED)
            ours.close()  # its word to end
            with suppress(TimeoutError):
                await asyncio.wait_for(asyncio.shield(gone), _TO_END)
        finally:
            loop.remove_reader(process.sentinel)
            told.cancel()
            gone.cancel()
            if process.exitcode is None:
                process.kill()
            process.join()
        return process.exitcode


def _main(given: Mapping[str, Any], listener: socket.socket, pulse: Any, word: Connection) -> None:
    """The process. It ends with its node, by the pipe: a signal to all of the node's group is not for it."""
    from .server import serve_api  # noqa: PLC0415  (a node need not hold what the API is made of)

    os.nice(_YIELDS)
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGTERM, signal.SIG_IGN)

    async def life() -> None:
        told = asyncio.Event()
        asyncio.get_running_loop().add_reader(word.fileno(), told.set)
        async with AsyncTickwise(**given) as tickwise, serve_api(tickwise, listener, lambda: _is_fresh(pulse)):
            await told.wait()

    try:
        asyncio.run(life())
    except TickwiseError as error:
        sys.exit(f"the API cannot run: {error}")


def _is_fresh(pulse: Any) -> bool:
    return monotonic() - float(pulse.value) < _FRESH
