"""What a store promises. Each operation is one atomic move: it happens as a whole or not at all.

The flow of one slot, as moves of a `Store`:

    define   a job and its schedules, or change them       (a source; a person)
    tick     due jobs -> plan -> runs, cursors, decisions  (a ticker)
    lease    queued run -> running, held by a token        (a worker)
    beat     the node lives, and its leases go on          (the node, from a thread of its own)
    hand_over  what is known of a running attempt that an engine executes   (its watcher, the work itself)
    adopt    handed-over run -> another watcher, same attempt, same token   (a watcher)
    attempt  what to do in a running attempt               (its work on an engine, which holds no lease itself)
    answer_step   what a person says to a step that waits   (anybody; the first one counts)
    finish   running -> what `settle` says; wakes the slots that waited for it
    expire   leases that ran out, runs that waited too long (any node)

The planner is passed into `tick`, because each store runs it in its own place: inside a transaction that holds the
jobs' rows, in the one thread that writes, or between a read and a compare-and-set. In every store these hold:

- at most one run per (schedule, slot) and per (job, lane), by unique keys of the store;
- a cursor moves only together with the runs and decisions that it stands for;
- two nodes never plan one job at once, and a job that one of them could not decide stays due;
- a finish, a report or a beat with an old token changes nothing (S42);
- time is the store's (S5). No operation takes an instant that its caller read from a clock.

A public method checks its arguments and then calls a move, which has its name with an underscore. A store
implements the moves, and the methods that have no arguments to check. A move receives what was checked: names and
texts that can be stored, ids of runs as numbers, payloads as they will be read back. It does what the docstring of
its public method says.

Reads for people are in `Insights`, what an API server needs is in `Access`. `ConflictError` and `InputError`
refuse a move and change nothing; so does `StatementError`, for a value that the store itself cannot keep. Other
errors say nothing about what was asked. `StoreUnavailableError` means that the store did not answer, or that it
refuses all writes for now (read only, no room, a lock that is not to be had): the move may or may not have been
made.
"""

from abc import ABC, abstractmethod
from collections.abc import Collection, Mapping, Sequence
from typing import Any

from ..core.change import Change
from ..core.definition import JobDefinition, Keep
from ..core.errors import TickwiseError
from ..core.handover import HandOver, HandOverChange
from ..core.model import Pause, Schedule
from ..core.settle import Settled
from ..core.states import RunState
from . import validation
from .access_contract import Access
from .blackouts import enforce_blackouts
from .event_listeners import note_listeners
from .insights_contract import Insights
from .needed_jobs import check_needed_jobs
from .records import (
    Enqueue,
    Enqueued,
    Expired,
    Finish,
    Lease,
    LeaseRequest,
    LogPart,
    Node,
    Planner,
    QueueLimit,
    Renewed,
    StepReport,
    TickRequest,
    TickResult,
)
from .schema_contract import Schema

KEEP_ALL = Keep()


class StoreUnavailableError(TickwiseError):
    """The store did not answer; trying again later is right, and safe."""

    http_status = 503


class StatementError(TickwiseError):
    """The store refused a value for what it is; trying again later is of no use."""


