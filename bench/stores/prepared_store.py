"""A store with many schedules, some of which are made due before every turn.

Schedules are alike or unlike. Alike, they are copies of one that `define` has written: daily, at the minute in
which the store was prepared. Unlike, each is defined with a job, times and a policy of its own, and fires in that
minute too. So each due schedule has exactly one slot to decide, and none has another one before a day has passed.

Making rows due rewrites them, close to each other on disk. Where that would favour us, all rows are made due at
once, a minute apart from group to group, and the store's clock is advanced instead.
"""

import asyncio
from datetime import datetime
from typing import Any, Self

from tickwise.core.cron import parse
from tickwise.core.definition import JobDefinition, Policy, ScheduleDefinition
from tickwise.core.timeparse import to_datetime
from tickwise.stores.records import MICRO, Node, Role
from tickwise.stores.sql.driver import Pool
from tickwise.stores.sql.statement import Procedure, Statement
from tickwise.stores.sql.store import SqlStore
from tickwise.stores.url import open_store

from .contender import WrongResultError

_DAY = 86_400
_COLUMNS = {
    "postgres": Statement("""
        SELECT column_name FROM information_schema.columns
        WHERE table_schema = current_schema() AND table_name = :name AND column_name <> 'id'
    """),
    "sqlite": Statement("SELECT name FROM pragma_table_info(:name) WHERE name <> 'id'"),
    "mysql": Statement("""
        SELECT column_name FROM information_schema.columns
        WHERE table_schema = database() AND table_name = :name AND column_name <> 'id' AND is_generated = 'NEVER'
    """),
}
_DIGITS = " UNION ALL ".join(f"SELECT {digit} AS digit" for digit in range(10))
_PLACES = [10**place for place in range(6)]
_NUMBERS = f"""
    WITH digits AS ({_DIGITS}), numbers AS (
        SELECT {" + ".join(f"{place} * d{place}.digit" for place in _PLACES)} AS n
        FROM {", ".join(f"digits AS d{place}" for place in _PLACES)}
    ), chosen AS (SELECT n FROM numbers WHERE n BETWEEN 1 AND :copies)
"""  # noqa: S608 (our own numbers)
_NAME = "'job-' || CAST(n AS {text})"
_COPIES = {  # by table: the source of the copies, and the columns in which a copy differs
    "tickwise_jobs": (
        "chosen JOIN tickwise_jobs AS t ON t.name = 'job-0' ORDER BY n",
        {"name": _NAME, "requires": f"'function:' || {_NAME}"},
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
_MAKE_SCHEDULES_DUE = Statement("""
    UPDATE tickwise_schedules SET "cursor" = :slot - 1, last_seen_slot = 0, last_missed_slot = 0, runs_made = 0,
        last_slot = NULL, wake_at = :now + (id - 1) % :every * 60 WHERE (id - 1) % :every < :groups
""")
_MAKE_JOBS_DUE = Statement("""
    UPDATE tickwise_job_state SET wake_at = :now + (job_id - 1) % :every * 60, waiting = FALSE,
        "cursor" = NULL, last_seen_slot = NULL, last_slot = NULL, runs_made = NULL
    WHERE (job_id - 1) % :every < :groups
""")
_DELETE_RUNS = (Statement("DELETE FROM tickwise_active_runs"), Statement("DELETE FROM tickwise_runs"))
_COUNT_RUNS = Statement("""
    SELECT count(*), count(DISTINCT schedule_id), count(CASE WHEN state = 'succeeded' THEN 1 END)
    FROM tickwise_runs
""")
_COUNT_DUE = Statement("SELECT count(*) FROM tickwise_job_state WHERE wake_at <= :now")


class PreparedStore:
    """`stored` schedules in a store, of which `make_due` makes `due` ones due."""

    def __init__(self, store: SqlStore, slot: int, stored: int, due: int) -> None:
        self.store = store
        self.slot = slot
        self.due = due
        self._every = stored // due

    @classmethod
    async def create(cls, url: str, *, stored: int, due: int, alike: bool = True) -> Self:
        """Fill an empty store with copies of one job, or with jobs that are all different."""
        store = open_sql_store(url)
        await store.schema.upgrade()
        slot = await store.now() // MICRO // 60 * 60
        await store.beat(Node("bench", (Role.WORKER,), queues=("default",), seconds=_DAY))
        prepared = cls(store, slot, stored, due)
        jobs = [_job(slot, number) for number in range(1 if alike else stored)]
        await asyncio.gather(*(store.define(job, "bench") for job in jobs))
        if alike and stored > 1:
            await prepared._copy(stored - 1)
        return prepared

    async def _copy(self, copies: int) -> None:
        """Copy the template's rows with all their columns, so that new columns need no change here."""
        values = {"copies": copies, "slot": self.slot, "later": self.slot + _DAY}
        for table, (source, changed) in _COPIES.items():
            columns = [row[0] for row in await self._execute(_COLUMNS[self.store.driver.dialect.name], name=table)]
            names = ", ".join(f'"{column}"' for column in columns)
            chosen = ", ".join(changed.get(column, f't."{column}"') for column in columns)
            text = f"INSERT INTO {table} ({names}) {_NUMBERS} SELECT {chosen} FROM {source}"  # noqa: S608 (our own names)
            await self._execute(Statement(text), **values)

    async def make_due(self) -> None:
        """Make schedules due now, as if none had ever run: a store does not look for rows made due in the past."""
        await self._set_due(1)

    async def make_all_due(self) -> None:
        """Make all schedules due: one group now, and the next after each `advance_minute`."""
        now = await self.store.now()
        self.store.driver.clock = lambda: now
        await self._set_due(self._every)

    async def advance_minute(self) -> None:
        """Delete the runs, and advance the clock, which `make_all_due` has stopped, to the next group."""
        await self._delete_runs()
        now = await self.store.now() + 60 * MICRO
        self.store.driver.clock = lambda: now

    async def _set_due(self, groups: int) -> None:
        await self._delete_runs()
        values = {"now": await self.store.now() // MICRO, "every": self._every, "groups": groups}
        await self._execute(_MAKE_SCHEDULES_DUE, slot=self.slot, **values)
        await self._execute(_MAKE_JOBS_DUE, **values)

    async def _delete_runs(self) -> None:
        for statement in _DELETE_RUNS:
            await self._execute(statement)

    async def count_runs(self, *, finished: bool) -> int:
        """The number of runs; an error if a schedule is still due, has two runs, or has one in the wrong state."""
        [(runs, schedules, succeeded)] = await self._execute(_COUNT_RUNS)
        [(left,)] = await self._execute(_COUNT_DUE, now=await self.store.now() // MICRO)
        if runs != schedules or left or succeeded != (runs if finished else 0):
            raise WrongResultError(
                f"{schedules:,} schedules have {runs:,} runs, of which {succeeded:,} succeeded, and {left:,} jobs "
                "are still due"
            )
        return int(runs)

    async def _execute(self, statement: Statement, **values: Any) -> Any:
        if self.store.driver.dialect.name == "mysql":  # whose driver formats texts
            statement = Statement(statement.text.replace("%", "%%"))

        def procedure() -> Procedure[Any]:
            return (yield statement(**values))

        return await self.store.driver.run(procedure, Pool.OTHER)


def open_sql_store(url: str) -> SqlStore:
    store = open_store(url)
    if not isinstance(store, SqlStore):
        raise WrongResultError(f"{url} is no database of tables")
    return store


def _job(slot: int, number: int) -> JobDefinition:
    """A job that fires at the slot, on each day for number 0; no two have the same times or policy."""
    at, name = to_datetime(slot), f"job-{number}"
    text = f"{at.minute} {at.hour} {_days(at, number)} * *"
    policy = Policy.of(grace=_DAY // 2 + number)  # the slot stays on time however long the turns take
    schedule = ScheduleDefinition(name, name, parse(text), text, policy=policy)
    return JobDefinition(name, description=f"number {number}" if number else "", schedules=(schedule,))


def _days(at: datetime, number: int) -> str:
    """Today, and of the other days of a month those whose bits are set in the number; all, for none."""
    others = [day for day in range(1, 29) if day != at.day]
    chosen = [day for place, day in enumerate(others) if number >> place & 1]
    return ",".join(map(str, sorted({at.day, *chosen}))) if number else "*"
