"""The API in a process of its own beside a node, so that requests do not delay ticks and renewals.

The node listens on the socket before the process starts. So a taken port is an error at once, and a connection
that is made while the process starts or restarts waits instead of failing. The process ends when the pipe to its
node closes: either the node closes it, or the node is gone. Shared values say how the node is, and as of when.
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
from typing import Any, NamedTuple

from ..app import AsyncTickwise
from ..app.health import DEGRADED, NO_ROOM, NOT_READY, READY, Readiness
from ..clock import monotonic
from ..config import DEFAULT, NAMES, Settings
from ..core.errors import TickwiseError
from ..log import DEFAULT_LOG_SETTINGS, LogSettings, configure_logging, get_logger
from .server import serve_api

_log = get_logger()
_SPAWN = get_context("spawn")
_PULSE_SECONDS, _MAX_PULSE_AGE = 0.5, 3.0  # between two heartbeats of the node, and after which one is too old
_FIRST_DELAY, _MAX_DELAY = 1.0, 30.0  # seconds before a restart
_STOP_TIMEOUT = 5.0  # seconds
_STATUSES = (READY.status, DEGRADED.status, NO_ROOM)
_NICENESS = 10  # so that the node comes first if both want a processor


class Listeners(NamedTuple):
    """The sockets of the API."""

    tcp: socket.socket
    unix: socket.socket | None = None


class ApiProcess:
    """Starts the process, and restarts it if it ends, for as long as its node runs."""

    def __init__(
        self,
        settings: Settings,
        listeners: Listeners,
        readiness: Callable[[], Readiness],
        *,
        log_settings: LogSettings = DEFAULT_LOG_SETTINGS,
    ) -> None:
        self._given = {name: getattr(settings, name) for name in NAMES if settings.origins[name] != DEFAULT}
        self._listeners = listeners
        self._log_settings = log_settings
        self._readiness = readiness
        self._pulse = _SPAWN.Array("d", (0.0, 0.0, 0.0), lock=False)  # when it was ready; its status; since when

    async def run(self, stop: asyncio.Event) -> None:
        """Run until the stop event is set."""
        pulse = asyncio.create_task(self._pulse_while_healthy())
        delay = _FIRST_DELAY
        try:
            while not stop.is_set():
                code = await self._run_process(stop)
                if not stop.is_set():
                    _log.error("the API has ended and is started again", code=code, seconds=delay)
                    with suppress(TimeoutError):
                        await asyncio.wait_for(stop.wait(), delay)
                    delay = min(2 * delay, _MAX_DELAY)
        finally:
            pulse.cancel()
            self._listeners.tcp.close()

    async def _pulse_while_healthy(self) -> None:
        while True:
            found = self._readiness()
            if found != NOT_READY:
                self._pulse[:] = monotonic(), float(_STATUSES.index(found.status)), float(found.since or 0)
            await asyncio.sleep(_PULSE_SECONDS)

    async def _run_process(self, stop: asyncio.Event) -> int | None:
        """Run the process once; its exit code."""
        theirs, ours = _SPAWN.Pipe(duplex=False)
        process = _SPAWN.Process(
            target=_main, args=(self._given, self._listeners, self._pulse, theirs),
            kwargs={"log_settings": self._log_settings}, name="tickwise api", daemon=True,
        )  # fmt: skip
        process.start()
        theirs.close()
        ended, stopping = asyncio.Event(), asyncio.create_task(stop.wait())
        loop = asyncio.get_running_loop()
        loop.add_reader(process.sentinel, ended.set)
        gone = asyncio.create_task(ended.wait())
        try:
            await asyncio.wait((gone, stopping), return_when=asyncio.FIRST_COMPLETED)
            ours.close()  # tells it to end
            with suppress(TimeoutError):
                await asyncio.wait_for(asyncio.shield(gone), _STOP_TIMEOUT)
        finally:
            loop.remove_reader(process.sentinel)
            stopping.cancel()
            gone.cancel()
            if process.exitcode is None:
                process.kill()
            process.join()
        return process.exitcode


def _main(
    given: Mapping[str, Any], listeners: Listeners, pulse: Any, pipe: Connection, *, log_settings: LogSettings
) -> None:
    """The process. It ends by the pipe from its node and ignores signals, which the whole group may get."""
    configure_logging(log_settings)
    os.nice(_NICENESS)
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGTERM, signal.SIG_IGN)

    async def serve() -> None:
        closed = asyncio.Event()
        asyncio.get_running_loop().add_reader(pipe.fileno(), closed.set)
        async with (
            AsyncTickwise(**given) as tickwise,
            serve_api(tickwise, listeners.tcp, lambda: _readiness(pulse), listeners.unix),
        ):
            await closed.wait()

    try:
        asyncio.run(serve())
    except TickwiseError as error:
        sys.exit(f"the API cannot run: {error}")


def _readiness(pulse: Any) -> Readiness:
    at, status, since = pulse
    if monotonic() - at >= _MAX_PULSE_AGE:
        return NOT_READY
    return Readiness(_STATUSES[int(status)], int(since) or None)
