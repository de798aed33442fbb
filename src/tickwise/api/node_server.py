"""What answers on a node's socket: the API if that is one of its roles, else only its health."""

import asyncio
import socket
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager

from ..app import AsyncTickwise
from ..app.health import NOT_READY, Readiness, health
from ..app.records import Role
from ..log import DEFAULT_LOG_SETTINGS, LogSettings
from .local_peer import local_listener
from .process import ApiProcess, Listeners
from .server import serve_api, serve_app


@asynccontextmanager
async def serve_node(
    tickwise: AsyncTickwise,
    listener: socket.socket,
    roles: Sequence[Role],
    *,
    log_settings: LogSettings = DEFAULT_LOG_SETTINGS,
) -> AsyncIterator[None]:
    """Serve while the block runs; the API also on a unix socket."""
    settings = tickwise.settings

    def readiness() -> Readiness:
        return tickwise.node.readiness if tickwise.node else NOT_READY

    if Role.API not in roles:
        async with serve_app(health(readiness), listener, settings):
            yield
        return
    with local_listener(settings, listener.getsockname()[1]) as local:
        if len(roles) == 1 or settings.store.startswith("memory:"):  # nothing to delay, or no shared store
            async with serve_api(tickwise, listener, readiness, local):
                yield
        else:
            process = ApiProcess(settings, Listeners(listener, local), readiness, log_settings=log_settings)
            async with _in_own_process(process):
                yield


@asynccontextmanager
async def _in_own_process(process: ApiProcess) -> AsyncIterator[None]:
    stop = asyncio.Event()
    task = asyncio.create_task(process.run(stop))
    try:
        yield
    finally:
        stop.set()
        await task
