"""An ASGI application on a socket, for as long as a block runs."""

import asyncio
import socket
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager

import uvicorn

from ..app.health import App
from ..core.errors import InputError

_PATIENCE = 1  # seconds for requests that are under way at the end


class _Server(uvicorn.Server):
    """Signals are the node's affair."""

    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        yield


@asynccontextmanager
async def served(app: App, host: str, port: int) -> AsyncIterator[str]:
    """Serve an application while the block runs; its address."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    try:
        listener = socket.create_server((host, port), family=family)
    except OSError as error:
        raise InputError(f"cannot listen on {host}:{port} ({error.strerror}): choose another --port") from None
    server = _Server(
        uvicorn.Config(
            app, log_level="error", access_log=False, lifespan="on", timeout_graceful_shutdown=_PATIENCE
        )
    )
    task = asyncio.create_task(server.serve([listener]))
    try:
        shown = f"[{host}]" if ":" in host else host
        yield f"http://{shown}:{listener.getsockname()[1]}"
    finally:
        server.should_exit = True
        await task
        listener.close()
