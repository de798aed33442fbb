"""Ribbons of slots, while slots are being decided."""

from collections.abc import Mapping, Sequence
from typing import Any

import pytest

from tickwise import AsyncTickwise
from tickwise.app.ribbons import ribbons
from tickwise.app.run_search import sees_all
from tickwise.core.schedule_attention import WITHOUT_RUN
from tickwise.core.settle import Failed, Succeeded
from tickwise.core.slot_history import Bins
from tickwise.stores.records import ScheduleFilter
from tickwise.stores.statistics import SlotCounts
from tickwise.testing.conformance.world import World, instant, job

from ..support.app import Clock, patiently


@patiently
async def test_a_slot_decided_between_two_reads_is_not_told_twice(monkeypatch: pytest.MonkeyPatch) -> None:
    """It is due when its schedule is read, and has a run when its slots are counted."""
    clock = Clock()
    async with AsyncTickwise("memory://", clock=clock) as app:
        store = await app.store()
        world = World(store, clock)
        await world.begin()
        await world.define(job("a", "*/5 * * * *"))
        world.go("00:05")
        counted = store.insights.slot_counts

        async def count_after_a_pass(schedules: Sequence[str], bins: Bins) -> Mapping[str, SlotCounts]:
            await world.tick()
            return await counted(schedules, bins)

        monkeypatch.setattr(store.insights, "slot_counts", count_after_a_pass)
        bins = Bins(instant("00:00"), 600, 1)
        page: Any = await ribbons(store, sees_all, ScheduleFilter(), bins, None, 10)
        assert page.items[0].ribbon.totals == {"waiting": 1}


@patiently
async def test_what_failed_is_ranked_although_it_has_succeeded_since() -> None:
    """By the share of slots that ran, before those that never failed."""
    clock = Clock()
    async with AsyncTickwise("memory://", clock=clock) as app:
        store = await app.store()
        world = World(store, clock)
        await world.begin()
        await world.define(*(job(name, "*/5 * * * *") for name in ("a", "often", "once")))
        fails = {"often": {"00:05", "00:10"}, "once": {"00:05"}}
        for time in ("00:05", "00:10", "00:15"):
            await world.pass_time(time)
            for lease in await world.lease():
                await world.end(lease, Failed() if time in fails.get(lease.job.name, ()) else Succeeded())
        assert await store.insights.ailing(0, WITHOUT_RUN) == ()
        bins = Bins(instant("00:00"), 600, 2)
        page = await ribbons(store, sees_all, ScheduleFilter(), bins, None, 10)
        assert [each.row.schedule.name for each in page.items] == ["often", "once", "a"]
        later = await ribbons(store, sees_all, ScheduleFilter(), Bins(instant("00:15"), 600, 1), None, 10)
        assert [each.row.schedule.name for each in later.items] == ["a", "often", "once"]
