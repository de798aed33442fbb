"""Functions of the worker's own process, on the loop and in threads."""

import asyncio
import sys
import threading
from collections.abc import Callable
from contextvars import ContextVar
from datetime import UTC, datetime
from typing import Any, NoReturn

import pytest

from tickwise.core.errors import InputError
from tickwise.core.settle import Cancelled, Failed, Outcome, Snoozed, Succeeded
from tickwise.runtime.context import Run
from tickwise.runtime.executors.function import FunctionPool
from tickwise.runtime.executors.result import AttemptResult, Cancel, Retry, Snooze

from ...support.executors import ExecutorHarness, Timers, ended, place, run, timed, until


def call(function: Callable[..., Any], there: ExecutorHarness | None = None, **params: Any) -> AttemptResult:
    async def calling() -> AttemptResult:
        pool = FunctionPool()
        try:
            return await pool.call(function, (there or place(params=params)).context)
        finally:
            pool.close()

    return run(calling())


def test_both_kinds_of_function_are_called_with_their_params() -> None:
    """A plain function runs in a thread, an async one on the loop; both return their result."""

    def plain(a: int, b: int = 2) -> list[Any]:
        return [a, b, threading.current_thread() is threading.main_thread()]

    async def on_loop(a: int, b: int = 2) -> list[Any]:
        return [a, b, threading.current_thread() is threading.main_thread()]

    assert call(plain, a=1) == AttemptResult(Succeeded(), [1, 2, False])
    assert call(on_loop, a=1, b=3) == AttemptResult(Succeeded(), [1, 3, True])


def test_a_function_sees_its_run() -> None:
    """`run` tells slot, previous slot, trigger, attempt, id, job and params, and takes lines for the log."""
    seen: list[Run] = []

    def look(table: str, run: Run) -> None:
        run.log(f"reading {table}")
        seen.append(run)

    there = place(params={"table": "orders"})
    call(look, there)
    (one,) = seen
    assert (one.slot, one.previous_slot) == (datetime(1970, 1, 1, 1, tzinfo=UTC), datetime(1970, 1, 1, tzinfo=UTC))
    assert (one.id, one.job, one.trigger, one.attempt, one.params) == (
        "17",
        "etl",
        "schedule",
        2,
        {"table": "orders"},
    )
    assert there.lines == ["reading orders"]


def test_a_plain_function_that_hands_out_a_coroutine_is_awaited() -> None:
    """What a decorator hides is found out: the coroutine that a plain function returns is run."""

    async def inner(word: str) -> str:
        return word

    assert call(lambda: inner("inner")).result == "inner"


def test_a_callable_object_may_be_async() -> None:
    """An object with an async __call__ is an async function."""

    class Job:
        async def __call__(self, a: int) -> int:
            return a

    assert call(Job(), a=5).result == 5


def test_context_variables_reach_the_thread() -> None:
    """A context variable that the caller set is seen in the thread."""
    variable: ContextVar[str] = ContextVar("variable", default="unset")

    def look() -> str:
        return variable.get()

    async def calling() -> AttemptResult:
        variable.set("set")
        return await FunctionPool().call(look, place().context)

    assert run(calling()).result == "set"


@pytest.mark.parametrize(
    ("wish", "outcome", "error"),
    [
        (Retry("90s", "busy"), Failed(90), "busy"),
        (Retry(0.5), Failed(1), "it asked to be tried again"),
        (Retry(), Failed(None), "it asked to be tried again"),
        (Cancel("not needed"), Cancelled(), "not needed"),
        (Snooze("1h"), Snoozed(3_600), ""),
    ],
)
def test_a_wish_is_heard_returned_or_raised(wish: Exception, outcome: Outcome, error: str) -> None:
    """Retry, Cancel and Snooze mean the same whether they are returned or raised."""

    def raising() -> NoReturn:
        raise wish

    async def raising_on_loop() -> NoReturn:
        raise wish

    for function in (lambda: wish, raising, raising_on_loop):
        assert call(function) == AttemptResult(outcome, error=error)


def test_a_wish_for_no_time_is_refused() -> None:
    """A wish with a time that is none fails with a clear error, where it was made."""
    with pytest.raises(InputError, match="-1 is no time to wait"):
        Snooze(-1)
    assert "'soon' is not a duration" in call(lambda: Retry("soon")).error


@pytest.mark.parametrize("value", [{1, 2}, float("nan"), object(), {1: 2}])
def test_a_result_that_is_not_json_is_dropped_with_a_warning(value: Any) -> None:
    """A result that is not JSON leaves the run a success without a result, and a line in the log."""
    there = place()
    assert call(lambda: value, there) == AttemptResult(Succeeded())
    there.log.close()
    assert "no result is kept: the result" in there.witness.said("tickwise")[0]


def test_a_traceback_has_the_functions_own_frames_only() -> None:
    """An exception is a failure with its traceback, which begins in the user's code."""

    def broken() -> None:
        raise ValueError("no \0 good")

    async def broken_too() -> None:
        raise ValueError("no \0 good")

    for function in (broken, broken_too):
        failed = call(function)
        assert failed.outcome == Failed()
        assert "tickwise/runtime" not in failed.error
        assert "in broken" in failed.error
        assert failed.error.endswith("ValueError: no ␀ good")


class UnprintableError(Exception):
    def __str__(self) -> str:
        raise RuntimeError("no text")


