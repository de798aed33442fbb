"""Pauses of one schedule and of everything, resets, moves and backfills (S4, S29, S31, S32)."""
# ruff: noqa: FBT001, S101  (a suite of tests asserts, and pytest hands over what is parametrized)

import asyncio
from typing import Any

import pytest

from ...core.backfill import BackfillAsked, BackfillCancelled
from ...core.change import Paused, Rescheduled, Reset, Resumed
from ...core.errors import ConflictError, InputError
from ...core.model import Pause
from ...core.settle import Failed
from ...stores.records import PauseInterval
from .snapshot import snapshot
from .stories import Stories
from .world import HOURLY, World, instant, job

EVERYTHING = Pause(0, "ann", "moving house")


class PauseStories(Stories):
    async def test_a_paused_schedule_rests(self, world: World) -> None:
        """No slot is decided and the next time shows as none; queued runs and triggers go on (S29)."""
        await world.define(job("a", HOURLY, overlap="allow"))
        await world.pass_time("01:00")
        state = await world.store.change("a", Paused("ann", "holidays"))
        assert (state.paused, await world.schedule("a")) == (Pause(world.now, "ann", "holidays"), state)
        await world.pass_time("03:00")
        await world.trigger("a")
        assert (await world.ran("a"), await world.next_slot("a")) == (["01:00"], "never")
        assert len(await world.work()) == 2

    @pytest.mark.parametrize(
        ("policy", "asked", "ran", "recorded"),
        [
            ({}, None, ["04:00"], ["paused 02:00 to 03:00 (2)"]),
            ({"catchup": "all"}, None, ["02:00 catchup", "03:00 catchup", "04:00"], []),
            ({"catchup": "all"}, False, ["04:00"], ["paused 02:00 to 03:00 (2)"]),
            ({}, True, ["03:00 catchup", "04:00"], ["coalesced 02:00"]),
        ],
    )
    async def test_what_becomes_of_its_slots(
        self, world: World, policy: dict[str, Any], asked: bool | None, ran: list[str], recorded: list[str]
    ) -> None:
        """Slots of the pause are missed under `all`, dropped otherwise, or as the resume asks (S29)."""
        await world.define(job("a", HOURLY, **policy))
        await world.pass_time("01:00")
        await world.work()
        world.go("01:30")
        await world.store.change("a", Paused("ann", "holidays"))
        await world.pass_time("03:30")
        assert (await world.store.change("a", Resumed(run_missed=asked))).paused is None
        for time in ("03:30", "03:40", "04:00"):
            await world.pass_time(time)
            await world.work()
        assert (await world.ran("a"), await world.decided("a")) == (["01:00", *ran], recorded)


