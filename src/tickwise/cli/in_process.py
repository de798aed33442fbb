"""The API in this process, as an HTTP transport: requests go straight to the application, and answers can stream.

httpx has a transport for ASGI applications, which gives an answer only when it is complete: a log that goes on
would never be seen. Here a request is a task beside the reader, and what it sends arrives part by part.
"""

import asyncio
import getpass
from collections.abc import AsyncIterator, Awaitable, Callable, MutableMapping
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, TypeAlias

import httpx

from ..api.app import make_api
from ..api.auth_settings import AuthSettings
from ..app import AsyncTickwise
from ..core.errors import TickwiseError
from ..stores.records import AccessRole
from .client import store_exists
from .output import hint

Message: TypeAlias = MutableMapping[str, Any]
Application: TypeAlias = Callable[[Any, Any, Any], Awaitable[None]]
_HERE = ("127.0.0.1", 0)


class InProcessTransport(httpx.AsyncBaseTransport):
    """Speaks to an application as somebody on this machine."""

    def __init__(self, app: Application) -> None:
        self._app = app

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        answer = _Answer(self._app, _scope(request), await request.aread())
        try:
            start = await answer.begun()
        except BaseException:  # who asked has gone: nothing may go on that uses what is closed next
            await answer.aclose()
            raise
        return httpx.Response(start["status"], headers=start["headers"], stream=answer)


def _scope(request: httpx.Request) -> dict[str, Any]:
    url = request.url
    return {
        "type": "http", "asgi": {"version": "3.0"}, "http_version": "1.1", "method": request.method,
        "headers": [(name.lower(), value) for name, value in request.headers.raw], "scheme": url.scheme,
        "path": url.path, "raw_path": url.raw_path.partition(b"?")[0], "query_string": url.query,
        "server": (url.host, url.port), "client": _HERE, "root_path": "",
    }  # fmt: skip


class _Answer(httpx.AsyncByteStream):
    """What the application sends; who stops reading is told to it as gone."""

    def __init__(self, app: Application, scope: dict[str, Any], body: bytes) -> None:
        self._body: bytes | None = body
        self._gone = asyncio.Event()
        self._sent: asyncio.Queue[Message | None] = asyncio.Queue()  # none: there will be no more
        self._task = asyncio.ensure_future(app(scope, self._receive, self._sent.put))
        self._task.add_done_callback(lambda _: self._sent.put_nowait(None))

    async def _receive(self) -> Message:
        if self._body is None:
            await self._gone.wait()
            return {"type": "http.disconnect"}
        body, self._body = self._body, None
        return {"type": "http.request", "body": body, "more_body": False}

    async def begun(self) -> Message:
        """The status and the headers."""
        start = await self._sent.get()
        if start is None:
            await self._task
            raise TickwiseError("the API gave no answer")
        return start

    async def __aiter__(self) -> AsyncIterator[bytes]:
        while (message := await self._sent.get()) is not None:
            if body := message.get("body"):
                yield body

    async def aclose(self) -> None:
        self._gone.set()
        self._task.cancel()
        await asyncio.wait([self._task])


# The API in this process, over a store, for the person who may open that store: its admin.


@asynccontextmanager
async def api_in_process(store: str | None, config: Path | None) -> AsyncIterator[httpx.AsyncClient]:
    """A client of it, for as long as a block runs."""
    async with AsyncTickwise(store, config=config) as tickwise:
        if not store_exists(tickwise.settings.store):
            hint(f"{tickwise.settings.store} is new: there was no store.")
        app = make_api(
            tickwise, access=AuthSettings(without_token=AccessRole.ADMIN, name=_person())
        )  # no socket is served
        async with httpx.AsyncClient(transport=InProcessTransport(app), base_url="http://localhost") as http:
            yield http


def _person() -> str:
    """Who sits at this machine, as far as it knows."""
    try:
        return getpass.getuser()
    except (OSError, KeyError):  # no name for the user's number
        return "command line"
