"""What nodes look for: ends of runs, each found once, and schedules that listen to them (S70)."""
# ruff: noqa: S101  (a suite of tests asserts)

import asyncio
from dataclasses import replace

from ...core.definition import JobCall, JobDefinition, RetryPolicy, Step
from ...core.errors import InputError
from ...core.event_inbox import EventsReceived
from ...core.event_sources import FoundEnds
from ...core.events import EventSource, JobEnd, JobEnds, OnEvent, SettledFiles, events_of_params
from ...core.settle import Failed
from ...core.states import RunState
from ...stores.event_listeners import read_listeners
from .stories import Stories
from .world import HOURLY, World, job, schedule


def listener(name: str, source: EventSource) -> JobDefinition:
    return job(name, OnEvent(source), catchup="all")


async def listeners(world: World) -> list[str]:
    return [row.schedule.name for row in await read_listeners(world.store)]


async def tell(world: World, name: str, *jobs: str) -> None:
    """A node looks for ends, and tells of them."""
    rows = await world.insights.ended(frozenset(jobs), 0)
    ends = tuple(JobEnd(run.job, run.id, run.attempt, run.state, run.finished_at or 0, run.slot) for run in rows)
    await world.store.change(name, EventsReceived((), found=FoundEnds(ends, 0)))


class EventSourceStories(Stories):
    async def test_runs_that_have_ended(self, world: World) -> None:
        """Of some jobs, since an instant, the oldest end first; also those that never ran."""
        await world.define(job("a"), job("b"), job("c", retry=RetryPolicy(limit=1, interval=60)))
        late, queued, other = [await world.enqueue(name) for name in ("a", "a", "b")]
        again = await world.enqueue("c")
        world.go("00:10")
        leases = {lease.id: lease for lease in await world.lease()}
        await world.end(leases[again], Failed())
        await world.end(leases[queued], Failed())
        world.go("00:20")
        await world.end(leases[other])
        await world.end(leases[late])
        cancelled = await world.enqueue("a")
        world.go("00:30")
        await world.store.cancel(cancelled)
        ended = world.insights.ended
        runs = await ended(frozenset("a"), 0)
        assert [(run.id, run.state) for run in runs] == [
            (queued, RunState.FAILED), (late, RunState.SUCCEEDED), (cancelled, RunState.CANCELLED),
        ]  # fmt: skip
        assert runs[1] == await world.run(late)
        since = runs[1].finished_at or 0
        assert [run.id for run in await ended(frozenset("abc"), since, 2)] == [late, other]
        assert [run.id for run in await ended(frozenset("abc"), since + 1)] == [cancelled]
        assert await ended(frozenset({"c", "x", "\0"}), 0) == ()
        assert await ended(frozenset(), 0) == ()
        assert await world.not_refused(lambda bad: ended(frozenset("a"), 0, bad), (0, 10**9)) == []

    async def test_an_end_starts_a_run(self, world: World) -> None:
        """Once, however many nodes tell of it at the same time, and it names the run that caused it (S70)."""
        await world.define(job("a", HOURLY), listener("b", JobEnds(("a",))))
        world.go("01:00")
        await world.tick()
        [cause] = await world.work()
        await asyncio.gather(*(tell(world, "b", "a") for _ in range(8)))
        for _ in range(2):
            await world.tick()
            await world.work()
            await tell(world, "b", "a")
        [run] = [run for run in await world.runs() if run.job == "b"]
        [event] = events_of_params(run.params or {})
        assert event["data"] == {
            "runs": [
                {
                    "job": "a", "run": cause, "attempt": 1, "state": "succeeded",
                    "slot": "2026-01-01T01:00:00Z", "ended_at": "2026-01-01T01:00:00Z",
                }
            ]
        }  # fmt: skip

    async def test_who_listens_is_found(self, world: World) -> None:
        """From when it is defined until it is gone or has another source; without reading all schedules."""
        assert await listeners(world) == []
        await world.define(
            job("a", HOURLY), listener("b", JobEnds(("a",))), listener("c", SettledFiles("/in", "*", 5))
        )
        await asyncio.gather(*(world.define(listener(f"n{n}", JobEnds(("a",)))) for n in range(5)))
        assert await listeners(world) == ["b", "c", *(f"n{n}" for n in range(5))]
        await world.store.remove("b", "app")
        await world.define(job("c", HOURLY), job("n0", OnEvent()))
        assert await listeners(world) == [f"n{n}" for n in range(1, 5)]
        await world.define(listener("b", JobEnds(("c",))))
        also = schedule("a.event", OnEvent(JobEnds(("z",))))
        await world.store.extend(job("a", also=[also]), "other")
        assert await listeners(world) == ["a.event", "b", *(f"n{n}" for n in range(1, 5))]

    async def test_what_is_gone_is_forgotten(self, world: World) -> None:
        """After a day, by whoever adds another; who is defined at the same time is not."""
        await world.define(listener("old", JobEnds(("z",))), listener("b", JobEnds(("z",))))
        await world.store.remove("old", "app")
        for day, names in ((1, ["b", "c", "old"]), (3, ["b", "d", "old"])):
            world.go(f"{day}T01:00")
            await asyncio.gather(
                world.define(listener(names[1], JobEnds(("z",)))), world.define(listener("old", JobEnds(("y",))))
            )
            assert set(names) <= set(await listeners(world))
            await world.store.remove("old", "app")
            await world.store.remove(names[1], "app")
        kept = await world.store.access.text("event listeners")
        assert kept is not None
        assert '"c"' not in kept.text

    async def test_a_job_does_not_start_itself(self, world: World) -> None:
        """A circle of jobs that start each other is refused, and changes nothing; one that is gone is no part."""
        await world.define(*(listener(name, JobEnds((cause,))) for name, cause in ("az", "ba", "cb")))
        async with world.refuses(InputError, "a would start itself again and again: a starts b starts c starts a"):
            await world.store.define(listener("a", JobEnds(("x", "c"))), "app")
        calls = Step("call", JobCall("a"))
        async with world.refuses(InputError, "c would start itself again and again: c starts a starts b starts c"):
            await world.store.define(replace(listener("c", JobEnds(("b",))), steps=(calls,)), "app")
        await world.store.remove("b", "app")
        await world.define(listener("a", JobEnds(("x", "c"))))
