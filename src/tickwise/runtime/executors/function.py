"""Functions of this process: async ones on the loop, the others in threads.

Neither can be killed. A function that is asked to end, by a person or by its timeout, is waited for: as long as it
goes on, its run is active and holds its lane, so nothing runs beside it that should not (S14, S16). The function
learns of it from `run.cancelled`. `Isolated` asks for a process instead, which can be killed.

An exception of a function ends its run only (S46). It is caught at the call and passed on as a value, because a
SystemExit or a KeyboardInterrupt that reached the loop would end the loop.

An async function that needs no run, no time limit and no handlers is called directly, in the run's own task. That
saves a pipeline of one step and a second task. All others go through `attempt`, with the same result.
"""

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextlib import suppress
from contextvars import Context, copy_context
from dataclasses import dataclass, replace
from functools import lru_cache, partial
from inspect import iscoroutine, iscoroutinefunction
from typing import Any

from ...core.definition import JobDefinition
from ...core.errors import InputError
from ...core.redaction import Redactor
from ...core.timeparse import format_duration
from ...core.variables import OF_THE_PROGRAM
from ..context import FUNCTION_STEP, Cancellation, StepRecord, StepState
from ..step_context import StepContext
from .arguments import arguments_for, check_arguments, is_async, takes_run
from .log import OUT, StepLog
from .middleware import Middleware, await_within, call_within, carried
from .output import RunOutput, capture_into, stop_capture
from .process import call_in_process, target_of
from .result import RETURNED_NOTHING, AttemptResult, failed, raised, returned
from .threads import Threads
from .timeout import finishes

_THREAD_GOES_ON = (
    "it was asked to end, and its thread has not ended: "
    "a thread cannot be killed, so the run holds its lane until the function returns"
)
_TASK_GOES_ON = (
    "it was asked to end, and its task has not ended: "
    "the function ignores its cancellation, so the run holds its lane until it returns"
)


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
    """Where a worker's functions run: within the middleware of its app, or else within what a function carries."""

    def __init__(self, middleware: Sequence[Middleware] | None = None) -> None:
        self._middleware = middleware
        self._threads = Threads()
        self._waits: set[asyncio.Future[None]] = set()  # for functions that do not end

    async def call(self, function: Callable[..., Any], context: StepContext) -> AttemptResult:
        """Check and bind the arguments, and call it. Raises InputError, and CancelledError if cancelled."""
        if isinstance(function, Isolated):
            services = replace(context.services, variables=OF_THE_PROGRAM)
            return await call_in_process(
                target_of(function.function), replace(context, services=services), strict=True
            )
        check_arguments(function, context.run.params)
        call = _Call(context)
        try:
            answer = await self._answer(function, call)
        finally:
            call.output.close()
        return raised(answer.error) if isinstance(answer, _Raised) else returned(answer, context.log.write_warning)

    def close(self) -> None:
        """Wait for no function any longer: the process is about to end."""
        self._threads.close()
        for wait in self._waits:
            wait.set_result(None)
        self._waits.clear()

    async def _answer(self, function: Callable[..., Any], call: "_Call") -> Any:
        run = call.context.run.as_run(call.write_line, call.cancellation)
        bound = partial(function, **arguments_for(function, call.context.run.params, run))
        middleware = carried(function) if self._middleware is None else self._middleware
        if is_async(function):
            return await self._on_loop(partial(await_within, middleware, run, bound), call)
        answer = await self._in_thread(partial(call_within, middleware, run, bound), call)
        if not iscoroutine(answer):
            return answer
        return await self._on_loop(partial(await_within, middleware, run, lambda: answer), call)

    async def _in_thread(self, bound: Callable[[], Any], call: "_Call") -> Any:
        loop = asyncio.get_running_loop()
        answer: asyncio.Future[Any] = loop.create_future()

        def on_result(value: Any) -> None:
            with suppress(RuntimeError):  # the loop is closed
                loop.call_soon_threadsafe(answer.set_result, value)

        self._threads.start(partial(_catch, partial(call.scope().run, bound)), on_result)
        try:
            return await asyncio.shield(answer)
        except asyncio.CancelledError:
            call.cancellation.requested = True
            await self._wait_for_end(answer, call, _THREAD_GOES_ON)
            raise

    async def _on_loop(self, bound: Callable[[], Awaitable[Any]], call: "_Call") -> Any:
        task = asyncio.create_task(_catch_async(bound), context=call.scope())
        try:
            return await asyncio.shield(task)
        except asyncio.CancelledError:
            call.cancellation.requested = True
            task.cancel()
            services = call.context.services
            if not await finishes(task, services.kill_grace, services.sleep):
                await self._wait_for_end(task, call, _TASK_GOES_ON)
            raise

    async def _wait_for_end(self, work: "asyncio.Future[Any]", call: "_Call", problem: str) -> None:
        """Wait until a function that was asked to end has ended, or the pool is closed."""
        if work.done():
            return
        services, log = call.context.services, call.context.log
        began = services.clock()
        log.write_note(problem)
        record = StepRecord(FUNCTION_STEP, StepState.RUNNING, began, error=problem)
        await services.report(record)
        closed: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._waits.add(closed)
        try:
            await asyncio.wait({work, closed}, return_when=asyncio.FIRST_COMPLETED)
        finally:
            self._waits.discard(closed)
        ended = services.clock()
        late = format_duration(round((ended - began).total_seconds()))
        said = f"the function ended {late} after it was asked to" if work.done() else problem
        log.write_warning(said)
        await services.report(record._replace(state=StepState.CANCELLED, finished_at=ended, error=said))


