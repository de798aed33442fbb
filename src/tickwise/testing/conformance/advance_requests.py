"""What is asked for a later time: ends of pauses, pauses after failures, slots to skip; a beginning (S63, S66)."""
# ruff: noqa: S101  (a suite of tests asserts)

import pytest

from ...core.change import Paused, Resumed, SkipAsked, SkipTakenBack
from ...core.cron import parse
from ...core.cron.recurrences import Window
from ...core.errors import InputError
from ...core.settle import Failed
from .stories import Stories
from .world import HOURLY, World, instant, job


class AdvanceRequestStories(Stories):
    async def test_nothing_runs_before_the_beginning(self, world: World) -> None:
        """A schedule with `from` comes back from the store as it went in, and begins there (S63)."""
        times = Window(parse(HOURLY), instant("02:00"))
        await world.define(job("a", times, overlap="allow"))
        assert (await world.schedule("a")).definition.times == times
        await world.pass_time("03:30")
        assert await world.ran("a") == ["02:00", "03:00"]

    async def test_a_pause_ends_by_itself(self, world: World) -> None:
        """The job is looked at when its pause ends, and the next time shows what comes then (S66)."""
        await world.define(job("a", HOURLY))
        state = await world.store.change("a", Paused("ann", "a release", instant("01:30")))
        assert await world.schedule("a") == state
        assert (await world.insights.next_due(), await world.next_slot("a")) == (world.now, "02:00")
        await world.tick()
        assert await world.insights.next_due() == instant("01:30")
        await world.pass_time("02:30")
        assert (await world.ran("a"), await world.decided("a")) == (["02:00"], ["paused 01:00"])
        assert (await world.schedule("a")).paused is None

    async def test_failures_in_a_row_pause_a_schedule(self, world: World) -> None:
        """As soon as the last of them has failed; a success, and a resume, count from zero (S66)."""
        await world.define(job("a", HOURLY, pause_after=2), job("b", HOURLY))
        for time, ends in (("01:00", Failed()), ("02:00", None), ("03:00", Failed()), ("04:00", Failed())):
            assert (await world.schedule("a")).paused is None
            await world.pass_time(time)
            await world.work(*([ends] if ends else []))
        await world.pass_time("04:01")
        pause = (await world.schedule("a")).paused
        assert pause is not None
        assert (pause.at, pause.reason) == (instant("04:00"), "2 failed runs in a row")
        assert (await world.schedule("b")).paused is None
        world.go("04:30")
        await world.store.change("a", Resumed())
        await world.pass_time("05:00")
        await world.work(Failed())
        await world.pass_time("05:01")
        assert (await world.schedule("a")).paused is None
        await world.pass_time("06:00")
        await world.work(Failed())
        await world.pass_time("06:01")
        assert (await world.schedule("a")).paused is not None

    async def test_a_slot_is_skipped(self, world: World) -> None:
        """With who and why, unless it is taken back before it comes (S66)."""
        await world.define(job("a", HOURLY))
        for slot in ("01:00", "02:00"):
            state = await world.store.change("a", SkipAsked(instant(slot), "ann", "no power"))
        assert (await world.schedule("a"), await world.next_slot("a")) == (state, "03:00")
        await world.store.change("a", SkipTakenBack(instant("02:00")))
        with pytest.raises(InputError, match="none of its times"):
            await world.store.change("a", SkipAsked(instant("02:30")))
        await world.pass_time("02:30")
        assert (await world.ran("a"), await world.decided("a")) == (["02:00"], ["skipped_by_hand 01:00"])
        assert (await world.schedule("a")).skips == ()
