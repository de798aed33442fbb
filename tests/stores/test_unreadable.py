"""What cannot be read, or cannot be written, stops nobody but itself (S20)."""

import asyncio
from collections.abc import Callable, Coroutine, Iterator
from pathlib import Path
from typing import Any, TypeVar

import pytest
from structlog.testing import capture_logs

from tickwise.core.change import Paused
from tickwise.core.definition import JobDefinition
from tickwise.core.errors import ConflictError
from tickwise.core.planner import plan
from tickwise.core.reasons import Reason
from tickwise.core.requirements import Offers
from tickwise.core.settle import Succeeded
from tickwise.core.states import RunState
from tickwise.stores.records import (
    DecisionFilter,
    DecisionRow,
    Enqueue,
    Finish,
    Lease,
    LeaseRequest,
    Node,
    Role,
    RunFilter,
    RunRow,
    ScheduleFilter,
    ScheduleRow,
    TickResult,
)
from tickwise.stores.sql.driver import Pool
from tickwise.stores.sql.statement import Procedure, Statement
from tickwise.stores.sql.store import SqlStore
from tickwise.stores.url import open_store
from tickwise.testing import FakeClock
from tickwise.testing.conformance.world import START, job, microseconds, schedule

T = TypeVar("T")
MINUTES = "* * * * *"
GOOD = tuple(f"good-{n}" for n in range(7))
FOR_GOOD = 10**9
SECOND = 1_000_000
JOB_ID = "(SELECT id FROM tickwise_jobs WHERE name = :name)"


class Trouble:
    """A store with jobs that are due every minute; one of them is about to go bad."""

    def __init__(self, url: str, loop: asyncio.Runner) -> None:
        self.clock = FakeClock(START)
        self.loop = loop
        store = open_store(url, lambda: microseconds(self.clock))
        assert isinstance(store, SqlStore)
        self.driver = store.driver
        self.dialect = store.driver.dialect.name
        self.loop.run(store.schema.upgrade())
        self.do(self._begin)

    def do(self, act: Callable[[SqlStore], Coroutine[Any, Any, T]]) -> T:
        """Let a process do something that has just been started, and has read nothing yet."""
        return self.loop.run(act(SqlStore(self.driver)))

    async def ask(self, text: str, **values: Any) -> list[Any]:
        """Ask the tables directly."""

        def protocol() -> Procedure[list[Any]]:
            return [tuple(row) for row in (yield Statement(text)(**values))]

        return await self.driver.run(protocol, Pool.OTHER)

    def say(self, text: str, **values: Any) -> list[Any]:
        return self.loop.run(self.ask(text, **values))

    async def _begin(self, store: SqlStore) -> None:
        await store.beat(Node("w", (Role.WORKER,), queues=("default",), seconds=FOR_GOOD))
        await store.define(bad_job(), "app")  # first, so that it is the first to be due
        for name in GOOD:
            await store.define(job(name, MINUTES, overlap="allow"), "app")
        await store.tick(plan, "t")

    @property
    def second(self) -> int:
        return self.clock.second

    def spoil(self, what: str) -> None:
        self.say(SPOILS[what])

    def minute(self, **given: Any) -> TickResult:
        """A minute passes, and there is a pass."""
        self.clock.advance(60)
        return self.tick(**given)

    def tick(self, **given: Any) -> TickResult:
        return self.do(lambda store: store.tick(plan, "t", **given))

    def runs(self, **wanted: Any) -> list[RunRow]:
        return list(self.do(lambda store: store.insights.runs(RunFilter(**wanted))).items)

    def fired(self) -> dict[str, int]:
        """How many runs there are for the slot of this minute, by schedule."""
        return {run.schedule or "": 1 for run in self.runs(slot=self.second)}

    def told(self, name: str = "bad") -> list[DecisionRow]:
        wanted = DecisionFilter(schedule=name, reasons=frozenset({Reason.BROKEN}))
        return list(self.do(lambda store: store.insights.decisions(wanted)).items)

    def wakes(self, name: str) -> int:
        """When a job is looked at next."""
        return int(self.say(f"SELECT wake_at FROM tickwise_job_state WHERE job_id = {JOB_ID}", name=name)[0][0])

    def refuse(self) -> None:
        """The database lets the bad job's cursor not go on: what a pass writes of it is refused."""
        ((bad,),) = self.say(f"SELECT {JOB_ID}", name="bad")
        self.say(REFUSE[self.dialect].format(bad=bad))

    def lease(self) -> tuple[Lease, ...]:
        return self.do(lambda store: store.lease(RESERVE))


