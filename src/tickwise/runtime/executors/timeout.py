"""Waiting with a timeout. The sleep is an argument, so that tests control time."""

import asyncio
from collections.abc import Awaitable, Callable, Coroutine
from typing import Any, TypeAlias, TypeVar

Sleep: TypeAlias = Callable[[float], Awaitable[None]]
T = TypeVar("T")


class TimedOut(Exception):  # noqa: N818 (a name of its own: user code raises TimeoutError too)
    """The work was cancelled, because it took too long."""


async def finishes(work: "asyncio.Future[Any]", seconds: float, sleep: Sleep) -> bool:
    """Whether the work ends in this time. If not, it is not cancelled."""
    timer = asyncio.ensure_future(sleep(seconds))
    try:
        await asyncio.wait({work, timer}, return_when=asyncio.FIRST_COMPLETED)
    finally:
        timer.cancel()
    return work.done()


async def limited(work: Coroutine[Any, Any, T], seconds: float | None, sleep: Sleep) -> T:
    """The result of the work. If it takes longer, it is cancelled, and `TimedOut` raised when it has ended."""
    if seconds is None:
        return await work
    task = asyncio.ensure_future(work)
    try:
        if await finishes(task, seconds, sleep):
            return task.result()
    finally:
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)
    raise TimedOut
