"""Jobs that are alike fire together, and nothing but the number of statements tells that they did."""

import asyncio
import re
from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextlib import nullcontext, suppress
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple
from unittest.mock import patch

import asyncpg
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tickwise.core.change import Paused, Rescheduled, Reset, Resumed
from tickwise.core.definition import After, JobDefinition
from tickwise.core.errors import ConflictError, InputError
from tickwise.core.model import Pause
from tickwise.core.requirements import Offers
from tickwise.core.settle import Failed, Outcome, Succeeded
from tickwise.core.states import RunState
from tickwise.stores.pages import all_pages
from tickwise.stores.records import Finish, Lease, QueueLimit, ScheduleRow
from tickwise.stores.sql import batch, claimed_rows
from tickwise.stores.sql import tick as ticking
from tickwise.testing import FakeClock
from tickwise.testing.conformance import snapshot
from tickwise.testing.conformance.world import (
    HOURLY,
    START,
    World,
    instant,
    job,
    microseconds,
    once,
    schedule,
    worker_node,
)

from ..support.table_stories import PostgresStories, TableStories
from ..support.twins import reusable_stores

MANY = 40
NAMES = tuple(f"h{n:02}" for n in range(MANY))
BUSY, PAUSED, MOVED, BROKEN, DONE, *OTHERS = NAMES


def alike(names: Sequence[str] = NAMES, times: str = HOURLY, **given: Any) -> list[JobDefinition]:
    """Jobs that differ only in their names."""
    return [job(name, times, **given) for name in names]


# Of a pass; one takes a compound as one, and one asks for what it has inserted. Two of them look for lost
# wake-ups, since half a minute has passed.
STATEMENTS = {"postgres": 6, "sqlite": 8, "mysql": 9}


class TestTogether(TableStories):
    async def test_a_pass_costs_the_same_however_many_there_are(self, world: World) -> None:
        """It takes as many statements for 120 jobs as for 60."""
        few, many = [f"f{n}" for n in range(60)], [f"m{n}" for n in range(120)]
        await world.define(*alike(few, "20 * * * *"), *alike(many, "40 * * * *"))
        await world.tick()
        asked, costs = list[str](), dict[int, int]()
        self.driver.watch = asked.append
        for time in ("00:20", "00:40"):
            world.go(time)
            asked.clear()
            ticked = await world.tick(reserve=world.reservation(200))
            assert len(ticked.leases) == ticked.runs
            costs[ticked.runs] = len(asked)
        each = STATEMENTS[self.driver.dialect.name]
        assert costs == {60: each, 120: each}

    async def test_they_need_not_be_of_one_age(self, world: World) -> None:
        """Jobs added at different seconds are alike once each has fired; what they missed stays theirs."""
        ages = {name: n for n, name in enumerate(NAMES)}
        for definition in alike(grace=59):
            await world.define(definition)
            world.clock.advance(1)
        await world.pass_time("01:00")
        await world.work()
        asked = list[str]()
        self.driver.watch = asked.append
        world.go("02:00")
        assert (await world.tick(reserve=world.reservation(200))).runs == MANY
        assert len(asked) == STATEMENTS[self.driver.dialect.name]
        states = {name: await world.schedule(name) for name in NAMES}
        assert {name: state.last_missed_slot - instant("00:00") for name, state in states.items()} == ages
        assert {(state.cursor, state.last_seen_slot) for state in states.values()} == {(instant("02:00"),) * 2}

    async def test_they_may_do_different_things(self, world: World) -> None:
        """Each has a definition of its own, and its run and lease are of that; some may not be leased at once."""
        jobs = [job(name, HOURLY, timeout=n + 1, params={"n": n}) for n, name in enumerate(NAMES)]
        shy = [job(f"shy-{n}", HOURLY, timeout=n + 1, at_most_once=True) for n in range(MANY)]
        await world.define(*jobs, *shy)
        await world.tick()
        asked = list[str]()
        self.driver.watch = asked.append
        world.go("01:00")
        ticked = await world.tick(reserve=world.reservation(200))
        assert ticked.runs == 2 * MANY
        assert _jobs_of(ticked.leases) == {one.name: replace(one, schedules=()) for one in jobs}
        assert len(asked) == STATEMENTS[self.driver.dialect.name]
        self.driver.watch = None
        assert _jobs_of(await world.lease()) == {one.name: replace(one, schedules=()) for one in shy}

    @pytest.mark.parametrize("room", [0, 100])
    async def test_a_run_of_a_batch_is_like_any_other(self, world: World, room: int) -> None:
        """S1: run, schedule and lease are, field by field, what they are for a job that goes alone."""
        common: dict[str, Any] = {"expires": 600, "grace": 50, "queue": "other", "priority": 3, "params": {"n": 1}}
        yearly = schedule("alone.yearly", "0 0 1 7 *")  # a job with two schedules is in no batch
        await world.define(*alike(**common), job("alone", HOURLY, also=[yearly], **common))
        world.go("01:00")
        world.clock.advance(2.5)
        ticked = await world.tick(reserve=world.reservation(room, queues=("other",)))
        runs = {run.job: run for run in await world.runs()}
        rows = {
            row.schedule.name: row for row in await all_pages(lambda after: world.insights.schedules(after=after))
        }
        leases = {lease.job.name: lease for lease in ticked.leases}
        assert leases.keys() == (runs.keys() if room else set())
        assert (len(runs), runs["alone"].expires_at) == (MANY + 1, world.micro + 600_000_000)
        for name in NAMES:
            requires = f"function:{name}"
            assert runs[name] == replace(
                runs["alone"], id=runs[name].id, job=name, schedule=name, requires=requires
            )
            assert rows[name] == _called(name, rows["alone"], runs[name].id)
        for name, lease in leases.items():
            its_job = replace(leases["alone"].job, name=name)
            assert lease == leases["alone"]._replace(id=runs[name].id, job=its_job, schedule=name)
        kept = (await world.store.beat(worker_node("w1"))).unknown
        assert {lease.id: lease for lease in kept} == {lease.id: lease for lease in ticked.leases}


