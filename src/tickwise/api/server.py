"""The HTTP server of a node: the API if that is one of its roles, else only its health."""

import asyncio
import os
import socket
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager

import uvicorn

from ..app import AsyncTickwise
from ..app.health import NOT_READY, App, Readiness
from ..app.stores import StoreUnavailableError
from ..config import Settings
from ..core.errors import InputError
from .auth_settings import auth_settings

_SHUTDOWN_TIMEOUT = 1  # seconds for requests that are under way at the end


class _Server(uvicorn.Server):
    """A server that leaves signals to the node."""

    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        yield


def listen(host: str, port: int) -> socket.socket:
    """A listening socket with TCP_NODELAY, which asyncio sets only for sockets of its own."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    try:
        listener = socket.create_server((host, port), family=family)
    except OSError as error:
        raise InputError(
            f"cannot listen on {host}:{port} ({os.strerror(error.errno or 0)}): choose another --port"
        ) from None
    listener.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    return listener


def address(settings: Settings, listener: socket.socket) -> str:
    """Its URL on this machine."""
    host = f"[{settings.host}]" if ":" in settings.host else settings.host
    scheme = "https" if settings.certificate else "http"
    return f"{scheme}://{host}:{listener.getsockname()[1]}{settings.root_path}"


@asynccontextmanager
async def serve_app(app: App, listener: socket.socket, settings: Settings) -> AsyncIterator[None]:
    """Serve an application while the block runs."""
    server = _Server(_server_config(app, settings))
    task = asyncio.create_task(server.serve([listener]))
    try:
        yield
    finally:
        server.should_exit = True
        await task
        listener.close()


def _server_config(app: App, settings: Settings) -> uvicorn.Config:
    config = uvicorn.Config(
        app, log_level="error", access_log=False, lifespan="on", timeout_graceful_shutdown=_SHUTDOWN_TIMEOUT,
        server_header=False, proxy_headers=False, ssl_certfile=settings.certificate or None,
        ssl_keyfile=settings.certificate_key or None,
    )  # fmt: skip
    try:
        config.load()  # the certificate is read here
    except OSError as error:
        raise InputError(
            f"the certificate {settings.certificate} cannot be used ({error.strerror or error}): "
            "check `certificate` and `certificate_key`"
        ) from None
    return config


@asynccontextmanager
async def serve_api(
    tickwise: AsyncTickwise, listener: socket.socket, node: Callable[[], Readiness]
) -> AsyncIterator[None]:
    """Serve the API while the block runs; it is as ready as its node, if the store answers."""
    from .app import make_api  # noqa: PLC0415  (FastAPI, which a node without the API does not need)

    async def readiness() -> Readiness:
        found = node()
        try:
            if found != NOT_READY:
                await (await tickwise.store()).now()
        except StoreUnavailableError:
            return NOT_READY
        return found

    settings = tickwise.settings
    api = make_api(tickwise, access=auth_settings(settings), readiness=readiness, root_path=settings.root_path)
    async with serve_app(api, listener, settings):
        yield
