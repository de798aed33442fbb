"""Functions of this process: async ones on the loop, the others in threads.

Neither can be killed. A function that is cancelled or takes too long is abandoned: a thread goes on until the
function returns, and so does an async function that ignores its cancellation. `stuck` counts them, so that a
worker takes on as many runs less. `Isolated` asks for a process instead, which can be killed.

An exception of a function ends its run only (S46). It is caught at the call and passed on as a value, because a
SystemExit or a KeyboardInterrupt that reached the loop would end the loop.

An async function that needs no log, no run, no time limit and no handlers is called directly, in the run's own
task. That saves a pipeline of one step, a second task and a log. All others go through `attempt`, with the same
result.
"""

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from contextlib import suppress
from contextvars import copy_context
from dataclasses import dataclass
from functools import lru_cache, partial
from inspect import iscoroutine, iscoroutinefunction
from typing import Any

from ...core.definition import JobDefinition
from ...core.errors import InputError
from ..step_context import StepContext
from .arguments import arguments_for, check_arguments, takes_run
from .log import OUT, Sink
from .process import call_in_process, target_of
from .result import AttemptResult, failed, raised, returned
from .threads import Threads
from .timeout import Sleep, finishes


@dataclass(frozen=True, slots=True)
class Isolated:
    """A function that runs in a process of its own. It can still be called as before."""

    function: Callable[..., Any]

    def __post_init__(self) -> None:
        target_of(self.function)

    @property
    def __wrapped__(self) -> Callable[..., Any]:
        return self.function  # its parameters are checked

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return self.function(*args, **kwargs)


@dataclass(frozen=True, slots=True)
class _Raised:
    error: BaseException


class FunctionPool:
    """Where a worker's functions run."""

    def __init__(self) -> None:
        self.stuck = 0  # abandoned calls that have not ended
        self._threads = Threads()

    async def call(self, function: Callable[..., Any], context: StepContext) -> AttemptResult:
        """Check and bind the arguments, and call it. Raises InputError, and CancelledError if cancelled."""
        if isinstance(function, Isolated):
            return await call_in_process(target_of(function.function), context, strict=True)
        check_arguments(function, context.run.params)
        run = context.run.as_run(_log_writer(context.log))
        call = partial(function, **arguments_for(function, context.run.params, run))
        if _is_async(function):
            answer = await self._on_loop(call, context)
        else:
            answer = await self._in_thread(call, context)
            if iscoroutine(answer):
                answer = await self._on_loop(lambda: answer, context)
        return raised(answer.error) if isinstance(answer, _Raised) else returned(answer, context.log.write_warning)

    def close(self) -> None:
        self._threads.close()

    async def _in_thread(self, call: Callable[[], Any], context: StepContext) -> Any:
        loop = asyncio.get_running_loop()
        answer: asyncio.Future[Any] = loop.create_future()
        call = partial(copy_context().run, call)

        def on_result(value: Any) -> None:
            with suppress(RuntimeError):  # the loop is closed
                loop.call_soon_threadsafe(self._deliver, answer, value)

        self._threads.start(partial(_catch, call), on_result)
        try:
            return await answer
        except asyncio.CancelledError:
            if answer.cancelled():
                self.stuck += 1
                context.log.write_warning(
                    "a thread cannot be killed: the function goes on in its thread until it returns, "
                    "and its result is dropped"
                )
            raise

    def _deliver(self, answer: "asyncio.Future[Any]", value: Any) -> None:
        if answer.cancelled():
            self.stuck -= 1
        else:
            answer.set_result(value)

    async def _on_loop(self, call: Callable[[], Awaitable[Any]], context: StepContext) -> Any:
        task = asyncio.ensure_future(_catch_async(call))
        try:
            return await asyncio.shield(task)
        except asyncio.CancelledError:
            await self._cancel(task, context.log, context.services.sleep, context.services.kill_grace)
            raise

    async def _cancel(self, task: "asyncio.Task[Any]", log: Sink, sleep: Sleep, grace: float) -> None:
        task.cancel()
        if not await finishes(task, grace, sleep):
            self.stuck += 1
            task.add_done_callback(self._on_abandoned_done)
            log.write_warning(
                "the async function does not let itself be cancelled: it goes on, and its result is dropped"
            )

    def _on_abandoned_done(self, _task: "asyncio.Task[Any]") -> None:
        self.stuck -= 1


def _is_async(function: Callable[..., Any]) -> bool:
    return iscoroutinefunction(function) or iscoroutinefunction(type(function).__call__)


def _catch(call: Callable[[], Any]) -> Any:
    try:
        return call()
    except BaseException as error:  # noqa: BLE001 (whatever it is, it ends this run only: S46)
        return _Raised(error)


async def _catch_async(call: Callable[[], Awaitable[Any]]) -> Any:
    try:
        return await call()
    except BaseException as error:  # noqa: BLE001 (the same; a CancelledError that it raises itself is a failure too)
        return _Raised(error)


def _log_writer(log: Sink) -> Callable[[str], None]:
    """The function `run.log`, callable from any thread."""
    loop = asyncio.get_running_loop()

    def write(text: str) -> None:
        with suppress(RuntimeError):  # the loop is closed
            loop.call_soon_threadsafe(log.feed, OUT, f"{text}\n".encode("utf-8", "replace"))

    return write


def can_call_directly(job: JobDefinition, function: Callable[..., Any]) -> bool:
    on = job.on
    if job.steps or job.preconditions or job.timeout is not None or on.success or on.failure or on.exit:
        return False
    return _is_async_without_run(function)


@lru_cache(maxsize=1024)
def _is_async_without_run(function: Callable[..., Any]) -> bool:
    return iscoroutinefunction(function) and not takes_run(function)


async def call_directly(function: Callable[..., Any], params: Mapping[str, Any]) -> AttemptResult:
    """Call it in this task. Its exceptions end this run only (S46); CancelledError is raised if cancelled."""
    warnings: list[str] = []
    try:
        if params:
            check_arguments(function, params)
        arguments = arguments_for(function, params, None)
    except InputError as error:
        return failed(str(error))
    try:
        ended = returned(await function(**arguments), warnings.append)
    except asyncio.CancelledError as error:
        task = asyncio.current_task()
        if task is not None and task.cancelling():
            raise
        return raised(error)
    except BaseException as error:  # noqa: BLE001  (a SystemExit that reached the loop would end the loop)
        return raised(error)
    return AttemptResult(ended.outcome, ended.result, "\n".join(warnings)) if warnings else ended
