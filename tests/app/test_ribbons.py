"""Ribbons of slots, while slots are being decided."""

from collections.abc import Mapping, Sequence
from typing import Any

import pytest

from tickwise import AsyncTickwise
from tickwise.app.ribbons import ribbons
from tickwise.app.run_search import sees_all
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
