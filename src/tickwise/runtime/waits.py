"""Waiting for the first of several events, or for all tasks, up to a time."""

import asyncio
from collections.abc import Awaitable, Sequence


async def wait_for_any(seconds: float, *awaited: Awaitable[object]) -> None:
    """Wait until one of these is over, up to so many seconds; the others are given up."""
    waits = [asyncio.ensure_future(one) for one in awaited]
    await asyncio.wait(waits, timeout=seconds, return_when=asyncio.FIRST_COMPLETED)
    for wait in waits:
        wait.cancel()


async def wait_for_all(seconds: float, tasks: Sequence["asyncio.Task[None]"]) -> None:
    """Wait for all of them; one that hangs, because the store does not answer, is given up after that time."""
    _, late = await asyncio.wait(tasks, timeout=seconds)
    for task in late:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)