def bad_job(**given: Any) -> JobDefinition:
    """Nobody else's text is like those of this one and its schedule."""
    return job("bad", MINUTES, description="bad", grace=59, overlap="allow", **given)


RESERVE = LeaseRequest("w", 100, offers=Offers.of({"bad", *GOOD}))
SPOILS = {
    "a definition": """
        UPDATE tickwise_definitions SET body = '{"nonsense"'
        WHERE id = (SELECT definition_id FROM tickwise_schedules WHERE name = 'bad')""",
    "a definition of a version to come": """
        UPDATE tickwise_definitions SET body = '{"type": "lunar"}'
        WHERE id = (SELECT definition_id FROM tickwise_schedules WHERE name = 'bad')""",
    "a definition that is gone": "UPDATE tickwise_schedules SET definition_id = 987654321 WHERE name = 'bad'",
    "a state": "UPDATE tickwise_schedules SET rest = 'nonsense' WHERE name = 'bad'",
    "a state of a version to come": """
        UPDATE tickwise_schedules SET rest = '{"lunar": 1}' WHERE name = 'bad'""",
}
SPOIL_JOB = """
    UPDATE tickwise_definitions SET body = '{"nonsense"'
    WHERE id = (SELECT definition_id FROM tickwise_jobs WHERE name = 'bad')"""


@pytest.fixture(params=["sqlite", "postgres", "mysql"])
def trouble(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Trouble]:
    at_server = request.param != "sqlite"
    url = request.getfixturevalue(f"{request.param}_database") if at_server else f"sqlite:///{tmp_path}/own.db"
    with asyncio.Runner() as loop:
        trouble = Trouble(url, loop)
        yield trouble
        loop.run(trouble.driver.close())


@pytest.mark.parametrize("what", SPOILS)
def test_the_others_go_on(trouble: Trouble, what: str) -> None:
    """All others fire in the same pass; the bad one is recorded once with its reason, and tried in a minute."""
    trouble.spoil(what)
    assert trouble.minute().runs == len(GOOD)
    assert set(trouble.fired()) == set(GOOD)
    (first,) = trouble.told()
    assert len(first.detail) > 20
    assert trouble.wakes("bad") == trouble.second + 60
    assert trouble.tick() == TickResult(trouble.second * SECOND, next_due=trouble.second + 60)
    assert trouble.minute().runs == len(GOOD)
    (again,) = trouble.told()
    assert (again.made_at, again.count, again.detail) == (first.made_at, 1, first.detail)


def test_it_fires_when_it_is_mended(trouble: Trouble) -> None:
    """Its cursor has stayed where it was, so that what it missed goes through its catch-up policy (S10)."""
    (body,) = trouble.say(BODY)[0]
    trouble.spoil("a definition")
    trouble.minute()
    trouble.minute()
    trouble.say(MEND, body=body)
    assert trouble.minute().runs == len(GOOD) + 1
    assert [run.slot for run in trouble.runs(schedule="bad")] == [trouble.second]


def test_a_running_process_finds_it_mended(trouble: Trouble) -> None:
    """What it could not read it reads again, though it keeps what it has read."""
    (body,) = trouble.say(BODY)[0]
    trouble.spoil("a definition")

    async def live(store: SqlStore) -> list[int]:
        trouble.clock.advance(60)
        before = await store.tick(plan, "t")
        await trouble.ask(MEND, body=body)
        trouble.clock.advance(60)
        return [before.runs, (await store.tick(plan, "t")).runs]

    assert trouble.do(live) == [len(GOOD), len(GOOD) + 1]


BODY = """
    SELECT body FROM tickwise_definitions
    WHERE id = (SELECT definition_id FROM tickwise_schedules WHERE name = 'bad')"""
MEND = """
    UPDATE tickwise_definitions SET body = :body
    WHERE id = (SELECT definition_id FROM tickwise_schedules WHERE name = 'bad')"""


@pytest.mark.parametrize("what", SPOILS)
def test_its_source_writes_it_again(trouble: Trouble, what: str) -> None:
    """It begins anew: nothing is known of its past, so nothing of it is replayed, and that is recorded (S2)."""
    trouble.spoil(what)
    trouble.clock.advance(3_600)
    (changed,) = trouble.do(lambda store: store.define(bad_job(), "app"))
    assert (changed.cursor, changed.first_seen) == (trouble.second, trouble.second)
    assert [row.made_at for row in trouble.told()] == [trouble.second * SECOND]
    trouble.tick()
    trouble.minute()
    assert [run.slot for run in trouble.runs(schedule="bad")] == [trouble.second]
    assert trouble.do(lambda store: store.define(bad_job(), "app")) == ()


