"""A line between nodes and their server that can be cut, held up, or made to lose messages.

It lives in a thread of its own. What it forwards it does not understand: it is told how to know bytes that ask the
server to keep something (`is_write`), and what to answer in the server's place.
"""

import asyncio
from asyncio import StreamReader, StreamWriter
from collections.abc import Callable, Iterator
from concurrent.futures import Future
from contextlib import contextmanager, suppress
from enum import Enum
from threading import Thread
from typing import Self

_CHUNK = 65_536


class Loss(Enum):
    """What a node cannot tell apart: in both cases its connection ends before an answer came."""

    REQUEST = "the server never heard of it"
    ANSWER = "the server has done it"


class Proxy:
    """Everything is forwarded, after `delay` seconds in each direction, unless somebody says otherwise."""

    def __init__(self, host: str, port: int, is_write: Callable[[bytes], bool], delay: float = 0) -> None:
        self._server = (host, port)
        self._is_write = is_write
        self._delay = delay
        self._loop = asyncio.new_event_loop()
        self._thread = Thread(target=self._loop.run_forever, daemon=True)
        self._links: dict[_Link, asyncio.Task[None] | None] = {}
        self._flows = asyncio.Event()
        self._flows.set()
        self._loss: tuple[Loss, Future[None]] | None = None
        self._reply: Callable[[bytes], bytes | None] = lambda _: None
        self.port = 0

    def __enter__(self) -> Self:
        self._thread.start()
        listening = asyncio.start_server(self._accept, "127.0.0.1", 0)
        self._listener = asyncio.run_coroutine_threadsafe(listening, self._loop).result()
        self.port = int(self._listener.sockets[0].getsockname()[1])
        return self

    def __exit__(self, *_: object) -> None:
        asyncio.run_coroutine_threadsafe(self._close(), self._loop).result()
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()

    def cut(self) -> None:
        """End all connections, in the middle of whatever they carry."""
        self._loop.call_soon_threadsafe(self._cut)

    def lead_to(self, host: str, port: int) -> None:
        """End all connections; new ones are made to another server."""
        self._server = (host, port)
        self.cut()

    @contextmanager
    def stalled(self) -> Iterator[None]:
        """Keep everything back; it is delivered late, after the block."""
        self._loop.call_soon_threadsafe(self._flows.clear)
        yield
        self._loop.call_soon_threadsafe(self._flows.set)

    @contextmanager
    def answering(self, reply: Callable[[bytes], bytes | None]) -> Iterator[None]:
        """Until the block ends, messages that have such a reply get it, and never reach the server."""
        before, self._reply = self._reply, reply
        yield
        self._reply = before

    def lose(self, what: Loss) -> Future[None]:
        """Lose one of the two messages of the next write, and its connection; told when that has happened."""
        lost = Future[None]()
        self._loop.call_soon_threadsafe(setattr, self, "_loss", (what, lost))
        return lost

    def _cut(self) -> None:
        for link in self._links:
            link.cut()

    async def _close(self) -> None:
        self._listener.close()
        self._cut()
        await asyncio.gather(*filter(None, self._links.values()))

    async def _accept(self, node: StreamReader, to_node: StreamWriter) -> None:
        try:
            server, to_server = await asyncio.open_connection(*self._server)
        except OSError:
            to_node.transport.abort()
            return
        link = _Link(to_node, to_server)
        self._links[link] = asyncio.current_task()
        await asyncio.gather(self._ask(link, node), self._answer(link, server))
        del self._links[link]

    async def _pass(self) -> None:
        await asyncio.sleep(self._delay)
        await self._flows.wait()

    async def _ask(self, link: "_Link", node: StreamReader) -> None:
        with suppress(OSError):
            while data := await node.read(_CHUNK):
                await self._pass()
                if reply := self._reply(data):
                    await _forward(reply, link.to_node)
                    continue
                if self._loss and self._is_write(data):
                    (what, lost), self._loss = self._loss, None
                    if what is Loss.REQUEST:
                        lost.set_result(None)
                        break
                    link.lost = lost
                await _forward(data, link.to_server)
        link.cut()

    async def _answer(self, link: "_Link", server: StreamReader) -> None:
        with suppress(OSError):
            while (data := await server.read(_CHUNK)) and not link.lost:
                await self._pass()
                await _forward(data, link.to_node)
        if link.lost:
            link.lost.set_result(None)
        link.cut()


async def _forward(data: bytes, to: StreamWriter) -> None:
    to.write(data)
    await to.drain()


class _Link:
    """A connection of a node, and the one that was made for it; `lost` is set when its next answer comes."""

    def __init__(self, to_node: StreamWriter, to_server: StreamWriter) -> None:
        self.to_node = to_node
        self.to_server = to_server
        self.lost: Future[None] | None = None

    def cut(self) -> None:
        self.to_node.transport.abort()
        self.to_server.transport.abort()
