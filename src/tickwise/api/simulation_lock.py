"""Simulations and replays: what computes for long is done by one request of a process at a time."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from fastapi import Request

from .problems import Refusal


@asynccontextmanager
async def one_at_a_time(request: Request) -> AsyncIterator[None]:
    """The turn of a request; while another has it, this is refused (429)."""
    lock: asyncio.Lock = request.app.state.simulation
    if lock.locked():
        raise Refusal(429, "another simulation is under way: try again", headers={"Retry-After": "1"})
    async with lock:
        yield