@pytest.mark.parametrize("what", [*SPOILS.values(), SPOIL_JOB])
def test_a_source_that_says_the_same_looks_at_it(trouble: Trouble, what: str) -> None:
    """What is damaged is not taken for written, so that its source mends it (S28)."""
    jobs = [bad_job(), *(job(name, MINUTES, overlap="allow") for name in GOOD)]
    written = trouble.do(lambda store: store.insights.as_written(jobs, "app"))
    assert written == {each.name for each in jobs}
    trouble.say(what)
    assert "bad" not in trouble.do(lambda store: store.insights.as_written(jobs, "app"))


def test_its_source_lets_it_go(trouble: Trouble) -> None:
    """It can be removed unread, with its queued runs, and its name is free again (S23, S26)."""
    trouble.minute()
    trouble.spoil("a definition")
    trouble.do(lambda store: store.remove("bad", "app"))
    assert [run.state for run in trouble.runs(schedule="bad")] == [RunState.CANCELLED]
    trouble.do(lambda store: store.define(job("other", also=[schedule("bad")]), "app"))
    assert trouble.tick().next_due == trouble.second + 60


def test_one_schedule_of_a_job(trouble: Trouble) -> None:
    """Those beside it in the same job fire, and are taken over by an edit as ever."""
    two = bad_job(also=[schedule("bad.2", MINUTES)])
    trouble.do(lambda store: store.define(two, "app"))
    trouble.tick()
    trouble.spoil("a state")
    trouble.minute()
    assert set(trouble.fired()) == {*GOOD, "bad.2"}
    trouble.do(lambda store: store.define(job("bad", also=[schedule("bad.2", MINUTES)]), "app"))
    assert _names(trouble.do(lambda store: store.insights.schedules(ScheduleFilter("bad"))).items) == ["bad.2"]


def test_a_persons_word_on_it(trouble: Trouble) -> None:
    """It is refused, and says why; of the others' state nothing is lost."""
    trouble.spoil("a state")
    with pytest.raises(ConflictError, match="cannot be read"):
        trouble.do(lambda store: store.change("bad", Paused()))
    assert trouble.do(lambda store: store.change("good-0", Paused())).paused is not None


def test_people_see_it(trouble: Trouble) -> None:
    """Lists go on, and what cannot be read says so."""
    trouble.spoil("a definition")
    trouble.say(SPOIL_JOB)
    rows = trouble.do(lambda store: store.insights.jobs()).items
    assert [row.definition.name for row in rows] == ["bad", *GOOD]
    assert [row.definition.name for row in rows if row.unreadable] == ["bad"]
    listed = trouble.do(lambda store: store.insights.schedules()).items
    assert _names(listed) == ["bad", *GOOD]
    assert [row.schedule.name for row in listed if row.unreadable] == ["bad"]


def _names(rows: tuple[ScheduleRow, ...]) -> list[str]:
    return [row.schedule.name for row in rows]


def test_a_run_fails_alone(trouble: Trouble) -> None:
    """A worker gets all runs but the one whose definition it could not read; that one has failed and says why."""
    trouble.minute()
    trouble.say(SPOIL_JOB)
    assert {lease.schedule for lease in trouble.lease()} == set(GOOD)
    (run,) = trouble.runs(schedule="bad")
    assert (run.state, run.lane, run.attempt) == (RunState.FAILED, None, 1)
    assert "cannot be read" in run.error
    assert trouble.minute().runs == len(GOOD) + 1


def test_a_pass_that_hands_out_runs(trouble: Trouble) -> None:
    """It makes the run of a job whose text is bad, too, and hands out the others."""
    trouble.say(SPOIL_JOB)
    ticked = trouble.minute(reserve=RESERVE)
    assert (ticked.runs, {lease.schedule for lease in ticked.leases}) == (len(GOOD) + 1, set(GOOD))


def test_a_running_attempt_ends(trouble: Trouble) -> None:
    """A worker that has read the definition in time finishes its run, whatever became of the text meanwhile."""
    trouble.do(lambda store: store.enqueue([Enqueue("bad")]))
    (lease,) = trouble.lease()
    trouble.say(SPOIL_JOB)
    (settled,) = trouble.do(lambda store: store.finish([Finish(lease.id, lease.token, Succeeded())]))
    assert settled is not None
    assert settled.state is RunState.SUCCEEDED


