"""Streams: what happens is told as it happens, and nothing is lost between two of them."""

from collections import Counter
from collections.abc import AsyncIterator

import pytest
from structlog.testing import capture_logs

from tickwise.api import event_stream
from tickwise.api.events import _QUEUE_SIZE, MAX_REPLAY, EventBroadcaster, StreamEvent, Subscriber
from tickwise.stores.access_records import AccessRole
from tickwise.stores.contract import StoreUnavailableError
from tickwise.stores.records import MICRO, Enqueue, LogPart
from tickwise.testing.conformance.world import job

from ..support.api import NIGHTLY, problem_of
from ..support.api_server import Live, Told, live
from ..support.app import patiently

HOURLY = {**NIGHTLY, "name": "hourly", "schedule": "0 * * * *"}


async def _until(events: AsyncIterator[Told], kind: str, **wanted: object) -> Told:
    """The first event of a kind with these values."""
    async for event in events:
        if event.kind == kind and wanted.items() <= event.data.items():
            return event
    raise AssertionError(f"the stream ended without {kind} {wanted}")


async def _later(here: Live, seconds: int = 1) -> None:
    here.api.clock.advance(seconds)


@patiently
async def test_what_happens_is_told_without_asking(url: str) -> None:
    """A listener hears of a schedule, its run, its end, a skipped slot and its deletion, each as it happens."""
    async with live(url) as here, here.stream("/events") as events:
        await here.api.post("/schedules", HOURLY)
        made = await _until(events, "schedule", name="hourly")
        assert made.id == str(1_767_225_600 * MICRO)
        world = await here.api.world()
        await _later(here, 3_600)
        await world.tick()
        run = await _until(events, "run", job="hourly", state="queued")
        (lease,) = await world.lease()
        await _until(events, "run", id=run.data["id"], state="running")
        await _later(here, 3_600)
        await world.tick()
        skipped = await _until(events, "decision", schedule="hourly")
        assert skipped.data["reason"] == "overlap"
        await world.end(lease)
        await _until(events, "run", id=run.data["id"], state="succeeded")
        await _later(here)
        await here.api.ask("DELETE", "/schedules/hourly")
        await _until(events, "schedule_deleted", name="hourly")


@patiently
async def test_a_listener_who_comes_back_has_missed_nothing(url: str) -> None:
    """With the id of the last event, what happened during a cut is told, and then what happens."""
    async with live(url) as here:
        async with here.stream("/events") as events:
            await here.api.post("/schedules", NIGHTLY)
            last = await _until(events, "schedule", name="nightly")
        for number in range(5):
            await _later(here)
            await here.api.post("/schedules", {**NIGHTLY, "name": f"n{number}"})
        assert last.id is not None
        async with here.stream("/events", **{"Last-Event-ID": last.id}) as events:
            names = {(await _until(events, "schedule", name=f"n{n}")).data["name"] for n in range(5)}
            assert len(names) == 5
            await _later(here)
            await here.api.post("/schedules/n0:pause")
            assert (await _until(events, "schedule", name="n0")).data["paused"]["by"] == "inside"


@patiently
async def test_who_was_away_too_long_looks_anew() -> None:
    """An id from longer ago than events are followed back gets a reset, and then what happens."""
    async with live() as here:
        long_ago = (await (await here.api.store()).now()) - MAX_REPLAY - 1
        async with here.stream("/events", **{"Last-Event-ID": str(long_ago)}) as events:
            assert (await anext(events)).kind == "reset"
            await here.api.post("/schedules", NIGHTLY)
            await _until(events, "schedule", name="nightly")
        answer = await here.client.get("/api/v1/events", headers={"Last-Event-ID": "x"})
        problem_of(answer, 422)


@patiently
async def test_a_scoped_listener_hears_only_of_its_jobs() -> None:
    """What is out of scope is not told; the next thing in scope is."""
    async with live() as here:
        token = await here.api.token(AccessRole.OPERATOR, "viewer:etl-*")
        async with here.stream("/events", Authorization=f"Bearer {token}") as events:
            await here.api.post("/schedules", NIGHTLY)
            await here.api.post("/runs", {"job": "nightly"})
            await here.api.post("/schedules", {**NIGHTLY, "name": "etl-load"})
            assert (await anext(events)).data["name"] == "etl-load"


