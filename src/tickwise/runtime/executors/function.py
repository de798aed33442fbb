"""Functions of this process: async ones on the loop, the others in threads.

Neither can be killed. A function that is cancelled or takes too long is left behind: a thread goes on until it
returns, and so does an async function that will not be cancelled. Nobody waits for them; `stuck` counts them, so
that a worker takes on as much less. `Isolated` asks for a process instead, which can be killed.

Whatever a function raises ends its run only (S46). It is caught where it comes up and carried as a value, because
a SystemExit or a KeyboardInterrupt that reaches the loop would end that.
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
from .arguments import RUN, arguments_for, check_arguments, takes
from .log import OUT, Sink
from .process import call_in_process, target_of
from .result import AttemptResult, failed, raised, returned
from .threads import Threads
from .timeout import Sleep, finishes


@dataclass(frozen=True, slots=True)
class Isolated:
    """A function that wants a process of its own for each call. It is still callable as it was."""

    function: Callable[..., Any]

    def __post_init__(self) -> None:
        target_of(self.function)

    @property
    def __wrapped__(self) -> Callable[..., Any]:
        return self.function  # whose parameters are asked for

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return self.function(*args, **kwargs)


@dataclass(frozen=True, slots=True)
class _Raised:
    error: BaseException


class FunctionPool:
    """Where a worker's functions run."""

    def __init__(self) -> None:
        self.stuck = 0  # calls that nobody waits for any more and that have not ended
        self._threads = Threads()

    async def call(self, function: Callable[..., Any], here: StepContext) -> AttemptResult:
        """Check and bind the arguments, and call it. Raises InputError, and CancelledError if cancelled."""
        if isinstance(function, Isolated):
            return await call_in_process(target_of(function.function), here, strict=True)
        check_arguments(function, here.context.params)
        run = here.context.as_run(_writer(here.log))
        call = partial(function, **arguments_for(function, here.context.params, run))
        if _is_async(function):
            answer = await self._on_loop(call, here)
        else:
            answer = await self._in_thread(call, here)
            if iscoroutine(answer):
                answer = await self._on_loop(lambda: answer, here)
        return raised(answer.error) if isinstance(answer, _Raised) else returned(answer, here.log.caution)

    def close(self) -> None:
        self._threads.close()

    async def _in_thread(self, call: Callable[[], Any], here: StepContext) -> Any:
        loop = asyncio.get_running_loop()
        answer: asyncio.Future[Any] = loop.create_future()
        call = partial(copy_context().run, call)

        def tell(value: Any) -> None:
            with suppress(RuntimeError):  # the loop is gone, and so is everybody who waited
                loop.call_soon_threadsafe(self._deliver, answer, value)

        self._threads.start(partial(_outcome_of, call), tell)
        try:
            return await answer
        except asyncio.CancelledError:
            if answer.cancelled():
                self.stuck += 1
                here.log.caution(
                    "a thread cannot be killed: the function goes on in its thread until it returns, "
                    "and its result is dropped"
                )
            raise

    def _deliver(self, answer: "asyncio.Future[Any]", value: Any) -> None:
        if answer.cancelled():
            self.stuck -= 1
        else:
            answer.set_result(value)

    async def _on_loop(self, call: Callable[[], Awaitable[Any]], here: StepContext) -> Any:
        task = asyncio.ensure_future(_awaited(call))
        try:
            return await asyncio.shield(task)
        except asyncio.CancelledError:
            await self._cancel(task, here.log, here.tools.sleep, here.tools.kill_grace)
            raise

    async def _cancel(self, task: "asyncio.Task[Any]", log: Sink, sleep: Sleep, grace: float) -> None:
        task.cancel()
        if not await finishes(task, grace, sleep):
            self.stuck += 1
            task.add_done_callback(self._ended_after_all)
            log.caution(
                "the async function does not let itself be cancelled: it goes on, and its result is dropped"
            )

    def _ended_after_all(self, _task: "asyncio.Task[Any]") -> None:
        self.stuck -= 1


def _is_async(function: Callable[..., Any]) -> bool:
    return iscoroutinefunction(function) or iscoroutinefunction(type(function).__call__)


def _outcome_of(call: Callable[[], Any]) -> Any:
    try:
        return call()
    except BaseException as error:  # noqa: BLE001 (whatever it is, it ends this run only: S46)
        return _Raised(error)


async def _awaited(call: Callable[[], Awaitable[Any]]) -> Any:
    try:
        return await call()
    except BaseException as error:  # noqa: BLE001 (the same, and CancelledError is its own business too)
        return _Raised(error)


def _writer(log: Sink) -> Callable[[str], None]:
    """What `run.log` is: callable from any thread."""
    loop = asyncio.get_running_loop()

    def write(text: str) -> None:
        with suppress(RuntimeError):  # the loop is gone
            loop.call_soon_threadsafe(log.feed, OUT, f"{text}\n".encode("utf-8", "replace"))

    return write


# The short way of a plain async function: it asks for no log and no run, has no time limit and nobody to tell.
#
# It is awaited in the run's own task, which spares a pipeline of one step, a second task and a log that nobody
# writes to. Everything else goes the long way (`attempt`), and ends the same.


def is_plain(job: JobDefinition, function: Callable[..., Any]) -> bool:
    on = job.on
    if job.steps or job.preconditions or job.timeout is not None or on.success or on.failure or on.exit:
        return False
    return _asks_for_nothing(function)


@lru_cache(maxsize=1024)
def _asks_for_nothing(function: Callable[..., Any]) -> bool:
    return iscoroutinefunction(function) and not takes(function, RUN)


async def call_plain(function: Callable[..., Any], params: Mapping[str, Any]) -> AttemptResult:
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
    return AttemptResult(ended.outcome, ended.result, "\n".join(notes)) if notes else ended
