"""Runs enqueued by code with keys, and triggered by hand with lanes; cancelled and retried (S30, S41, S48)."""
# ruff: noqa: S101  (a suite of tests asserts)

import asyncio
from typing import Any

import pytest

from ...core.definition import RetryPolicy
from ...core.errors import ConflictError, InputError
from ...core.model import Trigger
from ...core.parameters import Parameters
from ...core.settle import Cancelled, Failed, Outcome, Succeeded, Unmet
from ...core.states import Event, RunState
from ...stores.records import MICRO, Enqueue, Enqueued, StepReport
from .stories import Stories
from .world import HOURLY, World, instant, job

PARAMS: dict[str, Any] = {
    "text": "Grüße, 世界 🕰 \t\n\"'\\", "big": 2**63 - 1, "small": -(2**63), "half": 0.1, "none": None, "no": False,
    "": {"deep": [[], {}, [1, [2.0]]]},
}  # fmt: skip


class EnqueueStories(Stories):
    async def test_an_enqueued_run(self, world: World) -> None:
        """It is queued at once with all that was given, and holds no lane."""
        await world.define(job("a", HOURLY, queue="other", priority=3))
        trace = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"
        run = await world.run(await world.enqueue("a", params={"n": 1}, key="k", by="ann", traceparent=trace))
        assert (run.job, run.schedule, run.slot, run.trigger, run.label) == ("a", None, None, Trigger.ENQUEUE, "")
        assert (run.state, run.queue, run.priority, run.lane) == (RunState.QUEUED, "other", 3, None)
        assert (run.params, run.key, run.by, run.claimed_by) == ({"n": 1}, "k", "ann", None)
        assert (run.traceparent, (await world.run(await world.enqueue("a"))).traceparent) == (trace, "")
        assert (run.created_at, run.due_at, run.attempt) == (world.micro, world.micro, 0)

    async def test_what_is_known_of_a_new_run(self, world: World) -> None:
        """When it was made, its queue and its priority are in the answer; of a run that was there, its id only."""
        world.go("02:00")
        await world.define(job("a", queue="other", priority=3), job("b"))
        asked = [Enqueue("a", key="k"), Enqueue("b", queue="own", priority=-2), Enqueue("a", Trigger.MANUAL)]
        made = await world.store.enqueue(asked)
        for one in made:
            run = await world.run(one.id)
            assert one == Enqueued(one.id, True, run.created_at, run.queue, run.priority)
        world.go("03:00")
        assert await world.store.enqueue(asked[:1]) == (Enqueued(made[0].id, new=False),)

    async def test_params_come_back_as_given(self, world: World) -> None:
        """Text, numbers and nesting reach the worker unchanged; none given is none."""
        await world.define(job("a"))
        await world.store.enqueue([Enqueue("a", params=PARAMS), Enqueue("a"), Enqueue("a", params={"t": (1, 2)})])
        assert [lease.params for lease in await world.lease()] == [PARAMS, None, {"t": [1, 2]}]

    async def test_params_that_the_job_does_not_take(self, world: World) -> None:
        """They are refused with the nearest name, and so is a run without one that it needs (A18, S30)."""
        takes = Parameters(("table", "day"), ("day",))
        await world.define(job("a", parameters=takes), job("b", params={"day": 1}, parameters=takes))
        async with world.refuses(InputError, "the job a has no parameter tabel (did you mean table?)"):
            await world.store.enqueue([Enqueue("b"), Enqueue("a", params={"tabel": "x", "day": 1})])
        async with world.refuses(InputError, "the job a needs a value for day"):
            await world.trigger("a")
        await world.store.enqueue([Enqueue("a", params={"day": 1, "table": None}), Enqueue("b")])

    async def test_later_and_in_the_past(self, world: World) -> None:
        """A deferred run starts from its second on; a time that has passed means now (S33)."""
        world.go("02:00")
        await world.define(job("a"))
        late, past = await world.enqueue("a", at=instant("03:00")), await world.enqueue("a", at=instant("01:00"))
        assert [(await world.run(run)).due_at for run in (late, past)] == [instant("03:00") * MICRO, world.micro]
        assert await world.work() == [past]
        world.go("02:59:59")
        assert await world.work() == []
        world.go("03:00")
        assert await world.work() == [late]

    async def test_a_key_gives_the_run_that_has_it(self, world: World) -> None:
        """A repeat returns the existing run unchanged, queued, running or succeeded (S48)."""
        await world.define(job("a"))
        first = await world.enqueue("a", key="k", params={"n": 1})
        for _ in range(3):
            (again,) = await world.store.enqueue([Enqueue("a", key="k", params={"n": 2})])
            assert (again.id, again.new) == (first, False)
            for lease in await world.lease():
                if (await world.run(lease.id)).attempt == 1:
                    await world.end(lease)
        assert ((await world.run(first)).params, len(await world.runs())) == ({"n": 1}, 1)

    @pytest.mark.parametrize("outcome", [Failed(), Cancelled(), Unmet(), Succeeded()])
    async def test_only_a_success_keeps_the_key(self, world: World, outcome: Outcome) -> None:
        """A run that is over in any other way frees its key (S48)."""
        await world.define(job("a"))
        first = await world.enqueue("a", key="k")
        await world.work(outcome)
        (again,) = await world.store.enqueue([Enqueue("a", key="k")])
        assert (again.id == first, again.new) == ((True, False) if outcome == Succeeded() else (False, True))

    async def test_a_key_that_is_free_again(self, world: World) -> None:
        """A success keeps the key for `key_ttl`; until then, and before, it is taken (A25, S48)."""
        world.go("02:00")
        await world.define(job("a"))
        first = await world.enqueue("a", key="k", key_ttl=600)
        world.go("03:00")
        again = Enqueue("a", key="k", key_ttl=60)
        (queued,) = await world.store.enqueue([again])
        await world.work()
        world.go("03:09:59")
        (kept,) = await world.store.enqueue([again])
        assert {queued, kept} == {Enqueued(first, new=False)}
        world.go("03:10")
        second, repeat = await world.store.enqueue([again, again])
        assert (second.new, repeat) == (True, Enqueued(second.id, new=False))
        assert (await world.run(first)).key == "k", "what has run stays on record"
        await world.work()
        world.go("03:11")
        assert (await world.trigger("a", key="k")) not in (first, second.id)

    async def test_a_key_that_is_free_again_under_pressure(self, world: World) -> None:
        """Of many callers after its time, one creates the run and all get it (A25, S48)."""
        await world.define(job("a"))
        await world.enqueue("a", key="k", key_ttl=1)
        await world.work()
        world.clock.advance(1)
        made = await asyncio.gather(*(world.store.enqueue([Enqueue("a", key="k")]) for _ in range(10)))
        assert len({one.id for (one,) in made}) == 1
        assert sum(one.new for (one,) in made) == 1

    async def test_queue_and_priority_of_one_run(self, world: World) -> None:
        """They go before the job's own, for this run only (A25)."""
        await world.define(job("a", queue="other", priority=3))
        asked = [Enqueue("a"), Enqueue("a", priority=5), Enqueue("a", priority=0), Enqueue("a", queue="default")]
        made = [one.id for one in await world.store.enqueue(asked)]
        rows = [await world.run(run) for run in made]
        assert [(row.queue, row.priority) for row in rows] == [
            ("other", 3), ("other", 5), ("other", 0), ("default", 3),
        ]  # fmt: skip
        assert [lease.id for lease in await world.lease(queues=("other",))] == [made[1], made[0], made[2]]
        assert [lease.id for lease in await world.lease()] == [made[3]]

    async def test_a_key_belongs_to_its_job(self, world: World) -> None:
        """Two jobs may use one key; in one call a key counts as in two (S48)."""
        await world.define(job("a"), job("b"))
        asked = [Enqueue("a", key="k"), Enqueue("b", key="k"), Enqueue("a", key="k"), Enqueue("a")]
        made = await world.store.enqueue(asked)
        assert [one.new for one in made] == [True, True, False, True]
        assert made[2].id == made[0].id

    async def test_a_key_under_pressure(self, world: World) -> None:
        """Of many callers that enqueue one key at once, one creates the run and all get it (S48)."""
        await world.define(job("a"))
        made = await asyncio.gather(*(world.store.enqueue([Enqueue("a", key="k")]) for _ in range(10)))
        assert len({one.id for (one,) in made}) == 1
        assert sum(one.new for (one,) in made) == 1

    async def test_all_or_none(self, world: World) -> None:
        """If one of several cannot be enqueued, none is."""
        await world.define(job("a", HOURLY))
        async with world.refuses(InputError, "alpha", "a"):
            await world.store.enqueue([Enqueue("a", key="k"), Enqueue("alpha")])
        async with world.refuses(ConflictError):
            await world.store.enqueue([Enqueue("a", key="k"), *[Enqueue("a", trigger=Trigger.MANUAL)] * 2])
        (one,) = await world.store.enqueue([Enqueue("a", key="k")])
        assert one.new
        await world.trigger("a")

    async def test_auto_remove_forgets_a_success(self, world: World) -> None:
        """A run that is to be forgotten is gone once it has succeeded; a failure stays to be seen."""
        await world.define(job("a"))
        gone, stays = await world.enqueue("a", auto_remove=True), await world.enqueue("a", auto_remove=True)
        first, second = await world.lease()
        await world.end(first)
        await world.end(second, Failed())
        assert (await world.insights.run(gone), (await world.run(stays)).state) == (None, RunState.FAILED)


