"""The store's contract over any SQL driver: each move is a procedure, run on the pool where it belongs."""

from collections.abc import Mapping, Sequence
from contextlib import suppress
from functools import partial
from typing import Any

from ...core.payload import encode_again
from ...core.settle import Settled
from ...log import get_logger
from ..contract import StatementError, Store, StoreUnavailableError
from ..insights_contract import Insights
from ..isolation import REFUSALS, describe, tick_in_halves
from ..records import MICRO, Enqueue, Enqueued, Finish, Node, Planner, Renewed, TickRequest, TickResult
from ..schema_contract import Schema
from ..whole_scan import WholeScan
from . import (
    define,
    enqueue,
    finish,
    fleet,
    handover,
    heartbeat,
    insights,
    insights_changes,
    insights_run_search,
    insights_runs,
    insights_slots,
    insights_statistics,
    lease,
    retention,
    schema,
    tick,
    workers,
)
from .access import SqlAccess
from .caller_transaction import on_connection
from .claim import ClaimRequest
from .definitions import DefinitionCache
from .driver import Driver, Pool, SchemaError
from .moves import SqlMoves, cached_move, move

_log = get_logger()
_NO_FLOOR = -(1 << 62)


class SqlStore(SqlMoves, Store):
    """Moves over SQL."""

    insights: "SqlInsights"

    def __init__(self, driver: Driver) -> None:
        super().__init__(driver, DefinitionCache())
        self.insights = SqlInsights(driver, self.definitions)
        self.access = SqlAccess(driver, self.definitions)
        self.schema = SqlSchema(driver)
        self._floor = _NO_FLOOR  # claims look from here on: dead rows below it cost nothing
        self._whole_scan = WholeScan()

    now = move(Pool.READ, fleet.now)
    _define = cached_move(Pool.OTHER, define.define)
    _extend = cached_move(Pool.OTHER, define.extend)
    _reassign = cached_move(Pool.OTHER, define.reassign)
    _remove = cached_move(Pool.OTHER, define.remove)
    _change = cached_move(Pool.OTHER, define.change)
    _pause = move(Pool.OTHER, fleet.pause)
    end_pause = move(Pool.OTHER, fleet.end_pause)
    _cancel = cached_move(Pool.OTHER, enqueue.cancel)
    _wake = move(Pool.OTHER, enqueue.wake)
    _answer_step = move(Pool.OTHER, lease.answer_step)
    _lease = cached_move(Pool.LEASE, lease.lease)
    _hand_over = move(Pool.OTHER, handover.hand_over)
    _adopt = cached_move(Pool.LEASE, lease.adopt)
    _attempt = cached_move(Pool.OTHER, lease.attempt)
    _report = move(Pool.OTHER, lease.report)
    expire = cached_move(Pool.OTHER, lease.expire)
    _leave = move(Pool.OTHER, handover.leave)
    skip_run_numbers = move(Pool.OTHER, fleet.skip_run_numbers)
    _limit = move(Pool.OTHER, fleet.limit)
    _pause_queue = move(Pool.OTHER, fleet.pause_queue)
    _prune = move(Pool.OTHER, retention.prune)

    async def _tick(self, planner: Planner, request: TickRequest, /) -> TickResult:
        """A batch that the database refuses is halved until the bad job stands alone, and that is put off."""
        node, limit, jobs, reserve = request
        claim = ClaimRequest(node, limit, self._floor, jobs, reserve)
        claimed: list[int] = []
        try:
            ticked = await self.execute(Pool.CLAIM, tick.tick, self.definitions, planner, claim, claimed)
        except REFUSALS as refusal:
            if not claimed:
                raise
            names = await self.execute(Pool.READ, tick.names_of, claimed)
            _log.error("a plan was refused", error=describe(refusal), jobs=names[:10])
            if len(claimed) == 1:
                ticked = await self._set_aside(claimed[0], refusal)
            else:
                ticked = await tick_in_halves(partial(self._tick, planner), request, names)
            return ticked._replace(more=ticked.more or jobs is None)
        if ticked.held:
            with suppress(StoreUnavailableError):  # the pass is committed; they are looked at in a minute
                await self._wake_held()
        if jobs is not None or ticked.turned_away:
            return ticked
        if scan := self._whole_scan.take(ticked.now):
            self._floor = _NO_FLOOR
            return await self._whole_scan.complete(ticked, self.execute(Pool.CLAIM, tick.wake_lost, scan))
        self._raise_floor(ticked)
        return ticked

    async def _beat(self, node: Node, held: Mapping[int, str], lease: int, /, *, passed: bool) -> Renewed:
        beat = await self.execute(Pool.OTHER, heartbeat.beat, self.definitions, node, held, lease, passed=passed)
        if beat.is_new:
            await self._wake_held()
        return beat.renewed

    async def _wake_held(self) -> None:
        await self.execute(Pool.OTHER, workers.wake_held, self.definitions)

    async def _set_aside(self, job: int, refusal: Exception) -> TickResult:
        """Put off a job whose plan was refused, and record that; if that is refused too, it is only put off."""
        await self.execute(Pool.CLAIM, tick.set_aside, job)
        with suppress(StatementError):
            await self.execute(Pool.CLAIM, tick.tell_refused, job, describe(refusal))
        return TickResult(await self.now())

    def _raise_floor(self, ticked: TickResult) -> None:
        """Nothing is ever made due in the past; what a crashed node left there is found by a scan of the whole."""
        if not ticked.more and ticked.next_due is not None:
            self._floor = min(ticked.next_due, ticked.now // MICRO)

    async def _enqueue(self, asked: Sequence[Enqueue], connection: Any, /) -> tuple[Enqueued, ...]:
        if connection is not None:
            return await on_connection(self.driver, connection, lambda: enqueue.enqueue(self.definitions, asked))
        return await self.execute(Pool.OTHER, enqueue.enqueue, self.definitions, asked)

    async def _retry(self, run: int, again: Sequence[str], /) -> None:
        await self.execute(Pool.OTHER, enqueue.retry, self.definitions, run, again)

    async def _finish(self, ended: Sequence[Finish], /) -> tuple[Settled | None, ...]:
        ends = [_run_end(one) for one in ended]
        settled = await self.execute(Pool.FINISH, finish.finish, self.definitions, ends)
        return tuple(settled.pop((one.run, one.token), None) for one in ends)

    async def wait(self, seconds: float) -> bool:
        return await self.driver.wait(seconds)

    async def close(self) -> None:
        await self.driver.close()


def _run_end(one: Finish) -> finish.RunEnd:
    result = None if one.result is None else encode_again(one.result)
    return finish.RunEnd(int(one.run), one.outcome, one.token, result, one.error)


class SqlInsights(SqlMoves, Insights):
    """Reads over SQL."""

    next_due = move(Pool.READ, insights.next_due)
    _job = cached_move(Pool.READ, insights.job)
    _jobs = cached_move(Pool.READ, insights.jobs)
    _jobs_named = cached_move(Pool.READ, insights.jobs_named)
    _as_written = move(Pool.READ, define.as_written)
    _schedule = cached_move(Pool.READ, insights.schedule)
    _schedules = cached_move(Pool.READ, insights.schedules)
    _definition_of = cached_move(Pool.READ, insights_runs.definition_of)
    _run = cached_move(Pool.READ, insights_runs.run)
    _runs = cached_move(Pool.READ, insights_run_search.runs)
    _run_groups = cached_move(Pool.READ, insights_run_search.run_groups)
    _attempts = move(Pool.READ, insights.attempts)
    _steps = move(Pool.READ, insights.steps)
    _log = move(Pool.READ, insights.log)
    _decisions = move(Pool.READ, insights.decisions)
    nodes = cached_move(Pool.READ, workers.nodes)
    limits = move(Pool.READ, fleet.limits)
    pauses = move(Pool.READ, fleet.pauses)
    counts = move(Pool.READ, insights_statistics.counts)
    _minute_stats = cached_move(Pool.READ, insights_statistics.minute_stats)
    _timeline = cached_move(Pool.READ, insights_runs.timeline)
    _ended = cached_move(Pool.READ, insights_runs.ended)
    _recent = move(Pool.READ, insights_slots.recent)
    _slot_counts = move(Pool.READ, insights_slots.slot_counts)
    _ailing = move(Pool.READ, insights_slots.ailing)
    _hourly_stats = move(Pool.READ, insights_statistics.hourly_stats)
    _changes_since = cached_move(Pool.READ, insights_changes.changes_since)


class SqlSchema(Schema):
    """Migrations over SQL."""

    def __init__(self, driver: Driver) -> None:
        self._driver = driver

    async def upgrade(self) -> tuple[str, ...]:
        """A store that is up to date is only read: its caller may be in a transaction that has locked the file."""
        if not await self.check(thorough=False):
            return ()
        return await self._driver.run(lambda: schema.upgrade(self._driver, schema.migrations()), Pool.OTHER)

    async def check(self, *, thorough: bool = True) -> tuple[str, ...]:
        try:
            problems = await self._driver.run(lambda: schema.check(self._driver, schema.migrations()), Pool.READ)
        except SchemaError as error:
            problems = (str(error),)
        return (*problems, *(await self._driver.check() if thorough else ()))
