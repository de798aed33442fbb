"""Calls a user's callbacks: async ones on the event loop, the others in threads."""

import asyncio
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextvars import copy_context
from functools import partial
from inspect import isawaitable, iscoroutinefunction
from typing import Any

from ..core.errors import TickwiseError


class CallbackRunner:
    """Everything that a callback raises is raised as an `Exception`, so that none of it can end the scheduler."""

    def __init__(self, threads: int) -> None:
        self._threads = ThreadPoolExecutor(threads, "tickwise-documents")

    async def call(self, function: Callable[..., Any], *arguments: Any) -> None:
        try:
            if iscoroutinefunction(function):
                await function(*arguments)
                return
            work = partial(copy_context().run, function, *arguments)
            answer = await asyncio.get_running_loop().run_in_executor(self._threads, work)
            if isawaitable(answer):
                await answer
        except asyncio.CancelledError as error:
            task = asyncio.current_task()
            if task is not None and task.cancelling():
                raise
            raise TickwiseError("the handler was cancelled by something that it waited for") from error
        except SystemExit as error:
            raise TickwiseError(f"the handler asked for the end of the program ({error!r})") from error

    def close(self) -> None:
        self._threads.shutdown(wait=False)