@pytest.mark.parametrize(
    ("error", "line"),
    [
        (ValueError("first\nsecond"), "ValueError: first"),
        (KeyError("table"), "KeyError: 'table'"),
        (ValueError(), "ValueError"),
        (UnprintableError(), "UnprintableError"),
    ],
)
def test_an_error_begins_with_its_type_and_the_first_line(error: Exception, line: str) -> None:
    """A21: so that logs, lists and notices say what it is; the whole traceback follows."""

    def broken() -> None:
        raise error

    first, second = call(broken).error.splitlines()[:2]
    assert (first, second) == (line, "Traceback (most recent call last):")


def leave() -> None:
    sys.exit(3)


async def leave_on_loop() -> None:
    sys.exit(3)


def interrupt() -> None:
    raise KeyboardInterrupt


async def interrupt_on_loop() -> None:
    raise KeyboardInterrupt


def exhaust() -> None:
    raise MemoryError


async def cancel_itself() -> None:
    raise asyncio.CancelledError


@pytest.mark.parametrize(
    ("function", "words"),
    [
        (leave, "it called sys.exit(3), which ends this run only"),
        (leave_on_loop, "it called sys.exit(3), which ends this run only"),
        (interrupt, "it raised KeyboardInterrupt"),
        (interrupt_on_loop, "it raised KeyboardInterrupt"),
        (exhaust, "it ran out of memory"),
        (cancel_itself, "CancelledError"),
    ],
)
def test_nothing_that_a_function_raises_gets_out(function: Callable[[], Any], words: str) -> None:
    """S46: sys.exit, an interrupt, a memory error or a stray cancellation end that run only, and are named."""
    failed = call(function)
    assert failed.outcome == Failed()
    assert words in failed.error


def test_a_thread_that_is_cancelled_is_waited_for() -> None:
    """A17: a function in a thread cannot be killed, so the call ends when the function has returned."""
    started, release = threading.Event(), threading.Event()

    def hang() -> None:
        started.set()
        release.wait()

    async def cancelling() -> None:
        pool, there = FunctionPool(), place()
        task = asyncio.create_task(pool.call(hang, there.context))
        await asyncio.to_thread(started.wait)
        task.cancel()
        assert (await pool.call(lambda: "others go on", place().context)).result == "others go on"
        assert not task.done()
        release.set()
        await asyncio.gather(task, return_exceptions=True)
        assert task.cancelled()
        assert there.log.warnings == ["the function ended 0s after it was asked to"]
        pool.close()

    run(cancelling())


def test_a_closed_pool_waits_for_nobody() -> None:
    """When the process is about to end, a thread that does not end keeps nobody (S45)."""
    started, release = threading.Event(), threading.Event()

    def hang() -> None:
        started.set()
        release.wait()

    async def cancelling() -> None:
        pool, there = FunctionPool(), place()
        task = asyncio.create_task(pool.call(hang, there.context))
        await asyncio.to_thread(started.wait)
        task.cancel()
        await until(lambda: bool(pool._waits))
        pool.close()
        await asyncio.gather(task, return_exceptions=True)
        assert task.cancelled()
        assert "its thread has not ended" in there.log.warnings[0]
        release.set()

    run(cancelling())


def test_threads_are_used_again() -> None:
    """Calls one after the other share a thread; calls side by side each have one."""

    async def calling() -> tuple[set[int], set[int]]:
        pool, barrier = FunctionPool(), threading.Barrier(3)

        def ident() -> int:
            return threading.get_ident()

        def meet() -> int:
            barrier.wait()
            return ident()

        beside = await asyncio.gather(*(pool.call(meet, place().context) for _ in range(3)))
        after = [await pool.call(ident, place().context) for _ in range(10)]
        pool.close()
        return {one.result for one in beside}, {one.result for one in after}

    beside, after = run(calling())
    assert len(beside) == 3
    assert len(after) == 1
    assert after < beside


def test_an_async_function_is_cancelled_and_may_clean_up() -> None:
    """Cancelling the call cancels the async function, and waits for what it does then."""
    steps: list[str] = []

    async def cancelling() -> None:
        started = asyncio.Event()

        async def work() -> None:
            started.set()
            try:
                await asyncio.Event().wait()
            finally:
                await asyncio.sleep(0)
                steps.append("cleaned up")

        pool = FunctionPool()
        task = asyncio.create_task(pool.call(work, place().context))
        await started.wait()
        await ended(task)

    run(cancelling())
    assert steps == ["cleaned up"]


def test_an_async_function_that_ignores_its_cancellation_is_waited_for() -> None:
    """A17: an async function that swallows its cancellation is reported after the grace, and waited for."""

    async def cancelling() -> None:
        started, release = asyncio.Event(), asyncio.Event()

        async def stubborn() -> None:
            started.set()
            while not release.is_set():
                try:
                    await release.wait()
                except asyncio.CancelledError:
                    continue

        pool, timers = FunctionPool(), Timers()
        there = timed(place(), timers)
        task = asyncio.create_task(pool.call(stubborn, there.context))
        await started.wait()
        task.cancel()
        await timers.ring(there.context.services.kill_grace)
        await until(lambda: bool(pool._waits))
        assert not task.done()
        release.set()
        await asyncio.gather(task, return_exceptions=True)
        assert task.cancelled()
        assert "its task has not ended" in there.witness.said("tickwise")[0]

    run(cancelling())


def test_wrong_params_are_refused_before_the_call() -> None:
    """A function is not called with what it does not take, nor without what it needs."""
    called: list[str] = []

    def function(table: str) -> None:
        called.append(table)

    with pytest.raises(InputError, match="did you mean table"):
        call(function, tabel="a")
    assert called == []
