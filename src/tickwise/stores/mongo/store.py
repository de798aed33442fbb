"""The store's contract over MongoDB: each move is a function of another module, run on the database."""

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

from ...core.payload import encode
from ...core.settle import Settled
from ..contract import Store
from ..insights_contract import Insights
from ..isolation import tick_isolated
from ..records import Enqueue, Enqueued, Finish, Planner, TickRequest, TickResult
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
    insights_slots,
    insights_statistics,
    lease,
    retention,
    schema,
    tick,
    workers,
)
from .access import MongoAccess
from .base import Mongo
from .caller_transaction import enqueue_within
from .moves import MongoMoves, move, translated_errors


class MongoStore(MongoMoves, Store):
    """Moves over MongoDB."""

    def __init__(self, url: str, clock: Callable[[], int] | None = None) -> None:
        super().__init__(Mongo(url, clock))
        self.insights = MongoInsights(self.mongo)
        self.access = MongoAccess(self.mongo)
        self.schema = MongoSchema(self.mongo)
        self._whole_scan = WholeScan()

    async def now(self) -> int:
        with translated_errors():
            return await self.mongo.now()

    _define = move(define.define)
    _extend = move(define.extend)
    _reassign = move(define.reassign)
    _remove = move(define.remove)
    _change = move(define.change)
    _pause = move(fleet.pause)
    end_pause = move(fleet.end_pause)
    _cancel = move(enqueue.cancel)
    _retry = move(enqueue.retry)
    _lease = move(lease.lease)
    _wake = move(enqueue.wake_run)
    _answer_step = move(lease.answer_step)
    _attempt = move(lease.attempt)
    _report = move(lease.report)
    _hand_over = move(handover.hand_over)
    _adopt = move(handover.adopt)
    expire = move(lease.expire)
    _beat = move(heartbeat.beat)
    _leave = move(handover.leave)
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
        return await self.execute(tick.tick, planner, tick.ClaimQuery(*request), claimed)

    _set_aside = move(tick.set_aside)

    async def _enqueue(self, asked: Sequence[Enqueue], connection: Any, /) -> tuple[Enqueued, ...]:
        if connection is not None:
            return await enqueue_within(self.mongo, asked, connection)
        return await self.execute(enqueue.enqueue, asked)

    async def _finish(self, ended: Sequence[Finish], /) -> tuple[Settled | None, ...]:
        return await self.execute(finish.finish, [_run_ending(one) for one in ended])

    async def wait(self, seconds: float) -> bool:
        return await self.mongo.news.wait(seconds)

    async def close(self) -> None:
        await self.mongo.close()


def _run_ending(one: Finish) -> finish.RunEnding:
    result = None if one.result is None else encode(one.result, "the result")
    return finish.RunEnding(int(one.run), one.outcome, finish.has_token(one.token), result, one.error)


class MongoInsights(MongoMoves, Insights):
    """Reads over MongoDB."""

    next_due = move(insights.next_due)
    _job = move(insights.job)
    _jobs = move(insights.jobs)
    _jobs_named = move(insights.jobs_named)
    _schedule = move(insights.schedule)
    _schedules = move(insights.schedules)
    _definition_of = move(insights.definition_of)
    _run = move(insights.run)
    _runs = move(insights.runs)
    _attempts = move(insights.attempts)
    _steps = move(insights.steps)
    _log = move(insights.log)
    _decisions = move(insights.decisions)
    nodes = move(workers.nodes)
    limits = move(fleet.limits)
    pauses = move(fleet.pauses)
    counts = move(insights_statistics.counts)
    _minute_stats = move(insights_statistics.minute_stats)
    _timeline = move(insights.timeline)
    _ended = move(insights.ended)
    _recent = move(insights_slots.recent)
    _slot_counts = move(insights_slots.slot_counts)
    _ailing = move(insights_slots.ailing)
    _hourly_stats = move(insights_statistics.hourly_stats)
    _changes_since = move(insights_changes.changes_since)


class MongoSchema(Schema):
    """Indexes, and the mark that says which version made them."""

    def __init__(self, mongo: Mongo) -> None:
        self._mongo = mongo

    async def upgrade(self) -> tuple[str, ...]:
        with translated_errors(schema.UPGRADE_SECONDS):
            return await schema.upgrade(self._mongo)

    async def check(self, *, thorough: bool = True) -> tuple[str, ...]:  # noqa: ARG002  (the server keeps its files)
        with translated_errors():
            return await schema.check(self._mongo)
