"""Connections that send nothing, too little, too much or too slowly, against a live server with raw sockets."""

import asyncio
import resource
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest
from structlog.testing import capture_logs

from tickwise.api import protocol
from tickwise.api.protocol import allowed_connections

from ..support.api_server import Live, live
from ..support.app import patiently

SOON = 0.2  # seconds: a deadline that a test can wait for
BEGUN = b"GET /healthz HTTP/1.1\r\nHost: localhost\r\n"
WHOLE = BEGUN + b"\r\n"


@asynccontextmanager
async def connected(server: Live) -> AsyncIterator[tuple[asyncio.StreamReader, asyncio.StreamWriter]]:
    host, _, port = server.address.removeprefix("http://").partition(":")
    reader, writer = await asyncio.open_connection(host, int(port))
    try:
        yield reader, writer
    finally:
        writer.close()


async def _last_words(reader: asyncio.StreamReader) -> bytes:
    """What comes until the server closes the connection."""
    try:
        return await reader.read()
    except ConnectionResetError:
        return b""


@pytest.mark.parametrize("sent", [b"", b"G", BEGUN, b"\r\n\r\n", BEGUN + b"X-A: "])
@patiently
async def test_a_request_that_does_not_come_is_not_waited_for(
    sent: bytes, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A connection without a whole head is closed when its time is over (B4)."""
    monkeypatch.setattr(protocol, "HEAD_TIMEOUT", SOON)
    async with live() as server, connected(server) as (reader, writer):
        writer.write(sent)
        assert (await _last_words(reader)).startswith(b"HTTP/1.1 408 ")


@patiently
async def test_the_deadline_is_for_each_request(monkeypatch: pytest.MonkeyPatch) -> None:
    """A connection that was answered has a deadline again for its next request (B4)."""
    async with live() as server, connected(server) as (reader, writer):
        for _ in range(3):
            writer.write(WHOLE)
            assert b" 200 " in await reader.readuntil(b'"ok"}')
        monkeypatch.setattr(protocol, "HEAD_TIMEOUT", SOON)
        writer.write(BEGUN)
        assert (await _last_words(reader)).startswith(b"HTTP/1.1 408 ")


@patiently
async def test_a_body_that_does_not_come_is_not_waited_for(monkeypatch: pytest.MonkeyPatch) -> None:
    """A body that stops in the middle ends its connection; that is nobody's error and no line of the log (B4)."""
    monkeypatch.setattr(protocol, "BODY_TIMEOUT", SOON)
    async with live() as server, connected(server) as (reader, writer):
        with capture_logs() as logged:
            writer.write(
                b"POST /session HTTP/1.1\r\nHost: localhost\r\nContent-Length: 9\r\n"
                b"Content-Type: application/json\r\n\r\n{"
            )
            assert await _last_words(reader) == b""
            assert (await server.client.get("/healthz")).status_code == 200
        assert logged == []


@pytest.mark.parametrize(
    "head",
    [
        BEGUN + b"X-A: ", b"GET /", BEGUN + b"X", b"\r\n",
        b"POST /session HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\n1;",
        b"POST /session HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\n0\r\nX-A: ",
    ],
    ids=["header", "address", "name", "nothing", "extension", "trailer"],
)  # fmt: skip
@patiently
async def test_what_never_ends_is_bounded_while_it_arrives(head: bytes) -> None:
    """An endless header, address, extension or trailer is cut off long before a megabyte (B5)."""
    async with live() as server, connected(server) as (reader, writer):
        answer = asyncio.create_task(_last_words(reader))
        writer.write(head)
        sent, filler = 0, b"\r\n" * 512 if head == b"\r\n" else b"a" * 1_024
        while not answer.done() and sent < 1 << 24:
            writer.write(filler)
            sent += len(filler)
            try:
                await writer.drain()
            except ConnectionError:
                break
            await asyncio.sleep(0)
        assert sent < 1 << 23, "kernel buffers hold some, the server no more"
        assert (await answer)[:13] in (b"HTTP/1.1 431 ", b"HTTP/1.1 400 ", b"HTTP/1.1 415 ", b"")
        assert (await server.client.get("/healthz")).status_code == 200


@patiently
async def test_a_long_body_is_still_read() -> None:
    """What is sent in many pieces and finished is no attack."""
    async with live() as server:
        body = {"name": "long", "schedule": "@daily", "command": "true", "description": "x" * 900_000}
        answer = await server.client.post("/api/v1/schedules", json=body)
        assert answer.status_code in (201, 422)


@pytest.fixture
def few(monkeypatch: pytest.MonkeyPatch) -> int:
    monkeypatch.setattr(protocol, "_MAX_CONNECTIONS", 20)
    return 20


@patiently
async def test_half_open_connections_do_not_stop_the_api(few: int) -> None:
    """One too many closes the oldest that sends nothing; requests are answered, and one line says so (B4)."""
    async with live() as server:
        with capture_logs() as logged:
            held = [connected(server) for _ in range(5 * few)]
            streams = [await one.__aenter__() for one in held]
            assert (await server.client.get("/api/v1/me")).status_code == 200
            assert await _last_words(streams[0][0]) == b""
            for one in held:
                await one.__aexit__(None, None, None)
        assert [line["event"] for line in logged] == [
            "too many connections: the one that waited longest is closed"
        ]


@patiently
async def test_a_stream_is_not_closed_for_a_newcomer(few: int) -> None:
    """A response that is under way is left alone, however many connections wait (B4)."""
    async with live() as server, server.stream("/events") as events:
        held = [connected(server) for _ in range(3 * few)]
        for one in held:
            await one.__aenter__()
        await server.api.post("/schedules", {"name": "new", "schedule": "@daily", "command": "true"})
        async for event in events:
            if event.kind == "schedule":
                break
        for one in held:
            await one.__aexit__(None, None, None)


def test_the_limit_of_files_is_raised() -> None:
    """As far as it may be; and never are more connections held than half of them (B4)."""
    before = resource.getrlimit(resource.RLIMIT_NOFILE)
    try:
        resource.setrlimit(resource.RLIMIT_NOFILE, (256, before[1]))
        most = allowed_connections()
        soft, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
        assert soft > 256 or before[1] == 256
        assert 10 <= most <= soft // 2
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, before)