class TriggerStories(Stories):
    async def test_a_trigger_takes_a_lane(self, world: World) -> None:
        """A run by hand at once; cursor and next time stay (S30)."""
        await world.define(job("a", HOURLY, overlap="allow", max_active_runs=2))
        before = await world.schedule("a"), await world.next_slot("a")
        runs = [await world.run(await world.trigger("a")) for _ in range(2)]
        assert [(run.lane, run.trigger, run.slot) for run in runs] == [
            (0, Trigger.MANUAL, None), (1, Trigger.MANUAL, None),
        ]  # fmt: skip
        assert (await world.schedule("a"), await world.next_slot("a")) == before

    async def test_without_a_free_lane_it_is_refused(self, world: World) -> None:
        """The refusal names the run in the way; asked for beside it, a run takes no lane (S30)."""
        await world.define(job("a", HOURLY), job("no-schedule"))
        for name in ("a", "no-schedule"):
            first = await world.trigger(name)
            async with world.refuses(ConflictError, first):
                await world.trigger(name)
            assert (await world.run(await world.trigger(name, allow_overlap=True))).lane is None
        assert len(await world.work()) == 4


class CancelStories(Stories):
    async def test_a_queued_run_ends_at_once(self, world: World) -> None:
        """No worker needs to be asked; a second time changes nothing."""
        await world.define(job("a"))
        run = await world.enqueue("a")
        world.clock.advance(5)
        assert await world.store.cancel(run) is RunState.CANCELLED
        row = await world.run(run)
        assert (row.state, row.finished_at, row.started_at) == (RunState.CANCELLED, world.micro, None)
        world.clock.advance(5)
        assert (await world.store.cancel(run), await world.run(run)) == (RunState.CANCELLED, row)

    async def test_a_running_run_is_asked_to_end(self, world: World) -> None:
        """Its worker hears of it and ends it; without hearing, its own end counts (S41)."""
        await world.define(job("a", retry=RetryPolicy(5)))
        heard, deaf = await world.enqueue("a"), await world.enqueue("a")
        first, second = await world.lease()
        assert {await world.store.cancel(run) for run in (heard, deaf)} == {RunState.RUNNING}
        await world.end(first, Failed())
        await world.end(second)
        assert [(await world.run(run)).state for run in (heard, deaf)] == [RunState.CANCELLED, RunState.SUCCEEDED]


