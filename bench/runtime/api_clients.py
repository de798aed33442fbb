"""A cheap HTTP client that sends requests to a server at a given rate, over connections that stay open."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from time import monotonic
from urllib.parse import urlsplit

from .server_process import ServerProcess

_CONNECTIONS = 20
_PATH = "/api/v1/runs?limit=10"


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
async def send_requests(server: ServerProcess, rate: int) -> AsyncIterator[ResponseCounter]:
    """Send requests until the block ends; a connection that cannot keep up sends them one after the other."""
    responses = ResponseCounter()
    clients = [
        asyncio.create_task(_send_at_rate(server, _CONNECTIONS / rate, responses)) for _ in range(_CONNECTIONS)
    ]
    try:
        yield responses
    finally:
        responses.end()
        for client in clients:
            client.cancel()
        await asyncio.gather(*clients, return_exceptions=True)


async def _send_at_rate(server: ServerProcess, every: float, responses: ResponseCounter) -> None:
    where = urlsplit(server.address)
    reader, writer = await asyncio.open_connection(where.hostname, where.port)
    headers = f"Host: {where.netloc}\r\nAuthorization: Bearer {server.token}"
    request = f"GET {_PATH} HTTP/1.1\r\n{headers}\r\n\r\n".encode()
    due = monotonic()
    try:
        while True:
            due = max(due + every, monotonic())
            await asyncio.sleep(due - monotonic())
            writer.write(request)
            await _read_response(reader)
            responses.count += 1
    finally:
        writer.close()


async def _read_response(reader: asyncio.StreamReader) -> None:
    head = await reader.readuntil(b"\r\n\r\n")
    status, *headers = head.decode("ascii").lower().split("\r\n")
    if " 200 " not in status:
        raise ConnectionError(status)
    length = next(line for line in headers if line.startswith("content-length:"))
    await reader.readexactly(int(length.partition(":")[2]))
