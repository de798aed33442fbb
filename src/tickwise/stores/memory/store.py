"""The reference store: dictionaries in one process, for tests, trials and `memory://`.

Each move runs to its end under one lock and never waits inside, so it is atomic for every task, event loop and
thread. Nothing outlives the process.
"""

from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from ...core.change import Change
from ...core.definition import JobDefinition, Keep
from ...core.errors import ConflictError, InputError, TickwiseError, no_such
from ...core.handover import HandOver, HandOverChange, changed
from ...core.model import Pause, Schedule, Trigger
from ...core.settle import LeaseExpired, Lost, Settled, TooLate
from ...core.states import MOVES, Event, RunState
from ..contract import Store
from ..records import (
    MICRO,
    Enqueue,
    Enqueued,
    Expired,
    Finish,
    Lease,
    LeaseRequest,
    LogPart,
    Node,
    PauseInterval,
    Planner,
    QueueLimit,
    Renewed,
    StepReport,
    TickRequest,
    TickResult,
)
from ..schema_contract import Schema
from . import define as definitions
from .access import MemoryAccess
from .entries import JobEntry, RunEntry
from .insights import MemoryInsights
from .lease import adopt, hand_out, keep_log, pause_queue, set_limit, unwanted, unwatch
from .moves import MemoryMoves, OperationLock, atomic
from .state import MemoryState
from .tick import run_pass


