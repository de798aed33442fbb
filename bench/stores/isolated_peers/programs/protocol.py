"""How a peer serves turns: each line of standard input names a step, and a line with its result is the answer."""

import asyncio
import sys
from typing import Protocol


class Peer(Protocol):
    """The steps of a `Contender`."""

    async def prepare(self) -> None: ...

    async def work(self) -> None: ...

    async def done(self) -> int: ...


async def serve(peer: Peer) -> None:
    """Serve steps until standard input is closed."""
    while step := (await asyncio.to_thread(sys.stdin.readline)).strip():
        print(await getattr(peer, step)(), flush=True)
