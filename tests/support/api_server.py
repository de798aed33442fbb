"""The API on a real socket, and a reader of its streams."""

import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any, NamedTuple

import httpx2

from tickwise.api.server import listen, serve_app
from tickwise.stores.access_records import AccessRole

from .api import Api, api


class Told(NamedTuple):
    """One event of a stream."""

    kind: str
    data: Any
    id: str | None


class Live(NamedTuple):
    """An API that others can reach."""

    api: Api
    client: httpx2.AsyncClient
    address: str

    @asynccontextmanager
    async def stream(self, path: str, **headers: str) -> AsyncIterator[AsyncIterator[Told]]:
        """The events of a stream, as they come."""
        given = {"Accept": "text/event-stream", **headers}
        async with self.client.stream("GET", f"/api/v1{path}", headers=given) as answer:
            assert answer.status_code == 200
            yield _events(answer)


async def _events(answer: httpx2.Response) -> AsyncIterator[Told]:
    fields: dict[str, str] = {}
    async for line in answer.aiter_lines():
        name, _, value = line.partition(": ")
        if line.startswith(":"):
            continue
        if line:
            fields[name] = value
        elif fields:
            yield Told(fields["event"], json.loads(fields["data"]), fields.get("id"))
            fields = {}


@asynccontextmanager
async def live(url: str = "memory://") -> AsyncIterator[Live]:
    """The API behind uvicorn on a free port of this machine, and a client with an admin's token."""
    async with api(url) as here:
        listener = listen("127.0.0.1", 0)
        address = f"http://127.0.0.1:{listener.getsockname()[1]}"
        token = {"Authorization": f"Bearer {await here.token(AccessRole.ADMIN, name='live')}"}
        async with (
            serve_app(here.app, listener, here.tickwise.settings),
            httpx2.AsyncClient(base_url=address, headers=token, timeout=60) as client,
        ):
            yield Live(here, client, address)
