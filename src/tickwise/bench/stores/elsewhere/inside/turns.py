"""A peer that takes turns: a line of standard input names what to do, and a line with its result is the answer."""

import asyncio
import sys
from typing import Protocol


class Peer(Protocol):
    """See `Contender`, whose other half this is."""

    async def prepare(self) -> None: ...

    async def work(self) -> None: ...

    async def done(self) -> int: ...


async def serve(peer: Peer) -> None:
    """Until nobody asks any more."""
    while step := (await asyncio.to_thread(sys.stdin.readline)).strip():
        print(await getattr(peer, step)(), flush=True)