def _jobs_of(leases: Sequence[Lease]) -> dict[str, JobDefinition]:
    return {lease.job.name: lease.job for lease in leases}


def _called(name: str, row: ScheduleRow, run: str) -> ScheduleRow:
    definition = replace(row.schedule.definition, name=name, job=name)
    return replace(row, schedule=row.schedule._replace(definition=definition), last_run_id=run)


class TestOddOnes(TableStories):
    async def test_each_is_decided_for_itself(self, world: World) -> None:
        """S1, S14, S20, S29, S31: one is busy, paused, moved, broken, or has the run; all others fire at once."""
        await world.define(*alike())
        await world.tick()
        await world.trigger(BUSY)
        await world.store.change(PAUSED, Paused())
        await world.store.change(MOVED, Rescheduled(instant("01:30")))
        await self.say("UPDATE tickwise_schedules SET definition_id = 987654321 WHERE name = :name", name=BROKEN)
        await self.say(REVISE, name=BROKEN)
        await self.say(GIVE_SLOT, name=DONE, slot=instant("01:00"), run=int(await world.enqueue(DONE)))
        world.go("01:00")
        before = await world.schedule(DONE)
        ticked = await world.tick()
        assert (ticked.runs, ticked.more, await world.schedule(DONE)) == (len(OTHERS), True, before)
        assert [await world.ran(name) for name in OTHERS] == [["01:00"]] * len(OTHERS)
        assert await world.decided(BUSY) == ["overlap 01:00"]
        assert [one[:6] for one in await world.decided(BROKEN, waits=True)] == ["broken"]
        again = await world.tick()  # it had lost the race, and stayed due
        assert (again.jobs, again.runs, again.more) == (1, 0, False)
        await world.pass_time("01:30")
        ran = {name: await world.ran(name) for name in (BUSY, PAUSED, MOVED, BROKEN, DONE)}
        assert ran == {BUSY: [], PAUSED: [], MOVED: ["01:30"], BROKEN: [], DONE: ["01:00 enqueue"]}
        await world.pass_time("02:00")
        assert await world.ran(DONE) == ["01:00 enqueue", "02:00"]

    async def test_a_lane_that_somebody_has_unseen(self, world: World) -> None:
        """S16: the run is taken back, nothing is left of it, and the job stays due until it gets the lane."""
        await world.define(job("a", HOURLY))
        await world.tick()
        await self.say("INSERT INTO tickwise_active_runs SELECT id, 0, 0, FALSE FROM tickwise_jobs")
        world.go("01:00")
        ticked = await world.tick(reserve=world.reservation())
        assert (ticked.runs, ticked.leases, ticked.more, await world.runs()) == (0, (), True, [])
        await self.say("DELETE FROM tickwise_active_runs")
        assert (await world.tick()).runs == 1
        assert await world.ran("a") == ["01:00"]

    async def test_one_that_has_run_more_often(self, world: World) -> None:
        """S34: each has its own number of runs, after which it is finished."""
        await world.define(*alike(max_runs=2))
        await self.say("UPDATE tickwise_schedules SET runs_made = 1 WHERE name = :name", name=NAMES[0])
        world.go("01:00")
        assert (await world.tick()).runs == MANY
        await world.work()
        await world.pass_time("03:00")
        assert [await world.ran(name) for name in NAMES] == [["01:00"], *[["01:00", "02:00"]] * (MANY - 1)]

    async def test_a_success_since_the_slot_before(self, world: World) -> None:
        """S18: jobs that were moved have succeeded since, and all skip their next slot."""
        await world.define(*alike(skip_if_successful=True))
        for name in NAMES:
            await world.store.change(name, Rescheduled(instant("01:30")))
        await world.pass_time("01:30")
        assert len(await world.work()) == MANY
        world.go("02:00")
        assert (await world.tick()).runs == 0
        assert await world.decided(NAMES[0]) == ["rescheduled 01:00", "already_successful 02:00"]

    async def test_a_batch_without_a_definition(self, world: World) -> None:
        """S20: a definition that cannot be read holds up no other job, and each of its jobs records an error."""
        await world.define(*alike(), *alike([f"good-{n}" for n in range(MANY)], grace=59))
        await self.say(SPOIL.format(table="tickwise_schedules"), name=NAMES[0])
        world.go("01:00")
        assert (await world.tick()).runs == MANY
        assert [len(await world.decided(name, waits=True)) for name in NAMES] == [1] * MANY
        assert [await world.ran(name) for name in ("good-0", NAMES[0])] == [["01:00"], []]

    async def test_a_batch_whose_jobs_cannot_be_read(self, world: World) -> None:
        """S1, S20: the pass starts the runs; the worker that leases them meets the damage."""
        await world.define(*alike())
        await self.say(SPOIL.format(table="tickwise_jobs"), name=NAMES[0])
        world.go("01:00")
        ticked = await world.tick(reserve=world.reservation())
        assert (ticked.runs, ticked.leases) == (MANY, ())


