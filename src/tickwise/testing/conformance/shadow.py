"""Schedules in shadow: decided and never run, fires of another scheduler, and the cut-over (S80)."""
# ruff: noqa: S101  (a suite of tests asserts)

import asyncio
from collections import Counter
from collections.abc import Sequence
from contextlib import suppress

import pytest

from ...core.errors import ConflictError, InputError
from ...core.reasons import Reason
from ...core.shadow import FireSeen, ShadowAdopted, ShadowResumed, is_ours
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

    async def test_an_adoption_that_is_taken_back_loses_and_doubles_nothing(self, world: World) -> None:
        """What was due before is run, and a late line of the old scheduler is told that it is (S80)."""
        await world.define(job("a", HOURLY, shadow=True, catchup="all"))
        await world.store.change("a", ShadowAdopted("ann", stopped=True))
        world.go("01:00:02")
        await world.store.change("a", ShadowResumed())
        state = await world.store.change("a", FireSeen(world.now, "late", unless_adopted=True))
        assert (is_ours(state, world.now), state.shadow and state.shadow.fires) == (True, ())
        await world.pass_time("02:30")
        await world.work()
        assert await world.ran("a") == ["01:00"]
        assert "shadow 02:00" in await world.decided("a")

    async def test_a_cut_over_under_load_doubles_and_loses_nothing(self, world: World) -> None:
        """Fires, passes and adoptions at once: each slot is started by one of both schedulers, once (S80).

        Half of the jobs ask before they start, so they can be adopted at any time. The old scheduler of the others
        is removed after their adoption.
        """
        both = _BothSchedulers(world)
        await world.define(*(job(name, "* * * * *", shadow=True, overlap="allow") for name in both.names))
        for minute in range(1, _MINUTES + 1):
            world.go(f"00:{minute:02}:01")
            ready = both.names[: minute * _SCHEDULES // (_MINUTES - 2)]
            await both.meet(world.now - 1, ready)
            for name in ready[: _SCHEDULES - 1 if minute < _MINUTES - 1 else None]:
                await both.adopt(name)
            await world.tick()
            await world.work()
        wanted = {(name, instant(f"00:{minute:02}")) for name in both.names for minute in range(1, _MINUTES + 1)}
        started = await both.all_started()
        assert started == Counter(wanted), [(name, iso(slot)) for name, slot in started if started[name, slot] > 1]


class _BothSchedulers:
    """The old scheduler beside Tickwise, and what the old one has started."""

    def __init__(self, world: World) -> None:
        self._world = world
        self.names = [f"s{number}" for number in range(_SCHEDULES)]
        self._asking = self.names[::2]
        self._started = Counter[tuple[str, int]]()

    async def meet(self, slot: int, ready: Sequence[str]) -> None:
        """The fires of a slot, two passes, and adoptions before and after them, all at once."""
        firing = [n for n in self.names if n in self._asking or (await self._world.schedule(n)).in_shadow]
        await asyncio.gather(
            *(self.adopt(name) for name in ready),
            *(self._world.tick(node=node) for node in ("t1", "t2")),
            *(self._fire(name, slot) for name in firing),
            *(self.adopt(name) for name in reversed(ready)),
        )

    async def _fire(self, name: str, slot: int) -> None:
        asks = name in self._asking
        self._started[name, slot] += not asks
        state = await self._world.store.change(name, FireSeen(slot, f"{name}@{slot}", asks))
        self._started[name, slot] += asks and not is_ours(state, slot)

    async def adopt(self, name: str) -> None:
        with suppress(ConflictError):  # a fire may be on its way, or it is adopted
            await self._world.store.change(name, ShadowAdopted("ann", stopped=name in self._asking))

    async def all_started(self) -> Counter[tuple[str, int]]:
        """By the old scheduler and, in the end, by Tickwise alone."""
        for name in self.names:
            assert not (await self._world.schedule(name)).in_shadow
            ours = [run.slot for run in await self._world.runs(schedule=name) if run.slot is not None]
            assert ours
            self._started.update((name, slot) for slot in ours)
        return +self._started
