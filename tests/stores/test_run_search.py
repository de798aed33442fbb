"""Searches of runs on SQL stores: what no index serves ends early, and says where to go on."""

import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from tickwise import AsyncTickwise
from tickwise.app.run_search import RunSearch, sees_all
from tickwise.core.settle import Failed, Succeeded
from tickwise.core.states import RunState
from tickwise.stores.pages import all_pages
from tickwise.stores.records import RunFilter
from tickwise.stores.sql import insights_run_search
from tickwise.testing.conformance.world import World, job

from ..support.app import Clock, patiently

RUNS = 60
FAILED = frozenset({RunState.FAILED})


@patiently
async def test_pages_end_early_and_go_on(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A queue with few runs is found page by page, some of them empty; a rare state and a job at once."""
    monkeypatch.setattr(insights_run_search, "_WINDOW", 20)
    monkeypatch.setattr(insights_run_search, "_NEAR", 5)
    clock = Clock()
    async with AsyncTickwise(f"sqlite:///{tmp_path}/t.db", clock=clock) as app:
        store = await app.store()
        world = World(store, clock)
        await world.begin()
        await world.define(job("a"), job("b", queue="other"))
        ids, times = [], []
        for number in range(RUNS):
            clock.advance(60)
            times.append(await store.now())
            rare = number in (3, 50)
            ids.append(await world.enqueue("b" if rare else "a"))
            if not rare:
                ended = Failed() if number == 4 else Succeeded()
                await world.end(await world.start(), ended, error="x" if number == 4 else "")

        async def found(**wanted: object) -> list[int]:
            filters = RunFilter(**wanted)  # type: ignore[arg-type]
            rows = await all_pages(lambda after: store.insights.runs(filters, after, 2))
            return [ids.index(row.id) for row in rows]

        first = await store.insights.runs(RunFilter(queue="other"))
        assert ([ids.index(row.id) for row in first.items], first.after is None) == ([50], False)
        second = await store.insights.runs(RunFilter(queue="other"), first.after)
        assert (second.items, second.after is None) == ((), False)
        assert await found(queue="other") == [50, 3]
        assert await found(jobs=frozenset({"b", "none"})) == [50, 3]
        assert (await store.insights.run_groups(RunFilter(queue="other"))).more is True
        for at_once in (RunFilter(states=FAILED), RunFilter(error="x"), RunFilter(job="b")):
            assert (await store.insights.runs(at_once)).after is None
        assert await found(states=FAILED) == await found(error="x") == [4]
        for number in (0, 1, 17, 30, RUNS - 1):
            assert await found(since=times[number], until=times[min(number + 5, RUNS - 1)]) == [
                *reversed(range(number, min(number + 5, RUNS - 1)))
            ]
        search = RunSearch(store, sees_all)
        page = await search.page("queue:other", RunFilter(), None, 100)
        assert ([ids.index(row.id) for row in page.items], page.after) == ([50], first.after)


@patiently
async def test_an_ordinary_end_is_written_to_no_index_of_unusual_runs(tmp_path: Path) -> None:
    """It has no entry before and after it; a failure and a success after another attempt have one."""
    file, clock = tmp_path / "t.db", Clock()
    async with AsyncTickwise(f"sqlite:///{file}", clock=clock) as app:
        store = await app.store()
        world = World(store, clock)
        await world.begin()
        await world.define(job("a"))

        def unusual() -> list[str | None]:
            with closing(sqlite3.connect(file)) as database:
                return [state for (state,) in database.execute("SELECT unusual FROM tickwise_runs ORDER BY id")]

        await world.enqueue("a")
        assert unusual() == [None]
        lease = await world.start()
        assert unusual() == [None]
        await world.end(lease)
        failed = await world.enqueue("a")
        await world.end(await world.start(), Failed(), error="x")
        assert unusual() == [None, "failed"]
        await store.retry(failed)
        assert unusual() == [None, None]
        await world.end(await world.start())
        assert unusual() == [None, "retried"]
