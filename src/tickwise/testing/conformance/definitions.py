"""What a source writes: added, changed, deleted, refused (S2, S23-S28, S35, S50)."""
# ruff: noqa: S101  (a suite of tests asserts)

import asyncio
from dataclasses import replace

import pytest

from ...core.change import Paused, Resumed
from ...core.cron import Every
from ...core.cron.zone import zone
from ...core.definition import After, Catchup, Kind, Policy, RetryPolicy
from ...core.errors import ConflictError, InputError, StaleVersionError
from ...core.settle import Failed
from ...core.states import RunState
from ...stores.records import ScheduleFilter
from .snapshot import snapshot
from .stories import Stories
from .world import HOURLY, SOURCE, World, job, schedule

EVERY_MINUTE = "* * * * *"


class DefinitionStories(Stories):
    async def test_a_new_schedule_begins_now(self, world: World) -> None:
        """A schedule seen for the first time gets cursor = now, and never replays the past (S2)."""
        world.go("05:00:30")
        assert await world.define(job("a", HOURLY)) == {"a"}
        await world.tick()
        state = await world.schedule("a")
        assert (state.cursor, state.first_seen) == (world.now, world.now)
        assert (await world.ran("a"), await world.next_slot("a")) == ([], "06:00")

    async def test_a_definition_can_be_read_back(self, world: World) -> None:
        """A job is shown as it was defined, with its source on each schedule."""
        policy = Policy.of(
            catchup=Catchup.ALL, catchup_window=7_200, max_catchup=9, grace=5, skip_if_successful=True, jitter=7,
            until=world.now + 10**6, max_runs=3, after=(After("a", 60),), wait_for=9, expires=11, auto_remove=True,
        )  # fmt: skip
        every = replace(schedule("a.restart", Every(90, zone("UTC"), 5), kind=Kind.RESTART), policy=policy)
        await world.define(job("a", HOURLY, also=[every], params={"table": "o"}, labels={"team": "x"}))
        row = await world.job("a")
        assert (row.source, row.schedules, row.created_at) == (SOURCE, ("a", "a.restart"), world.micro)
        assert (dict(row.definition.params), dict(row.definition.labels)) == ({"table": "o"}, {"team": "x"})
        assert (await world.schedule("a.restart")).definition == replace(every, job="a", source=SOURCE)

    async def test_what_is_as_written(self, world: World) -> None:
        """Whatever a store names as written already would not be changed, and nothing else is named (S28)."""
        two = job("two", HOURLY, also=[schedule("two.more", "@daily")])
        same = [job("a", HOURLY), job("b", EVERY_MINUTE, params={"n": 1}), job("no-times"), two]
        before = [*same, job("edited", HOURLY), job("fewer", HOURLY, also=[schedule("fewer.more", "@daily")])]
        await world.define(*before, job("gone", HOURLY))
        await world.define(job("theirs", HOURLY), source="other")
        await world.store.remove("gone", SOURCE)
        others = [job(name, HOURLY) for name in ("fewer", "gone", "theirs", "new", "a\0", "n" * 10_000)]
        others += [job("edited", "@daily"), job("after", HOURLY, after=(After("a", 60),))]
        seen = world.insights
        named = await seen.as_written([*same, *others], SOURCE)
        assert named in ({each.name for each in same}, set())
        assert await seen.as_written([], SOURCE) == await seen.as_written(same, "other") == frozenset()
        assert await seen.as_written(same, "\0") == frozenset()
        kept = await snapshot(world.store)
        assert await world.define(*(each for each in same if each.name in named)) == set()
        assert await snapshot(world.store) == kept

    async def test_a_definition_over_another_version(self, world: World) -> None:
        """What is written over a version is refused once there is another; 0 is a job that is not there."""
        daily = job("a", "@daily")
        async with world.refuses(ConflictError, "a has been changed meanwhile", "try again"):
            await world.store.define(daily, SOURCE, over=1)
        await world.store.define(job("a", HOURLY), SOURCE, over=0)
        first = (await world.job("a")).version
        async with world.refuses(ConflictError, "there is a job a already: update it instead"):
            await world.store.define(daily, SOURCE, over=0)
        assert await world.store.define(daily, SOURCE, over=first)
        for over in (first, first + 2):
            async with world.refuses(ConflictError, "a has been changed meanwhile"):
                await world.store.define(job("a", HOURLY), SOURCE, over=over)
        async with world.refuses(StaleVersionError, "a has been changed meanwhile"):
            await world.store.remove("a", SOURCE, over=first)
        await world.store.remove("a", SOURCE, over=first + 1)
        async with world.refuses(StaleVersionError, "a has been changed meanwhile"):
            await world.store.define(daily, SOURCE, over=first + 1)
        assert await world.store.define(daily, SOURCE, over=0)

    async def test_of_several_writes_over_a_version_one_succeeds(self, world: World) -> None:
        """However they interleave, no definition is overwritten unseen."""
        for over in (0, 1):
            words = [job("a", HOURLY, params={"by": f"{over}-{n}"}) for n in range(5)]
            tries = (world.store.define(each, SOURCE, over=over) for each in words)
            answers = await asyncio.gather(*tries, return_exceptions=True)
            refused = [answer for answer in answers if isinstance(answer, ConflictError)]
            (won,) = [each for each, answer in zip(words, answers, strict=True) if isinstance(answer, tuple)]
            assert len(refused) == 4
            row = await world.job("a")
            assert (row.version, dict(row.definition.params)) == (over + 1, dict(won.params))

    async def test_the_same_again_changes_nothing(self, world: World) -> None:
        """The same definition written again leaves a backlog and a pause as they were (S28)."""
        await world.define(job("a", HOURLY, overlap="queue"), job("b", HOURLY))
        await world.pass_time("03:00")
        await world.store.change("b", Paused("ann", "holidays"))
        before = await snapshot(world.store), await world.insights.job("a")
        world.clock.advance(5)
        assert await world.define(job("a", HOURLY, overlap="queue"), job("b", HOURLY)) == set()
        assert (await snapshot(world.store), await world.insights.job("a")) == before

    async def test_a_changed_job_gets_a_new_version(self, world: World) -> None:
        """A change of the job alone changes none of its schedules, but is seen as a version of its own."""
        await world.define(job("a", HOURLY))
        first = await world.job("a")
        world.clock.advance(5)
        assert await world.define(job("a", HOURLY, description="better")) == set()
        second = await world.job("a")
        assert (second.version > first.version, second.definition.description) == (True, "better")
        assert (second.created_at, second.updated_at) == (first.created_at, world.micro)

    async def test_a_schedule_that_is_gone_is_deleted(self, world: World) -> None:
        """Its queued run is cancelled, those of its neighbour stay, and what ran can still be seen (S23)."""
        await world.define(job("a", HOURLY, also=[schedule("a2", HOURLY, overlap="allow")], overlap="allow"))
        await world.pass_time("01:00")
        assert await world.define(job("a", HOURLY, overlap="allow")) == {"a2"}
        assert await world.insights.schedule("a2") is None
        states = {run.schedule: run.state for run in await world.runs()}
        assert states == {"a": RunState.QUEUED, "a2": RunState.CANCELLED}

    async def test_a_removed_job(self, world: World) -> None:
        """Queued runs are cancelled, running ones go on, slots that were pending are recorded (S23)."""
        await world.define(job("a", HOURLY, overlap="queue"))
        queued = await world.enqueue("a")
        await world.pass_time("01:00")
        leases = {lease.id: lease for lease in await world.lease(capacity=2)}
        await world.end(leases.pop(queued))
        (running,) = leases.values()
        await world.enqueue("a")
        await world.pass_time("02:00")
        for _ in range(2):
            await world.store.remove("a", SOURCE)
        assert await world.insights.job("a") is None
        assert (*(await world.insights.jobs()).items, *(await world.insights.schedules()).items) == ()
        assert await world.decided("a") == ["deleted 02:00"]
        assert [run.state for run in await world.runs()][1:] == [RunState.RUNNING, RunState.CANCELLED]
        await world.end(running)
        assert (await world.run(running.id)).state is RunState.SUCCEEDED
        assert await world.insights.next_due() is None
        async with world.refuses(InputError, "a"):
            await world.enqueue("a")

    @pytest.mark.parametrize(("back", "ran"), [("01:00:30", ["01:00"]), ("01:01:31", [])])
    async def test_remove_and_create(self, world: World, back: str, ran: list[str]) -> None:
        """Within two minutes it is the same schedule, and the slot in between runs; later it is new (S2, S23)."""
        await world.define(job("a", HOURLY))
        world.go("00:59:30")
        await world.store.remove("a", SOURCE)
        world.go(back)
        await world.define(job("a", HOURLY))
        await world.tick()
        assert await world.ran("a") == ran

    async def test_only_its_source_changes_a_job(self, world: World) -> None:
        """Another source may neither define nor remove it, and the refusal names the owner (S50)."""
        await world.define(job("a", HOURLY), source="folder:jobs")
        async with world.refuses(ConflictError, "folder:jobs"):
            await world.define(job("a", EVERY_MINUTE), source="api")
        async with world.refuses(ConflictError, "folder:jobs"):
            await world.store.remove("a", "api")

    async def test_a_removed_job_may_come_from_elsewhere(self, world: World) -> None:
        """A deleted name has no owner (S50)."""
        await world.define(job("a", HOURLY), source="folder")
        await world.store.remove("a", "folder")
        await world.define(job("a", HOURLY), source="api")
        assert (await world.schedule("a")).definition.source == "api"

    async def test_a_schedule_has_one_job(self, world: World) -> None:
        """The name of another job's schedule is refused, naming that job (S26); one that was deleted is free."""
        await world.define(job("first", also=[schedule("x", HOURLY)]))
        async with world.refuses(ConflictError, "first"):
            await world.define(job("second", also=[schedule("x", HOURLY)]))
        await world.define(job("first"))
        await world.define(job("second", also=[schedule("x", HOURLY)]))
        assert (await world.schedule("x")).job == "second"

    async def test_contradicting_definitions_are_refused(self, world: World) -> None:
        """Two schedules of one name, a schedule of another job, or of another source: nothing is written."""
        x = schedule("x", HOURLY)
        async with world.refuses(InputError, "x"):
            await world.define(job("a", also=[x, x]))
        async with world.refuses(InputError, "x"):
            await world.store.define(replace(job("a"), schedules=(replace(x, job="b"),)), SOURCE)
        async with world.refuses(InputError, "x"):
            await world.define(job("a", also=[replace(x, source="elsewhere")]))

    async def test_pending_slots_survive_an_edit(self, world: World) -> None:
        """What waits goes on waiting, found anew by the new expression (S24)."""
        await world.define(job("a", HOURLY, overlap="queue"))
        await world.pass_time("03:00")
        await world.define(job("a", "0,30 * * * *", overlap="queue", priority=3))
        for _ in range(4):
            await world.tick()
            await world.work()
        assert await world.ran("a") == ["01:00", "02:00", "02:30", "03:00"]

    async def test_catch_up_turned_on_opens_missed_slots_again(self, world: World) -> None:
        """Slots recorded as missed within the window run as catch-up, older ones do not (S25)."""
        await world.define(job("a", HOURLY, catchup="skip"))
        world.go("05:30")
        await world.tick()
        assert await world.decided("a") == ["missed 01:00 to 05:00 (5)"]
        await world.define(job("a", HOURLY, catchup_window=2 * 3_600, overlap="allow"))
        await world.tick()
        assert await world.ran("a") == ["04:00 catchup", "05:00 catchup"]

    async def test_what_it_runs_after_must_exist(self, world: World) -> None:
        """An unknown name in `after` is refused with the nearest right one; its own schedules count (S35)."""
        await world.define(job("extract", HOURLY))
        async with world.refuses(InputError, "extrakt", "extract"):
            await world.define(job("load", HOURLY, after=(After("extrakt", 60),)))
        own = schedule("load.late", HOURLY, after=(After("load", 60), After("extract", 60)))
        assert await world.define(job("load", HOURLY, also=[own])) == {"load", "load.late"}

    async def test_a_circle_is_refused(self, world: World) -> None:
        """Schedules that wait for each other, or for themselves, are refused with the circle's names (S35)."""
        await world.define(job("one", HOURLY))
        await world.define(job("two", HOURLY, after=(After("one", 60),)))
        async with world.refuses(InputError, "one", "two"):
            await world.define(job("one", HOURLY, after=(After("two", 60),)))
        async with world.refuses(InputError, "self"):
            await world.define(job("self", HOURLY, after=(After("self", 60),)))

    async def test_a_disabled_job_rests(self, world: World) -> None:
        """Its schedules are paused by its source, and resumed when it is enabled again."""
        await world.define(job("a", HOURLY, enabled=False))
        await world.pass_time("02:30")
        paused = (await world.schedule("a")).paused
        assert paused is not None
        assert (paused.by, paused.reason, paused.at) == (SOURCE, "enabled: false", world.now - 9_000)
        assert (await world.ran("a"), await world.next_slot("a")) == ([], "never")
        assert await world.define(job("a", HOURLY)) == {"a"}
        await world.pass_time("03:00")
        assert (await world.ran("a"), await world.decided("a")) == (["03:00"], ["paused 01:00 to 02:00 (2)"])

    async def test_a_persons_pause_outlives_enabling(self, world: World) -> None:
        """To disable and enable a job does not resume what a person had paused."""
        await world.define(job("a", HOURLY))
        await world.store.change("a", Paused("ann", "holidays"))
        await world.define(job("a", HOURLY, enabled=False))
        await world.define(job("a", HOURLY))
        paused = (await world.schedule("a")).paused
        assert paused is not None
        assert paused.by == "ann"

    async def test_a_pause_of_a_disabled_schedule_outlives_enabling(self, world: World) -> None:
        """A person's pause counts, although the schedule rests already (S28)."""
        await world.define(job("a", HOURLY, enabled=False))
        await world.store.change("a", Paused("ann", "holidays"))
        await world.define(job("a", HOURLY))
        paused = (await world.schedule("a")).paused
        assert paused is not None
        assert (paused.by, paused.reason) == ("ann", "holidays")
        await world.store.change("a", Resumed())
        assert (await world.schedule("a")).paused is None

    async def test_a_resumed_schedule_of_a_disabled_job_runs(self, world: World) -> None:
        """A person overrules `enabled: false`; edits leave that alone, until the job is enabled again (S28)."""
        await world.define(job("a", HOURLY, enabled=False))
        await world.store.change("a", Resumed())
        assert await world.define(job("a", HOURLY, enabled=False)) == set()
        await world.define(job("a", HOURLY, enabled=False, priority=3, catchup="skip"))
        await world.pass_time("01:00")
        assert await world.ran("a") == ["01:00"]
        await world.define(job("a", HOURLY))
        await world.define(job("a", HOURLY, enabled=False))
        await world.pass_time("02:00")
        assert (await world.ran("a"), await world.next_slot("a")) == (["01:00"], "never")

    async def test_a_schedule_added_to_a_disabled_job_rests(self, world: World) -> None:
        """Every schedule of it does, however late it comes; listed as paused, and counted."""
        await world.define(job("a", HOURLY, enabled=False))
        await world.define(job("a", HOURLY, enabled=False, also=[schedule("a.late", HOURLY)]))
        rows = await world.store.insights.schedules(ScheduleFilter(paused=True))
        assert [row.schedule.name for row in rows.items] == ["a", "a.late"]
        assert (await world.store.insights.counts()).paused == 2

    async def test_a_run_keeps_its_definition(self, world: World) -> None:
        """What was enqueued runs as it was defined then: queue, params and retries (S23)."""
        await world.define(job("a", HOURLY, params={"n": 1}, retry=RetryPolicy(1, 60)))
        await world.pass_time("01:00")
        await world.define(job("a", HOURLY, params={"n": 2}, queue="other"))
        lease = await world.start()
        assert (dict(lease.job.params), lease.job.queue, lease.label) == ({"n": 1}, "default", HOURLY)
        assert (await world.end(lease, Failed())).state is RunState.QUEUED
