"""The HTTP server of a node: the API if that is one of its roles, else only its health."""

import asyncio
import os
import socket
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager
from dataclasses import replace
from functools import partial
from typing import Any, Literal

import uvicorn

from ..app import AsyncTickwise
from ..app.health import NOT_READY, App, Readiness
from ..app.stores import StoreUnavailableError
from ..config import Settings
from ..core.errors import InputError
from . import protocol
from .auth_settings import auth_settings
from .protocol import LimitedProtocol, RareLog, allowed_connections

_SHUTDOWN_TIMEOUT = 1  # seconds for requests that are under way at the end


class _Server(uvicorn.Server):
    """A server that leaves signals to the node, and does not wait long for a TLS handshake."""

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets=[])
        config, loop = self.config, asyncio.get_running_loop()
        limit = protocol.HEAD_TIMEOUT if config.ssl else None

        def make_protocol() -> asyncio.Protocol:
            return config.http_protocol_class(  # type: ignore[call-arg]  # (as uvicorn calls it)
                config=config, server_state=self.server_state, app_state=self.lifespan.state
            )

        for one in sockets or ():
            server = await loop.create_server(
                make_protocol, sock=one, ssl=config.ssl, backlog=config.backlog, ssl_handshake_timeout=limit
            )
            self.servers.append(server)

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


@asynccontextmanager
async def serve_app(
    app: App, listener: socket.socket, settings: Settings, local: socket.socket | None = None
) -> AsyncIterator[None]:
    """Serve an application while the block runs, and on the unix socket without TLS."""
    log = RareLog()
    limited = partial(LimitedProtocol, most=allowed_connections(), log=log)
    servers = [(_Server(_server_config(app, settings, limited)), listener)]
    if local is not None:
        plain = replace(settings, certificate="", certificate_key="")
        servers.append((_Server(_server_config(app, plain, limited, lifespan="off")), local))
    with _quiet_accept(log):
        tasks = [asyncio.create_task(server.serve([one])) for server, one in servers]
        try:
            yield
        finally:
            for server, _ in servers:
                server.should_exit = True
            await asyncio.gather(*tasks)
            listener.close()


@contextmanager
def _quiet_accept(log: RareLog) -> Iterator[None]:
    """Log rarely that no connection can be accepted: asyncio would do so thousands of times a second."""
    loop = asyncio.get_running_loop()
    previous = loop.get_exception_handler()

    def handle(loop: asyncio.AbstractEventLoop, context: dict[str, Any]) -> None:
        if "socket.accept()" in context["message"]:
            log.warning("no connection can be accepted", problem=str(context.get("exception")))
        elif previous is not None:
            previous(loop, context)
        else:
            loop.default_exception_handler(context)

    loop.set_exception_handler(handle)
    try:
        yield
    finally:
        loop.set_exception_handler(previous)


def _server_config(
    app: App, settings: Settings, http: Any, lifespan: Literal["on", "off"] = "on"
) -> uvicorn.Config:
    config = uvicorn.Config(
        app, http=http, ws="none", log_config=None, log_level="error", access_log=False, lifespan=lifespan,
        timeout_graceful_shutdown=_SHUTDOWN_TIMEOUT, server_header=False, proxy_headers=False,
        ssl_certfile=settings.certificate or None, ssl_keyfile=settings.certificate_key or None,
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
    tickwise: AsyncTickwise,
    listener: socket.socket,
    node: Callable[[], Readiness],
    local: socket.socket | None = None,
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
    async with serve_app(api, listener, settings, local):
        yield
