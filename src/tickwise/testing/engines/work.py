"""The work of the stories, as a function that `tickwise exec` imports on the other side."""

import asyncio
import sys
from contextlib import suppress
from urllib.parse import urlsplit

LINES = "one\ntwo: ä, \U0001f600\nthree\n"
STUBBORN = "stubborn"


async def perform(work: str, gate: str) -> None:
    """Do what a story wants (`workplace.Work`), and leave when the gate says so."""
    if work == "fails":
        raise RuntimeError("it went wrong")
    if work == "prints":
        sys.stdout.write(LINES)
    if work in {"waits", STUBBORN}:
        await _wait_at(gate, stubborn=work == STUBBORN)


async def _wait_at(gate: str, *, stubborn: bool) -> None:
    waiting = asyncio.ensure_future(_ask(gate))
    while not waiting.done():
        with suppress(*((asyncio.CancelledError,) if stubborn else ())):
            await asyncio.wait({waiting})


async def _ask(address: str) -> None:
    """Return when the gate answers, which is when the story lets the work go."""
    parts = urlsplit(address)
    reader, writer = await asyncio.open_connection(parts.hostname, parts.port)
    writer.write(f"POST {parts.path} HTTP/1.0\r\nContent-Length: 0\r\n\r\n".encode())
    await reader.read()
    writer.close()