class Store(ABC):
    """The moves. Everything else is built from them."""

    insights: Insights
    access: Access
    schema: Schema

    @abstractmethod
    async def now(self) -> int:
        """The store's time, in microseconds since the epoch."""

    async def define(self, job: JobDefinition, source: str, *, over: int | None = None) -> tuple[Schedule, ...]:
        """Write a job as its source has it now: its schedules are added or updated, those it lacks deleted.

        Refused if another source owns the job; schedules that others have added to it stay (S50). With `over`,
        refused unless that is the job's version; 0 stands for a job that is not there. The same definition again
        changes nothing (S28). Returns the schedules that changed. What the job depends on (`after`) must exist and
        must not lead back to it (S35). Blackouts that are for the job are in force when this returns (S62).
        """
        checked = validation.checked_job(job, source)
        await check_needed_jobs(self, checked)
        await note_listeners(self, checked)
        changed = await self._define(checked, source, over)
        await enforce_blackouts(self, job.name)
        return changed

    async def extend(self, extra: JobDefinition, source: str, *, over: int | None = None) -> tuple[Schedule, ...]:
        """Write the schedules that a source has added to a job of another source (S50).

        `extra` has the job's name and these schedules; nothing else of it counts. Those of the source that it
        lacks are deleted. Refused if the job is not there, or is the source's own. Else as `define`.
        """
        checked = validation.checked_job(extra, source)
        await check_needed_jobs(self, checked)
        await note_listeners(self, checked)
        changed = await self._extend(checked, source, over)
        await enforce_blackouts(self, extra.name)
        return changed

    async def reassign(self, job: str, source: str, to: str) -> bool:
        """Give another source what a source has written of a job: the job, its schedules, or both (S50).

        Nothing else changes. False if it has written nothing of it.
        """
        validation.check_source(to)
        return validation.can_exist(job) and await self._reassign(job, source, to)

    async def remove(self, job: str, source: str, *, over: int | None = None) -> None:
        """Delete a job and its schedules: queued runs are cancelled, running ones go on (S23).

        Schedules that others have added go with it, and come back if the job does within two minutes (S50).
        Refused if another source owns the job. With `over`, refused unless that is the job's version.
        """
        if validation.can_exist(job):
            await self._remove(job, source, over)

    async def change(self, schedule: str, change: Change) -> Schedule:
        """Pause, resume, move, reset or backfill one schedule, as a person asked (S29-S32)."""
        validation.check_asked_name(schedule)
        validation.check_change(change)
        return await self._change(schedule, change)

    async def pause(self, pause: Pause | None) -> None:
        """Pause everything, or resume: no job is claimed meanwhile, and the interval is kept (S29).

        A second pause changes when the first ends (S66).
        """
        if pause is not None:
            validation.check_pause(pause)
        await self._pause(pause)

    @abstractmethod
    async def end_pause(self) -> bool:
        """End a pause of everything whose time has come, as of that time (S66); whether there was one."""

    async def tick(
        self,
        planner: Planner,
        node: str,
        *,
        limit: int = 200,
        jobs: Sequence[str] | None = None,
        reserve: LeaseRequest | None = None,
    ) -> TickResult:
        """Claim due jobs that no other node holds, plan them, and commit the plan.

        With `jobs`, only these are planned (local ticking). With `reserve`, runs that the node could lease next
        anyway are created as leased to it. A job whose runs were not all created stays due.
        """
        validation.check_node_id(node)
        if reserve is not None:
            validation.check_lease_request(reserve)
        names = None if jobs is None else tuple(name for name in jobs if validation.can_exist(name))
        return await self._tick(planner, TickRequest(node, limit, jobs=names, reserve=reserve))

    async def enqueue(self, asked: Sequence[Enqueue], connection: Any = None) -> tuple[Enqueued, ...]:
        """Queue runs, all or none; a taken key gives the run that has it (S48). By hand takes a lane (S30).

        With a connection of the caller's own, the runs exist exactly if the caller commits.
        """
        return await self._enqueue(validation.checked_enqueues(asked), connection)

    async def cancel(self, run: str) -> RunState:
        """A queued run ends at once; a running one is asked to, and its worker hears of it."""
        return await self._cancel(validation.run_number(run))

    async def wake(self, run: str) -> None:
        """Let a run go on whose steps wait (S74): what they wait for may have happened. Nothing for others."""
        await self._wake(validation.run_number(run))

    async def answer_step(self, run: str, answer: StepReport) -> bool:
        """Keep what a step of a run waits for people to say (S75), beside its steps: the first of its name stays.

        False, and nothing kept, if there is one of its name, or if the run is over. It takes no token, because
        nobody holds a run that waits. Retention forgets it with the run.
        """
        return await self._answer_step(validation.run_number(run), validation.checked_step(answer))

    async def retry(self, run: str, again: Collection[str] = ()) -> None:
        """Queue a failed, lost or cancelled run again: another attempt, on a lane if it had one (S41).

        Steps that succeeded are not repeated, but for those named `again`: what was reported of them is forgotten.
        """
        await self._retry(validation.run_number(run), sorted(filter(validation.can_exist, again)))

    async def lease(self, wanted: LeaseRequest) -> tuple[Lease, ...]:
        """Lease queued runs to a worker: by priority, then age, within the fleet's limits on their queues."""
        validation.check_lease_request(wanted)
        return await self._lease(wanted)

    async def report(
        self, run: str, token: str, steps: Sequence[StepReport] = (), log: Sequence[LogPart] = ()
    ) -> bool:
        """Keep step states and log text of a running attempt; false, and nothing kept, if its token is old."""
        validation.check_token_of_lease(token)
        reports = [validation.checked_step(step) for step in steps]
        parts = [validation.checked_part(part) for part in log]
        return await self._report(validation.run_number(run), token, reports, parts)

    async def hand_over(self, run: str, token: str, change: HandOverChange) -> HandOver | None:
        """Change what is stored of an attempt's hand-over to an engine; the record as it is then (S52, S53).

        None, and nothing changed, if the token is old or `core.handover.changed` refuses the change: so of many
        that ask the gate, one is let in.
        """
        validation.check_token_of_lease(token)
        return await self._hand_over(validation.run_number(run), token, change)

    async def adopt(self, wanted: LeaseRequest) -> tuple[Lease, ...]:
        """Lease to a watcher handed-over runs whose watcher's lease has run out (S54).

        Attempt and token stay the same, and the lease has the hand-over. The oldest lease goes first; queues and
        offers count as in `lease`, limits do not: the work has started.
        """
        validation.check_lease_request(wanted)
        return await self._adopt(wanted) if wanted.capacity else ()

    async def attempt(self, run: str) -> Lease | None:
        """The running attempt of a run, as its lease says it; none if the run is not running.

        For the work of a handed-over attempt: its watcher has the lease, and the work must learn what to do (S53).
        """
        return await self._attempt(validation.run_number(run))

    async def finish(self, ended: Sequence[Finish]) -> tuple[Settled | None, ...]:
        """End attempts. None stands for one whose token is old: its result is refused (S42).

        A run that is over frees its lane and wakes the slots that wait for it (S15) or for its success (S35).
        """
        return await self._finish(validation.checked_finishes(ended)) if ended else ()

    @abstractmethod
    async def expire(self) -> Expired:
        """Take back what vanished workers hold (S42, S44), and end what waited too long (S47).

        A handed-over run is left to other watchers for its patience; then it is lost (S54).
        """

    async def beat(
        self, node: Node, held: Mapping[str, str] | None = None, lease: int = 30, *, passed: bool = False
    ) -> Renewed:
        """Record that a node is alive and what it serves, and extend its leases of these runs (id to token).

        Says which of them still are the node's, and which were asked to end. `passed`: its ticker has just
        completed a pass.
        """
        validation.check_node(node)
        return await self._beat(node, validation.checked_tokens(held or {}), lease, passed=passed)

    async def leave(self, node: str) -> None:
        """Forget a node that ends. Handed-over runs that it still watches may be adopted at once (S54)."""
        if validation.can_exist(node):
            await self._leave(node)

    async def limit(self, limit: QueueLimit) -> None:
        """Set the fleet's limits on a queue; both none lifts them."""
        validation.check_limit(limit)
        await self._limit(limit)

    async def pause_queue(self, queue: str, pause: Pause | None) -> None:
        """Lease nothing of a queue until it is resumed, which none does, or until the pause ends (S66).

        What runs goes on. The limits on the queue stay.
        """
        validation.check_asked_queue(queue)
        if pause is not None:
            validation.check_pause(pause)
        await self._pause_queue(queue, pause)

    @abstractmethod
    async def skip_run_numbers(self) -> int:
        """Number new runs from the store's time on, in milliseconds, and say from where (S78).

        Runs that a restored store has forgotten may have had the next numbers, and others know runs by these.
        """

    async def prune(self, most: int = 1_000, keep: Keep = KEEP_ALL) -> int:
        """Remove at most so many runs that are not kept any longer (S51); how many were removed.

        `keep` holds for jobs whose definition does not say how long their runs are kept.
        """
        return await self._prune(most, keep) if most > 0 else 0

    @abstractmethod
    async def wait(self, seconds: float) -> bool:
        """Wait for a notification: a run to lease, a job to look at sooner. False if none came in that time.

        Notifications may be lost and may be false: look at the store after each.
        """

    @abstractmethod
    async def close(self) -> None:
        """Give back connections and threads; waiting calls return."""

    # The moves, with checked arguments.

    @abstractmethod
    async def _define(self, job: JobDefinition, source: str, over: int | None, /) -> tuple[Schedule, ...]: ...

    @abstractmethod
    async def _extend(self, extra: JobDefinition, source: str, over: int | None, /) -> tuple[Schedule, ...]: ...

    @abstractmethod
    async def _reassign(self, job: str, source: str, to: str, /) -> bool: ...

    @abstractmethod
    async def _remove(self, job: str, source: str, over: int | None, /) -> None: ...

    @abstractmethod
    async def _change(self, schedule: str, change: Change, /) -> Schedule: ...

    @abstractmethod
    async def _pause(self, pause: Pause | None, /) -> None: ...

    @abstractmethod
    async def _tick(self, planner: Planner, request: TickRequest, /) -> TickResult: ...

    @abstractmethod
    async def _enqueue(self, asked: Sequence[Enqueue], connection: Any, /) -> tuple[Enqueued, ...]: ...

    @abstractmethod
    async def _cancel(self, run: int, /) -> RunState: ...

    @abstractmethod
    async def _wake(self, run: int, /) -> None: ...

    @abstractmethod
    async def _answer_step(self, run: int, answer: StepReport, /) -> bool: ...

    @abstractmethod
    async def _retry(self, run: int, again: Sequence[str], /) -> None: ...

    @abstractmethod
    async def _lease(self, wanted: LeaseRequest, /) -> tuple[Lease, ...]: ...

    @abstractmethod
    async def _report(
        self, run: int, token: str, steps: Sequence[StepReport], log: Sequence[LogPart], /
    ) -> bool: ...

    @abstractmethod
    async def _hand_over(self, run: int, token: str, change: HandOverChange, /) -> HandOver | None: ...

    @abstractmethod
    async def _adopt(self, wanted: LeaseRequest, /) -> tuple[Lease, ...]: ...

    @abstractmethod
    async def _attempt(self, run: int, /) -> Lease | None: ...

    @abstractmethod
    async def _finish(self, ended: Sequence[Finish], /) -> tuple[Settled | None, ...]: ...

    @abstractmethod
    async def _beat(self, node: Node, held: Mapping[int, str], lease: int, /, *, passed: bool) -> Renewed: ...

    @abstractmethod
    async def _leave(self, node: str, /) -> None: ...

    @abstractmethod
    async def _limit(self, limit: QueueLimit, /) -> None: ...

    @abstractmethod
    async def _pause_queue(self, queue: str, pause: Pause | None, /) -> None: ...

    @abstractmethod
    async def _prune(self, most: int, keep: Keep, /) -> int: ...
