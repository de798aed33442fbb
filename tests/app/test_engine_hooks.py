"""Hooks hear of runs that an engine executes as of any other."""

from typing import Any

from tickwise import AsyncTickwise
from tickwise.core.handover import Began
from tickwise.core.settle import Succeeded
from tickwise.stores.contract import Store
from tickwise.stores.records import Finish

from ..support.app import Clock, Heard, patiently


def far() -> None:
    """Executed by the engine, which imports it."""


async def _work(store: Store, run: str) -> None:
    """Begin and end as work on an engine does, when the order has been stored."""
    while (row := await store.insights.run(run)) is None or row.hand_over is None:
        await store.wait(0.01)
    record = row.hand_over
    await store.hand_over(run, record.token, Began(record.ticket, "claim"))
    await store.finish([Finish(run, record.token, Succeeded(), result=7)])


@patiently
async def test_an_end_that_the_work_has_reported() -> None:
    """The node that watches calls `on_run` once, though it has not stored the end itself (S56)."""
    heard, clock = Heard(), Clock()
    engines: Any = {"gpu": {"kind": "tickwise.testing.engines:FakeEngine"}}
    app = AsyncTickwise(
        "memory://", clock=clock, hooks=heard.hooks, engines=engines, api_url="http://api", poll=0.05, renew=0.05
    )
    async with app:
        app.job(name="far", engine="gpu")(far)
        run = await app.enqueue("far")
        await app.start()
        await _work(await app.store(), run.id)
        await heard.until("succeeded far")
        assert [(event.what, event.run, event.state) for event in heard.events] == [
            ("started", run.id, "running"),
            ("succeeded", run.id, "succeeded"),
        ]