class _Call:
    """One call of a function: where it writes to, and whether it was asked to end."""

    def __init__(self, context: StepContext) -> None:
        self.context = context
        self.output = RunOutput(context.log.feed)
        self.cancellation = Cancellation()

    def scope(self) -> Context:
        """A copy of the current context in which everything printed goes to this call's output."""
        scope = copy_context()
        scope.run(capture_into, self.output)
        return scope

    def write_line(self, text: str) -> None:
        """The function `run.log`, callable from any thread."""
        self.context.log.feed(OUT, f"{text}\n".encode("utf-8", "replace"))


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


def can_call_directly(job: JobDefinition, function: Callable[..., Any]) -> bool:
    on = job.on
    if job.steps or job.preconditions or job.timeout is not None or on.success or on.failure or on.exit:
        return False
    return _is_async_without_run(function)


@lru_cache(maxsize=1024)
def _is_async_without_run(function: Callable[..., Any]) -> bool:
    return iscoroutinefunction(function) and not takes_run(function)


class _DirectOutput:
    """The output of a function that is called directly. Most print nothing, so its log is opened when one does."""

    def __init__(self, open_log: Callable[[], StepLog]) -> None:
        self._open_log = open_log
        self._log: StepLog | None = None
        self._lines: RunOutput | None = None

    def write(self, stream: str, text: str) -> None:
        if self._lines is None:
            self._log = self._open_log()
            self._lines = RunOutput(self._log.feed)
        self._lines.write(stream, text)

    def close(self) -> None:
        if self._lines and self._log:
            self._lines.close()
            self._log.close()


async def call_directly(
    function: Callable[..., Any],
    params: Mapping[str, Any],
    open_log: Callable[[], StepLog],
    redactor: Callable[[], Redactor],
) -> AttemptResult:
    """Call it in this task. Its exceptions end this run only (S46); CancelledError is raised if cancelled."""
    try:
        if params:
            check_arguments(function, params)
        arguments = arguments_for(function, params, None)
    except InputError as error:
        return failed(str(error)).kept(redactor())
    output = _DirectOutput(open_log)
    token = capture_into(output)
    try:
        ended = await _call_here(function, arguments)
    finally:
        stop_capture(token)
        output.close()
    return ended if ended is RETURNED_NOTHING else ended.kept(redactor())


async def _call_here(function: Callable[..., Any], arguments: Mapping[str, Any]) -> AttemptResult:
    warnings: list[str] = []
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
