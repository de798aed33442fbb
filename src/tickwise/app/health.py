"""`/healthz`: the process answers. `/readyz`: passes come regularly; three missed polls are too many.

A node whose claims fail but that still decides what is due (S5) is degraded, and a worker of which no run ends has
no room left. Both answer 200, because nothing is gained by taking the node out of service, and say so.
"""

import json
from collections.abc import Awaitable, Callable, MutableMapping
from contextlib import AbstractAsyncContextManager, AsyncExitStack, nullcontext
from typing import Any, NamedTuple, TypeAlias

from ..core.timeparse import iso

Message: TypeAlias = MutableMapping[str, Any]
Receive: TypeAlias = Callable[[], Awaitable[Message]]
Send: TypeAlias = Callable[[Message], Awaitable[None]]
App: TypeAlias = Callable[[Message, Receive, Send], Awaitable[None]]
Lifespan: TypeAlias = Callable[[], AbstractAsyncContextManager[None]]


class Readiness(NamedTuple):
    """How a node is, as `/readyz` says it."""

    status: str
    since: int | None = None  # the second, where that is known

    def content(self) -> dict[str, str]:
        return {"status": self.status, **({} if self.since is None else {"since": iso(self.since)})}


READY = Readiness("ready")
DEGRADED = Readiness("degraded")  # claims fail; due jobs are found in the node's own index
NOT_READY = Readiness("not ready")
NO_ROOM = "no room left"  # the status of a worker whose runs do not end


def health(readiness: Callable[[], Readiness], lifespan: Lifespan = nullcontext) -> App:
    """An ASGI application for both; `lifespan` is entered when the server starts, and left when it ends."""

    async def app(scope: Message, receive: Receive, send: Send) -> None:
        if scope["type"] == "lifespan":
            await _run_lifespan(receive, send, lifespan)
        elif scope["type"] == "http":
            await _respond(scope, send, *_status(scope, readiness))
        else:
            await send({"type": "websocket.close"})

    return app


def _status(scope: Message, readiness: Callable[[], Readiness]) -> tuple[int, dict[str, str]]:
    if scope["method"] not in ("GET", "HEAD"):
        return 405, {"status": "only GET is answered here"}
    match scope["path"].removeprefix(scope.get("root_path", "")):
        case "/healthz":
            return 200, {"status": "ok"}
        case "/readyz":
            found = readiness()
            return (503, {"status": "no pass for three polls"}) if found == NOT_READY else (200, found.content())
    return 404, {"status": "not found"}


async def _respond(scope: Message, send: Send, status: int, content: dict[str, str]) -> None:
    body = json.dumps(content).encode()
    headers = [(b"content-type", b"application/json"), (b"content-length", str(len(body)).encode())]
    await send({"type": "http.response.start", "status": status, "headers": headers})
    await send({"type": "http.response.body", "body": b"" if scope["method"] == "HEAD" else body})


async def _run_lifespan(receive: Receive, send: Send, lifespan: Lifespan) -> None:
    await receive()
    async with AsyncExitStack() as stack:
        try:
            await stack.enter_async_context(lifespan())
        except Exception as error:  # noqa: BLE001  (else the server would go on without a scheduler)
            await send({"type": "lifespan.startup.failed", "message": f"{type(error).__name__}: {error}"})
            return
        await send({"type": "lifespan.startup.complete"})
        await receive()
    await send({"type": "lifespan.shutdown.complete"})
