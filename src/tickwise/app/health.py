"""`/healthz`: the process answers. `/readyz`: passes come as they should; three missed polls are too many."""

import json
from collections.abc import Awaitable, Callable, MutableMapping
from contextlib import AbstractAsyncContextManager
from typing import Any, TypeAlias

Message: TypeAlias = MutableMapping[str, Any]
Receive: TypeAlias = Callable[[], Awaitable[Message]]
Send: TypeAlias = Callable[[Message], Awaitable[None]]
App: TypeAlias = Callable[[Message, Receive, Send], Awaitable[None]]


def health(ready: Callable[[], bool], life: Callable[[], AbstractAsyncContextManager[None]] | None = None) -> App:
    """The two answers, as an ASGI application; `life` is entered when the server starts, and left when it ends."""

    async def answer(scope: Message, receive: Receive, send: Send) -> None:
        if scope["type"] == "lifespan":
            await _lifespan(receive, send, life)
            return
        status, body = _answer(scope, ready)
        content = json.dumps(body).encode()
        headers = [(b"content-type", b"application/json"), (b"content-length", str(len(content)).encode())]
        await send({"type": "http.response.start", "status": status, "headers": headers})
        await send({"type": "http.response.body", "body": content})

    return answer


def _answer(scope: Message, ready: Callable[[], bool]) -> tuple[int, dict[str, str]]:
    if scope["method"] not in ("GET", "HEAD"):
        return 405, {"status": "only GET is answered here"}
    if scope["path"] == "/healthz":
        return 200, {"status": "ok"}
    if scope["path"] == "/readyz":
        return (200, {"status": "ready"}) if ready() else (503, {"status": "no pass for three polls"})
    return 404, {"status": "not found"}


async def _lifespan(
    receive: Receive, send: Send, life: Callable[[], AbstractAsyncContextManager[None]] | None
) -> None:
    await receive()
    if life is None:
        await send({"type": "lifespan.startup.complete"})
        await receive()
    else:
        async with life():
            await send({"type": "lifespan.startup.complete"})
            await receive()
    await send({"type": "lifespan.shutdown.complete"})
