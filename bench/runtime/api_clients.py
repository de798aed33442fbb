"""A cheap HTTP client that sends requests to a server at a given rate, over connections that stay open."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from time import monotonic
from typing import NamedTuple
from urllib.parse import urlsplit

from .server_process import ServerProcess

CONNECTIONS = 20


class ApiRequest(NamedTuple):
    """What is requested again and again, and the status that it must get."""

    line: str
    status: int = 200
    body: str = ""

    def text(self, server: ServerProcess) -> bytes:
        host = urlsplit(server.address).netloc
        headers = f"Host: {host}\r\nAuthorization: Bearer {server.token}"
        if self.body:
            headers += f"\r\nContent-Type: application/json\r\nContent-Length: {len(self.body)}"
        return f"{self.line} HTTP/1.1\r\n{headers}\r\n\r\n{self.body}".encode("ascii")


NEWEST_RUNS = ApiRequest("GET /api/v1/runs?limit=10")


class ResponseCounter:
    """The number of responses, and their rate."""

    def __init__(self) -> None:
        self.count = 0
        self._begun = monotonic()
        self._ended: float | None = None

    def end(self) -> None:
        self._ended = monotonic()

    @property
    def rate(self) -> float:
        return self.count / ((self._ended or monotonic()) - self._begun)


@asynccontextmanager
async def send_requests(
    server: ServerProcess, rate: int, request: ApiRequest = NEWEST_RUNS
) -> AsyncIterator[ResponseCounter]:
    """Send requests until the block ends; a connection that cannot keep up sends them one after the other."""
    responses = ResponseCounter()
    clients = [
        asyncio.create_task(_send_at_rate(server, CONNECTIONS / rate, request, responses))
        for _ in range(CONNECTIONS)
    ]
    try:
        yield responses
    finally:
        responses.end()
        for client in clients:
            client.cancel()
        ended = await asyncio.gather(*clients, return_exceptions=True)
    for error in ended:  # a client that was refused has sent nothing since
        if isinstance(error, Exception):
            raise error


async def send_once(server: ServerProcess, request: ApiRequest) -> None:
    """Send one request and wait for its response: the first takes longer than others."""
    reader, writer = await _connect(server)
    try:
        writer.write(request.text(server))
        await _read_response(reader, request.status)
    finally:
        writer.close()


async def _connect(server: ServerProcess) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
    where = urlsplit(server.address)
    return await asyncio.open_connection(where.hostname, where.port)


async def _send_at_rate(
    server: ServerProcess, every: float, request: ApiRequest, responses: ResponseCounter
) -> None:
    reader, writer = await _connect(server)
    text = request.text(server)
    due = monotonic()
    try:
        while True:
            due = max(due + every, monotonic())
            await asyncio.sleep(due - monotonic())
            writer.write(text)
            await _read_response(reader, request.status)
            responses.count += 1
    finally:
        writer.close()


async def _read_response(reader: asyncio.StreamReader, wanted: int) -> None:
    head = await reader.readuntil(b"\r\n\r\n")
    status, *headers = head.decode("ascii").lower().split("\r\n")
    if f" {wanted} " not in status:
        raise ConnectionError(status)
    length = next(line for line in headers if line.startswith("content-length:"))
    await reader.readexactly(int(length.partition(":")[2]))
