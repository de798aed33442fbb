"""People who ask a server, so many times a second, over connections that stay open: a plain and cheap client."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from time import monotonic
from urllib.parse import urlsplit

_CONNECTIONS = 20
_QUESTION = "/api/v1/runs?limit=10"


class Answers:
    """How many there were, and in which time."""

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
async def asking(address: str, rate: int) -> AsyncIterator[Answers]:
    """Ask while the block runs; who cannot keep up asks as fast as it is answered."""
    answers = Answers()
    people = [asyncio.create_task(_ask(address, _CONNECTIONS / rate, answers)) for _ in range(_CONNECTIONS)]
    try:
        yield answers
    finally:
        answers.end()
        for each in people:
            each.cancel()
        await asyncio.gather(*people, return_exceptions=True)


async def _ask(address: str, every: float, answers: Answers) -> None:
    where = urlsplit(address)
    reader, writer = await asyncio.open_connection(where.hostname, where.port)
    question = f"GET {_QUESTION} HTTP/1.1\r\nHost: {where.netloc}\r\n\r\n".encode()
    due = monotonic()
    try:
        while True:
            due = max(due + every, monotonic())
            await asyncio.sleep(due - monotonic())
            writer.write(question)
            await _answer(reader)
            answers.count += 1
    finally:
        writer.close()


async def _answer(reader: asyncio.StreamReader) -> None:
    head = await reader.readuntil(b"\r\n\r\n")
    status, *headers = head.decode("ascii").lower().split("\r\n")
    if " 200 " not in status:
        raise ConnectionError(status)
    length = next(line for line in headers if line.startswith("content-length:"))
    await reader.readexactly(int(length.partition(":")[2]))
