"""The API in this process: requests go straight to the application, and responses can stream.

The ASGI transport of httpx2 returns a response only when it is complete, so a log that is followed would never be
seen. Here each request is a task beside the reader, and its response arrives part by part.
"""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, MutableMapping
from contextlib import asynccontextmanager
from typing import Any, TypeAlias

import httpx2

from ..api.app import make_api
from ..api.identity import Identity, identified
from ..app import AsyncTickwise
from ..app.records import AccessRole
from ..core.errors import TickwiseError
from ..trace_context import trace_headers
from .http_client import HttpSender
from .user import user_name

Message: TypeAlias = MutableMapping[str, Any]
Application: TypeAlias = Callable[[Any, Any, Any], Awaitable[None]]
_LOCAL_ADDRESS = ("127.0.0.1", 0)


class InProcessTransport(httpx2.AsyncBaseTransport):
    """Sends requests to an application, as a client on this machine."""

    def __init__(self, app: Application) -> None:
        self._app = app

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        response = _StreamedResponse(self._app, _scope(request), await request.aread())
        try:
            start = await response.start()
        except BaseException:  # the caller is gone: end the task before the store is closed
            await response.aclose()
            raise
        return httpx2.Response(start["status"], headers=start["headers"], stream=response)


def _scope(request: httpx2.Request) -> dict[str, Any]:
    url = request.url
    return {
        "type": "http", "asgi": {"version": "3.0"}, "http_version": "1.1", "method": request.method,
        "headers": [(name.lower(), value) for name, value in request.headers.raw], "scheme": url.scheme,
        "path": url.path, "raw_path": url.raw_path.partition(b"?")[0], "query_string": url.query,
        "server": (url.host, url.port), "client": _LOCAL_ADDRESS, "root_path": "",
    }  # fmt: skip


class _StreamedResponse(httpx2.AsyncByteStream):
    """The messages that the application sends; closing it tells the application that the client disconnected."""

    def __init__(self, app: Application, scope: dict[str, Any], body: bytes) -> None:
        self._body: bytes | None = body
        self._disconnected = asyncio.Event()
        self._sent: asyncio.Queue[Message | None] = asyncio.Queue()  # None: the end
        self._task = asyncio.ensure_future(app(scope, self._receive, self._sent.put))
        self._task.add_done_callback(lambda _: self._sent.put_nowait(None))

    async def _receive(self) -> Message:
        if self._body is None:
            await self._disconnected.wait()
            return {"type": "http.disconnect"}
        body, self._body = self._body, None
        return {"type": "http.request", "body": body, "more_body": False}

    async def start(self) -> Message:
        """The message with the status and the headers."""
        start = await self._sent.get()
        if start is None:
            await self._task
            raise TickwiseError("the API sent no response")
        return start

    async def __aiter__(self) -> AsyncIterator[bytes]:
        while (message := await self._sent.get()) is not None:
            if body := message.get("body"):
                yield body

    async def aclose(self) -> None:
        self._disconnected.set()
        self._task.cancel()
        await asyncio.wait([self._task])


@asynccontextmanager
async def api_over(tickwise: AsyncTickwise, where: str) -> AsyncIterator[HttpSender]:
    """The API over an app of this process, open while a block runs; its user is the admin."""
    app = identified(make_api(tickwise), Identity(user_name(), AccessRole.ADMIN))  # no socket is served
    headers = {"Accept-Encoding": "identity", **trace_headers()}  # nothing is sent anywhere
    transport = InProcessTransport(app)
    async with httpx2.AsyncClient(transport=transport, base_url="http://localhost", headers=headers) as http:
        yield HttpSender(http, where)
