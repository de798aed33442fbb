"""`/healthz`: the process answers. `/readyz`: passes come as they should; three missed polls are too many."""

import json
from collections.abc import Awaitable, Callable, MutableMapping
from contextlib import AbstractAsyncContextManager, AsyncExitStack, nullcontext
from typing import Any, TypeAlias

Message: TypeAlias = MutableMapping[str, Any]
Receive: TypeAlias = Callable[[], Awaitable[Message]]
Send: TypeAlias = Callable[[Message], Awaitable[None]]
App: TypeAlias = Callable[[Message, Receive, Send], Awaitable[None]]
Life: TypeAlias = Callable[[], AbstractAsyncContextManager[None]]


def health(ready: Callable[[], bool], life: Life = nullcontext) -> App:
    """The two answers, as an ASGI application; `life` is entered when the server starts, and left when it ends."""

    async def answer(scope: Message, receive: Receive, send: Send) -> None:
        if scope["type"] == "lifespan":
            await _live(receive, send, life)
        elif scope["type"] == "http":
            await _respond(scope, send, *_answer(scope, ready))
        else:
            await send({"type": "websocket.close"})

    return answer


def _answer(scope: Message, ready: Callable[[], bool]) -> tuple[int, dict[str, str]]:
    if scope["method"] not in ("GET", "HEAD"):
        return 405, {"status": "only GET is answered here"}
    match scope["path"].removeprefix(scope.get("root_path", "")):
        case "/healthz":
            return 200, {"status": "ok"}
        case "/readyz":
            return (200, {"status": "ready"}) if ready() else (503, {"status": "no pass for three polls"})
    return 404, {"status": "not found"}


async def _respond(scope: Message, send: Send, status: int, answer: dict[str, str]) -> None:
    content = json.dumps(answer).encode()
    headers = [(b"content-type", b"application/json"), (b"content-length", str(len(content)).encode())]
    await send({"type": "http.response.start", "status": status, "headers": headers})
    await send({"type": "http.response.body", "body": b"" if scope["method"] == "HEAD" else content})


async def _live(receive: Receive, send: Send, life: Life) -> None:
    await receive()
    async with AsyncExitStack() as stack:
        try:
            await stack.enter_async_context(life())
        except Exception as error:  # noqa: BLE001  (a server that is not told goes on without a scheduler)
            await send({"type": "lifespan.startup.failed", "message": f"{type(error).__name__}: {error}"})
            return
        await send({"type": "lifespan.startup.complete"})
        await receive()
    await send({"type": "lifespan.shutdown.complete"})
