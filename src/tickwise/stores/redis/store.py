"""The store's contract over Redis: each move is a function of another module, run on the server."""

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

from ..contract import Store
from ..insights_contract import Insights
from ..isolation import tick_isolated
from ..records import Enqueue, Enqueued, Planner, TickRequest, TickResult
from ..schema_contract import Durability, Schema
from ..whole_scan import WholeScan
from . import (
    decisions,
    define,
    enqueue,
    finish,
    fleet,
    handover,
    insights,
    insights_runs,
    insights_slots,
    insights_statistics,
    lease,
    retention,
    schema,
    tick,
)
from .access import RedisAccess
from .base import RedisServer
from .caller_transaction import enqueue_within
from .durability import server_settings
from .moves import RedisMoves, move, translated_errors


class RedisStore(RedisMoves, Store):
    """Moves over Redis."""

    def __init__(self, url: str, clock: Callable[[], int] | None = None) -> None:
        super().__init__(RedisServer(url, clock))
        self.insights = RedisInsights(self.server)
        self.access = RedisAccess(self.server)
        self.schema = RedisSchema(self.server)
        self._whole_scan = WholeScan()

    async def now(self) -> int:
        with translated_errors():
            return await self.server.now()

    _define = move(define.define)
    _extend = move(define.extend)
    _reassign = move(define.reassign)
    _remove = move(define.remove)
    _change = move(define.change)
    _pause = move(fleet.pause)
    end_pause = move(fleet.end_pause)
    _cancel = move(enqueue.cancel)
    _retry = move(enqueue.retry)
    _wake = move(enqueue.wake)
    _answer_step = move(lease.answer_step)
    _lease = move(lease.lease)
    _attempt = move(lease.attempt)
    _report = move(lease.report)
    _hand_over = move(handover.hand_over)
    _adopt = move(handover.adopt)
    _finish = move(finish.finish)
    expire = move(finish.expire)
    _beat = move(lease.beat)
    _leave = move(fleet.leave)
    skip_run_numbers = move(fleet.skip_run_numbers)
    _limit = move(fleet.limit)
    _pause_queue = move(fleet.pause_queue)
    _prune = move(retention.prune)

    async def _tick(self, planner: Planner, request: TickRequest, /) -> TickResult:
        ticked = await tick_isolated(partial(self._pass, planner), self._set_aside, request)
        if request.jobs is None and (scan := self._whole_scan.take(ticked.now)):
            return await self._whole_scan.complete(ticked, self.execute(tick.wake_lost, scan))
        return ticked

    async def _pass(self, planner: Planner, request: TickRequest, claimed: list[str]) -> TickResult:
        return await self.execute(tick.tick, planner, request, claimed)

    _set_aside = move(tick.set_aside)

    async def _enqueue(self, asked: Sequence[Enqueue], connection: Any, /) -> tuple[Enqueued, ...]:
        if connection is not None:
            return await enqueue_within(self.server, asked, connection)
        return await self.execute(enqueue.enqueue, asked)

    async def wait(self, seconds: float) -> bool:
        return await self.server.news.wait(seconds)

    async def close(self) -> None:
        await self.server.close()


class RedisInsights(RedisMoves, Insights):
    """Reads over Redis."""

    next_due = move(insights.next_due)
    _job = move(insights.job)
    _jobs = move(insights.jobs)
    _jobs_named = move(insights.jobs_named)
    _schedule = move(insights.schedule)
    _schedules = move(insights.schedules)
    _definition_of = move(insights_runs.definition_of)
    _run = move(insights_runs.run)
    _runs = move(insights_runs.runs)
    _attempts = move(insights_runs.attempts)
    _steps = move(insights_runs.steps)
    _log = move(insights_runs.log)
    _decisions = move(decisions.decisions)
    nodes = move(fleet.nodes)
    limits = move(fleet.limits)
    pauses = move(fleet.pauses)
    counts = move(insights_statistics.counts)
    _minute_stats = move(insights_statistics.minute_stats)
    _timeline = move(insights_runs.timeline)
    _ended = move(insights_runs.ended)
    _recent = move(insights_slots.recent)
    _slot_counts = move(insights_slots.slot_counts)
    _ailing = move(insights_slots.ailing)
    _hourly_stats = move(insights_statistics.hourly_stats)
    _changes_since = move(insights_statistics.changes_since)


class RedisSchema(Schema):
    """The mark that says which version wrote the keys, and what the server keeps."""

    def __init__(self, server: RedisServer) -> None:
        self._server = server

    async def upgrade(self) -> tuple[str, ...]:
        with translated_errors():
            return await schema.upgrade(self._server)

    async def check(self, *, thorough: bool = True) -> tuple[str, ...]:  # noqa: ARG002  (the server keeps its files)
        with translated_errors():
            return await schema.check(self._server)

    async def durability(self) -> Durability:
        with translated_errors():
            return (await server_settings(self._server)).durability
