"""The API as a transport in this process: answers stream, and who leaves is noticed."""

import asyncio
from typing import Any

import httpx2
import pytest

from tickwise.cli.in_process import InProcessTransport
from tickwise.core.errors import TickwiseError

from ..support.app import patiently


def client(app: Any) -> httpx2.AsyncClient:
    return httpx2.AsyncClient(transport=InProcessTransport(app), base_url="http://localhost")


async def echo(scope: Any, receive: Any, send: Any) -> None:
    """Answers with what it was asked, and ends."""
    body = (await receive())["body"]
    told = f"{scope['method']} {scope['path']} {scope['query_string'].decode()} {body.decode()}"
    await send({"type": "http.response.start", "status": 201, "headers": [(b"x-who", b"echo")]})
    await send({"type": "http.response.body", "body": told.encode()})


@patiently
async def test_a_request_arrives_as_it_was_sent() -> None:
    """Method, address, query and body come through, and so do status and headers."""
    async with client(echo) as http:
        answer = await http.post("/a%20b", params={"c": "d"}, content=b"e")
    assert (answer.status_code, answer.headers["x-who"], answer.text) == (201, "echo", "POST /a b c=d e")


@patiently
async def test_an_answer_arrives_part_by_part() -> None:
    """A part is read while the next is not there yet; the application hears that its reader has left."""
    left = asyncio.Event()

    async def endless(_: Any, receive: Any, send: Any) -> None:
        await receive()
        await send({"type": "http.response.start", "status": 200, "headers": []})
        await send({"type": "http.response.body", "body": b"one\n", "more_body": True})
        try:
            gone = await receive()
        finally:
            left.set()
        assert gone["type"] == "http.disconnect"

    async with client(endless) as http, http.stream("GET", "/") as answer:
        async for line in answer.aiter_lines():
            assert line == "one"
            break
    await left.wait()


@patiently
async def test_an_application_that_dies() -> None:
    """Its error is ours; one that ends without a word is told."""

    async def dies(*_: Any) -> None:
        raise LookupError("gone")

    async def silent(*_: Any) -> None: ...

    for app, error in ((dies, LookupError), (silent, TickwiseError)):
        async with client(app) as http:
            with pytest.raises(error):
                await http.get("/")


@patiently
async def test_nothing_goes_on_after_who_asked_has_left() -> None:
    """A request that is given up before its answer begins has ended when that is known: what it uses is closed."""
    begun, ended = asyncio.Event(), asyncio.Event()

    async def slow(*_: Any) -> None:
        begun.set()
        try:
            await asyncio.Event().wait()
        finally:
            ended.set()

    async with client(slow) as http:
        asking = asyncio.ensure_future(http.get("/"))
        await begun.wait()
        asking.cancel()
        with pytest.raises(asyncio.CancelledError):
            await asking
        assert ended.is_set()
