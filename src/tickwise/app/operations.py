"""What the API does to a store, and reads of the whole of it: more than `tw.schedules` and `tw.runs` offer.

Callers have checked that the person may do it; here nobody is asked.
"""

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from ..config import Settings
from ..core.cron.zone import Zone
from ..core.deadline_forecast import DeadlineForecast
from ..core.definition import ApprovalAnswer, JobDefinition
from ..core.errors import ConflictError
from ..core.model import Pause
from ..core.states import RunState
from ..sources.defaults import Defaults
from ..stores.access_records import AuditEntry
from ..stores.pages import all_pages
from ..stores.records import MICRO, Enqueue, JobRow, QueueLimit, RunFilter
from .approvals import AnsweredStep, answer_step
from .attention import Status, status
from .audit import Audit, audit
from .blackouts import refuse_in_blackout
from .calendars import bound_job
from .definitions import (
    API_SOURCE,
    DefinitionEdit,
    NewSchedule,
    StoredJob,
    edit_schedule,
    read_new,
    remove_schedule,
    write_new,
)
from .enqueue import EnqueueCall, enqueued
from .managers import BackfillStatus, backfill_status
from .notifications import ChannelTest, try_channels
from .options import When
from .overview import Overview, overview
from .pause import pause_until
from .stores import StoreOfLoop
from .tries import store_try
from .values import RunInfo
from .worker_advice import is_live, missing_worker_warnings

_PAGE_SIZE = 1_000


@dataclass(frozen=True, slots=True)
class QueueLoad:
    """The limits of a queue, its pause, and how much waits and runs."""

    name: str
    concurrency: int | None = None
    starts_per_second: float | None = None
    paused: Pause | None = None
    waiting: int = 0
    running: int = 0
    workers: int = 0


class Operations:
    """Over one store, with the defaults of its app."""

    def __init__(self, opened: StoreOfLoop, defaults: Callable[[], Defaults]) -> None:
        self._opened = opened
        self._store = opened.store
        self._defaults = defaults

    async def bound_job(self, job: JobDefinition) -> JobDefinition:
        """The job with the days of the calendars that it uses."""
        return await bound_job(self._store, job)

    async def create_schedule(self, fields: Mapping[str, Any]) -> NewSchedule:
        """Define a job with its schedule, or one more schedule of a job."""
        new = await read_new(self._store, fields, self._defaults())
        await write_new(self._store, new)
        return new

    async def edit_schedule(self, stored: StoredJob, name: str, patch: Mapping[str, Any]) -> DefinitionEdit:
        return await edit_schedule(self._store, stored, name, patch, self._defaults())

    async def remove_schedule(self, stored: StoredJob, name: str) -> None:
        await remove_schedule(self._store, stored, name)

    async def store_try(self, fields: Mapping[str, Any]) -> JobDefinition:
        """Store a job that is to be tried once, without its schedules."""
        return await store_try(self._store, fields, self._defaults())

    async def remove_job(self, row: JobRow) -> None:
        """Delete a job of the API with its schedules, unless it has changed since it was read."""
        if row.source != API_SOURCE:
            raise ConflictError(f"{row.definition.name} was defined by {row.source}, which alone may delete it")
        await self._store.remove(row.definition.name, API_SOURCE, over=row.version)

    async def missing_workers(self, job: JobDefinition, source: str) -> Sequence[str]:
        """Warnings, if no live worker can execute the job."""
        return await missing_worker_warnings(self._store, job, source)

    async def backfill_status(self, name: str, since: int) -> BackfillStatus:
        return await backfill_status(self._store, name, since)

    async def enqueue(self, request: Enqueue, audit: AuditEntry | None = None) -> tuple[RunInfo, bool]:
        """Queue a run; and whether it is new, and not one that has the key already. A new one is audited."""
        made = await self._opened.enqueues.add(EnqueueCall(request, audit))
        return await enqueued(self._store, request, made), made.new

    async def refuse_in_blackout(self, job: str) -> None:
        """Refuse a run by hand while the job rests by a blackout (S62)."""
        await refuse_in_blackout(self._store, job)

    async def answer_step(
        self, run: str, step: str | None, answer: ApprovalAnswer, by: str, reason: str, may: Callable[[str], bool]
    ) -> AnsweredStep:
        """Approve or reject what a step of a run waits for, if the person may (S75)."""
        return await answer_step(self._store, run, step, answer, by=by, reason=reason, may=may)

    async def limit_queue(self, limit: QueueLimit) -> QueueLimit:
        """Set the limit of a queue; the one before."""
        known = await self._store.insights.limits()
        before = next((one for one in known if one.queue == limit.queue), QueueLimit(limit.queue))
        await self._store.limit(limit)
        return before

    async def pause_queue(self, queue: str, until: When | None, reason: str, by: str) -> None:
        """Lease nothing of a queue until it is resumed or the pause ends (S66)."""
        await self._store.pause_queue(queue, await pause_until(self._store, until, reason, by))

    async def resume_queue(self, queue: str) -> None:
        """Lease of a queue again."""
        await self._store.pause_queue(queue, None)

    async def queue(self, name: str) -> QueueLoad:
        return next((one for one in await self.queues() if one.name == name), QueueLoad(name))

    async def queues(self) -> list[QueueLoad]:
        """All queues that have limits, work or workers, by name."""
        insights, now = self._store.insights, await self._store.now()
        limits = {limit.queue: limit for limit in await insights.limits()}
        waiting = (await insights.counts()).waiting
        filters = RunFilter(states=frozenset({RunState.RUNNING}))
        rows = await all_pages(lambda after: insights.runs(filters, after, _PAGE_SIZE))
        running = Counter(row.queue for row in rows)
        live = [node for node in await insights.nodes() if is_live(node, now)]
        workers = Counter(queue for node in live for queue in node.queues)
        return [
            QueueLoad(
                name=name, concurrency=limits.get(name, QueueLimit(name)).concurrency,
                starts_per_second=limits.get(name, QueueLimit(name)).starts_per_second,
                paused=limits.get(name, QueueLimit(name)).paused_at(now // MICRO),
                waiting=waiting.get(name, 0), running=running[name], workers=workers[name],
            )
            for name in sorted({*limits, *waiting, *running, *workers})
        ]  # fmt: skip

    async def overview(self, sees: Callable[[str], bool] | None) -> Overview:
        return await overview(self._store, sees)

    async def status(self, sees: Callable[[str], bool] | None, limit: int, zone: Zone | None = None) -> Status:
        """What needs a person."""
        return await status(self._store, sees, limit, zone, await self.deadline_forecasts())

    async def deadline_forecasts(self) -> tuple[DeadlineForecast, ...]:
        """How likely the next deadlines are missed; at most a minute old, or more where there are very many."""
        return await self._opened.forecasts.current()

    async def audit(self) -> Audit:
        """Match every slot with its run or its reason; this reads all of the store."""
        return await audit(self._store)

    async def try_channels(self, settings: Settings, channel: str | None) -> list[ChannelTest]:
        return await try_channels(self._store, settings, channel)
