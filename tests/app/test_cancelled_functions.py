"""Functions that are asked to end: they can see it, and nothing runs beside them until they have ended."""

import asyncio
import threading
from typing import Any, Self

from tickwise import AsyncTickwise

from ..support.app import Clock, Heard, leap, patiently

LEASE = 86_400  # seconds: the clock of the store is moved


class Stubborn:
    """A function that goes on in its thread until it is let go, and says whether it was asked to end."""

    def __init__(self) -> None:
        self.begun = threading.Semaphore(0)
        self.let_go = threading.Event()
        self.active = 0
        self.most_active = 0
        self.seen: list[bool] = []

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.let_go.set()

    def __call__(self, run: Any) -> None:
        self.active += 1
        self.most_active = max(self.most_active, self.active)
        self.begun.release()
        self.let_go.wait()
        self.seen.append(run.cancelled)
        self.active -= 1


def listening(url: str, clock: Clock) -> tuple[AsyncTickwise, Heard]:
    heard = Heard()
    app = AsyncTickwise(url, clock=clock, hooks=heard.hooks, poll=0.05, renew=0.1, shutdown_grace=5, lease=LEASE)
    return app, heard


async def unended(app: AsyncTickwise) -> str:
    """What `why` says as soon as it names a thread that has not ended."""
    while "its thread has not ended" not in (said := str(await app.why("job"))):
        await (await app.store()).wait(0.05)
    return said


@patiently
async def test_a_thread_that_goes_on_holds_its_lane(url: str, clock: Clock) -> None:
    """A17, S14: with `overlap: skip` no slot starts beside it, `why` says why, and the slot runs after it."""
    app, heard = listening(url, clock)
    with Stubborn() as stubborn:
        async with app:
            app.job("0 * * * * *", name="job", overlap="skip")(stubborn)
            await app.start()
            store = await app.store()
            await leap(store, clock, "00:01")
            await asyncio.to_thread(stubborn.begun.acquire)
            (run,) = await app.runs.list()
            await app.runs.cancel(run.id)
            said = await unended(app)
            assert 'Let the function look at run.cancelled, or set pool="process"' in said
            await leap(store, clock, "00:02")
            while (answer := await app.why("job")).reason != "waits_for_run":
                await store.wait(0.05)
            (run,) = await app.runs.list()
            assert (run.state, run.id in answer.text) == ("running", True)
            assert any("its thread has not ended" in step.text for step in answer.chain)
            stubborn.let_go.set()
            await heard.until("cancelled job")
            await heard.until("succeeded job")
            assert [run.state for run in await app.runs.list()] == ["succeeded", "cancelled"]
            assert (stubborn.seen, stubborn.most_active) == ([True, False], 1)
            assert "the function ended" in await app.runs.logs(run.id)


@patiently
async def test_a_replaced_run_is_waited_for(url: str, clock: Clock) -> None:
    """A17, S14: with `overlap: replace` the new slot starts when the thread of the old one has ended."""
    app, heard = listening(url, clock)
    with Stubborn() as stubborn:
        async with app:
            app.job("0 * * * * *", name="job", overlap="replace")(stubborn)
            await app.start()
            store = await app.store()
            await leap(store, clock, "00:01")
            await asyncio.to_thread(stubborn.begun.acquire)
            await leap(store, clock, "00:02")
            await unended(app)
            stubborn.let_go.set()
            await heard.until("cancelled job", "succeeded job")
            assert (stubborn.seen, stubborn.most_active) == ([True, False], 1)


@patiently
async def test_a_shutdown_does_not_wait_for_a_thread_for_ever(clock: Clock) -> None:
    """A17, S45: a cancelled run whose thread goes on is recorded as cancelled when its worker has shut down."""
    app, _ = listening("memory://", clock)
    with Stubborn() as stubborn:
        async with app:
            app.job(name="job")(stubborn)
            run = await app.enqueue("job")
            node = await app.start()
            assert node.worker
            node.worker.options = node.worker.options._replace(cancel_grace=0.01)
            await asyncio.to_thread(stubborn.begun.acquire)
            await app.runs.cancel(run.id)
            while not await (await app.store()).insights.steps(run.id):
                await (await app.store()).wait(0.05)
            await app.stop(grace=0)
            assert (await app.runs.get(run.id)).state == "cancelled"
            stubborn.let_go.set()
