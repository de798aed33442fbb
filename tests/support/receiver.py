"""A web server that keeps what it was sent, and answers as it is told."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from typing import NamedTuple

from tickwise.runtime.executors.address import AddressPolicy, Reach

NEAR = AddressPolicy(frozenset({Reach.LOOPBACK}))


class Sent(NamedTuple):
    method: str
    path: str
    headers: dict[str, str]
    body: bytes


class Receiver:
    """`status` is what it answers; none: nothing, for ever."""

    def __init__(self) -> None:
        self.status: int | None = 204
        self.got: list[Sent] = []
        self.url = ""
        self._news = asyncio.Event()

    async def until(self, number: int) -> None:
        """Wait until so many have come."""
        while len(self.got) < number:
            self._news.clear()
            await self._news.wait()

    async def _answer(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with suppress(asyncio.IncompleteReadError, ConnectionError, asyncio.CancelledError):
            first, *lines = (await reader.readuntil(b"\r\n\r\n")).decode().strip().split("\r\n")
            headers = {name.lower(): value for name, _, value in (line.partition(": ") for line in lines)}
            method, path, _ = first.split(" ")
            body = await reader.readexactly(int(headers.get("content-length", 0)))
            self.got.append(Sent(method, path, headers, body))
            self._news.set()
            if self.status is None:
                await reader.read()
            location = "Location: /elsewhere\r\n" if self.status == 302 else ""
            writer.write(f"HTTP/1.1 {self.status} X\r\n{location}Content-Length: 0\r\n\r\n".encode())
            await writer.drain()
        writer.close()

    @classmethod
    @asynccontextmanager
    async def open(cls) -> AsyncIterator["Receiver"]:
        receiver = cls()
        server = await asyncio.start_server(receiver._answer, "127.0.0.1", 0)
        receiver.url = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}/hook?key=hush"
        try:
            yield receiver
        finally:
            server.close()
