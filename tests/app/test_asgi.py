"""`lifespan`, `asgi` and health: a scheduler beside, or as, a web application."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import httpx2
import pytest
from fastapi import FastAPI

from tickwise import AsyncTickwise, Tickwise
from tickwise.app.health import App

from ..support.app import Clock, Heard, patiently

START, STOP = {"type": "lifespan.startup"}, {"type": "lifespan.shutdown"}


class Server:
    """What a web server does with an ASGI application: wakes it, asks it, and lets it sleep."""

    def __init__(self, app: App) -> None:
        self._app = app
        self._said: asyncio.Queue[Any] = asyncio.Queue()
        self._heard: asyncio.Queue[Any] = asyncio.Queue()
        self._life = asyncio.create_task(self._live())

    async def _live(self) -> None:
        await self._app({"type": "lifespan"}, self._said.get, self._heard.put)

    async def say(self, message: dict[str, str]) -> dict[str, str]:
        """Its answer."""
        self._said.put_nowait(message)
        answer: dict[str, str] = await self._heard.get()
        return answer

    async def ended(self) -> None:
        await self._life

    async def ask(self, path: str, method: str = "GET") -> httpx2.Response:
        transport = httpx2.ASGITransport(app=self._app)
        async with httpx2.AsyncClient(transport=transport, base_url="http://tickwise") as client:
            return await client.request(method, path)


@asynccontextmanager
async def served(app: App) -> AsyncIterator[Server]:
    """An application on a server, from its start to its end."""
    server = Server(app)
    assert await server.say(START) == {"type": "lifespan.startup.complete"}
    yield server
    assert await server.say(STOP) == {"type": "lifespan.shutdown.complete"}
    await server.ended()


@pytest.mark.parametrize("face", [AsyncTickwise, Tickwise])
@patiently
async def test_as_an_application(url: str, clock: Clock, face: type[Any]) -> None:
    """`asgi()` runs the scheduler as long as its server lives, and tells whether it lives and is ready."""
    heard = Heard()
    app = face(url, clock=clock, hooks=heard.hooks, poll=0.05)
    async with served(app.asgi()) as server:
        await heard.until("idle")
        assert (await server.ask("/healthz")).json() == {"status": "ok"}
        ready = await server.ask("/readyz")
        assert (ready.status_code, ready.json()) == (200, {"status": "ready"})
    assert heard.told[-1] == "stop"
    assert app.node is not None


@patiently
async def test_not_ready(clock: Clock) -> None:
    """Before it runs, `/healthz` is well and `/readyz` answers 503."""
    app = AsyncTickwise("memory://", clock=clock)
    server = Server(app.asgi())
    assert (await server.ask("/healthz")).status_code == 200
    ready = await server.ask("/readyz")
    assert (ready.status_code, ready.json()) == (503, {"status": "no pass for three polls"})
    assert await server.say(START) == {"type": "lifespan.startup.complete"}
    await server.say(STOP)
    await server.ended()


@patiently
async def test_other_requests(clock: Clock) -> None:
    """Other paths are not found, other methods not allowed, and HEAD gets no content."""
    async with served(AsyncTickwise("memory://", clock=clock).asgi()) as server:
        assert (await server.ask("/")).status_code == 404
        assert (await server.ask("/healthz", "POST")).status_code == 405
        head = await server.ask("/healthz", "HEAD")
        assert (head.status_code, head.content) == (200, b"")


@patiently
async def test_a_server_hears_that_it_cannot_start() -> None:
    """If the scheduler cannot start, the server is told why, rather than left to serve without it."""
    server = Server(AsyncTickwise("sqllite:///jobs.db").asgi())
    answer = await server.say(START)
    await server.ended()
    assert answer["type"] == "lifespan.startup.failed"
    assert "did you mean sqlite?" in answer["message"]


@pytest.mark.parametrize("face", [AsyncTickwise, Tickwise])
@patiently
async def test_beside_an_application(url: str, clock: Clock, face: type[Any]) -> None:
    """`FastAPI(lifespan=tw.lifespan)`: what a request enqueues is run in the same process."""
    heard = Heard()
    tw = face(url, clock=clock, hooks=heard.hooks, poll=0.05)
    awaited = tw if isinstance(tw, AsyncTickwise) else tw.awaited
    shop = FastAPI(lifespan=tw.lifespan)
    sent: list[int] = []

    @tw.job()
    async def send(order: int) -> None:
        sent.append(order)

    @shop.post("/orders/{order}")
    async def place(order: int) -> str:
        return str((await awaited.enqueue(send, {"order": order})).job)

    async with served(shop) as server:
        assert (await server.ask("/orders/7", "POST")).json() == "send"
        await heard.until("succeeded send")
    assert (sent, heard.told[-1]) == ([7], "stop")


@patiently
async def test_from_a_thread_of_the_application(url: str, clock: Clock) -> None:
    """Endpoints that are plain functions run in threads, and use the synchronous face there."""
    heard = Heard()
    tw = Tickwise(url, clock=clock, hooks=heard.hooks, poll=0.05)
    shop = FastAPI(lifespan=tw.lifespan)

    @tw.job()
    def send(order: int) -> int:
        return order

    @shop.post("/orders/{order}")
    def place(order: int) -> str:
        return str(tw.enqueue(send, {"order": order}).id)

    async with served(shop) as server:
        run = (await server.ask("/orders/7", "POST")).json()
        await heard.until("succeeded send")
        assert (await tw.awaited.runs.get(run)).result == 7
