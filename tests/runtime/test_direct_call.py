"""The short way of a plain async function ends as the long way does."""

import asyncio
from collections.abc import Callable
from typing import Any

import pytest

from tickwise import Cancel, InputError, Retry, Snooze
from tickwise.core.definition import Command, Handlers, JobDefinition, Precondition, Step
from tickwise.core.redaction import NO_SECRETS
from tickwise.runtime.attempt import execute
from tickwise.runtime.context import RunContext
from tickwise.runtime.executors.function import FunctionPool, Isolated, call_directly, can_call_directly
from tickwise.runtime.executors.log import StepLog
from tickwise.runtime.executors.result import AttemptResult
from tickwise.runtime.step_context import Services

from ..support.app import patiently

COMMAND = Command(("true",))


def no_log() -> StepLog:
    raise AssertionError("nothing is printed")


async def plain(x: int = 0) -> int:
    return x


async def with_run(run: Any) -> None: ...


def sync() -> None: ...


class AnObject:
    async def __call__(self) -> None: ...


@pytest.mark.parametrize(
    ("job", "function", "short"),
    [
        (JobDefinition("a"), plain, True),
        (JobDefinition("a", retry=JobDefinition("b").retry, params={"x": 1}), plain, True),
        (JobDefinition("a"), with_run, False),
        (JobDefinition("a"), sync, False),
        (JobDefinition("a"), Isolated(plain), False),
        (JobDefinition("a"), AnObject(), False),
        (JobDefinition("a", timeout=5), plain, False),
        (JobDefinition("a", on=Handlers(exit=COMMAND)), plain, False),
        (JobDefinition("a", preconditions=(Precondition(COMMAND),)), plain, False),
        (JobDefinition("a", steps=(Step("s", COMMAND),)), plain, False),
    ],
)
def test_who_asks_for_nothing_goes_the_short_way(job: JobDefinition, function: Any, *, short: bool) -> None:
    """An async function without a run, a time limit, or anything to do before and after."""
    assert can_call_directly(job, function) is short


async def returns() -> Any:
    return {"a": [1, None]}


async def returns_what_is_no_json() -> Any:
    return {1, 2}


async def raises() -> None:
    raise ValueError("no")


async def refuses() -> None:
    raise InputError("that is no table")


async def exits() -> None:
    raise SystemExit(2)


async def interrupts() -> None:
    raise KeyboardInterrupt


async def raises_a_cancellation() -> None:
    raise asyncio.CancelledError


async def snoozes() -> Any:
    return Snooze("90s", "later")


async def retries() -> None:
    raise Retry(30, "soon")


async def cancels() -> None:
    raise Cancel


async def gives_up_on_itself_in_time() -> str:
    try:
        async with asyncio.timeout(0):
            await asyncio.Event().wait()
    except TimeoutError:
        return "in time"
    return "never"


async def takes(x: int, y: int = 2) -> int:
    return x + y


@pytest.mark.parametrize(
    ("function", "params"),
    [
        (returns, {}),
        (raises, {}),
        (refuses, {}),
        (exits, {}),
        (interrupts, {}),
        (raises_a_cancellation, {}),
        (snoozes, {}),
        (retries, {}),
        (cancels, {}),
        (gives_up_on_itself_in_time, {}),
        (takes, {"x": 1}),
        (takes, {"x": 1, "y": 5}),
        (takes, {}),
        (takes, {"x": 1, "z": 5}),
        (takes, {"x": 1, "run": 5}),
        (returns, {"x": 1}),
    ],
)
@patiently
async def test_both_ways_end_the_same(function: Callable[..., Any], params: dict[str, Any]) -> None:
    """The outcome, the result and what is said about it do not depend on the way (S46)."""
    short = await call_directly(function, params, no_log, lambda: NO_SECRETS)
    context = RunContext("1", "a", params=params)
    long = await execute(
        JobDefinition("a"), context, functions={"a": function}, pool=FunctionPool(), services=Services()
    )
    assert told(short) == told(long)


def told(ended: AttemptResult) -> tuple[Any, ...]:
    """All of it, but for where in our own code it passed through."""
    lines = [line for line in ended.error.splitlines() if not line.startswith("  ")]
    return ended.outcome, ended.result, lines


@patiently
async def test_a_result_that_cannot_be_kept_is_said_where_there_is_no_log() -> None:
    """The run has succeeded all the same."""
    ended = await call_directly(returns_what_is_no_json, {}, no_log, lambda: NO_SECRETS)
    assert (ended.succeeded, ended.result) == (True, None)
    assert "is of type set, which JSON does not have" in ended.error


@patiently
async def test_a_cancellation_from_outside_goes_through() -> None:
    """Only who cancelled knows what it means."""
    begun = asyncio.Event()

    async def waits() -> None:
        begun.set()
        await asyncio.Event().wait()

    task = asyncio.create_task(call_directly(waits, {}, no_log, lambda: NO_SECRETS))
    await begun.wait()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
