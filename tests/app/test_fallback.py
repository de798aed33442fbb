"""While claims fail, a node finds due jobs in its own index and ticks them by name (S5)."""

from collections import Counter
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any, cast

import asyncpg
import pytest
from structlog.testing import capture_logs

from tickwise import AsyncTickwise
from tickwise.api.metrics import Metrics
from tickwise.app.doctor import doctor
from tickwise.clock import monotonic
from tickwise.stores.contract import StatementError, Store
from tickwise.stores.records import Role, TickResult
from tickwise.stores.sql.postgres_tickets import TICKET_LOCK
from tickwise.stores.sql.tickets import TICKETS

from ..stores.test_conformance import URLS
from ..support.app import Clock, Heard, Shaky, at, leap, patiently
from .test_asgi import served

MINUTES = "* * * * *"


@pytest.fixture
def url(request: pytest.FixtureRequest) -> str:
    return URLS["postgres"](request)


def listening(url: str, clock: Clock, heard: Heard | None = None) -> tuple[AsyncTickwise, Heard]:
    heard = heard or Heard()
    return AsyncTickwise(url, clock=clock, hooks=heard.hooks, poll=0.05, shutdown_grace=60), heard


@asynccontextmanager
async def tickets_held(url: str) -> AsyncIterator[None]:
    """Sessions of somebody else hold all claim tickets, and do nothing else."""
    other = await asyncpg.connect(url)
    try:
        for number in range(TICKETS):
            await other.execute("SELECT pg_advisory_lock($1, $2)", TICKET_LOCK, number)
        yield
    finally:
        await other.close()


async def until_heartbeat(app: AsyncTickwise, *, fails: bool) -> None:
    """Wait until the node has told the others that its claims fail, or that they succeed."""
    store = await app.store()
    while [bool(n.claims_fail) for n in await store.insights.nodes() if Role.TICKER in n.roles] != [fails]:
        await store.wait(0.05)


async def codes(app: AsyncTickwise, clock: Clock) -> set[str]:
    return {finding.code for finding in await doctor(app, clock)}


@patiently
async def test_tickets_that_others_hold(url: str, clock: Clock) -> None:
    """Slots run all the same; log, metric, doctor and `/readyz` say so until a claim succeeds (A10, S5)."""
    app, heard = listening(url, clock)
    app.job(MINUTES, name="job")(lambda: None)
    async with served(app.asgi()) as server:
        await heard.until("idle")
        await leap(await app.store(), clock, "00:01")
        await heard.until("succeeded job")
        with capture_logs() as said:
            async with tickets_held(url):
                await leap(await app.store(), clock, "00:02")
                await heard.until(*["succeeded job"] * 2)
                await until_heartbeat(app, fails=True)
                answer = await server.ask("/readyz")
                assert (answer.status_code, answer.json()) == (200, {"status": "degraded"})
                assert "claims_fail" in await codes(app, clock)
                assert b"tickwise_tickers_fallen_back 1.0" in await Metrics(app.store).text()
                await leap(await app.store(), clock, "00:03")
                await heard.until(*["succeeded job"] * 3)
            await until_heartbeat(app, fails=False)
        assert [(entry["log_level"], entry.get("why")) for entry in said if "claims" in entry["event"]] == [
            ("error", "others hold all claim tickets"),
            ("warning", None),
        ]
        assert "claims_fail" not in await codes(app, clock)
        assert (await server.ask("/readyz")).json() == {"status": "ready"}
        await leap(await app.store(), clock, "00:04")
        await heard.until(*["succeeded job"] * 4)


@patiently
async def test_pauses_hold_in_the_fallback(url: str, clock: Clock) -> None:
    """What a person pauses does not fire, because the pause is read where the run would be made (S5, S29)."""
    app, heard = listening(url, clock)
    for name in ("a", "b"):
        app.job(MINUTES, name=name)(lambda: None)
    async with app:
        await app.start()
        await heard.until("idle")
        async with tickets_held(url):
            await leap(await app.store(), clock, "00:01")
            await heard.until("succeeded a", "succeeded b")
            await app.schedules.pause("a")
            await leap(await app.store(), clock, "00:02")
            await heard.until(*["succeeded b"] * 2)
            await app.pause()
            await leap(await app.store(), clock, "00:03")
            await app.resume()
            await leap(await app.store(), clock, "00:04")
            await heard.until(*["succeeded b"] * 3)
        slots = [f"{run.slot:%H:%M}" for run in await app.runs.list()]
        assert Counter(slots) == {"00:01": 2, "00:02": 1, "00:04": 1}


@patiently
async def test_one_claims_and_one_falls_back(url: str, clock: Clock, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each slot of each job runs once, whoever decides it (S1, S5)."""
    one, heard = listening(url, clock)
    other, _ = listening(url, clock, heard)
    jobs, minutes = [f"job-{n}" for n in range(10)], [f"00:{n:02}" for n in range(1, 30)]
    for app in (one, other):
        for name in jobs:
            app.job(MINUTES, name=name, overlap="allow")(lambda: None)
    make = other._stores.make
    monkeypatch.setattr(other._stores, "make", lambda: cast(Store, _Blocked(make())))
    async with one, other:
        await one.start()
        node = await other.start()
        for number, minute in enumerate(minutes, 1):
            await leap(await one.store(), clock, minute)
            await heard.until(*[f"succeeded {name}" for name in jobs] * number)
        assert node.readiness.status == "degraded"
        runs = Counter((run.schedule, run.slot) for run in await one.runs.list(limit=1_000))
    assert runs == {(name, at(minute)): 1 for name in jobs for minute in minutes}


@patiently
async def test_claims_that_raise(clock: Clock, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever makes claims fail, slots run as long as the store can commit; else the node is not ready (S5)."""
    app, heard = listening("memory://", clock)
    app.job(MINUTES, name="job")(lambda: None)
    make = app._stores.make
    store = _Broken(make())
    monkeypatch.setattr(app._stores, "make", lambda: cast(Store, store))
    async with app:
        node = await app.start()
        await leap(await app.store(), clock, "00:01")
        await heard.until("succeeded job")
        await node.settled()
        assert node.readiness.status == "degraded"
        store.fail("now")
        for module in ("tickwise.app.node", "tickwise.runtime.loop"):
            monkeypatch.setattr(f"{module}.monotonic", lambda: monotonic() + 60)
        assert node.readiness.status == "not ready"


class _Broken(Shaky):
    """A store whose index of due jobs is damaged."""

    async def tick(self, *given: Any, jobs: Any = None, **named: Any) -> TickResult:
        if jobs is None:
            raise StatementError("the index is damaged")
        return await self.inner.tick(*given, jobs=jobs, **named)


class _Blocked(Shaky):
    """A store that turns away every claim."""

    async def tick(self, *given: Any, jobs: Any = None, **named: Any) -> TickResult:
        if jobs is None:
            return TickResult(0, more=True, turned_away="others claim")
        return await self.inner.tick(*given, jobs=jobs, **named)
