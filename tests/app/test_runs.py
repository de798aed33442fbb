"""`tw.runs`: looked at, cancelled, put back."""

from typing import Any

import pytest

from tickwise import ConflictError, InputError, Tickwise

from ..support.app import Clock


@pytest.fixture
def orders(tw: Tickwise) -> dict[int, str]:
    """What becomes of orders: the job `send` raises what stands here, and returns nothing else."""
    orders: dict[int, str] = {}

    @tw.job()
    async def send(order: int) -> None:
        if order in orders:
            raise ValueError(orders[order])

    return orders


def test_listed_and_filtered(tw: Tickwise, orders: dict[int, str]) -> None:
    """The newest come first; by job, by state, and no more than asked for."""
    orders[1] = "sold out"
    tw.job("@daily", name="other")(_nothing)
    runs = [tw.enqueue("send", {"order": order}).id for order in range(3)]
    tw.drain()
    queued = tw.enqueue("other").id
    assert [run.id for run in tw.runs.list()] == [queued, *reversed(runs)]
    assert [run.id for run in tw.runs.list(job="send", limit=2)] == [runs[2], runs[1]]
    assert [run.id for run in tw.runs.list(state="failed")] == [runs[1]]
    assert [run.id for run in tw.runs.list(state="queued")] == [queued]
    assert tw.runs.list(schedule="other") == []


def _nothing() -> None: ...


def test_a_state_that_there_is_not(tw: Tickwise) -> None:
    """An unknown state is refused with the nearest and all there are."""
    with pytest.raises(InputError, match=r"'faild' is no state of a run \(did you mean failed\?\)"):
        tw.runs.list(state="faild")


@pytest.mark.parametrize("run", ["999", "no-such-run", ""])
@pytest.mark.parametrize("act", ["get", "cancel", "retry"])
def test_a_run_that_there_is_not(tw: Tickwise, act: str, run: str) -> None:
    """It is refused by name, whatever is asked of it."""
    with pytest.raises(InputError, match=r"there is no run|is not the id of a run"):
        getattr(tw.runs, act)(run)


def test_cancel_what_is_queued(tw: Tickwise, orders: dict[int, str]) -> None:
    """A queued run ends at once; a second word changes nothing (S41)."""
    run = tw.enqueue("send", {"order": 1}).id
    assert tw.runs.cancel(run) == "cancelled"
    assert (tw.drain(), tw.runs.get(run).state, orders) == (0, "cancelled", {})


def test_retry(tw: Tickwise, orders: dict[int, str]) -> None:
    """A failed run is put back by hand and adds an attempt (S41)."""
    orders[1] = "sold out"
    run = tw.enqueue("send", {"order": 1}).id
    tw.drain()
    assert tw.runs.get(run).error.splitlines()[-1] == "ValueError: sold out"
    orders.clear()
    back = tw.runs.retry(run)
    assert (back.id, back.state, back.error) == (run, "queued", "")
    tw.drain()
    assert (tw.runs.get(run).state, tw.runs.get(run).attempt) == ("succeeded", 2)


def test_only_what_failed_is_put_back(tw: Tickwise, orders: dict[int, str]) -> None:
    """A run that succeeded, or that waits anyway, cannot be put back (S41)."""
    run = tw.enqueue("send", {"order": 1}).id
    with pytest.raises(ConflictError, match="queued"):
        tw.runs.retry(run)
    tw.drain()
    with pytest.raises(ConflictError, match="succeeded"):
        tw.runs.retry(run)
    assert (tw.runs.get(run).attempt, orders) == (1, {})


def test_why_a_run_waits(tw: Tickwise, orders: dict[int, str], clock: Clock) -> None:
    """A queued run says what it waits for: its time, or a worker."""
    later = tw.enqueue("send", {"order": 1}, at="10m").id
    assert tw.runs.get(later).waits == ("It may not start before 2026-01-01T00:10:00Z.",)
    clock.advance(600)
    start = "tickwise worker MODULE:APP --queues default (with the app of app:app)"
    assert tw.runs.get(later).waits == (f"No live worker serves the queue default: start one: {start}.",)
    tw.drain()
    assert (tw.runs.get(later).waits, orders) == ((), {})


def test_what_is_kept_of_a_result(tw: Tickwise) -> None:
    """A result that is no JSON ends no run: it is left out, and that is said."""

    @tw.job()
    async def strange() -> Any:
        return object()

    run = tw.enqueue(strange).id
    tw.drain()
    ended = tw.runs.get(run)
    assert (ended.state, ended.result) == ("succeeded", None)
    assert "object" in ended.error
