"""Deadlines through the public face: what a run that is not done in time comes to (S65)."""

from pathlib import Path

import pytest

from tickwise import AsyncTickwise
from tickwise.stores.contract import StoreUnavailableError

from ..support.app import Clock, Heard, leap, patiently


@patiently
async def test_an_overdue_run_is_ended_as_failed(url: str, clock: Clock, tmp_path: Path) -> None:
    """S65: with that reason, `on.failure` is executed, and the slot says that its deadline was missed."""
    heard, told = Heard(), tmp_path / "told"
    app = AsyncTickwise(
        url, clock=clock, hooks=heard.hooks, poll=0.05, renew=0.1, allow_commands=True, lease=86_400
    )
    async with app:
        await app.schedules.add(
            "job", schedule="0 * * * *", command="sleep 1000", deadline={"finish": "10m", "cancel": True},
            on={"failure": {"script": f"echo $TICKWISE_OUTCOME > {told}"}},
        )  # fmt: skip
        await app.start()
        store = await app.store()
        await leap(store, clock, "01:00")
        while not await app.runs.list(job="job", state="running"):
            await store.wait(0.05)
        await leap(store, clock, "01:10")
        await heard.until("failed job")
        (run,) = await app.runs.list(job="job")
        why = await app.why("job")
    assert (run.state, run.error) == ("failed", "its work was not done by its deadline, 10m after its slot")
    assert told.read_text() == "failed\n"
    assert any(note.startswith("Its work was not done by its deadline") for note in why.notes)


@patiently
async def test_a_cancelled_run_ends_although_its_reason_cannot_be_read(
    url: str, clock: Clock, monkeypatch: pytest.MonkeyPatch
) -> None:
    """S65: the store is out when the worker asks why the run is to end; it ends all the same."""
    heard = Heard()
    app = AsyncTickwise(
        url, clock=clock, hooks=heard.hooks, poll=0.05, renew=0.1, allow_commands=True, lease=86_400
    )
    async with app:
        await app.schedules.add("job", schedule="0 * * * *", command="sleep 1000")
        await app.start()
        store = await app.store()
        await leap(store, clock, "01:00")
        while not (running := await app.runs.list(job="job", state="running")):
            await store.wait(0.05)

        async def out(_run: str) -> None:
            raise StoreUnavailableError("the disk is full")

        assert app.node is not None
        monkeypatch.setattr(app.node._services.store.insights, "run", out)
        await store.cancel(running[0].id)
        await heard.until("cancelled job")
