"""The API over a scheduler, on a socket."""

import socket
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager

from ..app import AsyncTickwise
from ..stores.contract import StoreUnavailableError
from .app import make_api
from .server import served
from .settings import access_of


@asynccontextmanager
async def serve_api(
    tickwise: AsyncTickwise, listener: socket.socket, healthy: Callable[[], bool]
) -> AsyncIterator[None]:
    """Serve it while the block runs; it is ready if its node is well and the store answers."""

    async def ready() -> bool:
        try:
            return healthy() and await (await tickwise.store()).now() > 0
        except StoreUnavailableError:
            return False

    settings = tickwise.settings
    api = make_api(tickwise, access=access_of(settings), ready=ready, root_path=settings.root_path)
    async with served(api, listener, settings):
        yield