REVISE = """
    UPDATE tickwise_job_state SET revision = revision + 1
    WHERE job_id = (SELECT id FROM tickwise_jobs WHERE name = :name)"""
GIVE_SLOT = """
    UPDATE tickwise_runs SET slot = :slot, schedule_id = (SELECT id FROM tickwise_schedules WHERE name = :name)
    WHERE id = :run"""
TAKE_LANE = "INSERT INTO tickwise_active_runs SELECT job_id, 0, id, FALSE FROM tickwise_runs WHERE id ="
SPOIL = """
    UPDATE tickwise_definitions SET body = '{{"nonsense"'
    WHERE id = (SELECT definition_id FROM {table} WHERE name = :name)"""


class TestRoom(TableStories):
    async def test_no_more_than_there_is_room_for(self, world: World) -> None:
        """A pass leases as many runs as the node has room for; the rest is queued."""
        await world.define(*alike())
        world.go("01:00")
        ticked = await world.tick(reserve=world.reservation(10))
        running = await world.runs(states=frozenset({RunState.RUNNING}))
        assert (ticked.runs, len(ticked.leases)) == (MANY, 10)
        assert {run.id for run in running} == {lease.id for lease in ticked.leases}
        assert len(await world.lease()) == MANY - 10

    @pytest.mark.parametrize("room", [1, 11, MANY + 1])
    async def test_the_most_urgent_first(self, world: World, room: int) -> None:
        """A single job with a higher priority is leased before the batch, one with a lower priority after it."""
        await world.define(*alike(), job("urgent", HOURLY, priority=5), job("idle", HOURLY, priority=-5))
        world.go("01:00")
        names = {lease.job.name for lease in (await world.tick(reserve=world.reservation(room))).leases}
        assert ("urgent" in names, len(names & {*NAMES}), len(names)) == (True, room - 1, room)

    @pytest.mark.parametrize("why", ["unknown", "other queue", "limited", "at_most_once", "others wait"])
    async def test_what_is_not_leased_at_once(self, world: World, why: str) -> None:
        """S43, S46: a batch respects limits and queued runs, and goes only to a node that may execute it."""
        await world.define(*alike(at_most_once=why == "at_most_once"), job("waits"))
        if why == "others wait":
            await world.enqueue("waits")
        if why == "limited":
            await world.store.limit(QueueLimit("default", concurrency=5))
        world.go("01:00")
        wanted: dict[str, Any] = {"unknown": {"offers": Offers.of()}, "other queue": {"queues": ("other",)}}
        ticked = await world.tick(reserve=world.reservation(**wanted.get(why, {})))
        assert (ticked.runs, ticked.leases) == (MANY, ())
        states = {run.state for name in NAMES for run in await world.runs(job=name)}
        assert states == {RunState.QUEUED}

    async def test_only_those_it_knows(self, world: World) -> None:
        """S46: of jobs alike in all but that the worker knows them, it gets the known ones."""
        await world.define(*alike())
        world.go("01:00")
        ticked = await world.tick(reserve=world.reservation(offers=Offers.of(NAMES[5:])))
        assert (ticked.runs, {lease.job.name for lease in ticked.leases}) == (MANY, {*NAMES[5:]})


