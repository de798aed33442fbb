"""Ends of runs and files as events, through nodes and stores (S70, S71)."""

import asyncio
from pathlib import Path
from typing import Any, Literal
from unittest.mock import patch

import pytest

from tickwise import AsyncTickwise, InputError, Run
from tickwise.app.event_sources import EventSources
from tickwise.core.definition import JobDefinition
from tickwise.core.event_inbox import MAX_PENDING
from tickwise.core.events import Coalesce, EventSource, JobEnds, OnEvent, SettledFiles
from tickwise.sources.files import FileWatch
from tickwise.stores.contract import Store
from tickwise.stores.records import Enqueue
from tickwise.testing.conformance.world import World, job

from ..support.app import Heard, new_world, patiently
from ..support.app import at as instant_at


def events_of(app_runs: list[Any], job: str) -> list[list[str]]:
    """The runs that the events of each run of a job name, oldest first."""
    found = [run for run in reversed(app_runs) if run.job == job]
    return [[one["run"] for event in run.events for one in event["data"]["runs"]] for run in found]


@pytest.mark.parametrize("state", ["success", "failure", "any"])
@patiently
async def test_the_end_of_a_run_starts_another(state: Literal["success", "failure", "any"]) -> None:
    """S70: of a run by hand, by a slot or by an event; those that ended in the other way do not count."""
    app = AsyncTickwise("memory://", allow_commands=True)

    @app.job
    def extract(fails: bool = False) -> None:  # noqa: FBT002
        assert not fails

    @app.job(on_event={"job": "extract", "state": state})
    def load(run: Run) -> None:
        assert run.events

    @app.job(on_event={"job": "load"})
    def report() -> None: ...

    good, bad = await app.enqueue(extract), await app.enqueue(extract, {"fails": True})
    await app.drain()
    runs = await app.runs.list()
    wanted = {"success": [[good.id]], "failure": [[bad.id]], "any": [[good.id], [bad.id]]}[state]
    assert sorted(events_of(runs, "load")) == sorted(wanted)
    assert len(events_of(runs, "report")) == len(wanted)
    assert await app.drain() == 0
    await app.close()


@patiently
async def test_a_run_names_all_that_caused_it() -> None:
    """S70: of so many jobs; those that ended before count no more."""
    app = AsyncTickwise("memory://", allow_commands=True)
    for name in ("a", "b", "c"):
        await app.schedules.add(name, schedule="@yearly", command="true")
    await app.schedules.add(
        "all", on_event={"jobs": ["a", "b", "c"], "at_least": 2, "within": "1h"}, command="true"
    )
    first = await app.enqueue("a")
    await app.drain()
    second = await app.enqueue("c")
    await app.drain()
    third = await app.enqueue("b")
    await app.drain()
    assert events_of(await app.runs.list(), "all") == [[first.id, second.id]]
    fourth = await app.enqueue("a")
    await app.drain()
    assert events_of(await app.runs.list(), "all") == [[first.id, second.id], [third.id, fourth.id]]
    await app.close()


@patiently
async def test_a_node_that_dies_after_an_end_loses_no_event(tmp_path: Path) -> None:
    """S70: the end is in the store, and any other node finds it."""
    url = f"sqlite:///{tmp_path}/t.db"
    async with AsyncTickwise(url, allow_commands=True) as app:
        await app.schedules.add("a", schedule="@yearly", command="true")
        await app.schedules.add("b", on_event={"job": "a"}, command="true")
        run = await app.enqueue("a")
        with patch.object(EventSources, "end_turn", side_effect=_dead):
            await app.drain()
        assert [one.job for one in await app.runs.list()] == ["a"]
    heard = Heard()
    async with AsyncTickwise(url, allow_commands=True, hooks=heard.hooks) as other:
        await other.start()
        await heard.until("succeeded b")
        assert events_of(await other.runs.list(), "b") == [[run.id]]


async def _dead() -> float:
    return 60.0


async def world_of(source: EventSource, **rules: Any) -> World:
    world = await new_world()
    await world.define(JobDefinition("a"), job("b", OnEvent(source, **rules), catchup="all"))
    return world


async def end_runs(world: World, count: int, job: str = "a") -> None:
    await world.store.enqueue([Enqueue(job) for _ in range(count)])
    while await world.work():
        pass


async def waiting(store: Store) -> int:
    row = await store.insights.schedule("b")
    assert row is not None
    return len(row.schedule.inbox.pending)


