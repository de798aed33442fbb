"""Attempts that were handed over, and what lies between their work and the API."""

import asyncio
import json
from collections import Counter
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Any, NamedTuple

import httpx2
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from tickwise.api.server import listen, serve_app
from tickwise.api.server_address import server_address
from tickwise.config import Settings
from tickwise.core.definition import EngineUse
from tickwise.core.handover import HandOver, Intended, reference_of
from tickwise.core.requirements import Offers
from tickwise.stores.records import Lease, LogPart, RunRow
from tickwise.testing.conformance.world import World, job

from .api import Api, api

WATCHER = Offers.of_watcher(["gpu"], ["*"])
TICKET, CLAIM, OTHER = "t" * 43, "c" * 43, "o" * 43


class Handed(NamedTuple):
    """An attempt that was handed over, and the API that its work speaks to."""

    api: Api
    world: World
    lease: Lease

    @property
    def reference(self) -> str:
        return reference_of(self.lease.id, self.lease.attempt)

    async def ask(
        self, move: str, secret: str | None, body: Any = None, reference: str | None = None
    ) -> httpx2.Response:
        path = f"/attempts/{reference or self.reference}/{move}"
        return await self.api.ask("POST", path, token=secret, **({} if body is None else {"json": body}))

    async def begin(self, claim: str = CLAIM, ticket: str = TICKET) -> httpx2.Response:
        return await self.ask("begin", ticket, {"claim": claim})

    async def run(self) -> RunRow:
        return await self.world.run(self.lease.id)

    async def log(self) -> tuple[LogPart, ...]:
        return (await self.world.insights.log(self.lease.id, limit=10_000)).items

    async def printed(self) -> str:
        return "".join(part.text for part in await self.log())

    async def record(self) -> HandOver:
        record = (await self.run()).hand_over
        assert record is not None
        return record

    def environment(self, address: str) -> dict[str, str]:
        """The variables that an engine passes on."""
        return {"TICKWISE_API": address, "TICKWISE_ATTEMPT": self.reference, "TICKWISE_TICKET": TICKET}


async def handed(
    here: Api, name: str = "a", ticket: str = TICKET, *, target: str = "", run_params: Any = None, **given: Any
) -> Handed:
    """A run that a watcher is about to order."""
    world = await here.world()
    await world.define(job(name, engine=EngineUse("gpu", target=target), **given))
    await world.enqueue(name, params=run_params)
    (lease,) = await world.lease(offers=WATCHER, seconds=30)
    return await intended(here, world, lease, ticket)


async def intended(here: Api, world: World, lease: Lease, ticket: str = TICKET) -> Handed:
    one = Handed(here, world, lease)
    record = HandOver("gpu", one.reference, "print", lease.token, ticket=ticket)
    assert await world.store.hand_over(lease.id, lease.token, Intended(record))
    return one


class Wire:
    """Between work and the API: counts what is asked, loses requests and answers, and changes what is told."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app
        self._news = asyncio.Event()
        self.moves: Counter[str] = Counter()
        self._done: Counter[str] = Counter()  # of these, what the API has dealt with
        self.loses_request: Callable[[str], bool] = lambda _move: False
        self.loses_answer: Callable[[str], bool] = lambda _move: False
        self.told: dict[str, Any] = {}  # instead of what the gate says

    async def seen(self, move: str, times: int = 1) -> None:
        """Wait until it was asked so often."""
        while self.moves[move] < times:
            self._news.clear()
            await self._news.wait()

    async def printed(self, one: "Handed", text: str) -> None:
        """Wait until the log of the run has a text."""
        while True:
            known = self._done["report"]
            if text in await one.printed():
                return
            while self._done["report"] == known:
                self._news.clear()
                await self._news.wait()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http" or "/attempts/" not in scope["path"]:
            await self._app(scope, receive, send)
            return
        move = scope["path"].rpartition("/")[2]
        self.moves[move] += 1
        self._news.set()
        answer: list[Message] = []

        async def keep(message: Message) -> None:
            answer.append(message)

        if not (is_lost := self.loses_request(move)):
            await self._app(scope, receive, keep)
        self._done[move] += 1
        self._news.set()
        if is_lost or self.loses_answer(move):
            answer = _page(502, b"no")
        elif move == "begin" and self.told and answer[0]["status"] == 200:
            body = b"".join(message.get("body", b"") for message in answer[1:])
            answer = _page(200, json.dumps(json.loads(body) | self.told).encode())
        for message in answer:
            await send(message)


def _page(status: int, body: bytes) -> list[Message]:
    return [
        {"type": "http.response.start", "status": status, "headers": [(b"content-type", b"text/html")]},
        {"type": "http.response.body", "body": body},
    ]


class Served(NamedTuple):
    """An API that work reaches over a wire."""

    api: Api
    wire: Wire
    address: str


@asynccontextmanager
async def served(url: str = "memory://", settings: Settings | None = None) -> AsyncIterator[Served]:
    async with api(url) as here:
        wire, listener = Wire(here.app), listen("127.0.0.1", 0)
        given = settings or here.tickwise.settings
        async with serve_app(wire, listener, given):
            yield Served(here, wire, server_address(given, listener.getsockname()[1]))
