"""The store's contract over any SQL driver: each move is a protocol, run on the lane where it belongs."""

from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from functools import partial
from typing import Any, TypeVar

from ...core.change import Change
from ...core.definition import JobDefinition
from ...core.errors import InputError, TickwiseError
from ...core.model import Pause, Schedule
from ...core.payload import check_text, clip, encode
from ...core.settle import Settled
from ...core.states import RunState
from ...log import get_logger
from .. import validation
from ..contract import Insights, Schema, Store
from ..records import (
    ALL_DECISIONS,
    ALL_RUNS,
    ALL_SCHEDULES,
    AttemptRow,
    Changes,
    DecisionFilter,
    DecisionRow,
    Enqueue,
    Enqueued,
    Expired,
    Finish,
    JobRow,
    Lease,
    LeaseRequest,
    LogPart,
    Node,
    Page,
    PauseInterval,
    Planner,
    QueueLimit,
    Renewed,
    RunFilter,
    RunRow,
    ScheduleFilter,
    ScheduleRow,
    StepReport,
    TickResult,
)
from ..statistics import Counts, HourlyStats, MinuteStats, Recent
from ..validation import checked_filter, checked_since
from . import (
    define,
    enqueue,
    finish,
    fleet,
    insights,
    insights_runs,
    insights_statistics,
    lease,
    retention,
    schema,
)
from . import tick as ticking
from .access import SqlAccess
from .caller_transaction import on_connection
from .claim import ClaimRequest
from .definitions import DefinitionCache
from .driver import Driver, Pool, SchemaError, StatementError
from .insights_changes import changes_since
from .insights_statistics import hourly_stats as last_hours
from .statement import Procedure

T = TypeVar("T")
_log = get_logger()
_ALWAYS = -(1 << 62)
_LARGEST_ID = (1 << 63) - 1
WHOLE_SCAN_SECONDS = 30  # how often a claim looks below where it last found something