@patiently
async def test_a_stream_ends_with_its_token() -> None:
    """Who is let in no longer is told nothing more."""
    async with live() as here:
        token = await here.api.post("/tokens", {"name": "short", "role": "viewer"})
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(event_stream, "HEARTBEAT", 0.05)
            async with here.stream("/events", Authorization=f"Bearer {token['secret']}") as events:
                await here.api.ask("DELETE", f"/tokens/{token['id']}")
                assert [event async for event in events] == []


@patiently
async def test_one_reader_serves_all_listeners() -> None:
    """Two streams share one reader of the store; when both have gone it rests."""
    async with live() as here:
        broadcaster = here.api.app.state.events
        async with here.stream("/events") as first, here.stream("/events") as second:
            await here.api.post("/schedules", NIGHTLY)
            for events in (first, second):
                await _until(events, "schedule", name="nightly")
            assert len(broadcaster._subscribers) == 2
            reader = broadcaster._reader
            assert reader is not None
        while broadcaster._subscribers:
            await here.client.get("/healthz")
        assert broadcaster._reader is None


@patiently
async def test_a_store_that_is_away_for_a_while_loses_nothing() -> None:
    """The reader goes on when the store answers again, from where it was."""
    async with live() as here:
        store = await here.api.store()

        async def away(*_: object) -> None:
            raise StoreUnavailableError("the store is away")

        with pytest.MonkeyPatch.context() as patch, capture_logs() as logged:
            patch.setattr("tickwise.api.events._POLL_SECONDS", 0.01)
            async with EventBroadcaster(here.api.store).subscribe() as listener:
                with pytest.MonkeyPatch.context() as absence:
                    absence.setattr(store.insights, "changes_since", away)
                    await here.api.post("/schedules", NIGHTLY)
                    while not logged:
                        await here.client.get("/healthz")
                heard = await listener.queue.get()
        assert heard is not None
        assert (heard.kind, heard.name) == ("schedule", "nightly")


@patiently
async def test_more_than_fits_at_once_is_told_all_the_same() -> None:
    """Thousands of changes of one instant are told in several looks, each once."""
    async with live() as here:
        store = await here.api.store()
        start = await store.now()
        for number in range(1_200):
            await store.define(job(f"j{number}", "0 * * * *"), "test")
        await store.enqueue([Enqueue("j0") for _ in range(1_500)])
        told = [event async for event in EventBroadcaster(here.api.store).since(start)]
        assert Counter(event.kind for event in told) == {"schedule": 1_200, "run": 1_500}
        assert len({event.key for event in told}) == 2_700


def test_a_listener_who_does_not_keep_up_is_cut_off() -> None:
    """A full queue ends with a mark, and takes nothing more."""
    listener = Subscriber()
    heard = [
        listener.push(StreamEvent(number, "run", "j", str(number), "{}")) for number in range(_QUEUE_SIZE + 1)
    ]
    assert heard == [True] * _QUEUE_SIZE + [False]
    told = [listener.queue.get_nowait() for _ in range(listener.queue.qsize())]
    assert told[-1] is None


@patiently
async def test_a_log_is_followed_until_the_run_is_over(url: str) -> None:
    """What a run prints is told as it is reported, each part once, and the end with its state."""
    async with live(url) as here:
        await here.api.post("/schedules", NIGHTLY)
        world, store = await here.api.world(), await here.api.store()
        run = (await here.api.post("/runs", {"job": "nightly"}))["id"]
        (lease,) = await world.lease()
        async with here.stream(f"/runs/{run}/logs") as events:
            heard = []
            for number in range(4):
                part = LogPart("main", "stdout", f"line {number}\n", await store.now())
                await store.report(run, lease.token, (), [part])
                heard.append((await anext(events)).data["text"])
            await world.end(lease)
            end = await anext(events)
            assert (end.kind, end.data) == ("end", {"state": "succeeded"})
            assert heard == [f"line {number}\n" for number in range(4)]
            assert [event async for event in events] == []


@patiently
async def test_the_api_answers_over_a_real_socket(url: str) -> None:
    """A smoke test through uvicorn: health, a schedule, and a refusal."""
    async with live(url) as here:
        assert (await here.client.get("/readyz")).json() == {"status": "ready"}
        made = await here.client.post("/api/v1/schedules", json=NIGHTLY)
        assert made.status_code == 201
        assert (await here.client.get(made.headers["location"])).json()["name"] == "nightly"
        problem_of(await here.client.get("/api/v1/me", headers={"Host": "evil.example"}), 403)
        assert "server" not in made.headers
