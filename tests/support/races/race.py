"""Where a race is run: a store's address and its time, with what tests define there and check afterwards."""

import asyncio
import sqlite3
from collections import Counter
from collections.abc import Awaitable, Callable, Iterable
from contextlib import closing
from typing import NamedTuple, TypeVar

import asyncpg

from tickwise.core.cron import Recurrence, parse
from tickwise.core.definition import Command, JobDefinition, Overlap, Policy, ScheduleDefinition, Step
from tickwise.core.states import RunState
from tickwise.stores.contract import Store
from tickwise.stores.records import ALL_RUNS, Node, Role, RunFilter, RunRow
from tickwise.stores.sql.store import SqlStore
from tickwise.stores.url import open_store

from ..servers import mariadb
from .file_clock import SharedClock

T = TypeVar("T")
SOURCE = "races"
_STEPS = (Step("work", Command(("true",))),)
_TWO = ("* * * * *", "*/2 * * * *")
ALIVE = Node("anybody", (Role.WORKER,), queues=("default", "other"), seconds=10**9)


def job(name: str, *crons: str, policy: Policy | None = None, queue: str = "default") -> JobDefinition:
    """A job that any worker can run, with a schedule for each cron text: NAME, NAME.1 and so on."""
    schedules = tuple(
        ScheduleDefinition(f"{name}.{n}" if n else name, name, parse(cron), cron, policy=policy or Policy.of())
        for n, cron in enumerate(crons)
    )
    return JobDefinition(name, _STEPS, schedules, queue=queue, params={"by": "", "n": 0})


def pair(name: str) -> JobDefinition:
    """A job of two schedules whose slots run strictly one after the other."""
    return job(name, *_TWO, policy=Policy.of(overlap=Overlap.QUEUE))


def slots_of_pairs(names: Iterable[str], after: int, until: int) -> list[tuple[str, int]]:
    """All (schedule, slot) of such jobs in (after, until]."""
    return [
        (schedule.name, slot)
        for name in names for schedule in pair(name).schedules for slot in slots_of(schedule.times, after, until)
    ]  # fmt: skip


def slots_of(times: Recurrence, after: int, until: int) -> list[int]:
    found, slot = list[int](), times.after(after)
    while slot is not None and slot <= until:
        found.append(slot)
        slot = times.after(slot)
    return found


def opened(url: str, clock: str | None) -> Store:
    """The store as a process of its own opens it."""
    return open_store(url, SharedClock(clock) if clock else None)


def opened_sql(url: str, clock: str) -> SqlStore:
    """The same, for who looks at its statements."""
    store = opened(url, clock)
    assert isinstance(store, SqlStore)
    return store


class Race(NamedTuple):
    """A store that nobody else uses, and its clock."""

    url: str
    clock: SharedClock

    @property
    def address(self) -> dict[str, str]:
        """What a role needs to get here."""
        return {"url": self.url, "clock": str(self.clock.path)}

    @property
    def kind(self) -> str:
        return self.url.partition(":")[0]

    @property
    def has_sessions(self) -> bool:
        """Whether several write at a time, and meet each other's locks."""
        return self.kind in ("postgresql", "mysql")

    @property
    def has_news(self) -> bool:
        """Whether a process hears of what others do; who shares a SQLite file must look."""
        return not self.url.startswith("sqlite")

    def do(self, act: Callable[[Store], Awaitable[T]]) -> T:
        """Open the store, act on it, close it."""

        async def with_store() -> T:
            store = opened(self.url, str(self.clock.path))
            try:
                return await act(store)
            finally:
                await store.close()

        return asyncio.run(with_store())

    def install(self, *jobs: JobDefinition) -> None:
        """The tables, a worker that counts as live for good, and jobs as of now."""

        async def install(store: Store) -> None:
            await store.schema.upgrade()
            await store.beat(ALIVE)
            await asyncio.gather(*(store.define(each, SOURCE) for each in jobs))

        self.do(install)

    def execute(self, *statements: str) -> None:
        """Write into the tables past the store, as a restored backup would."""
        if self.kind == "postgresql":
            asyncio.run(execute(self.url, *statements))
            return
        if self.kind == "mysql":
            with mariadb.connected(self.url) as cursor:
                for statement in statements:
                    cursor.execute(statement)
            return
        with closing(sqlite3.connect(self.url.removeprefix("sqlite:///"), isolation_level=None)) as connection:
            for statement in statements:
                connection.execute(statement)

    def runs(self, wanted: RunFilter = ALL_RUNS) -> list[RunRow]:
        """All of them, oldest first."""
        return self.do(lambda store: all_runs(store, wanted))


async def execute(url: str, *statements: str) -> None:
    connection = await asyncpg.connect(url)
    try:
        for statement in statements:
            await connection.execute(statement)
    finally:
        await connection.close()


async def all_runs(store: Store, wanted: RunFilter = ALL_RUNS) -> list[RunRow]:
    rows: list[RunRow] = []
    page = await store.insights.runs(wanted, limit=1_000)
    rows += page.items
    while page.after is not None:
        page = await store.insights.runs(wanted, page.after, limit=1_000)
        rows += page.items
    return rows[::-1]


def check_each_once(
    runs: Iterable[RunRow], wanted: Iterable[tuple[str, int]], state: RunState | None = RunState.SUCCEEDED
) -> None:
    """Each (schedule, slot) has one run, in that state, and nothing else has one (S1, S3)."""
    runs = list(runs)
    have = Counter((run.schedule or "", run.slot) for run in runs if run.slot is not None)
    want = Counter(wanted)
    assert not want - have, f"lost: {sorted(want - have)[:5]}"
    assert not have - want, f"doubled or invented: {sorted((have - want).elements())[:5]}"
    if state is not None:
        assert {run.state for run in runs if run.slot is not None} <= {state}
