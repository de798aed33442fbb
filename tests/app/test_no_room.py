"""A worker whose room is taken by functions that do not end says so."""

from threading import Event

import pytest

from tickwise import AsyncTickwise
from tickwise.app.doctor import doctor
from tickwise.app.overview import overview
from tickwise.clock import monotonic
from tickwise.core.timeparse import iso
from tickwise.stores.records import MICRO

from ..support.app import Clock, Heard, patiently
from .test_asgi import served

HOUR = 3_600


@patiently
async def test_functions_that_do_not_end(clock: Clock, monkeypatch: pytest.MonkeyPatch) -> None:
    """While none of its runs ends, `/readyz`, doctor and overview say that no room is left since then (E9)."""
    heard, let_go = Heard(), Event()
    app = AsyncTickwise("memory://", clock=clock, hooks=heard.hooks, concurrency=2, poll=0.05, shutdown_grace=60)
    app.job(name="endless")(let_go.wait)
    async with served(app.asgi()) as server:
        for _ in range(2):
            await app.enqueue("endless")
        await heard.until(*["started endless"] * 2)
        store, node = await app.store(), app.node
        assert node
        assert (await server.ask("/readyz")).json() == {"status": "ready"}
        monkeypatch.setattr("tickwise.runtime.worker.monotonic", lambda: monotonic() + HOUR)
        await store.beat(node.as_node())
        answer = await server.ask("/readyz")
        assert (answer.status_code, answer.json()["status"]) == (200, "no room left")
        assert answer.json()["since"].endswith("Z")
        (finding,) = (one for one in await doctor(app, clock) if one.code == "no_room")
        (shown,) = (one for one in await store.insights.nodes() if one.id == node.id)
        since = iso(shown.seen_at // MICRO - shown.full_seconds)
        assert f"has no room left since {since}" in finding.what
        assert shown.full_seconds >= HOUR
        assert [one.text for one in (await overview(store)).warnings] == [f"{finding.what}."]
        let_go.set()
        await heard.until(*["succeeded endless"] * 2)
        assert (await server.ask("/readyz")).json() == {"status": "ready"}