class PauseOfEverythingStories(Stories):
    async def test_nothing_is_decided(self, world: World) -> None:
        """No job is claimed or due and no next time is shown, but the work goes on (S29)."""
        await world.define(job("a", HOURLY, overlap="allow"))
        await world.pass_time("01:00")
        await world.store.pause(EVERYTHING)
        world.go("02:00")
        ticked = await world.tick()
        assert (ticked.now, ticked.jobs, ticked.runs) == (world.micro, 0, 0)
        assert (await world.insights.next_due(), await world.next_slot("a")) == (None, "never")
        await world.enqueue("a")
        await world.trigger("a")
        assert len(await world.work()) == 3

    async def test_the_intervals_are_kept(self, world: World) -> None:
        """A second pause begins none, and a second end changes nothing; the newest comes first (S29)."""
        await world.store.pause(None)
        await world.store.pause(EVERYTHING)
        world.go("01:00")
        await world.store.pause(Pause(0, "bob", "me too"))
        await world.store.pause(None)
        world.go("02:00")
        before = await snapshot(world.store)
        await world.store.pause(None)
        assert await snapshot(world.store) == before
        await world.store.pause(Pause(0, "bob", "again"))
        assert await world.insights.pauses() == (
            PauseInterval(instant("02:00"), "bob", "again", None),
            PauseInterval(instant("00:00"), "ann", "moving house", instant("01:00")),
        )

    async def test_it_ends_by_itself(self, world: World) -> None:
        """As of its time, however late somebody looks; a second pause changes when that is (S29, S66)."""
        await world.define(job("a", HOURLY, overlap="allow"))
        await world.pass_time("00:30")
        assert not await world.store.end_pause()
        await world.store.pause(Pause(0, "ann", "moving house", instant("09:00")))
        await world.store.pause(Pause(0, "bob", "longer", instant("02:30")))
        begun = PauseInterval(instant("00:30"), "ann", "moving house", None, instant("02:30"))
        assert await world.insights.pauses() == (begun,)
        world.go("02:29")
        assert not await world.store.end_pause()
        assert (await world.tick()).runs == 0
        world.go("03:00:20")
        assert sorted(await asyncio.gather(*(world.store.end_pause() for _ in range(3)))) == [False, False, True]
        assert not await world.store.end_pause()
        assert await world.insights.pauses() == (begun._replace(until=instant("02:30"), resumes_at=None),)
        await world.tick()
        assert (await world.ran("a"), await world.decided("a")) == (["03:00"], ["paused 01:00 to 02:00 (2)"])

    async def test_a_pause_without_end_is_ended_by_a_person(self, world: World) -> None:
        """Also if it had one first (S66)."""
        await world.store.pause(Pause(0, "ann", "", instant("01:00")))
        await world.store.pause(EVERYTHING)
        world.go("05:00")
        assert not await world.store.end_pause()
        await world.store.pause(None)
        assert [pause.until for pause in await world.insights.pauses()] == [world.now]

    @pytest.mark.parametrize(
        ("catchup", "ran", "recorded"),
        [
            ("once", ["01:00"], ["paused 02:00 to 03:00 (2)"]),
            ("all", ["01:00", "02:00 catchup", "03:00 catchup"], []),
        ],
    )
    async def test_its_slots(self, world: World, catchup: str, ran: list[str], recorded: list[str]) -> None:
        """They are treated as those of a schedule's own pause, and the recorded reason says so (S7, S29)."""
        await world.define(job("a", HOURLY, catchup=catchup, overlap="allow"))
        await world.pass_time("01:30")
        await world.store.pause(EVERYTHING)
        world.go("03:30")
        await world.store.pause(None)
        world.go("03:31")
        await world.tick()
        assert (await world.ran("a"), await world.decided("a")) == (ran, recorded)
        assert await world.next_slot("a") == "04:00"

    async def test_pauses_that_nobody_looked_at(self, world: World) -> None:
        """However many have ended since a schedule was last planned, each has its slots, and only those (S29)."""
        await world.define(job("a", HOURLY, overlap="allow"))
        await world.tick()
        for begin, end in (("00:30", "01:30"), ("02:30", "04:30")):
            world.go(begin)
            await world.store.pause(EVERYTHING)
            world.go(end)
            await world.store.pause(None)
        world.go("05:00:30")
        await world.tick()
        recorded = await world.decided("a")
        assert {"paused 01:00", "paused 03:00 to 04:00 (2)"} <= set(recorded)
        assert (await world.ran("a"), [each for each in recorded if "paused" not in each]) == (
            ["05:00"], ["coalesced 02:00"],
        )  # fmt: skip

    async def test_what_is_defined_meanwhile_has_no_past(self, world: World) -> None:
        """A schedule takes part in a pause from when it was defined (S2, S29)."""
        await world.store.pause(EVERYTHING)
        world.go("02:30")
        await world.define(job("a", HOURLY, overlap="allow"))
        world.go("03:30")
        await world.store.pause(None)
        await world.define(job("b", HOURLY))
        await world.tick()
        assert (await world.decided("a"), await world.decided("b")) == (["paused 03:00"], [])
        await world.pass_time("04:00")
        assert (await world.ran("a"), await world.ran("b")) == (["04:00"], ["04:00"])

    @pytest.mark.parametrize("edit", [True, False])
    async def test_a_change_comes_after_the_pause(self, world: World, edit: bool) -> None:
        """Before a schedule is changed, the pauses that ended are taken in (S29)."""
        await world.define(job("a", HOURLY))
        await world.tick()
        world.go("00:30")
        await world.store.pause(EVERYTHING)
        world.go("01:30")
        await world.store.pause(None)
        if edit:
            await world.define(job("a", "*/10 * * * *"))
        else:
            await world.store.change("a", Reset())
        await world.tick()
        assert (await world.ran("a"), await world.decided("a")) == ([], ["paused 01:00"])

    async def test_a_paused_schedule_stays_paused(self, world: World) -> None:
        """The end of the pause of everything resumes nothing that was paused by itself (S29)."""
        await world.define(job("a", HOURLY))
        await world.store.change("a", Paused("bob", "own"))
        await world.store.pause(EVERYTHING)
        world.go("01:30")
        await world.store.pause(None)
        await world.pass_time("02:30")
        paused = (await world.schedule("a")).paused
        assert paused is not None
        assert (paused.by, await world.ran("a")) == ("bob", [])
        await world.store.change("a", Resumed())
        await world.pass_time("03:00")
        assert await world.ran("a") == ["03:00"]
        recorded = {row.reason.code: row for row in (await world.insights.decisions()).items}
        assert set(recorded) == {"paused"}