class MemoryStore(MemoryMoves, Store):
    """Everything in dictionaries. `clock` gives the time in microseconds since the epoch."""

    def __init__(self, clock: Callable[[], int]) -> None:
        super().__init__(OperationLock(MemoryState(clock)))
        self.insights = MemoryInsights(self._lock)
        self.access = MemoryAccess(self._lock)
        self.schema = _NoSchema()

    async def now(self) -> int:
        return self._memory.clock()

    @atomic
    def _define(self, job: JobDefinition, source: str, over: int | None, /) -> tuple[Schedule, ...]:
        return definitions.define(self._memory, job, source, over)

    @atomic
    def _extend(self, extra: JobDefinition, source: str, over: int | None, /) -> tuple[Schedule, ...]:
        return definitions.extend(self._memory, extra, source, over)

    @atomic
    def _reassign(self, job: str, source: str, to: str, /) -> bool:
        return definitions.reassign(self._memory, job, source, to)

    @atomic
    def _remove(self, job: str, source: str, over: int | None, /) -> None:
        definitions.remove(self._memory, job, source, over)

    @atomic
    def _change(self, schedule: str, change: Change, /) -> Schedule:
        return definitions.change(self._memory, schedule, change)

    @atomic
    def _pause(self, pause: Pause | None, /) -> None:
        pauses, second = self._memory.pauses, self._memory.clock() // MICRO
        if pause and not self._memory.paused:
            pauses.append(PauseInterval(second, pause.by, pause.reason, None, pause.until))
        elif pause:
            pauses[-1] = pauses[-1]._replace(resumes_at=pause.until)
        elif self._memory.paused:
            pauses[-1] = pauses[-1]._replace(until=second, resumes_at=None)
            self._memory.news = True

    @atomic
    def end_pause(self) -> bool:
        pauses, second = self._memory.pauses, self._memory.clock() // MICRO
        end = pauses[-1].resumes_at if self._memory.paused else None
        if end is None or end > second:
            return False
        pauses[-1] = pauses[-1]._replace(until=end, resumes_at=None)
        self._memory.news = True
        return True

    @atomic
    def _tick(self, planner: Planner, request: TickRequest, /) -> TickResult:
        node, limit, names, reserve = request
        return run_pass(self._memory, planner, node, limit=limit, names=names, reserve=reserve)

    @atomic
    def _enqueue(self, asked: Sequence[Enqueue], connection: Any, /) -> tuple[Enqueued, ...]:
        if connection is not None:
            raise InputError("the memory store shares no transaction: leave the connection out")
        jobs, now = [self._live_job(one.job) for one in asked], self._memory.clock()
        for job, one in zip(jobs, asked, strict=True):
            job.definition.check_params(one.params or {})
        made: list[Enqueued] = []
        try:
            for job, one in zip(jobs, asked, strict=True):
                made.append(self._add_run(job, one, now))
        except TickwiseError:
            for new in (one for one in made if one.new):
                self._memory.forget(self._memory.runs[new.id])
            raise
        self._memory.news |= any(one.new for one in made)
        return tuple(made)

    def _add_run(self, job: JobEntry, one: Enqueue, now: int) -> Enqueued:
        if known := job.holder(one.key, now):
            return Enqueued(known.id, new=False)
        lane = job.free_lane() if one.trigger.takes_lane and not one.allow_overlap else None
        run = RunEntry(
            0, job.name, job.definition, job.requires, one.trigger, now,
            due_at=max(now, (one.at or 0) * MICRO), lane=lane, key=one.key, params=one.params, by=one.by,
            auto_remove=one.auto_remove, key_ttl=one.key_ttl, own_queue=one.queue, own_priority=one.priority,
            traceparent=one.traceparent,
        )  # fmt: skip
        id_ = self._memory.add(run).id
        return Enqueued(id_, new=True, created_at=now, queue=run.queue, priority=run.priority)

    def _live_job(self, name: str) -> JobEntry:
        job = self._memory.jobs.get(name)
        if job is None or job.deleted_at is not None:
            known = [other.name for other in self._memory.live_jobs()]
            raise no_such("job", name, known, ": define it first")
        return job

    def _known_run(self, number: int) -> RunEntry:
        run = self._memory.runs.get(str(number))
        if run is None:
            raise InputError(f"there is no run {number}: it was never made, or is not kept any longer")
        return run

    @atomic
    def _cancel(self, run: int, /) -> RunState:
        found = self._known_run(run)
        self._memory.cancel(found, self._memory.clock())
        self._memory.news = True
        return found.state

    @atomic
    def _wake(self, run: int, /) -> None:
        found = self._memory.active.get(str(run))
        if found and found.state is RunState.QUEUED and found.waits_for:
            found.due_at = min(found.due_at, self._memory.clock())
            self._memory.news = True

    @atomic
    def _answer_step(self, run: int, answer: StepReport, /) -> bool:
        found = self._memory.active.get(str(run))
        return found is not None and found.steps.setdefault(answer.name, answer) is answer

    @atomic
    def _retry(self, run: int, again: Sequence[str], /) -> None:
        found = self._known_run(run)
        if (found.state, Event.PUT_BACK) not in MOVES:
            raise ConflictError(
                f"run {run} is {found.state}: only a failed, lost or cancelled one can be put back"
            )
        job = self._memory.jobs[found.job]
        if other := job.holder(found.key, self._memory.clock()):
            raise ConflictError(f"run {other.id} has the key {found.key!r} meanwhile")
        lane = None if found.trigger is Trigger.ENQUEUE else job.free_lane()
        self._memory.retry(found, lane, self._memory.clock())
        for name in again:
            found.steps.pop(name, None)

    @atomic
    def _lease(self, wanted: LeaseRequest, /) -> tuple[Lease, ...]:
        return hand_out(self._memory, wanted, self._memory.active.values(), self._memory.clock())

    def _renew(self, node: str, held: Mapping[int, str], seconds: int) -> Renewed:
        now = self._memory.clock()
        found = (self._memory.held(str(run), token) for run, token in held.items())
        runs = [run for run in found if run and run.node == node]  # a former watcher has the token too (S54)
        for run in runs:
            run.lease_until = now + seconds * MICRO
        unknown = (run for run in self._memory.active.values() if run.number not in held and run.node == node)
        return Renewed(
            frozenset(run.id for run in runs),
            frozenset(run.id for run in runs if run.cancelling),
            tuple(run.lease for run in unknown if run.lease_until is not None and run.lease_until > now),
        )

    @atomic
    def _report(self, run: int, token: str, steps: Sequence[StepReport], log: Sequence[LogPart], /) -> bool:
        found = self._memory.held(str(run), token)
        if found is None:
            return False
        found.steps.update((step.name, step) for step in steps)
        for part in log:
            keep_log(found, part)
        return True

    @atomic
    def _hand_over(self, run: int, token: str, change: HandOverChange, /) -> HandOver | None:
        found = self._memory.held(str(run), token)
        if found is None:
            return None
        record = changed(found.hand_over, change, self._memory.clock(), cancelling=found.cancelling)
        found.hand_over = record or found.hand_over
        return record

    @atomic
    def _adopt(self, wanted: LeaseRequest, /) -> tuple[Lease, ...]:
        return adopt(self._memory, wanted, self._memory.clock())

    @atomic
    def _attempt(self, run: int, /) -> Lease | None:
        found = self._memory.active.get(str(run))
        return found.lease if found and found.state is RunState.RUNNING else None

    @atomic
    def _finish(self, ended: Sequence[Finish], /) -> tuple[Settled | None, ...]:
        now = self._memory.clock()
        return tuple(self._end(one, now) for one in ended)

    def _end(self, one: Finish, now: int) -> Settled | None:
        run = self._memory.held(one.run, one.token)
        return None if run is None else self._memory.end(run, one.outcome, now, one.result, one.error)

    @atomic
    def expire(self) -> Expired:
        now, active = self._memory.clock(), list(self._memory.active.values())
        lapsed = [run for run in active if run.given_up_at is not None and run.given_up_at < now]
        waited = [run for run in active if run.state is RunState.QUEUED and run.expired(now)]
        for run in lapsed:
            if run.hand_over:
                self._memory.end(run, Lost(), now, error=run.hand_over.unwatched)
            else:
                self._memory.end(run, LeaseExpired(), now, error="its worker did not renew the lease")
        for run in waited:
            self._memory.end(run, TooLate(), now)
        return Expired(len(lapsed), len(waited))

    @atomic
    def _beat(self, node: Node, held: Mapping[int, str], lease: int, /, *, passed: bool) -> Renewed:
        now, known = self._memory.clock(), self._memory.nodes.get(node.id)
        self._memory.nodes[node.id] = replace(
            node,
            started_at=known.started_at if known else now,
            seen_at=now,
            passed_at=now if passed else known.passed_at if known else None,
        )
        self._wake_held(now)
        ours = (run for run in self._memory.active.values() if run.node == node.id)
        asked_to_end = frozenset(run.id for run in ours if run.cancelling)
        renewed = self._renew(node.id, held, lease)
        return renewed._replace(
            cancel=renewed.cancel | asked_to_end, seen_at=now, seen_before=known.seen_at if known else 0
        )

    def _wake_held(self, now: int) -> None:
        """Look at once at jobs whose slots are held although a live worker may execute them by now (S47)."""
        workers = self._memory.live_workers(now)
        for job in self._memory.live_jobs():
            if not workers.missing(job.definition.queue, job.requires):
                for entry in (entry for entry in job.live_schedules if entry.state.held_for_worker):
                    self._memory.wake(entry, now // MICRO)

    @atomic
    def skip_run_numbers(self) -> int:
        return self._memory.skip_numbers()

    @atomic
    def _leave(self, node: str, /) -> None:
        self._memory.nodes.pop(node, None)
        unwatch(self._memory, node, self._memory.clock())

    @atomic
    def _limit(self, limit: QueueLimit, /) -> None:
        set_limit(self._memory, limit, self._memory.clock())
        self._memory.news = True

    @atomic
    def _pause_queue(self, queue: str, pause: Pause | None, /) -> None:
        pause_queue(self._memory, queue, pause, self._memory.clock() // MICRO)
        self._memory.news = True

    @atomic
    def _prune(self, most: int, keep: Keep, /) -> int:
        now = self._memory.clock()
        finished: dict[str, list[RunEntry]] = defaultdict(list)
        for run in self._memory.runs.values():
            if run.finished_at is not None:
                finished[run.job].append(run)
        jobs = self._memory.jobs
        removed = [
            run for name, runs in finished.items() for run in unwanted(self._memory, jobs[name], runs, keep, now)
        ]
        for run in removed[:most]:
            self._memory.forget(run)
            if run.slot is not None:
                jobs[run.job].history_from = max(run.slot + 1, jobs[run.job].history_from or 0)
        return len(removed[:most])

    async def wait(self, seconds: float) -> bool:
        return await self._lock.wait(seconds)

    @atomic
    def close(self) -> None:
        self._memory.news = True


class _NoSchema(Schema):
    """There is nothing to install and nothing to check."""

    async def upgrade(self) -> tuple[str, ...]:
        return ()

    async def check(self, *, thorough: bool = True) -> tuple[str, ...]:  # noqa: ARG002  (there is no file)
        return ()
