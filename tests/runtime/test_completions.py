"""The finisher: how runs ended, what they did and printed reaches the store, whatever that is like."""

import asyncio
from typing import Any

import pytest

from tickwise.core.definition import Command, RetryPolicy, Step
from tickwise.core.states import RunState
from tickwise.stores.contract import StatementError, StoreUnavailableError
from tickwise.testing.conformance.world import job

from ..support.app import patiently
from ..support.worker import NODE, Shop, noop


@patiently
async def test_steps_and_output_are_kept_and_done_steps_are_not_repeated() -> None:
    """A second attempt begins where the first failed."""
    steps = (
        Step("first", Command(("sh", "-c", "echo one"))),
        Step("second", Command(("sh", "-c", "echo two; exit $((2 - TICKWISE_ATTEMPT))")), ("first",)),
    )
    shop = await Shop.open(jobs=(job("pipe", steps=steps, retry=RetryPolicy(limit=1, interval=1)),))
    (run,) = await shop.work("pipe")
    assert run.state is RunState.QUEUED
    shop.world.clock.advance(60)
    await shop.worker.turn()
    await shop.store_ends()
    assert (await shop.world.run(run.id)).state is RunState.SUCCEEDED
    assert [(step.name, step.state) for step in await shop.world.insights.steps(run.id)] == [
        ("first", "succeeded"),
        ("second", "succeeded"),
    ]
    log = (await shop.world.insights.log(run.id)).items
    assert [part.text for part in log if part.stream == "stdout"] == ["one\n", "two\n", "two\n"]


@patiently
async def test_output_is_told_while_the_run_goes_on() -> None:
    """Who looks at a long run sees what it has printed so far."""
    go_on = asyncio.Event()

    async def talks(run: Any) -> None:
        run.log("so far")
        await go_on.wait()

    shop = await Shop.open(talks)
    (run,) = await shop.take("talks")
    while not (await shop.world.insights.log(run)).items:
        await asyncio.sleep(0)
        await shop.worker.flush_turn()
    go_on.set()
    await shop.store_ends()
    assert [part.text for part in (await shop.world.insights.log(run)).items] == ["so far\n"]


@patiently
async def test_many_ends_are_stored_in_pieces(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each piece makes room as soon as it is stored, two at a time, and the next follows at once."""
    monkeypatch.setattr("tickwise.runtime.completions._BATCH_SIZE", 2)
    shop = await Shop.open(noop, concurrency=9)
    await shop.take(*["noop"] * 9)
    await shop.worker.finish_event.wait()
    await asyncio.sleep(0)  # they all end in one turn of the loop
    free = []
    for _ in range(3):
        delay = await shop.worker.finish_turn()
        free.append((shop.worker.free, delay == 0))
    assert free == [(4, True), (8, True), (9, False)]


@patiently
async def test_a_store_that_is_away_costs_no_output() -> None:
    """What could not be told is told with the end of the run."""

    async def talks(run: Any) -> None:
        run.log("a word")

    shop = await Shop.open(talks)
    (run,) = await shop.take("talks")
    await shop.worker.finish_event.wait()
    shop.store.fail("report")
    with pytest.raises(StoreUnavailableError):
        await shop.worker.finish_turn()
    with pytest.raises(StoreUnavailableError):
        await shop.worker.flush_turn()
    shop.store.mend()
    await shop.worker.finish_turn()
    assert [part.text for part in (await shop.world.insights.log(run)).items] == ["a word\n"]
    assert (await shop.world.run(run)).state is RunState.SUCCEEDED


@patiently
async def test_an_attempt_that_cannot_be_prepared_has_failed() -> None:
    """If a bug of ours keeps it from being told which steps are done, the run is not stuck in the worker."""
    retry = RetryPolicy(limit=1, interval=1)
    step = Step("only", Command(("false",)))
    shop = await Shop.open(jobs=(job("pipe", steps=(step,), retry=retry),))
    (run,) = await shop.work("pipe")

    async def steps(_run: str) -> None:
        raise RuntimeError("the cable is out")

    shop.world.clock.advance(60)
    shop.world.store.insights.steps = steps  # type: ignore[method-assign, assignment]  # a fault
    await shop.worker.turn()
    await shop.store_ends()
    run = await shop.world.run(run.id)
    assert run.state is RunState.FAILED
    assert "the cable is out" in run.error


@patiently
async def test_ends_are_stored_together() -> None:
    """Whatever has ended makes one batch."""
    shop = await Shop.open(noop)
    await shop.take(*["noop"] * 5)
    for held in shop.worker._active.values():
        await held.task
    await asyncio.sleep(0)
    await shop.worker.finish_turn()
    assert (shop.store.calls["finish"], shop.worker.busy) == (1, 0)


@patiently
async def test_an_end_is_kept_until_it_is_stored() -> None:
    """A store that is away loses no result; the run is held, and so renewed, all that time."""
    shop = await Shop.open(noop)
    (run,) = await shop.take("noop")
    await shop.worker.finish_event.wait()
    shop.store.fail("finish")
    for _ in range(3):
        with pytest.raises(StoreUnavailableError):
            await shop.worker.finish_turn()
        assert shop.worker.held() == {run: f"{NODE}/1"}
    shop.store.mend()
    await shop.worker.finish_turn()
    assert (await shop.world.run(run)).result == "done"
    assert shop.told == ["noop started", "noop Succeeded succeeded"]


@patiently
async def test_an_end_that_the_store_refuses_takes_no_other_along() -> None:
    """It is stored as a failure that says so, and the others as they are."""
    shop = await Shop.open(noop)
    good, bad = await shop.take("noop", "noop")
    finish = shop.world.store.finish

    async def refuses(ended: Any) -> Any:
        if any(one.run == bad and one.result for one in ended):
            raise StatementError("a number too large")
        return await finish(ended)

    shop.world.store.finish = refuses  # type: ignore[method-assign]  # a fault
    await shop.store_ends()
    assert (await shop.world.run(good)).state is RunState.SUCCEEDED
    run = await shop.world.run(bad)
    assert (run.state, run.error) == (RunState.FAILED, "how it ended could not be stored: a number too large")


@patiently
async def test_an_end_that_cannot_be_stored_at_all_is_left_to_its_lease() -> None:
    """The worker is not stuck with it."""
    shop = await Shop.open(noop)
    (run,) = await shop.take("noop")

    async def refuses(ended: Any) -> Any:
        raise StatementError(f"never {ended}")

    shop.world.store.finish = refuses  # type: ignore[method-assign]  # a fault
    await shop.store_ends()
    assert (await shop.world.run(run)).state is RunState.RUNNING