class ScheduleChangeStories(Stories):
    async def test_reset_drops_a_backlog(self, world: World) -> None:
        """The cursor is set to now, and what was pending is recorded (S4, S7)."""
        await world.define(job("a", HOURLY, overlap="queue"))
        await world.pass_time("03:30")
        assert (await world.store.change("a", Reset())).cursor == world.now
        await world.work()
        await world.pass_time("04:00")
        assert (await world.ran("a"), await world.decided("a")) == (
            ["01:00", "04:00"],
            ["reset 02:00 to 03:00 (2)"],
        )

    async def test_reset_repairs_a_cursor_ahead(self, world: World) -> None:
        """A wrong clock pushed it ahead; slots that have a run are not run again (S1, S4)."""
        await world.define(job("a", HOURLY, overlap="allow"))
        world.go("02:00")
        await world.tick()
        world.go("00:30")
        assert (await world.store.change("a", Reset())).cursor == world.now
        await world.pass_time("03:00")
        assert (await world.ran("a"))[1:] == ["03:00"]

    async def test_reschedule_moves_the_next_fire(self, world: World) -> None:
        """It fires at that time once, slots in between are recorded, then the expression goes on (S31)."""
        await world.define(job("a", HOURLY, overlap="allow"))
        world.go("00:30")
        await world.store.change("a", Rescheduled(instant("02:20")))
        assert await world.next_slot("a") == "02:20"
        await world.pass_time("03:00")
        assert (await world.ran("a"), await world.decided("a")) == (
            ["02:20", "03:00"], ["rescheduled 01:00 to 02:00 (2)"],
        )  # fmt: skip

    async def test_a_time_that_has_passed_is_refused(self, world: World) -> None:
        """A move into the past, or beyond `until`, changes nothing (S31)."""
        await world.define(job("a", HOURLY, until=instant("05:00")))
        world.go("02:00")
        async with world.refuses(InputError, "01:00"):
            await world.store.change("a", Rescheduled(instant("01:00")))
        async with world.refuses(InputError, "06:00"):
            await world.store.change("a", Rescheduled(instant("06:00")))

    async def test_a_backfill_runs_what_has_no_run(self, world: World) -> None:
        """Oldest first, one after the other, and not the slots that have a run; live slots go on (S32)."""
        await world.define(job("a", HOURLY))
        await world.pass_time("02:00")
        await world.work(Failed())
        await world.pass_time("04:30")
        await world.work()
        await world.store.change("a", BackfillAsked(instant("01:00"), instant("04:00")))
        for _ in range(3):
            await world.tick()
            await world.work()
        await world.pass_time("05:00")
        assert await world.ran("a") == ["01:00", "03:00", "02:00 backfill", "05:00"]
        assert (await world.schedule("a")).backfill is None

    async def test_a_live_slot_waits_for_a_backfill(self, world: World) -> None:
        """A slot that only a backfill run blocks is not skipped (S32)."""
        await world.define(job("a", HOURLY))
        await world.store.change("a", Paused())
        await world.pass_time("02:30")
        await world.store.change("a", Resumed())
        await world.store.change("a", BackfillAsked(instant("01:00"), instant("03:00") - 1_800))
        await world.pass_time("03:00")
        assert await world.ran("a") == ["01:00 backfill"]
        await world.work()
        await world.tick()
        assert await world.ran("a") == ["01:00 backfill", "03:00"]

    async def test_one_backfill_at_a_time(self, world: World) -> None:
        """A second one is refused; one that is cancelled leaves what it has enqueued (S32)."""
        await world.define(job("a", HOURLY, catchup="skip"))
        world.go("06:30")
        await world.tick()
        asked = BackfillAsked(instant("01:00"), instant("06:00"))
        await world.store.change("a", asked)
        await world.tick()
        async with world.refuses(ConflictError, "backfill"):
            await world.store.change("a", asked)
        assert (await world.store.change("a", BackfillCancelled())).backfill is None
        await world.work()
        await world.tick()
        assert await world.ran("a") == ["01:00 backfill"]