class TestPlaces(TableStories):
    """A batch updates the rows that it has locked by their row ids."""

    async def test_rows_that_have_been_moved_about(self, world: World) -> None:
        """S1: two batches with interleaved rows take turns; each updates only its own."""
        odd, even = NAMES, [f"e{n:02}" for n in range(MANY)]
        both = zip(alike(odd, "20 * * * *"), alike(even, "40 * * * *"), strict=True)
        await world.define(*(definition for pair in both for definition in pair))
        await world.tick()
        for hour in range(3):
            for minute, names, others in (("20", odd, even), ("40", even, odd)):
                still = [await world.schedule(name) for name in others]
                world.go(f"0{hour}:{minute}")
                assert (await world.tick()).runs == MANY
                assert {(await world.schedule(name)).cursor for name in names} == {world.now}
                assert [await world.schedule(name) for name in others] == still
                await world.work()
        assert {len(await world.ran(name)) for name in (*odd, *even)} == {3}

    async def test_places_where_nobody_is(self, world: World, monkeypatch: pytest.MonkeyPatch) -> None:
        """S1: were they ever wrong, the jobs would stay due, and the pass after that find the slots decided."""
        nowhere = {"sqlite": "0", "mysql": "0", "postgres": "(4000000,1)"}[self.driver.dialect.name]
        start = batch.start_simple_jobs
        monkeypatch.setattr(
            ticking, "start_simple_jobs",
            lambda starts, *given: start([one._replace(place=nowhere) for one in starts], *given),
        )  # fmt: skip
        await world.define(*alike())
        world.go("01:00")
        assert (await world.tick()).runs == MANY
        monkeypatch.undo()
        again = await world.tick()
        assert (again.jobs, again.runs, again.next_due) == (MANY, 0, instant("02:00"))
        assert [await world.ran(name) for name in NAMES] == [["01:00"]] * MANY


