"""What sources may do to a job of another: add schedules, and take over what one has left (S50)."""
# ruff: noqa: S101  (a suite of tests asserts)

import pytest

from ...core.change import Paused
from ...core.definition import After, JobDefinition
from ...core.errors import ConflictError, InputError, StaleVersionError
from ...stores.records import ScheduleFilter
from .stories import Stories
from .world import HOURLY, SOURCE, World, job, schedule

EXTRA = schedule("a.half", "30 * * * *")


def extra(*schedules: object) -> JobDefinition:
    return job("a", also=list(schedules))  # type: ignore[arg-type]  # (they are schedules)


class ExtraScheduleStories(Stories):
    async def test_another_source_adds_a_schedule(self, world: World) -> None:
        """It starts the job, belongs to who added it, and the job stays as its own source has it (A14, S50)."""
        await world.define(job("a", HOURLY, queue="other"))
        (added,) = await world.store.extend(extra(EXTRA), "api")
        assert (added.definition.job, added.definition.source, added.cursor) == ("a", "api", world.now)
        await world.pass_time("00:45")
        assert (await world.ran("a"), await world.ran("a.half")) == ([], ["00:30"])
        row = await world.job("a")
        assert (row.source, row.schedules, row.definition.queue) == (SOURCE, ("a", "a.half"), "other")
        for source, names in ((SOURCE, ["a"]), ("api", ["a.half"])):
            page = await world.insights.schedules(ScheduleFilter(source=source))
            assert [each.schedule.name for each in page.items] == names

    async def test_its_owner_defines_the_job_again(self, world: World) -> None:
        """A new definition of the job keeps what others have added; `enabled: false` holds that too (A14, S50)."""
        await world.define(job("a", HOURLY))
        await world.store.extend(extra(EXTRA), "api")
        assert await world.define(job("a", HOURLY)) == set()
        assert await world.define(job("a", "15 * * * *", enabled=False)) == {"a", "a.half"}
        assert (await world.schedule("a.half")).paused is not None
        await world.define(job("a"))
        assert (await world.job("a")).schedules == ("a.half",)

    async def test_only_who_added_it_changes_it(self, world: World) -> None:
        """The job's owner and all others are refused; the one that added it changes and removes it (A14, S50)."""
        await world.define(job("a", HOURLY))
        await world.store.extend(extra(EXTRA), "api")
        async with world.refuses(ConflictError, "a.half was defined by api"):
            await world.define(job("a", HOURLY, also=[EXTRA]))
        async with world.refuses(ConflictError, "a.half was defined by api"):
            await world.store.extend(extra(EXTRA), "folder:/x")
        async with world.refuses(InputError, "job of app itself"):
            await world.store.extend(extra(EXTRA), SOURCE)
        await world.store.extend(extra(schedule("a.half", "45 * * * *")), "api")
        assert (await world.schedule("a.half")).definition.label == "45 * * * *"
        await world.store.extend(extra(), "api")
        assert (await world.job("a")).schedules == ("a",)

    async def test_what_cannot_be_added(self, world: World) -> None:
        """No such job, another version, a taken name, an unknown schedule in `after`: nothing is written (A14)."""
        await world.define(job("a", HOURLY), job("b", HOURLY))
        version = (await world.job("a")).version
        async with world.refuses(InputError, "there is no job 'aa' (did you mean a?)"):
            await world.store.extend(job("aa", HOURLY), "api")
        async with world.refuses(StaleVersionError):
            await world.store.extend(extra(EXTRA), "api", over=version + 1)
        async with world.refuses(ConflictError, "a schedule of the job b"):
            await world.store.extend(extra(schedule("b", HOURLY)), "api")
        async with world.refuses(InputError, "nobody"):
            await world.store.extend(extra(schedule("a.half", after=(After("nobody", 60),))), "api")
        await world.store.extend(extra(schedule("a.half", after=(After("a", 60),))), "api", over=version)

    @pytest.mark.parametrize(("back", "names"), [("00:01:59", ("a", "a.half")), ("00:03:00", ("a",))])
    async def test_the_job_is_deleted(self, world: World, back: str, names: tuple[str, ...]) -> None:
        """What others have added goes with it, and comes back with it within two minutes (A14, S23, S50)."""
        await world.define(job("a", HOURLY))
        await world.store.extend(extra(EXTRA, schedule("a.gone", HOURLY)), "api")
        await world.store.extend(extra(EXTRA), "api")
        world.go("00:00:30")
        await world.store.remove("a", SOURCE)
        assert (await world.insights.schedule("a.half"), await world.insights.job("a")) == (None, None)
        world.go(back)
        await world.define(job("a", HOURLY), source="other")
        assert (await world.job("a")).schedules == names

    async def test_the_most_lanes(self, world: World) -> None:
        """A job has as many lanes as any of its schedules allows, whoever added it (A14, S16)."""
        await world.define(job("a", HOURLY))
        await world.store.extend(extra(schedule("a.half", overlap="allow", max_active_runs=3)), "api")
        await world.define(job("a", HOURLY, description="new"))
        for _ in range(3):
            await world.trigger("a")
        async with world.refuses(ConflictError, "is active"):
            await world.trigger("a")


class ReassignStories(Stories):
    async def test_a_source_takes_over(self, world: World) -> None:
        """What a source has written is another's: nothing else about it changes (A4, S50)."""
        await world.define(job("a", HOURLY, also=[schedule("a.more", "@daily")]), source="folder:jobs")
        await world.store.extend(extra(EXTRA), "api")
        await world.store.change("a", Paused("ada", "why not"))
        before = await world.schedule("a")
        world.go("00:10")
        assert await world.store.reassign("a", "folder:jobs", "folder:/srv/jobs")
        after = await world.schedule("a")
        assert after.definition.source == "folder:/srv/jobs"
        assert after._replace(definition=before.definition) == before
        assert (await world.schedule("a.half")).definition.source == "api"
        assert (await world.job("a")).source == "folder:/srv/jobs"
        same = job("a", HOURLY, also=[schedule("a.more", "@daily")])
        assert await world.define(same, source="folder:/srv/jobs") == set()
        async with world.refuses(ConflictError, "tickwise sources move folder:/srv/jobs folder:jobs"):
            await world.define(same, source="folder:jobs")

    async def test_only_what_it_has_written(self, world: World) -> None:
        """Added schedules are taken over without their job; of what is not its own, nothing is (A4, S50)."""
        await world.define(job("a", HOURLY))
        await world.store.extend(extra(EXTRA), "api")
        assert await world.store.reassign("a", "api", "folder:/x")
        assert (await world.job("a")).source == SOURCE
        assert (await world.schedule("a.half")).definition.source == "folder:/x"
        version = (await world.job("a")).version
        for name, source in (("a", "api"), ("nobody", "api"), ("a" * 10_000, "api")):
            assert not await world.store.reassign(name, source, "other")
        assert (await world.job("a")).version == version