@patiently
async def test_what_does_not_fit_waits_at_its_source() -> None:
    """S70: no end is lost when too many come; they are taken when there is room, each once, in pages and moves."""
    world = await world_of(JobEnds(("a",)), coalesce=Coalesce(10, 60))
    await end_runs(world, MAX_PENDING + 30)
    nodes = [EventSources(world.store, FileWatch(())) for _ in range(2)]
    with patch("tickwise.app.event_sources._PAGE_SIZE", 70):
        for _ in range(5):
            for node in nodes:
                await node.end_turn()
    assert await waiting(world.store) == MAX_PENDING
    for minute in (2, 20):
        world.clock.set(instant_at(f"00:{minute:02}"))
        await world.tick()
        for node in nodes:
            await node.end_turn()
    world.clock.set(instant_at("00:40"))
    await world.tick()
    await world.work()
    await world.tick()
    found = [run for run in await world.runs() if run.job == "b"]
    causes = [event["data"]["runs"][0]["run"] for run in found for event in (run.params or {})["@events"]]
    assert len(causes) == len(set(causes)) == MAX_PENDING + 30


@patiently
async def test_a_place_is_stored_now_and_then() -> None:
    """A node that starts does not read what has ended long ago; a schedule that is gone bothers nobody."""
    world = await world_of(JobEnds(("a",)))
    node = EventSources(world.store, FileWatch(()))
    before = await world.schedule("b")
    await node.end_turn()
    assert await world.schedule("b") == before
    world.clock.set(instant_at("01:00"))
    await node.end_turn()
    taken = (await world.schedule("b")).inbox.taken
    assert taken is not None
    assert world.micro - taken.read_from == 30_000_000
    await world.store.remove("b", "app")
    assert await node.end_turn() == 5.0


@patiently
async def test_a_job_that_would_start_itself_is_refused() -> None:
    """S70: by itself, through a step, and through others; each in words, and nothing changes."""
    app = AsyncTickwise("memory://", allow_commands=True)
    for fields, says in (
        ({"on_event": {"job": "a"}, "command": "true"}, "the ends of a would start this job again and again"),
        ({"on_event": {"job": "b"}, "steps": [{"name": "one", "job": "b"}]}, "it is a step of this job"),
    ):
        with pytest.raises(InputError, match=says):
            await app.schedules.add("a", **fields)
    await app.schedules.add("b", on_event={"job": "a"}, command="true")
    with pytest.raises(InputError, match="a would start itself again and again: a starts b starts a"):
        await app.schedules.add("a", on_event={"job": "b"}, command="true")
    assert [row.name for row in await app.schedules.list()] == ["b"]
    await app.close()


@pytest.mark.parametrize("store", ["memory", "sqlite"])
@patiently
async def test_a_file_that_has_settled_starts_a_run(store: str, tmp_path: Path) -> None:
    """S70: also one that came while no node ran; after a restart it is the same event, written again another."""
    inbox = tmp_path / "in"
    inbox.mkdir()
    (inbox / "old.csv").write_text("x")
    url = "memory://" if store == "memory" else f"sqlite:///{tmp_path}/t.db"
    heard = Heard()
    app = AsyncTickwise(url, event_folders=[str(tmp_path)], allow_commands=True, hooks=heard.hooks)
    await app.schedules.add("load", on_event={"file": {"path": f"{inbox}/*.csv", "settle": "1s"}}, command="true")

    async def paths(count: int) -> list[str]:
        await heard.until(*["succeeded load"] * count)
        return [event["data"]["path"] for run in reversed(await app.runs.list()) for event in run.events]

    await app.start()
    assert await paths(1) == [f"{inbox}/old.csv"]
    await app.stop()
    await app.start()
    (inbox / "new.txt").write_text("no match")
    (inbox / "new.csv").write_text("y")
    assert await paths(2) == [f"{inbox}/old.csv", f"{inbox}/new.csv"]
    (inbox / "old.csv").write_text("written again")
    assert await paths(3) == [f"{inbox}/old.csv", f"{inbox}/new.csv", f"{inbox}/old.csv"]
    await app.close()


@patiently
async def test_two_nodes_that_see_the_same_files_make_one_event_of_each(tmp_path: Path) -> None:
    """S70: the schedule knows what it has taken, whoever tells of it."""
    world = await world_of(SettledFiles(str(tmp_path), "*", 1))
    for number in range(250):
        (tmp_path / str(number)).touch()
    seconds = [0.0]
    nodes = [EventSources(world.store, FileWatch([str(tmp_path)], lambda: seconds[-1])) for _ in range(3)]
    for later in (0.0, 1.0, 2.0):
        seconds.append(later)
        await asyncio.gather(*(node.file_turn() for node in nodes))
    assert await waiting(world.store) == 250
    (tmp_path / "1").unlink()
    await asyncio.gather(*(node.file_turn() for node in nodes))
    assert await waiting(world.store) == 250
