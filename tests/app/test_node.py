"""A node in an event loop: started, stopped, listened to, and seen to be well."""

import asyncio
from collections.abc import Callable
from itertools import count
from typing import Any, cast
from unittest.mock import patch

import pytest

from tickwise import AsyncTickwise, ConflictError, Run
from tickwise.app.hooks import Hooks
from tickwise.clock import monotonic
from tickwise.stores.contract import Store, StoreUnavailableError
from tickwise.stores.memory.store import MemoryStore
from tickwise.stores.records import Role, TickResult

from ..support.app import Clock, Heard, Shaky, leap, patiently

HOURLY = "0 * * * *"


class Gate:
    """A job that goes on until it is let through."""

    def __init__(self) -> None:
        self.open = asyncio.Event()

    async def __call__(self) -> str:
        await self.open.wait()
        return "through"


def listening(url: str, clock: Clock, **options: Any) -> tuple[AsyncTickwise, Heard]:
    heard = Heard()
    return AsyncTickwise(url, clock=clock, hooks=heard.hooks, poll=0.05, shutdown_grace=60, **options), heard


def on_shaky_store(
    clock: Clock, monkeypatch: pytest.MonkeyPatch, **options: Any
) -> tuple[AsyncTickwise, Heard, Shaky]:
    """An app in memory, of whose store single operations can be told to fail."""
    app, heard = listening("memory://", clock, **options)
    shaky = Shaky(MemoryStore(clock))
    monkeypatch.setattr(app._stores, "make", lambda: cast(Store, shaky))
    return app, heard, shaky


# Starting and stopping.


@pytest.mark.parametrize("keep", ["forever", "days=90"])
@patiently
async def test_runs_are_kept_as_the_settings_say(url: str, clock: Clock, keep: str) -> None:
    """Old runs of jobs that do not say how long they are kept go, with their logs, unless all are kept (A31)."""
    async with AsyncTickwise(url, clock=clock, poll=0.05, keep=keep) as app:

        @app.job
        def old(run: Run) -> None:
            run.log("done")

        first = await app.enqueue(old)
        await app.drain()
        clock.advance(86_400 * 91)
        await app.enqueue(old)
        await app.drain()
        store, pruned = await app.store(), asyncio.Event()

        async def prune(*given: Any, prune: Any = store.prune) -> int:
            removed: int = await prune(*given)
            pruned.set()
            return removed

        with patch.object(store, "prune", prune):
            await app.start()
            await pruned.wait()
        assert (first.id in [run.id for run in await app.runs.list()]) is (keep == "forever")
        assert await app.runs.logs(first.id) == ("done\n" if keep == "forever" else "")


@patiently
async def test_from_start_to_stop(url: str, clock: Clock) -> None:
    """A node is seen by the others while it runs, says when it starts and stops, and runs what falls due."""
    app, heard = listening(url, clock)
    async with app:

        @app.job(HOURLY)
        async def hourly(run: Any) -> str:
            return f"{run.slot:%H:%M}"

        node = await app.start()
        store = await app.store()
        await heard.until("start", "idle")
        assert [(seen.id, seen.roles, seen.queues) for seen in await store.insights.nodes()] == [
            (node.id, (Role.TICKER, Role.WORKER), ("default",))
        ]
        await leap(store, clock, "01:00")
        await heard.until("succeeded hourly")
        await app.stop()
        assert (heard.told[0], heard.told[-1], heard.told.count("stop")) == ("start", "stop", 1)
        assert [seen.id for seen in await store.insights.nodes()] == ["anybody"]
        assert [(run.result, run.state) for run in await app.runs.list()] == [("01:00", "succeeded")]


@patiently
async def test_started_and_stopped_again(url: str, clock: Clock) -> None:
    """It runs once at a time; stopped it can be started again, and to stop what does not run does nothing."""
    app, heard = listening(url, clock)
    async with app:
        await app.stop()
        await app.start()
        with pytest.raises(ConflictError, match="it is running already: stop it first"):
            await app.start()
        await app.stop()
        await app.start()
        await app.close()
        assert heard.told.count("start") == heard.told.count("stop") == 2


@patiently
async def test_a_start_that_fails(clock: Clock, monkeypatch: pytest.MonkeyPatch) -> None:
    """What keeps it from starting is raised by `start`, and it can be tried again."""
    app, heard, shaky = on_shaky_store(clock, monkeypatch)
    shaky.fail("beat")
    async with app:
        with pytest.raises(StoreUnavailableError, match="the cable is out"):
            await app.start()
        shaky.mend()
        await app.start()
        await heard.until("start")


