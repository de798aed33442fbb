"""The short way of a plain async function: it asks for no log and no run, has no time limit and nobody to tell.

It is awaited in the run's own task, which spares a pipeline of one step, a second task and a log that nobody
writes to. Everything else goes the long way (`attempt`), and ends the same.
"""

import asyncio
from collections.abc import Callable, Mapping
from functools import lru_cache
from inspect import iscoroutinefunction
from typing import Any

from ...core.definition import JobDefinition
from ...core.errors import InputError
from .arguments import RUN, arguments_for, check_arguments, takes
from .ended import Ended, failed, raised, returned


def is_plain(job: JobDefinition, function: Callable[..., Any]) -> bool:
    on = job.on
    if job.steps or job.preconditions or job.timeout is not None or on.success or on.failure or on.exit:
        return False
    return _asks_for_nothing(function)


@lru_cache(maxsize=1024)
def _asks_for_nothing(function: Callable[..., Any]) -> bool:
    return iscoroutinefunction(function) and not takes(function, RUN)


async def call_plain(function: Callable[..., Any], params: Mapping[str, Any]) -> Ended:
    """Call it. Whatever it raises ends this run only (S46); cancelled from outside, it goes on as that."""
    notes: list[str] = []
    try:
        if params:
            check_arguments(function, params)
        arguments = arguments_for(function, params, None)
    except InputError as error:
        return failed(str(error))
    try:
        ended = returned(await function(**arguments), notes.append)
    except asyncio.CancelledError as error:
        task = asyncio.current_task()
        if task is not None and task.cancelling():
            raise
        return raised(error)
    except BaseException as error:  # noqa: BLE001  (a SystemExit that reached the loop would end that)
        return raised(error)
    return Ended(ended.outcome, ended.result, "\n".join(notes)) if notes else ended