class SqlStore(Store):
    """Moves over SQL."""

    def __init__(self, driver: Driver) -> None:
        self.driver = driver
        self.book = DefinitionCache()
        self.insights = SqlInsights(self)
        self.access = SqlAccess(driver)
        self.schema = SqlSchema(self)
        self._floor = _ALWAYS  # claims look from here on: dead rows below it cost nothing
        self._whole_scan_at = 0

    async def move(self, lane: Pool, protocol: Callable[..., Procedure[T]], *arguments: Any, **named: Any) -> T:
        return await self.driver.run(lambda: protocol(*arguments, **named), lane)

    async def now(self) -> int:
        return await self.move(Pool.READ, fleet.now)

    async def define(self, job: JobDefinition, source: str, *, over: int | None = None) -> tuple[Schedule, ...]:
        return await self.move(
            Pool.OTHER, define.define, self.book, validation.checked_job(job, source), source, over
        )

    async def remove(self, job: str, source: str) -> None:
        if askable(job):
            await self.move(Pool.OTHER, define.remove, self.book, job, source)

    async def change(self, schedule: str, change: Change) -> Schedule:
        validation.check_change(change)
        return await self.move(Pool.OTHER, define.change, self.book, _name(schedule), change)

    async def pause(self, pause: Pause | None) -> None:
        if pause is not None:
            validation.check_pause(pause)
        await self.move(Pool.OTHER, fleet.pause, pause)

    async def tick(
        self, planner: Planner, node: str, *, limit: int = 200, jobs: Sequence[str] | None = None,
        reserve: LeaseRequest | None = None,
    ) -> TickResult:  # fmt: skip
        """A batch that the database refuses is halved until the bad job stands alone, and that is put off."""
        check_text(node, "the name of a node", validation.LONGEST_KEY)
        claim = ClaimRequest(node, limit, self._floor, jobs, reserve)
        claimed: list[int] = []
        try:
            ticked = await self.move(Pool.CLAIM, ticking.tick, self.book, planner, claim, claimed)
        except StatementError as error:
            if not claimed:
                raise
            names = await self.move(Pool.READ, ticking.names_of, claimed)
            _log.error("the database refused a plan", error=str(error), jobs=names[:10])
            if len(claimed) == 1:
                ticked = await self._set_aside(claimed[0], error)
            else:
                ticked = await self._halved(planner, node, names, reserve)
            return ticked._replace(more=ticked.more or jobs is None)
        self._raise_floor(ticked)
        return ticked

    async def _halved(
        self, planner: Planner, node: str, names: Sequence[str], reserve: LeaseRequest | None
    ) -> TickResult:
        half = len(names) // 2
        first = await self.tick(planner, node, jobs=names[:half], reserve=reserve)
        left = reserve and reserve._replace(capacity=reserve.capacity - len(first.leases))
        second = await self.tick(planner, node, jobs=names[half:], reserve=left)
        return second._replace(
            jobs=first.jobs + second.jobs, runs=first.runs + second.runs, leases=first.leases + second.leases,
            more=first.more or second.more,
        )  # fmt: skip

    async def _set_aside(self, job: int, error: StatementError) -> TickResult:
        """Put off a job whose plan was refused, and record that; if that is refused too, it is only put off."""
        await self.move(Pool.CLAIM, ticking.set_aside, job)
        with suppress(StatementError):
            await self.move(Pool.CLAIM, ticking.tell_refused, job, str(error))
        return TickResult(await self.now())

    def _raise_floor(self, ticked: TickResult) -> None:
        """Nothing is ever made due in the past; what a crashed node left there is found by a scan of the whole."""
        if ticked.now >= self._whole_scan_at:
            self._floor, self._whole_scan_at = _ALWAYS, ticked.now + WHOLE_SCAN_SECONDS * 1_000_000
        elif not ticked.more and ticked.next_due is not None:
            self._floor = min(ticked.next_due, ticked.now // 1_000_000)

    async def enqueue(self, asked: Sequence[Enqueue], connection: Any = None) -> tuple[Enqueued, ...]:
        asked = [validation.checked_enqueue(one) for one in asked]
        for one in asked:
            _name(one.job)
        if connection is not None:
            return await on_connection(self.driver, connection, lambda: enqueue.enqueue(asked))
        return await self.move(Pool.OTHER, enqueue.enqueue, asked)

    async def cancel(self, run: str) -> RunState:
        return await self.move(Pool.OTHER, enqueue.cancel, self.book, _id(run))

    async def retry(self, run: str) -> None:
        await self.move(Pool.OTHER, enqueue.retry, _id(run), self.book)

    async def lease(self, wanted: LeaseRequest) -> tuple[Lease, ...]:
        check_text(wanted.node, "the name of a node", validation.LONGEST_KEY)
        return await self.move(Pool.LEASE, lease.lease, self.book, wanted)

    async def renew(self, node: str, held: Mapping[str, str], seconds: int) -> Renewed:
        ids = {_id(run): token for run, token in held.items()}
        return await self.move(Pool.OTHER, lease.renew, self.book, node, ids, seconds)

    async def report(
        self, run: str, token: str, steps: Sequence[StepReport] = (), log: Sequence[LogPart] = ()
    ) -> bool:
        kept = [validation.checked_step(step) for step in steps]
        parts = [validation.checked_part(part) for part in log]
        return await self.move(Pool.OTHER, lease.report, _id(run), token, kept, parts)

    async def finish(self, ended: Sequence[Finish]) -> tuple[Settled | None, ...]:
        if not ended:
            return ()
        validation.check_outcomes(ended)
        endings = [_ending(one) for one in ended]
        settled = await self.move(Pool.FINISH, finish.finish, self.book, endings)
        return tuple(settled.pop((one.run, one.token), None) for one in endings)

    async def expire(self) -> Expired:
        return await self.move(Pool.OTHER, lease.expire, self.book)

    async def beat(self, node: Node, *, passed: bool = False) -> frozenset[str]:
        validation.check_node(node)
        return await self.move(Pool.OTHER, fleet.beat, node, passed=passed)

    async def leave(self, node: str) -> None:
        if askable(node):
            await self.move(Pool.OTHER, fleet.leave, node)

    async def limit(self, limit: QueueLimit) -> None:
        validation.check_limit(limit)
        await self.move(Pool.OTHER, fleet.limit, limit)

    async def prune(self, most: int = 1_000) -> int:
        return await self.move(Pool.OTHER, retention.prune, most)

    async def wait(self, seconds: float) -> bool:
        return await self.driver.wait(seconds)

    async def close(self) -> None:
        await self.driver.close()


def is_id(run: str) -> bool:
    """Whether a run can have this id."""
    return len(run) < 20 and run.isascii() and run.isdigit() and int(run) <= _LARGEST_ID


def _id(run: str) -> int:
    """The id of a run as the tables have it."""
    if not is_id(run):
        raise InputError(
            f"{run[:60]!r} is not the id of a run: ids are numbers, as `tickwise runs list` shows them"
        )
    return int(run)


def _name(name: str) -> str:
    """A name that can be asked for."""
    return check_text(name, "a name", validation.LONGEST_KEY)


def askable(*texts: str | None, most: int = validation.LONGEST_KEY) -> bool:
    """Whether there can be anything by these names: what cannot be kept was never kept."""
    try:
        for text in texts:
            check_text(text or "", "a name", most)
    except InputError:
        return False
    return True


def _ending(one: Finish) -> finish.RunEnd:
    run, token, outcome, result, error = one
    if result is not None:
        result, error = validation.kept_result(result, error)
    elif error:
        error = clip(error, validation.LONGEST_ERROR)
    return finish.RunEnd(_id(run), outcome, token, None if result is None else encode(result, "the result"), error)


class SqlInsights(Insights):
    """Reads over SQL."""

    def __init__(self, store: SqlStore) -> None:
        self._store = store

    async def _read(self, protocol: Callable[..., Procedure[T]], *arguments: Any) -> T:
        return await self._store.move(Pool.READ, protocol, *arguments)

    async def next_due(self) -> int | None:
        return await self._read(insights.next_due)

    async def job(self, name: str) -> JobRow | None:
        if not askable(name):
            return None
        found = await self._read(insights.jobs, self._store.book, name, None, 1)
        return found.items[0] if found.items else None

    async def jobs(self, after: str | None = None, limit: int = 100) -> Page[JobRow]:
        if not askable(after):
            return Page(())
        return await self._read(insights.jobs, self._store.book, None, after, limit)

    async def as_written(self, jobs: Sequence[JobDefinition], source: str) -> frozenset[str]:
        kept = []
        for job in jobs:
            with suppress(TickwiseError):  # `define` will say what is wrong with it
                kept.append(validation.checked_job(job, source))
        return await self._read(define.as_written, kept, source) if kept else frozenset()

    async def schedule(self, name: str) -> ScheduleRow | None:
        if not askable(name):
            return None
        found = await self._read(insights.schedules, self._store.book, ALL_SCHEDULES, None, 1, name)
        return found.items[0] if found.items else None

    async def schedules(
        self, wanted: ScheduleFilter = ALL_SCHEDULES, after: str | None = None, limit: int = 100
    ) -> Page[ScheduleRow]:
        if not (askable(wanted.job, wanted.text, after) and askable(wanted.source, most=validation.LONGEST_WORDS)):
            return Page(())
        return await self._read(insights.schedules, self._store.book, checked_filter(wanted), after, limit)

    async def run(self, run: str) -> RunRow | None:
        return await self._read(insights_runs.run, self._store.book, _id(run))

    async def runs(self, wanted: RunFilter = ALL_RUNS, after: str | None = None, limit: int = 100) -> Page[RunRow]:
        if not askable(wanted.job, wanted.schedule, wanted.queue, wanted.key, wanted.text):
            return Page(())
        key = None if after is None else _id(after)
        id_ = int(wanted.text) if wanted.text and is_id(wanted.text) else None
        return await self._read(insights_runs.runs, self._store.book, wanted, key, limit, id_)

    async def attempts(self, run: str) -> tuple[AttemptRow, ...]:
        return await self._read(insights.attempts, _id(run))

    async def steps(self, run: str) -> tuple[StepReport, ...]:
        return await self._read(insights.steps, _id(run))

    async def log(self, run: str, after: str | None = None, limit: int = 1_000) -> Page[LogPart]:
        return await self._read(insights.log, _id(run), None if after is None else _id(after), limit)

    async def decisions(
        self, wanted: DecisionFilter = ALL_DECISIONS, after: str | None = None, limit: int = 100
    ) -> Page[DecisionRow]:
        if not askable(wanted.schedule):
            return Page(())
        return await self._read(insights.decisions, wanted, after, limit)

    async def nodes(self) -> tuple[Node, ...]:
        return await self._read(fleet.nodes)

    async def limits(self) -> tuple[QueueLimit, ...]:
        return await self._read(fleet.limits)

    async def pauses(self) -> tuple[PauseInterval, ...]:
        return await self._read(fleet.pauses)

    async def counts(self) -> Counts:
        return await self._read(insights_statistics.counts)

    async def minute_stats(self, minutes: int = 60, *, by_job: bool = False) -> tuple[MinuteStats, ...]:
        return await self._read(
            partial(insights_statistics.minute_stats, by_job=by_job), self._store.book, minutes
        )

    async def timeline(self, start: int, end: int, limit: int = 5_000) -> tuple[RunRow, ...]:
        return await self._read(insights_runs.timeline, self._store.book, start, end, limit)

    async def recent(self, schedules: Sequence[str], limit: int = 12) -> Mapping[str, tuple[Recent, ...]]:
        return await self._read(insights_runs.recent, [name for name in schedules if askable(name)], limit)

    async def hourly_stats(self, hours: int = 24, schedule: str | None = None) -> tuple[HourlyStats, ...]:
        return await self._read(last_hours, hours, schedule) if askable(schedule) else ()

    async def changes_since(self, since: int, limit: int = 1_000) -> Changes:
        return await self._read(changes_since, self._store.book, checked_since(since), limit)


class SqlSchema(Schema):
    """Migrations over SQL."""

    def __init__(self, store: SqlStore) -> None:
        self._store = store

    async def upgrade(self) -> tuple[str, ...]:
        driver = self._store.driver
        return await driver.run(lambda: schema.upgrade(driver, schema.migrations()), Pool.OTHER)

    async def check(self, *, thorough: bool = True) -> tuple[str, ...]:
        driver = self._store.driver
        try:
            problems = await driver.run(lambda: schema.check(driver, schema.migrations()), Pool.READ)
        except SchemaError as error:
            problems = (str(error),)
        return (*problems, *(await driver.check() if thorough else ()))