@patiently
async def test_running_work_may_end(url: str, clock: Clock) -> None:
    """A stop takes no new work and waits for what runs (S45)."""
    app, heard = listening(url, clock)
    async with app:
        gate = app.job(name="gate")(Gate())
        await app.start()
        run = await app.enqueue(gate)
        await heard.until("started gate")
        stopping = asyncio.create_task(app.stop())
        queued = await app.enqueue(gate)
        gate.open.set()
        await stopping
        assert (await app.runs.get(run.id)).result == "through"
        assert (await app.runs.get(queued.id)).state == "queued"


@patiently
async def test_work_that_does_not_end(url: str, clock: Clock) -> None:
    """With no grace left it is cancelled and handed back, which uses up no attempt of its retries (S45)."""
    app, heard = listening(url, clock)
    async with app:
        run = await app.enqueue(app.job(name="gate")(Gate()))
        await app.start()
        await heard.until("started gate")
        await app.stop(grace=0)
        assert (await app.runs.get(run.id)).state == "queued"
        assert heard.events[-1].what == "handed_back"
        (before,) = await (await app.store()).insights.attempts(run.id)
        assert (before.number, str(before.event)) == (1, "hand_back")


@patiently
async def test_run_until_cancelled(url: str, clock: Clock) -> None:
    """`run` goes on until its task is cancelled, and lets go of the store."""
    app, heard = listening(url, clock)
    running = asyncio.create_task(app.run())
    await heard.until("start")
    running.cancel()
    with pytest.raises(asyncio.CancelledError):
        await running
    assert heard.told[-1] == "stop"
    assert not app._stores.is_open


@patiently
async def test_run_until_somebody_stops_it(url: str, clock: Clock) -> None:
    """`run` returns when another task stops the node."""
    app, heard = listening(url, clock)
    running = asyncio.create_task(app.run())
    await heard.until("start")
    await app.stop()
    await running
    assert not app._stores.is_open


@pytest.mark.parametrize(("role", "state"), [(Role.TICKER, "queued"), (Role.WORKER, "succeeded")])
@patiently
async def test_roles_of_their_own(clock: Clock, role: Role, state: str) -> None:
    """A ticker alone runs nothing, and a worker alone decides nothing."""
    app, heard = listening("memory://", clock)
    async with app:
        app.job(HOURLY, name="gate")(Gate()).open.set()
        asked = await app.enqueue("gate")
        await app.start(roles=[role])
        await heard.until("idle")
        await app.stop()
        assert (await app.runs.get(asked.id)).state == state


# What is heard of it.


@patiently
async def test_idle_once_per_idle_period(url: str, clock: Clock) -> None:
    """`on_idle` is told when there is nothing more to do, and only after work again."""
    app, heard = listening(url, clock)
    async with app:
        app.job(name="gate")(Gate()).open.set()
        await app.start()
        for period in range(1, 4):
            await heard.until(*["idle"] * period)
            await app.enqueue("gate")
            await heard.until(*["succeeded gate"] * period)
        await heard.until(*["idle"] * 4)
        assert heard.told == ["start", "idle", *["started gate", "succeeded gate", "idle"] * 3]


@patiently
async def test_not_idle_while_others_claim(clock: Clock) -> None:
    """Who is turned away because enough others claim does not know of idle time: work is due."""
    app, heard = listening("memory://", clock)
    tick, turned_away, are_busy = MemoryStore.tick, asyncio.Event(), True
    passes = count(1)

    async def busy(self: MemoryStore, *given: Any, **named: Any) -> TickResult:
        if next(passes) > 5:
            turned_away.set()
        return TickResult(0, more=True) if are_busy else await tick(self, *given, **named)

    with patch.object(MemoryStore, "tick", busy):
        async with app:
            await app.start()
            await turned_away.wait()
            assert heard.told == ["start"]
            are_busy = False
            await heard.until("idle")


@patiently
async def test_not_idle_while_runs_wait(url: str, clock: Clock) -> None:
    """A queue that is worked off one by one is no idle time, not even in the beginning and in between."""
    app, heard = listening(url, clock, concurrency=1)
    async with app:
        app.job(name="gate")(Gate()).open.set()
        for _ in range(5):
            await app.enqueue("gate")
        await app.start()
        await heard.until("idle")
        assert heard.told == ["start", *["started gate", "succeeded gate"] * 5, "idle"]


