"""The reference store: dictionaries in one process, for tests, trials and `memory://`.

Each operation runs to its end under one lock and never waits inside, so it is atomic for every task, event loop
and thread. Nothing outlives the process.
"""

from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from ...core.change import Change
from ...core.definition import JobDefinition
from ...core.errors import ConflictError, InputError, TickwiseError, nearest
from ...core.model import Pause, Schedule, Trigger
from ...core.payload import check_text
from ...core.settle import LeaseExpired, Settled, TooLate
from ...core.states import MOVES, Event, RunState
from ..contract import Schema, Store
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
    TickResult,
)
from ..validation import (
    LONGEST_KEY,
    check_limit,
    check_node,
    check_outcomes,
    check_pause,
    checked_enqueue,
    checked_part,
    checked_step,
    kept_result,
)
from . import define as definitions
from .access import MemoryAccess
from .atomic import LockedStore, OperationLock, atomic
from .insights import MemoryInsights
from .lease import hand_out, keep_log, set_limit, unwanted
from .state import JobEntry, MemoryState, RunEntry
from .tick import run_pass


class MemoryStore(LockedStore, Store):
    """Everything in dictionaries. `clock` tells the time in microseconds since the epoch."""

    def __init__(self, clock: Callable[[], int]) -> None:
        super().__init__(OperationLock(MemoryState(clock)))
        self.insights = MemoryInsights(self._gate)
        self.access = MemoryAccess(self._gate)
        self.schema = _NoSchema()

    async def now(self) -> int:
        return self._memory.clock()

    @atomic
    def define(self, job: JobDefinition, source: str, *, over: int | None = None) -> tuple[Schedule, ...]:
        return definitions.define(self._memory, job, source, over)

    @atomic
    def remove(self, job: str, source: str) -> None:
        definitions.remove(self._memory, job, source)

    @atomic
    def change(self, schedule: str, change: Change) -> Schedule:
        return definitions.change(self._memory, schedule, change)

    @atomic
    def pause(self, pause: Pause | None) -> None:
        pauses, second = self._memory.pauses, self._memory.clock() // MICRO
        if pause and not self._memory.paused:
            check_pause(pause)
            pauses.append(PauseInterval(second, pause.by, pause.reason, None))
        elif pause is None and self._memory.paused:
            pauses[-1] = pauses[-1]._replace(until=second)
            self._memory.news = True

    @atomic
    def tick(
        self,
        planner: Planner,
        node: str,
        *,
        limit: int = 200,
        jobs: Sequence[str] | None = None,
        reserve: LeaseRequest | None = None,
    ) -> TickResult:
        check_text(node, "the name of a node", LONGEST_KEY)
        return run_pass(self._memory, planner, node, limit=limit, names=jobs, reserve=reserve)

    @atomic
    def enqueue(self, asked: Sequence[Enqueue], connection: Any = None) -> tuple[Enqueued, ...]:
        if connection is not None:
            raise InputError("the memory store shares no transaction: leave the connection out")
        checked = [(self._job(one.job), checked_enqueue(one)) for one in asked]
        now = self._memory.clock()
        made: list[Enqueued] = []
        try:
            for job, one in checked:
                made.append(self._enqueue(job, one, now))
        except TickwiseError:
            for new in (one for one in made if one.new):
                self._memory.forget(self._memory.runs[new.id])
            raise
        self._memory.news |= any(one.new for one in made)
        return tuple(made)

    def _enqueue(self, job: JobEntry, one: Enqueue, now: int) -> Enqueued:
        if known := job.holder(one.key):
            return Enqueued(known.id, new=False)
        lane = job.free_lane() if one.trigger is Trigger.MANUAL and not one.allow_overlap else None
        run = RunEntry(
            0, job.name, job.definition, one.trigger, now, due_at=max(now, (one.at or 0) * MICRO), lane=lane,
            key=one.key, params=one.params, by=one.by, auto_remove=one.auto_remove,
        )  # fmt: skip
        return Enqueued(self._memory.add(run).id, new=True)

    def _job(self, name: str) -> JobEntry:
        job = self._memory.jobs.get(name)
        if job is None or job.deleted_at is not None:
            hint = nearest(name, [known.name for known in self._memory.live_jobs()])
            raise InputError(f"there is no job {name[:60]!r}{hint}: define it first")
        return job

    def _run(self, run: str) -> RunEntry:
        found = self._memory.runs.get(run)
        if found is None:
            raise InputError(f"there is no run {run[:60]!r}: it was never made, or is not kept any longer")
        return found

    @atomic
    def cancel(self, run: str) -> RunState:
        found = self._run(run)
        self._memory.cancel(found, self._memory.clock())
        self._memory.news = True
        return found.state

    @atomic
    def retry(self, run: str) -> None:
        found = self._run(run)
        if (found.state, Event.PUT_BACK) not in MOVES:
            raise ConflictError(
                f"run {run} is {found.state}: only a failed, lost or cancelled one can be put back"
            )
        job = self._memory.jobs[found.job]
        if other := job.holder(found.key):
            raise ConflictError(f"run {other.id} has the key {found.key!r} meanwhile")
        lane = None if found.trigger is Trigger.ENQUEUE else job.free_lane()
        self._memory.retry(found, lane, self._memory.clock())

    @atomic
    def lease(self, wanted: LeaseRequest) -> tuple[Lease, ...]:
        check_text(wanted.node, "the name of a node", LONGEST_KEY)
        return hand_out(self._memory, wanted, self._memory.active.values(), self._memory.clock())

    @atomic
    def renew(self, node: str, held: Mapping[str, str], seconds: int) -> Renewed:
        now = self._memory.clock()
        runs = [found for run, token in held.items() if (found := self._memory.held(run, token))]
        for run in runs:
            run.lease_until = now + seconds * MICRO
        unknown = (run for run in self._memory.active.values() if run.id not in held and run.node == node)
        return Renewed(
            frozenset(run.id for run in runs),
            frozenset(run.id for run in runs if run.cancelling),
            tuple(run.lease for run in unknown if run.lease_until is not None and run.lease_until > now),
        )

    @atomic
    def report(self, run: str, token: str, steps: Sequence[StepReport] = (), log: Sequence[LogPart] = ()) -> bool:
        reports = [checked_step(step) for step in steps]
        parts = [checked_part(part) for part in log]
        found = self._memory.held(run, token)
        if found is None:
            return False
        found.steps.update((step.name, step) for step in reports)
        for part in parts:
            keep_log(found, part)
        return True

    @atomic
    def finish(self, ended: Sequence[Finish]) -> tuple[Settled | None, ...]:
        check_outcomes(ended)
        now = self._memory.clock()
        return tuple(self._finish(one, now) for one in ended)

    def _finish(self, one: Finish, now: int) -> Settled | None:
        run = self._memory.held(one.run, one.token)
        if run is None:
            return None
        return self._memory.end(run, one.outcome, now, *kept_result(one.result, one.error))

    @atomic
    def expire(self) -> Expired:
        now, active = self._memory.clock(), list(self._memory.active.values())
        lapsed = [run for run in active if run.lease_until is not None and run.lease_until < now]
        waited = [run for run in active if run.state is RunState.QUEUED and run.expired(now)]
        for run in lapsed:
            self._memory.end(run, LeaseExpired(), now, error="its worker did not renew the lease")
        for run in waited:
            self._memory.end(run, TooLate(), now)
        return Expired(len(lapsed), len(waited))

    @atomic
    def beat(self, node: Node, *, passed: bool = False) -> frozenset[str]:
        check_node(node)
        now, known = self._memory.clock(), self._memory.nodes.get(node.id)
        self._memory.nodes[node.id] = replace(
            node,
            started_at=known.started_at if known else now,
            seen_at=now,
            passed_at=now if passed else known.passed_at if known else None,
        )
        held = (run for run in self._memory.active.values() if run.node == node.id)
        return frozenset(run.id for run in held if run.cancelling)

    @atomic
    def leave(self, node: str) -> None:
        self._memory.nodes.pop(node, None)

    @atomic
    def limit(self, limit: QueueLimit) -> None:
        check_limit(limit)
        set_limit(self._memory, limit, self._memory.clock())
        self._memory.news = True

    @atomic
    def prune(self, most: int = 1_000) -> int:
        now = self._memory.clock()
        finished: dict[str, list[RunEntry]] = defaultdict(list)
        for run in self._memory.runs.values():
            if run.finished_at is not None:
                finished[run.job].append(run)
        jobs = self._memory.jobs
        removed = [run for name, runs in finished.items() for run in unwanted(self._memory, jobs[name], runs, now)]
        for run in removed[:most]:
            self._memory.forget(run)
            if run.slot is not None:
                jobs[run.job].history_from = max(run.slot + 1, jobs[run.job].history_from or 0)
        return len(removed[:most])

    async def wait(self, seconds: float) -> bool:
        return await self._gate.wait(seconds)

    @atomic
    def close(self) -> None:
        self._memory.news = True


class _NoSchema(Schema):
    """There is nothing to install, and nothing that could be wrong."""

    async def upgrade(self) -> tuple[str, ...]:
        return ()

    async def check(self, *, thorough: bool = True) -> tuple[str, ...]:  # noqa: ARG002  (there is no file)
        return ()
