"""A worker whose store is away when an attempt begins."""

from typing import Any

import pytest

from tickwise.core.definition import Command, JobDefinition, Step
from tickwise.core.states import RunState
from tickwise.stores.contract import StoreUnavailableError
from tickwise.stores.records import LeaseRequest

from ..support.app import patiently
from ..support.worker import Shop


@patiently
async def test_a_store_that_is_away_is_no_failure_of_the_job(monkeypatch: pytest.MonkeyPatch) -> None:
    """What cannot be told which steps are done goes back to the queue, and succeeds later (S44)."""

    async def away(*_: Any) -> None:
        raise StoreUnavailableError("the cable is out")

    shop = await Shop.open(jobs=(JobDefinition("piped", (Step("only", Command(("true",))),)),))
    run = await shop.world.enqueue("piped")
    await shop.world.store.lease(LeaseRequest("vanished", 1))
    shop.world.clock.advance(31)
    await shop.world.store.expire()
    with monkeypatch.context() as patched:
        patched.setattr(shop.world.store.insights, "steps", away)
        await shop.worker.turn()
        await shop.store_ends()
    row = await shop.world.run(run)
    assert (row.state, row.failures) == (RunState.QUEUED, 0)
    await shop.worker.turn()
    await shop.store_ends()
    assert (await shop.world.run(run)).state is RunState.SUCCEEDED
