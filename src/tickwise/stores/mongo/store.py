"""The store's contract over MongoDB: each move checks what it is given, and another module makes it."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from ...core.change import Change
from ...core.definition import JobDefinition
from ...core.errors import InputError
from ...core.model import Pause, Schedule
from ...core.payload import check_text, encode
from ...core.settle import Settled
from ...core.states import RunState
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
from . import define, enqueue, finish, fleet, insights, insights_statistics, lease, retention, run_actions, schema
from . import report as reporting
from . import tick as ticking
from .access import MongoAccess
from .base import Mongo, answered, move
from .caller_transaction import enqueue_within
from .insights_changes import changes_since
from .insights_statistics import hourly_stats as last_hours

_LARGEST_ID = (1 << 63) - 1


class MongoStore(Store):
    """Moves over MongoDB."""

    def __init__(self, url: str, clock: Callable[[], int] | None = None) -> None:
        self.mongo = Mongo(url, clock)
        self.insights = MongoInsights(self.mongo)
        self.access = MongoAccess(self.mongo)
        self.schema = MongoSchema(self.mongo)

    async def now(self) -> int:
        with answered():
            return await self.mongo.now()

    async def define(self, job: JobDefinition, source: str, *, over: int | None = None) -> tuple[Schedule, ...]:
        return await move(self.mongo, define.define, validation.checked_job(job, source), source, over)

    async def remove(self, job: str, source: str) -> None:
        if askable(job):
            await move(self.mongo, define.remove, job, source)

    async def change(self, schedule: str, change: Change) -> Schedule:
        validation.check_change(change)
        return await move(self.mongo, define.change, _name(schedule), change)

    async def pause(self, pause: Pause | None) -> None:
        if pause is not None:
            validation.check_pause(pause)
        await move(self.mongo, fleet.pause, pause)

    async def tick(
        self, planner: Planner, node: str, *, limit: int = 200, jobs: Sequence[str] | None = None,
        reserve: LeaseRequest | None = None,
    ) -> TickResult:  # fmt: skip
        check_text(node, "the name of a node", validation.LONGEST_KEY)
        return await move(self.mongo, ticking.tick, planner, ticking.ClaimQuery(node, limit, jobs, reserve))

    async def enqueue(self, asked: Sequence[Enqueue], connection: Any = None) -> tuple[Enqueued, ...]:
        asked = [validation.checked_enqueue(one) for one in asked]
        for one in asked:
            _name(one.job)
        if connection is not None:
            return await enqueue_within(self.mongo, asked, connection)
        return await move(self.mongo, enqueue.enqueue, asked)

    async def cancel(self, run: str) -> RunState:
        return await move(self.mongo, run_actions.cancel, _id(run))

    async def retry(self, run: str) -> None:
        await move(self.mongo, run_actions.retry, _id(run))

    async def lease(self, wanted: LeaseRequest) -> tuple[Lease, ...]:
        check_text(wanted.node, "the name of a node", validation.LONGEST_KEY)
        return await move(self.mongo, lease.lease, wanted)

    async def renew(self, node: str, held: Mapping[str, str], seconds: int) -> Renewed:
        ids = {_id(run): token for run, token in held.items()}
        return await move(self.mongo, lease.renew, node, ids, seconds)

    async def report(
        self, run: str, token: str, steps: Sequence[StepReport] = (), log: Sequence[LogPart] = ()
    ) -> bool:
        kept = [validation.checked_step(step) for step in steps]
        for part in log:
            check_text(part.step, "the name of a step", validation.LONGEST_KEY)
            check_text(part.stream, "the name of a stream", validation.LONGEST_KEY)
        return await move(self.mongo, reporting.report, _id(run), token, kept, log)

    async def finish(self, ended: Sequence[Finish]) -> tuple[Settled | None, ...]:
        validation.check_outcomes(ended)
        return await move(self.mongo, _finish, [_ending(one) for one in ended])

    async def expire(self) -> Expired:
        return await move(self.mongo, lease.expire)

    async def beat(self, node: Node, *, passed: bool = False) -> frozenset[str]:
        validation.check_node(node)
        return await move(self.mongo, fleet.beat, node, passed=passed)

    async def leave(self, node: str) -> None:
        if askable(node):
            await move(self.mongo, fleet.leave, node)

    async def limit(self, limit: QueueLimit) -> None:
        validation.check_limit(limit)
        await move(self.mongo, fleet.limit, limit)

    async def prune(self, most: int = 1_000) -> int:
        return await move(self.mongo, retention.prune, most)

    async def wait(self, seconds: float) -> bool:
        return await self.mongo.news.wait(seconds)

    async def close(self) -> None:
        await self.mongo.close()


async def _finish(mongo: Mongo, endings: Sequence[finish.RunEnding]) -> tuple[Settled | None, ...]:
    """In one batch; if a run is named again, once more for what is said later."""
    now, answers = await mongo.now(), dict[int, Settled | None]()
    while len(answers) < len(endings):
        first = {endings[n].run: n for n in reversed(range(len(endings))) if n not in answers}
        settled = await finish.end(mongo, [endings[n] for n in first.values()], now)
        answers |= {n: settled.get(run) for run, n in first.items()}
    return tuple(answers[n] for n in range(len(endings)))


def _ending(one: Finish) -> finish.RunEnding:
    result, error = validation.kept_result(one.result, one.error)
    kept = None if result is None else encode(result, "the result")
    return finish.RunEnding(_id(one.run), one.outcome, finish.has_token(one.token), kept, error)


def is_id(run: str) -> bool:
    """Whether a run can have this id."""
    return run.isascii() and run.isdigit() and len(run) < 20 and int(run) <= _LARGEST_ID


def _id(run: str) -> int:
    """The id of a run as the documents have it."""
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


class MongoInsights(Insights):
    """Reads over MongoDB."""

    def __init__(self, mongo: Mongo) -> None:
        self._mongo = mongo

    async def next_due(self) -> int | None:
        return await move(self._mongo, insights.next_due)

    async def job(self, name: str) -> JobRow | None:
        if not askable(name):
            return None
        found = await move(self._mongo, insights.jobs, name, None, 1)
        return found.items[0] if found.items else None

    async def jobs(self, after: str | None = None, limit: int = 100) -> Page[JobRow]:
        return await move(self._mongo, insights.jobs, None, after, limit) if askable(after) else Page(())

    async def schedule(self, name: str) -> ScheduleRow | None:
        if not askable(name):
            return None
        found = await move(self._mongo, insights.schedules, ALL_SCHEDULES, None, 1, name)
        return found.items[0] if found.items else None

    async def schedules(
        self, wanted: ScheduleFilter = ALL_SCHEDULES, after: str | None = None, limit: int = 100
    ) -> Page[ScheduleRow]:
        if not (askable(wanted.job, wanted.text, after) and askable(wanted.source, most=validation.LONGEST_WORDS)):
            return Page(())
        return await move(self._mongo, insights.schedules, checked_filter(wanted), after, limit)

    async def run(self, run: str) -> RunRow | None:
        return await move(self._mongo, insights.run, _id(run))

    async def runs(self, wanted: RunFilter = ALL_RUNS, after: str | None = None, limit: int = 100) -> Page[RunRow]:
        if not askable(wanted.job, wanted.schedule, wanted.queue, wanted.key, wanted.text):
            return Page(())
        number = None if after is None else _id(after)
        id_ = int(wanted.text) if wanted.text and is_id(wanted.text) else None
        return await move(self._mongo, insights.runs, wanted, number, limit, id_)

    async def attempts(self, run: str) -> tuple[AttemptRow, ...]:
        return await move(self._mongo, insights.attempts, _id(run))

    async def steps(self, run: str) -> tuple[StepReport, ...]:
        return await move(self._mongo, insights.steps, _id(run))

    async def log(self, run: str, after: str | None = None, limit: int = 1_000) -> Page[LogPart]:
        number = None if after is None else _id(after)
        return await move(self._mongo, insights.log, _id(run), number, limit)

    async def decisions(
        self, wanted: DecisionFilter = ALL_DECISIONS, after: str | None = None, limit: int = 100
    ) -> Page[DecisionRow]:
        if not askable(wanted.schedule):
            return Page(())
        return await move(self._mongo, insights.decisions, wanted, after, limit)

    async def nodes(self) -> tuple[Node, ...]:
        return await move(self._mongo, fleet.nodes)

    async def limits(self) -> tuple[QueueLimit, ...]:
        return await move(self._mongo, fleet.limits)

    async def pauses(self) -> tuple[PauseInterval, ...]:
        return await move(self._mongo, fleet.pauses)

    async def counts(self) -> Counts:
        return await move(self._mongo, insights_statistics.counts)

    async def minute_stats(self, minutes: int = 60, *, by_job: bool = False) -> tuple[MinuteStats, ...]:
        return await move(self._mongo, insights_statistics.minute_stats, minutes, by_job=by_job)

    async def timeline(self, start: int, end: int, limit: int = 5_000) -> tuple[RunRow, ...]:
        return await move(self._mongo, insights.timeline, start, end, limit)

    async def recent(self, schedules: Sequence[str], limit: int = 12) -> Mapping[str, tuple[Recent, ...]]:
        return await move(self._mongo, insights.recent, [name for name in schedules if askable(name)], limit)

    async def hourly_stats(self, hours: int = 24, schedule: str | None = None) -> tuple[HourlyStats, ...]:
        return await move(self._mongo, last_hours, hours, schedule) if askable(schedule) else ()

    async def changes_since(self, since: int, limit: int = 1_000) -> Changes:
        return await move(self._mongo, changes_since, checked_since(since), limit)


class MongoSchema(Schema):
    """Indexes, and the mark that says which version made them."""

    def __init__(self, mongo: Mongo) -> None:
        self._mongo = mongo

    async def upgrade(self) -> tuple[str, ...]:
        with answered(schema.UPGRADE_SECONDS):
            return await schema.upgrade(self._mongo)

    async def check(self, *, thorough: bool = True) -> tuple[str, ...]:  # noqa: ARG002  (the server keeps its files)
        with answered():
            return await schema.check(self._mongo)
