"""What functions may do to their runs, and cannot do to their worker."""

import asyncio
import os
import sys
import threading
from pathlib import Path
from typing import Any

import pytest

from tickwise import Retry as Again
from tickwise import Snooze
from tickwise.core.definition import JobDefinition, RetryPolicy
from tickwise.core.states import Event, RunState
from tickwise.runtime.step_context import Services
from tickwise.stores.records import MICRO, RunRow
from tickwise.testing.conformance.world import job

from ..support.app import patiently
from ..support.executors import Timers
from ..support.worker import Blocked, Shop, noop, until


def error_line(run: RunRow) -> str:
    return run.error.splitlines()[0]


@patiently
async def test_what_a_function_does_to_its_params_ends_with_it() -> None:
    """The next run finds them as the job says, whichever way a function is called."""

    async def plainly(tables: list[str]) -> int:
        tables.append("more")
        return len(tables)

    def with_run(tables: list[str], run: Any) -> int:
        run.params["tables"].append("more")
        return len(tables)

    params = {"tables": ["orders"]}
    names = ("plainly", "with_run")
    shop = await Shop.open(plainly, with_run, jobs=tuple(JobDefinition(name, params=params) for name in names))
    runs = [*await shop.work(*names), *await shop.work(*names)]
    assert [run.result for run in runs] == [2, 2, 2, 2]


@patiently
async def test_what_a_function_returns_is_the_result() -> None:
    """Sync and async ones alike; both tell when they start and how they end."""

    def sync(x: int) -> int:
        return x + 1

    shop = await Shop.open(noop, sync)
    (one,) = await shop.work("noop")
    (other,) = await shop.work("sync", params={"x": 1})
    assert (one.state, one.result, one.attempt) == (RunState.SUCCEEDED, "done", 1)
    assert (other.state, other.result) == (RunState.SUCCEEDED, 2)
    assert shop.told == [
        "noop started",
        "noop Succeeded succeeded",
        "sync started",
        "sync Succeeded succeeded",
    ]


def exits() -> None:
    sys.exit(3)


async def exits_async() -> None:
    sys.exit(3)


async def exits_async_with_run(run: Any) -> None:
    assert run
    sys.exit(3)


def crashes() -> None:
    os._exit(3)


def runs_out_of_memory() -> None:
    raise MemoryError


async def interrupts() -> None:
    raise KeyboardInterrupt


async def leaves_its_task() -> None:
    raise asyncio.CancelledError


@pytest.mark.parametrize(
    ("function", "said"),
    [
        (exits, "it called sys.exit(3), which ends this run only"),
        (exits_async, "it called sys.exit(3), which ends this run only"),
        (exits_async_with_run, "it called sys.exit(3), which ends this run only"),
        (crashes, "its process ended without an answer: exit code 3"),
        (runs_out_of_memory, "it ran out of memory, which ends this run only"),
        (interrupts, "it raised KeyboardInterrupt, which ends this run only"),
        (leaves_its_task, "CancelledError"),
    ],
)
@patiently
async def test_whatever_a_function_does_ends_that_run_only(
    function: Any, said: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """An exit, a crash, a memory error: the worker goes on with the next (S46)."""
    monkeypatch.syspath_prepend(Path(__file__).parents[2])  # where a process of its own finds this module
    shop = await Shop.open(noop, function, isolated=frozenset({crashes}))
    bad, good = await shop.work(function.__name__, "noop")
    assert (bad.state, good.state) == (RunState.FAILED, RunState.SUCCEEDED)
    assert error_line(bad) == said


@patiently
async def test_a_function_that_cancels_its_own_task_has_failed() -> None:
    """Nobody else asked it to end, so it is not handed back to run again for ever."""

    async def gives_up() -> None:
        task = asyncio.current_task()
        assert task
        task.cancel()
        await asyncio.sleep(0)

    shop = await Shop.open(gives_up)
    (run,) = await shop.work("gives_up")
    assert (run.state, run.error) == (RunState.FAILED, "the function cancelled its own task")


@patiently
async def test_a_failure_is_tried_again_after_a_while_that_grows() -> None:
    """By the job's retry policy, with the attempts before kept; then the run has failed (S44)."""
    retry = RetryPolicy(limit=2, interval=10, backoff=3.0)

    async def fails() -> None:
        raise ValueError("no")

    shop = await Shop.open(fails, jobs=(job("fails", retry=retry),))
    (run,) = await shop.work("fails")
    waits = []
    for _ in range(2):
        waits.append((run.due_at - shop.world.micro) / MICRO)
        await shop.worker.turn()
        assert shop.worker.busy == 0, "it is not due yet"
        shop.world.clock.advance(waits[-1])
        await shop.worker.turn()
        await shop.store_ends()
        run = await shop.world.run(run.id)
    assert 10 <= waits[0] < 30 <= waits[1]
    assert (run.state, run.attempt, run.failures) == (RunState.FAILED, 3, 3)
    assert [one.event for one in await shop.world.insights.attempts(run.id)] == [Event.RETRY, Event.RETRY]
    assert shop.told[1::2] == ["fails Failed queued", "fails Failed queued", "fails Failed failed"]


@patiently
async def test_a_function_may_say_when_to_try_again() -> None:
    """Retry counts as a failure, Snooze does not (S44)."""
    wishes = iter([Snooze("1h"), Again("2h")])

    async def wishes_so() -> Exception:
        return next(wishes)

    shop = await Shop.open(wishes_so, jobs=(job("wishes_so", retry=RetryPolicy(limit=1)),))
    (run,) = await shop.work("wishes_so")
    assert (run.due_at - shop.world.micro, run.failures) == (3_600 * MICRO, 0)
    shop.world.clock.advance(3_600)
    await shop.worker.turn()
    await shop.store_ends()
    run = await shop.world.run(run.id)
    assert (run.due_at - shop.world.micro, run.failures) == (7_200 * MICRO, 1)


@patiently
async def test_a_run_that_takes_too_long_has_failed() -> None:
    """A17: the job's timeout ends it; one in a thread, when its function has returned."""
    timers, go_on, blocked = Timers(), threading.Event(), Blocked()

    def in_a_thread() -> None:
        go_on.wait()

    jobs = (job("blocked", timeout=60), job("in_a_thread", timeout=61))
    shop = await Shop.open(blocked.as_function(), in_a_thread, jobs=jobs, services=Services(sleep=timers.sleep))
    ids = await shop.take("blocked", "in_a_thread")
    await timers.ring(60)
    await timers.ring(61)
    await until(shop.worker.finish_event.is_set)
    await shop.worker.finish_turn()
    runs = [await shop.world.run(run) for run in ids]
    assert [run.state for run in runs] == [RunState.FAILED, RunState.RUNNING]
    assert (blocked.cancelled, shop.worker.free) == (1, 9)
    go_on.set()
    await shop.store_ends()
    runs = [await shop.world.run(run) for run in ids]
    assert [run.state for run in runs] == [RunState.FAILED] * 2
    assert [error_line(run) for run in runs] == ["the run timed out after 1m", "the run timed out after 1m1s"]