class TestRace(PostgresStories):
    """Who writes a SQLite file keeps all others out until he has done: there is no such race."""

    async def test_somebody_takes_the_lane_of_one_meanwhile(self, world: World) -> None:
        """S14, S16: the database refuses to write all of them; then each goes alone, and that one waits."""
        await world.define(*alike(overlap="queue"))
        await world.tick()
        run = int(await world.enqueue(BUSY))
        world.go("01:00")
        other = await asyncpg.connect(self.url)
        try:
            async with other.transaction():
                await other.execute(f"{TAKE_LANE} $1", run)
                passing = asyncio.create_task(world.tick())
                while not await other.fetchval(BLOCKED):
                    assert not passing.done()
            ticked = await passing
        finally:
            await other.close()
        assert (ticked.jobs, ticked.runs) == (MANY, MANY - 1)
        assert await world.decided(BUSY, waits=True) == ["waits_for_run 01:00"]
        assert [await world.ran(name) for name in NAMES if name != BUSY] == [["01:00"]] * (MANY - 1)


BLOCKED = "SELECT count(*) FROM pg_stat_activity WHERE pg_backend_pid() = ANY(pg_blocking_pids(pid))"


# A batch gives each of its jobs the history that the job would have alone.

KINDS: dict[str, dict[str, Any]] = {
    "plain": {},
    "half past": {"times": "30 * * * *"},
    "often": {"times": "*/15 * * * *"},
    "one-offs": {"times": once("01:00", "03:00")},
    "gone after": {"times": once("02:00"), "auto_remove": True},
    "two": {"beside": HOURLY},
    "jitter": {"jitter": 600, "grace": 3_600},
    "twice": {"max_runs": 2},
    "until two": {"until": instant("02:00")},
    "expires": {"expires": 60},
    "strict": {"grace": 0},
    "urgent": {"priority": 5},
    "elsewhere": {"queue": "other"},
    "unserved": {"queue": "nobodys"},
    "started once": {"at_most_once": True},
    "side by side": {"overlap": "allow", "max_active_runs": 2},
    "in turn": {"overlap": "queue"},
    "newest": {"overlap": "latest"},
    "instead": {"overlap": "replace"},
    "none missed": {"catchup": "skip"},
    "all missed": {"catchup": "all", "overlap": "allow"},
    "unless done": {"skip_if_successful": True},
    "after": {"after": (After("plain-0", 3_600),), "wait_for": 1_800},
}
BOTH_QUEUES = ("default", "other")


async def _do_by_hand(world: World, name: str) -> None:
    await world.trigger(name)
    for lease in await world.lease(1, queues=BOTH_QUEUES, offers=Offers.of({name})):
        await world.end(lease)


WORDS: dict[str, Callable[[World, str], Awaitable[Any]]] = {
    "pause": lambda world, name: world.store.change(name, Paused()),
    "resume": lambda world, name: world.store.change(name, Resumed()),
    "move": lambda world, name: world.store.change(name, Rescheduled(world.now + 1_200)),
    "reset": lambda world, name: world.store.change(name, Reset()),
    "trigger": lambda world, name: world.trigger(name),
    "do by hand": _do_by_hand,
    "edit": lambda world, name: world.define(job(name, HOURLY)),
}
FIFTHS = 5  # of the jobs: one of them stays active, or none


class Hour(NamedTuple):
    """Time between two looks of the ticker."""

    minutes: int
    rests: bool  # everything is paused meanwhile
    words: list[tuple[str, int]]  # of people, before the pass
    reserves: bool  # the pass hands out runs
    stays: int  # the fifth that does not end
    outcome: Outcome  # of the others


HOURS = st.builds(
    Hour,
    st.sampled_from((60, 60, 60, 30, 180)),
    st.sampled_from((False, False, False, True)),
    st.lists(st.tuples(st.sampled_from(tuple(WORDS)), st.integers(0, 99)), max_size=12),
    st.booleans(),
    st.integers(0, FIFTHS),
    st.sampled_from((Succeeded(), Succeeded(), Failed())),
)


