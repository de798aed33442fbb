"""The client of the API: over HTTP with `--server`, else in this process over the store.

Both ways have the same paths, responses and errors. In this process no other user can connect, so whoever may open
the store is its admin.
"""

from collections.abc import AsyncGenerator, AsyncIterator, Mapping
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from typing import Any

from ..api.server_address import server_address
from ..config import load
from ..core.errors import InputError
from ..stores.url import hidden
from .sender import ApiTarget, Sender

_PAGE_SIZE = 1_000


class ApiClient:
    """Sends requests, and raises `ApiRefusal` for error responses."""

    def __init__(self, sender: Sender, target: ApiTarget, where: str, *, as_json: bool = False) -> None:
        self._sender = sender
        self._target = target
        self.where = where  # the store or the server that answers, for people
        self.as_json = as_json

    @property
    def dashboard(self) -> str:
        """The address of the dashboard: that of the server, else where the settings say that it listens."""
        if self._target.server is not None:
            return self._target.server
        settings = load(file=self._target.config)
        return server_address(settings, settings.port)

    async def get(self, path: str, /, **query: Any) -> Any:
        return await self._sender.request("GET", path, _without_none(query))

    async def post(self, path: str, /, **body: Any) -> Any:
        """Send a body; fields that are None are left out."""
        return await self._sender.request("POST", path, _without_none(body))

    async def put(self, path: str, /, **body: Any) -> Any:
        return await self._sender.request("PUT", path, body)

    async def patch(self, path: str, body: Mapping[str, Any]) -> Any:
        return await self._sender.request("PATCH", path, body)

    async def delete(self, path: str) -> Any:
        return await self._sender.request("DELETE", path, {})

    async def pages(self, path: str, limit: int, /, **query: Any) -> dict[str, Any]:
        """Up to `limit` items from as many pages as that takes, in the shape of one page."""
        items: list[Any] = []
        after: str | None = None
        while len(items) < limit:
            page = await self.get(path, after=after, limit=min(_PAGE_SIZE, limit - len(items)), **query)
            items += page["items"]
            after = page["next"]
            if after is None:
                break
        return {"items": items, "next": after}

    def events(self, path: str) -> AsyncGenerator[tuple[str, Any], None]:
        """The kind and the data of each event of a stream, until it ends."""
        return self._sender.events(path)


def _without_none(values: Mapping[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in values.items() if value is not None}


@asynccontextmanager
async def connect(target: ApiTarget, *, as_json: bool = False) -> AsyncIterator[ApiClient]:
    """A client of the API, open while a block runs."""
    if target.server is not None and target.store is not None:
        raise InputError("give --server or --store, not both")
    if target.server is None:
        from .local import over_store  # noqa: PLC0415  (the app, which --server does not need)

        where = hidden(load({"store": target.store}, file=target.config).store)
        opened: AbstractAsyncContextManager[Sender] = over_store(target, where)
    else:
        from .http_client import over_http  # noqa: PLC0415  (httpx2, which a store does not need)

        where = hidden(target.server)
        opened = over_http(target.server, target, where)
    async with opened as sender:
        yield ApiClient(sender, target, where, as_json=as_json)
