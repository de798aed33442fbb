"""A store full of schedules, some of which are due: filled by statements, and armed again before every turn.

All schedules are copies of one that `define` has written: daily, at the minute in which the bed was made. So each
that is armed has exactly one slot to decide, and none has another before a day has passed.

To arm rows writes them anew, close to each other. Where that would flatter, all are armed at once, to be due a
minute after each other, by a clock that is moved.
"""

from typing import Any, Self

from ...core.cron import parse
from ...core.definition import JobDefinition, Policy, ScheduleDefinition
from ...core.timeparse import to_datetime
from ...stores.records import MICRO, Node, Role
from ...stores.sql.driver import Pool
from ...stores.sql.statement import Procedure, Statement
from ...stores.sql.store import SqlStore
from ...stores.url import open_store
from .contender import WrongResultError

_DAY = 86_400
_COLUMNS = {
    "postgres": Statement("""
        SELECT column_name FROM information_schema.columns
        WHERE table_schema = current_schema() AND table_name = :name AND column_name <> 'id'
    """),
    "sqlite": Statement("SELECT name FROM pragma_table_info(:name) WHERE name <> 'id'"),
}
_NUMBERS = "WITH RECURSIVE numbers(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM numbers WHERE n < :copies)"
_NAME = "'job-' || CAST(n AS text)"
_COPIES = {  # by table: from where, and where a copy differs from its template
    "tickwise_jobs": (
        "numbers JOIN tickwise_jobs AS t ON t.name = 'job-0' ORDER BY n",
        {"name": _NAME, "function": _NAME},
    ),
    "tickwise_job_state": (
        """tickwise_jobs AS j JOIN tickwise_job_state AS t ON j.name <> 'job-0'
            AND t.job_id = (SELECT id FROM tickwise_jobs WHERE name = 'job-0') ORDER BY j.id""",
        {"job_id": "j.id", "wake_at": ":later"},
    ),
    "tickwise_schedules": (
        "tickwise_jobs AS j JOIN tickwise_schedules AS t ON t.name = 'job-0' AND j.name <> t.name ORDER BY j.id",
        {"name": "j.name", "job_id": "j.id", "cursor": ":slot", "wake_at": ":later"},
    ),
}
_ARM_SCHEDULES = Statement("""
    UPDATE tickwise_schedules SET cursor = :slot - 1, last_seen_slot = 0, last_missed_slot = 0, runs_made = 0,
        last_slot = NULL, wake_at = :now + (id - 1) % :every * 60 WHERE (id - 1) % :every < :groups
""")
_ARM_JOBS = Statement("""
    UPDATE tickwise_job_state SET wake_at = :now + (job_id - 1) % :every * 60, waiting = FALSE,
        cursor = NULL, last_seen_slot = NULL, last_slot = NULL, runs_made = NULL
    WHERE (job_id - 1) % :every < :groups
""")
_FORGET_RUNS = (Statement("DELETE FROM tickwise_active_runs"), Statement("DELETE FROM tickwise_runs"))
_COUNTS = Statement("""
    SELECT count(*), count(DISTINCT schedule_id), count(*) FILTER (WHERE state = 'succeeded')
    FROM tickwise_runs
""")
_DUE = Statement("SELECT count(*) FROM tickwise_job_state WHERE wake_at <= :now")


class Bed:
    """So many schedules in a store, and so many of them due after `arm`."""

    def __init__(self, store: SqlStore, slot: int, stored: int, due: int) -> None:
        self.store = store
        self.slot = slot
        self.due = due
        self._every = stored // due

    @classmethod
    async def laid(cls, url: str, *, stored: int, due: int) -> Self:
        """Fill an empty store."""
        store = opened(url)
        await store.schema.upgrade()
        slot = await store.now() // MICRO // 60 * 60
        await store.define(_template(slot), "bench")
        await store.beat(Node("bench", (Role.WORKER,), queues=("default",), seconds=_DAY))
        bed = cls(store, slot, stored, due)
        if stored > 1:
            await bed._copy(stored - 1)
        return bed

    async def _copy(self, copies: int) -> None:
        """Bring the template's rows to their number; what else they have is copied, whatever it is."""
        values = {"copies": copies, "slot": self.slot, "later": self.slot + _DAY}
        for table, (source, changed) in _COPIES.items():
            columns = [row[0] for row in await self._do(_COLUMNS[self.store.driver.dialect.name], name=table)]
            chosen = ", ".join(changed.get(column, f"t.{column}") for column in columns)
            text = f"{_NUMBERS} INSERT INTO {table} ({', '.join(columns)}) SELECT {chosen} FROM {source}"  # noqa: S608 (our own words)
            await self._do(Statement(text), **values)

    async def arm(self) -> None:
        """Make them due now, as if none had ever run: stores do not look for what was made due in the past."""
        await self._arm(1)

    async def arm_all(self) -> None:
        """Make all due, so many now and as many others after each `pass_minute`."""
        now = await self.store.now()
        self.store.driver.clock = lambda: now
        await self._arm(self._every)

    async def pass_minute(self) -> None:
        """Forget what ran, and let the clock that `arm_all` has stopped go to where the next are due."""
        await self._forget()
        now = await self.store.now() + 60 * MICRO
        self.store.driver.clock = lambda: now

    async def _arm(self, groups: int) -> None:
        await self._forget()
        values = {"now": await self.store.now() // MICRO, "every": self._every, "groups": groups}
        await self._do(_ARM_SCHEDULES, slot=self.slot, **values)
        await self._do(_ARM_JOBS, **values)

    async def _forget(self) -> None:
        for forget in _FORGET_RUNS:
            await self._do(forget)

    async def runs(self, *, finished: bool) -> int:
        """How many of those that were due have a run, after a look at whether that is all there is."""
        [(runs, schedules, succeeded)] = await self._do(_COUNTS)
        [(left,)] = await self._do(_DUE, now=await self.store.now() // MICRO)
        if runs != schedules or left or succeeded != (runs if finished else 0):
            raise WrongResultError(
                f"{schedules:,} schedules have {runs:,} runs, of which {succeeded:,} succeeded, and {left:,} jobs "
                "are still due"
            )
        return int(runs)

    async def _do(self, statement: Statement, **values: Any) -> Any:
        def protocol() -> Procedure[Any]:
            return (yield statement(**values))

        return await self.store.driver.run(protocol, Pool.OTHER)


def opened(url: str) -> SqlStore:
    store = open_store(url)
    if not isinstance(store, SqlStore):
        raise WrongResultError(f"{url} is no database of tables")
    return store


def _template(slot: int) -> JobDefinition:
    at = to_datetime(slot)
    text = f"{at.minute} {at.hour} * * *"
    policy = Policy.of(grace=_DAY // 2)  # however long the turns take, the slot is on time
    schedule = ScheduleDefinition("job-0", "job-0", parse(text), text, policy=policy)
    return JobDefinition("job-0", schedules=(schedule,))
