"""Events: what comes is stored, is one event if it comes twice, and ends in one run or one decision (S70, S71)."""
# ruff: noqa: S101  (a suite of tests asserts)

import asyncio
from typing import Any

import pytest

from ...core.change import Paused, Reset, Resumed
from ...core.definition import JobDefinition
from ...core.errors import ConflictError, InputError
from ...core.event_inbox import MAX_PENDING, EventsReceived, InboxFullError
from ...core.event_sources import NewEvent
from ...core.events import Coalesce, OnEvent, events_of_params
from ...core.model import Schedule
from ...core.states import RunState
from .stories import Stories
from .world import HOURLY, World, instant, job

EACH, GROUPS = OnEvent(), OnEvent(coalesce=Coalesce(30, 300))


def event_job(name: str, times: OnEvent = EACH, **given: Any) -> JobDefinition:
    return job(name, times, **{"catchup": "all", **given})


async def send(world: World, *keys: str, data: str = "null", name: str = "a") -> Schedule:
    return await world.store.change(name, EventsReceived(tuple(NewEvent(key, "sent", data) for key in keys)))


async def events_of_runs(world: World) -> list[list[str]]:
    """The keys of the events of each run, oldest first."""
    return [[event["key"] for event in events_of_params(run.params or {})] for run in await world.runs()]


class EventStories(Stories):
    async def test_an_event_is_run_with_its_data(self, world: World) -> None:
        """It has a slot of its own, is found by the next pass, and its run sees it (S70, S71)."""
        await world.define(event_job("a"))
        assert (await world.next_slot("a"), await world.insights.next_due()) == ("never", world.now)
        await world.tick()
        assert await world.insights.next_due() is None
        world.go("01:00")
        sent = await send(world, "k1", data='{"n":[1,"é"]}')
        assert await world.schedule("a") == sent
        assert await world.insights.next_due() == world.now
        await world.tick()
        lease = await world.start()
        assert events_of_params(lease.params or {}) == (
            {"key": "k1", "at": "2026-01-01T01:00:00Z", "source": "sent", "data": {"n": [1, "é"]}},
        )
        await world.end(lease)
        [run] = await world.runs()
        assert (run.state, run.slot) == (RunState.SUCCEEDED, world.now)
        assert (await world.schedule("a")).inbox.pending == ()
        assert await world.is_notified(lambda: send(world, "k2"))

    async def test_the_same_key_is_the_same_event(self, world: World) -> None:
        """Within its window, before and after its run, and sent by many at once (S70)."""
        await world.define(event_job("a"))
        await asyncio.gather(*(send(world, "k1") for _ in range(16)))
        await world.tick()
        await world.work()
        await send(world, "k1", "k1")
        await world.tick()
        assert await events_of_runs(world) == [["k1"]]
        world.go("00:10")
        await send(world, "k1")
        await world.tick()
        assert await events_of_runs(world) == [["k1"], ["k1"]]

    async def test_a_thousand_events_of_one_second(self, world: World) -> None:
        """Each has a run of its own, as far as lanes are free; one more is refused, and none is lost (S71)."""
        await world.define(event_job("a", overlap="allow", max_active_runs=500))
        names = [f"k{n}" for n in range(MAX_PENDING)]
        await send(world, *names)
        async with world.refuses(InboxFullError, "1000 events wait for a"):
            await send(world, "more")
        for _ in range(2):
            await world.tick()
            while await world.work():
                pass
        assert await events_of_runs(world) == [[name] for name in names]
        assert {run.due_at for run in await world.runs()} == {world.micro}

    async def test_events_wait_for_a_run_in_their_way(self, world: World) -> None:
        """One after the other, in the order in which they came (S14, S71)."""
        await world.define(event_job("a"))
        for key in ("k1", "k2", "k3"):
            await send(world, key)
            await world.tick()
        assert (await events_of_runs(world), len((await world.schedule("a")).inbox.pending)) == ([["k1"]], 2)
        for _ in range(3):
            await world.work()
            await world.tick()
        assert await events_of_runs(world) == [["k1"], ["k2"], ["k3"]]

    async def test_events_become_one_run(self, world: World) -> None:
        """For all that came up to a quiet time, however late the pass is (S71)."""
        await world.define(event_job("a", GROUPS))
        for time, key in (("01:00", "k1"), ("01:00:20", "k2"), ("01:00:50", "k3"), ("01:01:00", "k4")):
            world.go(time)
            await send(world, key)
            await world.tick()
        assert await world.insights.next_due() == instant("01:01:30")
        await world.work()
        world.go("02:00")
        await world.tick()
        assert await events_of_runs(world) == [["k1", "k2"], ["k3", "k4"]]
        assert await world.ran("a") == ["01:00:50", "01:01:30 catchup"]

    @pytest.mark.parametrize(("catchup", "runs"), [("all", [["k1"], ["k2"]]), ("skip", [])])
    async def test_a_pause_holds_events(self, world: World, catchup: str, runs: list[list[str]]) -> None:
        """They are stored, and go where the slots of a pause go when it ends (S29, S71)."""
        await world.define(event_job("a", catchup=catchup, overlap="allow"))
        await world.store.change("a", Paused())
        world.go("01:00")
        for key in ("k1", "k2"):
            await send(world, key)
            await world.tick()
        assert await world.runs() == []
        world.go("02:00")
        await world.store.change("a", Resumed())
        await world.tick()
        assert await events_of_runs(world) == runs
        assert await world.decided("a") == ([] if runs else ["paused 01:00 to 01:00:01 (2)"])
        assert (await world.schedule("a")).inbox.pending == ()

    async def test_what_drops_events_records_it(self, world: World) -> None:
        """A reset, other times, and the end of the job; what comes after a reset runs (S4, S23, S71)."""
        await world.define(event_job("a"))
        world.go("01:00")
        await send(world, "k1", "k2", "k3")
        await world.store.change("a", Reset())
        await send(world, "k4")
        await world.tick()
        await world.work()
        assert await events_of_runs(world) == [["k4"]]
        await world.store.change("a", Paused())
        await send(world, "k5")
        await world.define(job("a", HOURLY))
        assert await world.decided("a") == ["reset 01:00 to 01:00:02 (3)", "no_events 01:00:04"]
        assert not any((await world.schedule("a")).inbox)

    async def test_what_is_no_event_is_refused(self, world: World) -> None:
        """And changes nothing."""
        await world.define(event_job("a"), job("b", HOURLY))
        async with world.refuses(ConflictError, "b runs at times"):
            await send(world, "k1", name="b")
        wrong = [
            NewEvent(""), NewEvent("k" * 81), NewEvent("k\n"), NewEvent("k", data="[" * 60 + "]" * 60),
            NewEvent("k", data='"' + "x" * 65_536 + '"'), NewEvent("k", source="s" * 81),
        ]  # fmt: skip
        refused = await world.not_refused(lambda bad: world.store.change("a", EventsReceived((bad,))), wrong)
        assert refused == []
        async with world.refuses(InputError, "there is no schedule"):
            await send(world, "k1", name="x")