@patiently
async def test_what_is_told_of_runs(url: str, clock: Clock) -> None:
    """`on_run` tells the start and the end of each attempt, with slot, state and error."""
    app, heard = listening(url, clock)
    async with app:

        @app.job(retry={"limit": 1, "interval": "1s"})
        async def flaky(run: Any) -> None:
            if run.attempt == 1:
                raise LookupError("not yet")

        run = await app.enqueue(flaky)
        await app.start()
        await heard.until("failed flaky")
        clock.advance(10)
        await heard.until("succeeded flaky")
        told = [(event.what, event.run, event.attempt, event.state) for event in heard.events]
        assert told == [
            ("started", run.id, 1, "running"),
            ("failed", run.id, 1, "queued"),
            ("started", run.id, 2, "running"),
            ("succeeded", run.id, 2, "succeeded"),
        ]
        assert heard.events[1].error.endswith("LookupError: not yet")


@patiently
async def test_an_error_of_a_role(clock: Clock, monkeypatch: pytest.MonkeyPatch) -> None:
    """`on_error` gets the role and the error; the role goes on as soon as it can."""
    app, heard, shaky = on_shaky_store(clock, monkeypatch)
    shaky.fail("tick")
    async with app:
        app.job(HOURLY, name="gate")(Gate()).open.set()
        await app.start()
        await heard.until("error ticker")
        assert str(heard.errors[0][1]) == "the cable is out"
        await leap(shaky.inner, clock, "01:00")
        shaky.mend()
        await heard.until("succeeded gate")


@patiently
async def test_hooks_that_fail(clock: Clock) -> None:
    """What a hook raises, at once or awaited, harms nobody; async ones are awaited before it is over."""
    told: list[str] = []

    def breaks(*_: object) -> None:
        raise RuntimeError("as expected")

    async def breaks_later(*_: object) -> None:
        raise RuntimeError("as expected")

    async def stopping() -> None:
        await asyncio.sleep(0)
        told.append("stopped")

    heard = Heard()
    hooks = Hooks(on_start=breaks, on_run=breaks_later, on_idle=heard.hooks.on_idle, on_stop=stopping)
    async with AsyncTickwise("memory://", clock=clock, hooks=hooks, poll=0.05) as app:
        run = await app.enqueue(app.job(name="gate")(_open_gate()))
        await app.start()
        await heard.until("idle")
        await app.stop()
        assert ((await app.runs.get(run.id)).state, told) == ("succeeded", ["stopped"])


def _open_gate() -> Gate:
    gate = Gate()
    gate.open.set()
    return gate


# How it is.


@patiently
async def test_three_missed_polls_are_too_many(clock: Clock, monkeypatch: pytest.MonkeyPatch) -> None:
    """A node is healthy as long as its passes succeed, not when they have failed for long, and then again."""
    app, heard, shaky = on_shaky_store(clock, monkeypatch)
    async with app:
        node = await app.start()
        await heard.until("idle")
        await turns(shaky, "tick", "lease")
        assert node.healthy
        shaky.fail("tick")
        await heard.until("error ticker")
        for module in ("tickwise.app.node", "tickwise.runtime.loop"):
            monkeypatch.setattr(f"{module}.monotonic", lambda: monotonic() + 60)
        await turns(shaky, "lease")
        assert not node.healthy
        shaky.mend()
        await turns(shaky, "tick", "lease")
        assert node.healthy


async def turns(shaky: Shaky, *operations: str) -> None:
    """Wait until each of these has been done, and what was done before has been noticed."""
    for operation in operations:
        for _ in range(2):
            done = asyncio.Event()
            shaky.after[operation] = _ring(done)
            await done.wait()
    shaky.after.clear()


def _ring(event: asyncio.Event) -> Callable[..., None]:
    return lambda _answer: event.set()


@patiently
async def test_a_store_that_hangs(clock: Clock, monkeypatch: pytest.MonkeyPatch) -> None:
    """A node whose passes hang is not healthy, and yet stops when asked."""
    monkeypatch.setattr("tickwise.app.node._LAST_TURN_TIMEOUT", 0.1)
    app, heard, shaky = on_shaky_store(clock, monkeypatch)
    async with app:
        node = await app.start()
        await heard.until("idle")
        await turns(shaky, "tick", "lease")
        shaky.hang("tick")
        for module in ("tickwise.app.node", "tickwise.runtime.loop"):
            monkeypatch.setattr(f"{module}.monotonic", lambda: monotonic() + 60)
        assert not node.healthy
        await app.stop()
        assert heard.told[-1] == "stop"