class RetryStories(Stories):
    async def test_a_failed_run_runs_again(self, world: World) -> None:
        """Another attempt with all retries ahead of it; the failed one is on record (S41)."""
        await world.define(job("a", retry=RetryPolicy(1, 60)))
        run = await world.enqueue("a")
        await world.work(Failed())
        world.go("00:05")
        await world.end(await world.start(), Failed(), error="boom")
        world.go("00:10")
        await world.store.retry(run)
        row = await world.run(run)
        assert (row.state, row.attempt, row.failures, row.due_at) == (RunState.QUEUED, 2, 0, world.micro)
        assert (row.finished_at, row.error, row.cancelling) == (None, "", False)
        attempts = await world.insights.attempts(run)
        assert [(each.number, each.event, each.error) for each in attempts] == [
            (1, Event.RETRY, ""), (2, Event.FAILURE, "boom"),
        ]  # fmt: skip
        lease = await world.start()
        assert (lease.attempt, (await world.end(lease, Failed())).state) == (3, RunState.QUEUED)

    async def test_what_can_be_put_back(self, world: World) -> None:
        """A cancelled run can, even one that never started; queued, running and succeeded ones cannot (S41)."""
        await world.define(job("a"))
        run = await world.enqueue("a")
        await world.store.cancel(run)
        await world.store.retry(run)
        assert await world.insights.attempts(run) == ()
        async with world.refuses(ConflictError, "queued"):
            await world.store.retry(run)
        lease = await world.start()
        async with world.refuses(ConflictError, "running"):
            await world.store.retry(run)
        await world.end(lease)
        async with world.refuses(ConflictError, "succeeded"):
            await world.store.retry(run)

    async def test_it_needs_a_lane(self, world: World) -> None:
        """A run of a schedule takes the lowest free lane again; with none free it is refused (S16, S41)."""
        await world.define(job("a", HOURLY))
        await world.pass_time("01:00")
        (failed,) = await world.work(Failed())
        active = await world.trigger("a")
        async with world.refuses(ConflictError, active):
            await world.store.retry(failed)
        await world.work()
        await world.store.retry(failed)
        assert (await world.run(failed)).lane == 0
        async with world.refuses(ConflictError, failed):
            await world.trigger("a")

    async def test_steps_that_are_repeated(self, world: World) -> None:
        """What was reported of them is forgotten when the run is put back, and not if it is refused (S41)."""
        await world.define(job("a"))
        run = await world.enqueue("a")
        lease = await world.start()
        reports = [StepReport(name, "succeeded", 1, 2) for name in ("fetch", "load", "tell")]
        assert await world.store.report(run, lease.token, reports)
        with pytest.raises(ConflictError):
            await world.store.retry(run, ["load"])
        assert len(await world.insights.steps(run)) == 3
        await world.end(lease, Failed())
        await world.store.retry(run, ["load", "tell", "none", "\0"])
        assert [step.name for step in await world.insights.steps(run)] == ["fetch"]
        again = await world.start()
        assert await world.store.report(run, again.token, reports[1:2])
        assert [step.name for step in await world.insights.steps(run)] == ["fetch", "load"]

    async def test_the_definition_of_a_run(self, world: World) -> None:
        """It stays as it was when the run was made (S23)."""
        await world.define(job("a", queue="default"))
        run = await world.enqueue("a")
        await world.define(job("a", queue="other"))
        definition = await world.insights.definition_of(run)
        assert definition is not None
        assert (definition.name, definition.queue) == ("a", "default")
        assert await world.insights.definition_of("999999") is None

    async def test_it_needs_its_key(self, world: World) -> None:
        """A key that another run has meanwhile is not shared (S48)."""
        await world.define(job("a"))
        failed = await world.enqueue("a", key="k")
        await world.work(Failed())
        other = await world.enqueue("a", key="k")
        async with world.refuses(ConflictError, other):
            await world.store.retry(failed)
        await world.work(Failed())
        await world.store.retry(failed)
        assert await world.enqueue("a", key="k") == failed


class NotificationStories(Stories):
    @pytest.mark.parametrize("what", ["a run", "a job"])
    async def test_a_notification_ends_the_wait(self, world: World, what: str) -> None:
        """A run to lease and a job to look at sooner end the wait; one notification may be lost, but not all."""
        await world.define(job("a", HOURLY))
        waiting = asyncio.create_task(world.store.wait(60))
        for number in range(1_000):
            if what == "a run":
                await world.enqueue("a")
            else:
                await world.define(job(f"j{number}", HOURLY))
            if (await asyncio.wait({waiting}, timeout=0.05))[0]:
                break
        assert await waiting

    async def test_without_news_waiting_ends(self, world: World) -> None:
        """It says that there was none; what is left over from before counts once."""
        while await world.store.wait(0.01):
            pass
        assert not await world.store.wait(0.01)