# What the database refuses.

REFUSE = {
    "sqlite": """
        CREATE TRIGGER refuse BEFORE UPDATE ON tickwise_job_state
        WHEN NEW.job_id = {bad} AND NEW.cursor > coalesce(OLD.cursor, 0)
        BEGIN SELECT RAISE(ABORT, 'refused by a rule'); END""",
    "postgres": """
        ALTER TABLE tickwise_job_state ADD CONSTRAINT refuse
        CHECK (job_id <> {bad} OR cursor <= extract(epoch FROM date '2026-01-01'))""",
    "mysql": """
        ALTER TABLE tickwise_job_state ADD CONSTRAINT refuse
        CHECK (job_id <> {bad} OR "cursor" <= 1767225600)""",
}
ALLOW = {
    "sqlite": "DROP TRIGGER refuse",
    "postgres": "ALTER TABLE tickwise_job_state DROP CONSTRAINT refuse",
    "mysql": "ALTER TABLE tickwise_job_state DROP CONSTRAINT refuse",
}
REFUSE_TO_TELL = {
    "sqlite": """
        CREATE TRIGGER silence BEFORE INSERT ON tickwise_decisions BEGIN SELECT RAISE(ABORT, 'by a rule'); END""",
    "postgres": "ALTER TABLE tickwise_decisions ADD CONSTRAINT silence CHECK (reason = '')",
    "mysql": "ALTER TABLE tickwise_decisions ADD CONSTRAINT silence CHECK (reason = '')",
}
WAKES = {
    "first": f"UPDATE tickwise_job_state SET wake_at = wake_at - 1 WHERE job_id = {JOB_ID}",
    "last": f"UPDATE tickwise_job_state SET wake_at = wake_at - 1 WHERE job_id <> {JOB_ID}",
}


@pytest.mark.parametrize("stands", WAKES)
def test_a_plan_that_is_refused(trouble: Trouble, stands: str) -> None:
    """The batch is halved until the bad job stands alone: the others fire, and it is put off, loudly."""
    trouble.refuse()
    trouble.say(WAKES[stands], name="bad")
    with capture_logs() as said:
        ticked = trouble.minute()
    assert (ticked.runs, set(trouble.fired()), ticked.more) == (len(GOOD), set(GOOD), True)
    assert {entry["log_level"] for entry in said} == {"error"}
    assert ["bad"] in [entry["jobs"] for entry in said]
    assert trouble.wakes("bad") == trouble.second + 60
    (told,) = trouble.told()
    assert "refuse" in told.detail
    with capture_logs() as said:
        assert trouble.tick() == TickResult(trouble.second * SECOND, next_due=trouble.second + 60)
    assert said == []


def test_it_fires_when_it_is_allowed(trouble: Trouble) -> None:
    """Nothing of it was written, so nothing of it is lost."""
    trouble.refuse()
    trouble.minute()
    trouble.say(ALLOW[trouble.dialect])
    assert trouble.minute().runs == len(GOOD) + 1
    assert [run.slot for run in trouble.runs(schedule="bad")] == [trouble.second]


def test_a_refused_plan_of_jobs_by_name(trouble: Trouble) -> None:
    """The same goes for jobs that a node finds by itself: all but the bad one are decided at once."""
    trouble.refuse()
    ticked = trouble.minute(jobs=[*GOOD[:3], "bad", *GOOD[3:]])
    assert (ticked.jobs, ticked.runs, ticked.more) == (len(GOOD), len(GOOD), False)
    assert set(trouble.fired()) == set(GOOD)


def test_a_refused_plan_with_runs_to_hand_out(trouble: Trouble) -> None:
    """The halves together hand out no more than the worker has room for."""
    trouble.refuse()
    ticked = trouble.minute(reserve=RESERVE._replace(capacity=3))
    assert (ticked.runs, len(ticked.leases)) == (len(GOOD), 3)
    running = trouble.runs(states=frozenset({RunState.RUNNING}))
    assert {run.id for run in running} == {lease.id for lease in ticked.leases}


def test_a_refusal_that_cannot_be_recorded(trouble: Trouble) -> None:
    """It is put off all the same."""
    trouble.refuse()
    trouble.say(REFUSE_TO_TELL[trouble.dialect])
    assert trouble.minute().runs == len(GOOD)
    assert (trouble.wakes("bad"), trouble.told()) == (trouble.second + 60, [])
