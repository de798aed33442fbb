"""Blackouts: one list for the store, in force for each job that it is for; and the texts it is kept in (S62)."""
# ruff: noqa: S101  (a suite of tests asserts)

import asyncio
from dataclasses import replace

import pytest

from ...core.blackout import Blackout, begun
from ...core.cron import parse
from ...core.cron.recurrences import At
from ...core.cron.zone import zone
from ...core.errors import InputError
from ...stores.access_records import VersionedText
from ...stores.blackouts import enforce_blackouts, finish_blackouts, read_blackouts, write_blackouts
from ...stores.records import MICRO
from .stories import Stories
from .world import HOURLY, World, instant, job


def window(start: str, end: str, name: str = "freeze", pattern: str = "*") -> Blackout:
    """A single window, for jobs by a pattern of their names."""
    first = instant(start)
    return Blackout(name, At((first,), zone("UTC")), instant(end) - first, (pattern,), reason="stocktaking")


async def add(world: World, *blackouts: Blackout) -> None:
    await write_blackouts(world.store, lambda known, now: [*known, *(begun(each, now) for each in blackouts)])


async def remove(world: World, name: str) -> None:
    await write_blackouts(world.store, lambda known, _: [each for each in known if each.name != name])


class BlackoutStories(Stories):
    async def test_a_text_is_written_over_the_version_that_was_read(self, world: World) -> None:
        """Of several that write at once, one does; a text comes back as it was given."""
        access = world.store.access
        assert await access.text("a") is None
        assert not await access.replace_text("a", "x", 1)
        assert await access.replace_text("a", "one \u2603", 0)
        assert not await access.replace_text("a", "two", 0)
        assert await access.text("a") == VersionedText(1, "one \u2603")
        wrote = await asyncio.gather(*(access.replace_text("a", str(n), 1) for n in range(5)))
        assert sorted(wrote) == [False] * 4 + [True]
        assert await access.text("a") == VersionedText(2, str(wrote.index(True)))
        assert await access.text("b\0") is None
        with pytest.raises(InputError):
            await access.replace_text("a\0", "x", 0)

    async def test_a_blackout_holds_the_jobs_it_is_for(self, world: World) -> None:
        """Those that are there, and those that come later; the next look at them is at its end (S62)."""
        await world.define(job("etl-a", HOURLY, overlap="allow"), job("other", HOURLY, overlap="allow"))
        await world.tick()
        await add(world, window("02:00", "04:00", pattern="etl-*"))
        await world.define(job("etl-b", HOURLY, overlap="allow"))
        assert (await world.schedule("other")).blackouts == ()
        assert await world.next_slot("etl-b") == "01:00"
        await world.pass_time("03:30")
        assert [await world.ran(name) for name in ("etl-a", "etl-b")] == [["01:00"]] * 2
        assert await world.ran("other") == ["01:00", "02:00", "03:00"]
        assert await world.next_slot("etl-a") == "04:00"
        await world.pass_time("04:30")
        for name in ("etl-a", "etl-b"):
            assert (await world.ran(name), await world.decided(name)) == (
                ["01:00", "04:00"],
                ["blackout 02:00 to 03:00 (2)"],
            )
            assert (await world.schedule(name)).blackouts == ()

    async def test_a_job_that_changes_its_labels_comes_under_another_blackout(self, world: World) -> None:
        """What is in force follows the definition, also where its schedules stay as they are (S62)."""
        labelled = replace(window("02:00", "04:00"), jobs=(), labels=("team=data",))
        await add(world, labelled)
        for labels, held in (({}, False), ({"team": "data"}, True), ({"team": "web"}, False)):
            await world.define(replace(job("a", HOURLY), labels=labels))
            assert bool((await world.schedule("a")).blackouts) is held

    async def test_a_blackout_that_is_removed_ends_at_once(self, world: World) -> None:
        """Its slots go where the end of a pause sends them, and the job is looked at (S62, S29)."""
        await world.define(job("a", HOURLY, catchup="all", overlap="allow"), job("b", HOURLY, overlap="allow"))
        await add(world, window("02:00", "06:00"))
        await world.pass_time("03:30")
        await remove(world, "freeze")
        assert await world.insights.next_due() == world.now
        await world.pass_time("03:31")
        assert (await world.ran("a"), await world.decided("a")) == (
            ["01:00", "02:00 catchup", "03:00 catchup"],
            [],
        )
        assert (await world.ran("b"), await world.decided("b")) == (["01:00"], ["blackout 02:00 to 03:00 (2)"])

    async def test_recurring_windows_come_back_as_they_went_in(self, world: World) -> None:
        """With zone and length, in the list and in the state of a schedule (S62)."""
        nights = Blackout("nights", parse("CRON_TZ=Europe/Berlin 0 2 * * *"), 5_400, ("*",), by="ann")
        await world.define(job("a", HOURLY, overlap="allow"))
        await add(world, nights)
        kept = replace(nights, since=world.now)
        assert (await read_blackouts(world.store)).blackouts == (kept,)
        assert (await world.schedule("a")).blackouts == (kept,)
        await world.pass_time("05:00")
        assert await world.decided("a") == ["blackout 01:00 to 02:00 (2)"]

    async def test_what_one_has_begun_another_finishes(self, world: World) -> None:
        """A list that was written and not brought into force is, by whoever looks next (S62)."""
        await world.define(job("a", HOURLY))
        await add(world, window("02:00", "04:00"))
        assert not await finish_blackouts(world.store)
        known = await world.store.access.text("blackouts")
        assert known is not None
        assert await world.store.access.replace_text("blackouts", "[]", known.version)
        assert await finish_blackouts(world.store)
        assert (await world.schedule("a")).blackouts == ()
        assert await enforce_blackouts(world.store) == known.version + 1

    async def test_nothing_starts_after_a_blackout_was_written_beside_passes(self, world: World) -> None:
        """Jobs are defined and passes made while it is written: all jobs rest when it is in force (S62)."""
        names = [f"j{n}" for n in range(12)]
        await world.define(*(job(name, HOURLY) for name in names[:6]))
        world.go("02:00:05")
        everything = window("02:00", "06:00")
        late = [world.store.define(job(name, HOURLY), "") for name in names[6:]]
        await asyncio.gather(world.tick(), add(world, everything), *late, world.tick())
        assert all([(await world.schedule(name)).blackouts for name in names])
        before = {name: await world.ran(name) for name in names}
        world.go("05:59:59")
        await world.tick()
        assert {name: await world.ran(name) for name in names} == before
        assert world.micro // MICRO == world.now
