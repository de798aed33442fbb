"""Schedules in shadow: decided and never run, fires of another scheduler, and the cut-over (S80)."""
# ruff: noqa: S101  (a suite of tests asserts)

import asyncio
from collections import Counter
from contextlib import suppress

import pytest

from ...core.errors import ConflictError, InputError
from ...core.reasons import Reason
from ...core.shadow import FireSeen, ShadowAdopted, ShadowResumed
from ...core.timeparse import iso
from ...stores.records import DecisionFilter
from .stories import Stories
from .world import HOURLY, World, instant, job, short_time

_SCHEDULES, _MINUTES = 5, 8  # of a cut-over under load


class ShadowStories(Stories):
    async def test_a_schedule_in_shadow_never_runs(self, world: World) -> None:
        """Its slots say that they would have run, whether or not a worker lives for them (S80)."""
        await world.define(job("a", HOURLY, shadow=True, queue="nobody"))
        await world.pass_time("02:30")
        assert await world.ran("a") == []
        assert await world.decided("a") == ["shadow 01:00", "shadow 02:00"]

    async def test_a_fire_is_heard_once(self, world: World) -> None:
        """A fire is a note with its own instant, and comes back from the store with the schedule (S80)."""
        await world.define(job("a", HOURLY, shadow=True))
        await world.pass_time("01:00:10")
        for key in ("web1/1", "web1/1", "web2/1"):
            state = await world.store.change("a", FireSeen(instant("01:00:02"), key))
            assert await world.schedule("a") == state
        (row,) = (await world.insights.decisions(DecisionFilter(reasons=frozenset({Reason.SEEN})))).items
        assert (row.first, row.count, row.detail) == (instant("01:00:02"), 2, "web2/1")
        with pytest.raises(InputError, match="the key of a fire"):
            await world.store.change("a", FireSeen(0, "x" * 1_000))

    async def test_an_adoption_goes_on_after_the_last_fire(self, world: World) -> None:
        """What nobody has started runs, and what was started does not (S80)."""
        await world.define(job("a", HOURLY, shadow=True, catchup="all"))
        await world.pass_time("01:00:05")
        await world.store.change("a", FireSeen(instant("01:00:01"), "1"))
        await world.pass_time("03:30")
        state = await world.store.change("a", ShadowAdopted("ann"))
        assert (await world.schedule("a"), short_time(state.cursor)) == (state, "01:00")
        for _ in range(2):  # catch-up runs one after the other
            await world.tick()
            await world.work()
        await world.pass_time("04:30")
        await world.work()
        assert await world.ran("a") == ["02:00 catchup", "03:00 catchup", "04:00"]
        await world.store.change("a", ShadowResumed())
        await world.pass_time("05:30")
        assert (await world.ran("a"))[3:] == []

    async def test_a_cut_over_under_load_doubles_and_loses_nothing(self, world: World) -> None:
        """Fires, passes and adoptions at once: each slot is started by one of both schedulers, once (S80).

        Half of the jobs ask before they start, so they can be adopted at any time. The old scheduler of the others
        is removed after their adoption.
        """
        names = [f"s{number}" for number in range(_SCHEDULES)]
        asking = names[::2]
        await world.define(*(job(name, "* * * * *", shadow=True, overlap="allow") for name in names))
        started = Counter[tuple[str, int]]()

        async def fire(name: str, slot: int) -> None:
            asks = name in asking
            if not asks:
                started[name, slot] += 1
            state = await world.store.change(name, FireSeen(slot, f"{name}@{slot}", asks))
            if asks and state.in_shadow:
                started[name, slot] += 1

        async def adopt(name: str) -> None:
            with suppress(ConflictError):  # a fire may be on its way, or it is adopted
                await world.store.change(name, ShadowAdopted("ann", stopped=name in asking))

        for minute in range(1, _MINUTES + 1):
            world.go(f"00:{minute:02}:01")
            slot, ready = world.now - 1, names[: minute * _SCHEDULES // (_MINUTES - 2)]
            firing = [name for name in names if name in asking or (await world.schedule(name)).in_shadow]
            await asyncio.gather(
                *(adopt(name) for name in ready),
                *(world.tick(node=node) for node in ("t1", "t2")),
                *(fire(name, slot) for name in firing),
                *(adopt(name) for name in reversed(ready)),
            )
            for name in ready[: _SCHEDULES - 1 if minute < _MINUTES - 1 else None]:
                await adopt(name)
            await world.tick()
            await world.work()
        for name in names:
            assert not (await world.schedule(name)).in_shadow
            ours = [run.slot for run in await world.runs(schedule=name) if run.slot is not None]
            started.update((name, slot) for slot in ours)
            assert ours
        wanted = {(name, instant(f"00:{minute:02}")) for name in names for minute in range(1, _MINUTES + 1)}
        assert started == Counter(wanted), [(name, iso(slot)) for name, slot in started if started[name, slot] > 1]