def test_a_batch_gives_each_job_its_own_history(tmp_path: Path) -> None:
    """S1, S12, S34: whoever are alike, and whatever happens, the store looks as if each had gone alone."""
    with asyncio.Runner() as loop, reusable_stores.sql(loop, f"sqlite:///{tmp_path}/batch.db") as empty:

        async def life(jobs: list[JobDefinition], hours: list[Hour], *, long_way: bool) -> Life:
            clock = FakeClock(START)
            life = Life(World(await empty(lambda: microseconds(clock)), clock))
            simple = patch.object(claimed_rows, "cached_job", lambda *_: None) if long_way else nullcontext()
            with simple:
                await life.live(jobs, hours)
            return life

        @settings(max_examples=8)
        @given(many=st.integers(2, 4), hours=st.lists(HOURS, min_size=2, max_size=4))
        def check(many: int, hours: list[Hour]) -> None:
            jobs = [_job(kind, n) for kind in KINDS for n in range(many)]
            plain, long = (loop.run(life(jobs, hours, long_way=long_way)) for long_way in (False, True))
            assert plain.passes == long.passes
            assert plain.looks == long.looks

        check()


def _job(kind: str, n: int) -> JobDefinition:
    given, name = dict(KINDS[kind]), f"{kind.replace(' ', '-')}-{n}"
    beside = [schedule(f"{name}.2", given.pop("beside"))] if "beside" in given else []
    return job(name, given.pop("times", HOURLY), also=beside, **given)


class Life:
    """What became of jobs: what each pass did, and all that the store shows in the end."""

    def __init__(self, world: World) -> None:
        self.world = world
        self.passes: list[object] = []
        self.looks: set[str] = set()

    async def live(self, jobs: list[JobDefinition], hours: list[Hour]) -> None:
        await self.world.begin()
        await self.world.define(*jobs[::2])
        self.world.clock.advance(1)
        await self.world.define(*jobs[1::2])
        numbers, held = {job.name: n for n, job in enumerate(jobs)}, list[Lease]()
        for hour in hours:
            await self._wait(hour)
            for word, number in hour.words:
                with suppress(ConflictError, InputError):
                    await WORDS[word](self.world, jobs[number % len(jobs)].name)
            for _ in range(2):
                held += await self._pass(hour)
            ended = [lease for lease in held if numbers[lease.job.name] % FIFTHS != hour.stays]
            held = [lease for lease in held if lease not in ended]
            await self.world.store.finish([Finish(one.id, one.token, hour.outcome) for one in ended])
        self.looks = await _looks(self.world)

    async def _wait(self, hour: Hour) -> None:
        if hour.rests:
            await self.world.store.pause(Pause(0))
        self.world.clock.advance(hour.minutes * 60)
        if hour.rests:
            await self.world.store.pause(None)

    async def _pass(self, hour: Hour) -> list[Lease]:
        reserve = self.world.reservation(500, queues=BOTH_QUEUES) if hour.reserves else None
        ticked = await self.world.tick(reserve=reserve)
        given = {(lease.schedule, lease.slot): lease._replace(id="") for lease in ticked.leases}
        self.passes.append((ticked._replace(leases=()), given))
        return [*ticked.leases, *await self.world.lease(500, queues=BOTH_QUEUES)]


async def _looks(world: World) -> set[str]:
    """A line for each thing in the store; runs are called by their slots, for their order may differ."""
    shown = (await snapshot(world.store))._asdict()
    names = {n: f"{run.schedule or run.job} {run.slot or run.created_at}" for n, run in shown["runs"].items()}
    rows = await all_pages(lambda after: world.insights.schedules(after=after))
    shown["wakes"] = {row.schedule.name: row.wake_at for row in rows}
    things = [
        f"{part}: {thing}"
        for part, all_ in shown.items()
        for thing in (all_.items() if isinstance(all_, Mapping) else [all_])
    ]
    return {re.sub(r"#\d+", lambda found: names[found[0]], thing) for thing in things}
