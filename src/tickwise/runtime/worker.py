"""The worker: leases runs while it has room, has them executed, and has their ends stored.

A run is held, and its lease renewed, from the lease until its end is stored. Four things stop a run from outside,
each with its own outcome: a person (cancelled), a shutdown (handed back), a lease that was not renewed in time
(handed back, if it still is ours when the store answers), a lost lease (no outcome: the run belongs to another
worker by now). A cancelled run is held until its code has ended. Code that goes on after one of the others is
abandoned, and goes on taking up room. A run that an engine executes is cancelled there; after each of the others
it goes on, and another worker adopts it.

If the answer to a lease is lost, the store holds a run as ours that we do not know. The next renewal reports it
and the worker adopts it. Its lease may be nearly over by then, so it starts only after one more renewal: otherwise
another worker could start it before we learn that we lost it (S42). A renewal runs beside the worker, so its
answer may also name runs that have ended since, or were stopped because their lease seemed lost. Neither may start
again (S43), so the worker remembers which leases it has started.
"""

import asyncio
from collections.abc import Callable, Iterable, Mapping, Sequence
from enum import Enum
from functools import partial
from itertools import islice
from typing import NamedTuple

from ..clock import monotonic
from ..core.requirements import Offers
from ..core.settle import Cancelled, HandedBack, Outcome, Settled
from ..log import get_logger
from ..stores.contract import Store, StoreUnavailableError
from ..stores.records import Finish, Lease, LeaseRequest, Renewed
from .completions import CompletionWriter
from .executors.failure import failure_text
from .executors.result import AttemptResult, failed
from .run_executor import RunExecutor
from .waits import wait_for_any

_log = get_logger()
_MAX_WAITS = 10  # times that a wait for room is extended while ends are being stored
_START_BATCH = 20  # runs started in one turn of the loop; then others get their turn, such as answers of the store


class StopReason(Enum):
    """Why a run is stopped from outside."""

    CANCELLED = "it was asked to end"
    SHUTDOWN = "its worker shut down"
    LOST = "its lease was lost"
    UNRENEWED = "its lease could not be renewed"


_OUTCOMES: dict[StopReason, Outcome] = {
    StopReason.CANCELLED: Cancelled(),
    StopReason.SHUTDOWN: HandedBack(),
    StopReason.UNRENEWED: HandedBack(),
}


class WorkerOptions(NamedTuple):
    """How many runs a worker takes at once, from which queues, and for how long it leases them."""

    concurrency: int = 10
    queues: tuple[str, ...] = ("default",)
    lease: int = 30  # seconds
    cancel_grace: float = 10.0  # seconds before code that ignores its cancellation is abandoned


class ActiveRun(NamedTuple):
    """A run whose task has started and whose end is not stored yet."""

    lease: Lease
    task: "asyncio.Task[None]"
    queued: bool  # it was leased from a queue, where other runs may wait for it to end


class Worker:
    """Executes runs of some queues, up to a number at once."""

    def __init__(
        self,
        store: Store,
        node: str,
        execution: RunExecutor,
        *,
        options: WorkerOptions,
        poll: float = 1.0,
        on_started: Callable[[Lease], None] | None = None,
        on_ended: Callable[[Lease, Finish, Settled], None] | None = None,
    ) -> None:
        self._store = store
        self.node = node
        self._execution = execution
        self.options = options
        self._poll = poll
        self._on_started = on_started
        self._on_ended = on_ended
        self._completions = CompletionWriter(store, execution, self._on_stored, poll)
        self._pending: dict[str, tuple[Lease, bool]] = {}  # held, to be started in the next turns of the loop
        self._active: dict[str, ActiveRun] = {}
        self._stopping: dict[str, StopReason] = {}
        self._concluding: set[str] = set()  # cancelled runs that have ended and execute their handlers
        self._abandoned: set[asyncio.Task[None]] = set()
        self._adopted: dict[str, Lease] = {}  # to be started after the next renewal
        self._started: set[tuple[str, str]] = set()  # ids and tokens that a late renewal may still report
        self._reserved = 0
        self._room_at = monotonic()  # when there was room last, or some was freed
        self._backlog = False  # the queues may hold more than there was room for
        self._closing = False
        self._grace_over = asyncio.Event()
        self._idle = asyncio.Event()  # nothing is held, and no lease is being asked for
        self._idle.set()
        self._room_freed = asyncio.Event()
        self.wake_event = asyncio.Event()  # there may be runs to lease, and room for them

    @property
    def busy(self) -> int:
        return len(self._active) + len(self._pending)

    @property
    def offers(self) -> Offers:
        """What it may execute (S46)."""
        return self._execution.offers

    @property
    def concurrency(self) -> int:
        return self.options.concurrency

    @property
    def free(self) -> int:
        return 0 if self._closing else max(0, self.concurrency - self._taken - self._reserved)

    @property
    def _taken(self) -> int:
        return self.busy + len(self._abandoned)  # code that ignores its cancellation takes up room, too

    @property
    def full_seconds(self) -> int:
        """For how long there has been no room, and none was freed. The heartbeat's thread calls this too."""
        return int(monotonic() - self._room_at) if self._taken >= self.concurrency else 0

    @property
    def finish_event(self) -> asyncio.Event:
        """Set when runs have ended."""
        return self._completions.wake_event

    def held(self) -> Mapping[str, str]:
        """Run ids to tokens. The heartbeat's thread calls this too."""
        adopted = {id_: lease.token for id_, lease in list(self._adopted.items())}
        pending = {id_: lease.token for id_, (lease, _) in list(self._pending.items())}
        return adopted | pending | {id_: active.lease.token for id_, active in list(self._active.items())}

    def wake(self) -> None:
        """Say that there are runs to lease."""
        self._backlog = True
        self.wake_event.set()

    # Leasing

    def reserve(self, limit: int | None = None) -> LeaseRequest | None:
        """Set room aside for runs that a pass may lease at once: all that is free, up to the limit."""
        capacity = self.free if limit is None else min(self.free, limit)
        options = self.options
        request = LeaseRequest(
            self.node, capacity, queues=options.queues, offers=self._execution.offers, seconds=options.lease
        )
        self._reserved += capacity
        self._update_idle()
        return request if capacity else None

    def take(self, reserved: LeaseRequest | None, leases: Sequence[Lease], *, queued: bool = False) -> None:
        """Release the reserved room, and start the runs that were leased into it."""
        self._reserved -= reserved.capacity if reserved else 0
        self._start(*leases, queued=queued)
        self._update_idle()
        self._wake_if_backlog()

    def _has_room(self, least: int) -> bool:
        """Whether so much is free and no queued run waits for it."""
        return self.free >= least and not self._backlog

    async def wait_for_room(self, least: int, seconds: float) -> bool:
        """Wait for so much room; false if no run ends in that time, or too few do in ten times as much."""
        if self.concurrency < least:
            return False
        clock = asyncio.get_running_loop().time
        until = clock() + _MAX_WAITS * seconds
        while not self._has_room(least):
            self._room_freed.clear()
            try:
                async with asyncio.timeout(seconds):  # wait_for loses a cancellation that comes with the event
                    await self._room_freed.wait()
            except TimeoutError:
                if not self._completions.busy:
                    return False
            if clock() > until:
                return False
        return True

    async def turn(self) -> float:
        """Fill the free room from the queues; with handed-over runs that nobody watches first (S54)."""
        request = self.reserve()
        if self._taken < self.concurrency:
            self._room_at = monotonic()
        if request is None:
            self._backlog = True
            return self._poll
        leases: Sequence[Lease] = ()
        try:
            leases = await self._store.adopt(request) if self._execution.hands_over else ()
            if room := request.capacity - len(leases):
                leases = (*leases, *await self._store.lease(request._replace(capacity=room)))
            self._backlog = len(leases) == request.capacity
        finally:
            self.take(request, leases, queued=True)
            self._room_freed.set()
        return self._poll

    def _wake_if_backlog(self) -> None:
        if self._backlog and self.free:
            self.wake_event.set()

    # Starting

    def _start(self, *leases: Lease, queued: bool = False) -> None:
        is_starting = bool(self._pending)
        for lease in leases:
            if lease.id not in self._active:
                self._pending.setdefault(lease.id, (lease, queued))
                self._started.add((lease.id, lease.token))
        if not is_starting:
            self._start_batch()

    def _start_batch(self) -> None:
        """Start one batch now, and the next ones in the following turns of the loop."""
        self._start_pending(_START_BATCH)
        if self._pending:
            asyncio.get_running_loop().call_soon(self._start_batch)

    def _start_pending(self, limit: int | None = None) -> None:
        """Start pending runs: all of them, or up to the limit."""
        create_task = asyncio.get_running_loop().create_task
        for run in list(islice(self._pending, limit)):
            lease, queued = self._pending[run]
            self._active[run] = ActiveRun(lease, create_task(self._run(lease)), queued)
            del self._pending[run]  # only now: the heartbeat must find it in one of the two
            if self._on_started:
                self._on_started(lease)
            if self._grace_over.is_set():
                self.stop(run, StopReason.SHUTDOWN)

    async def _run(self, lease: Lease) -> None:
        """Execute a run and pass its end on. The end of a run that was stopped is stored by `_finish_stopped`."""
        try:
            ended = await self._execution.run(lease)
        except asyncio.CancelledError:
            reason = self._stopping.get(lease.id)
            if reason is StopReason.CANCELLED:
                self._concluding.add(lease.id)
                try:
                    await self._execution.conclude_cancelled(lease, reason.value)
                except Exception as error:  # noqa: BLE001  (else the run would never end)
                    _log.warning("handlers not executed", run=lease.id, error=failure_text(error))
            if reason:
                raise
            ended = failed("the function cancelled its own task")
        except StoreUnavailableError as unavailable:  # it could not read what earlier attempts did: nothing began
            ended = AttemptResult(HandedBack(), error=failure_text(unavailable))
        except Exception as bug:  # noqa: BLE001  (a bug of ours costs one attempt, not the worker)
            ended = failed(failure_text(bug))
        active = self._active.get(lease.id)
        if active and active.lease is lease and active.task not in self._abandoned:
            self._completions.add(Finish(lease.id, lease.token, ended.outcome, ended.result, ended.error))

    # Stopping

    def stop(self, run: str, reason: StopReason) -> None:
        """Stop a run from outside. The first reason counts."""
        if run in self._pending:
            self._start_pending()
        active = self._active.get(run)
        if active is None or active.task.done():
            return
        if reason is StopReason.CANCELLED and self._execution.hands_over:
            self._execution.end(run)  # its end comes as that of any other
            return
        if run not in self._stopping:
            self._stopping[run] = reason
            active.task.add_done_callback(partial(self._on_task_done, active))
            active.task.cancel()
        if reason is not StopReason.CANCELLED:
            asyncio.get_running_loop().call_later(self.options.cancel_grace, self._abandon, active)

    def _on_task_done(self, active: ActiveRun, task: "asyncio.Task[None]") -> None:
        """The task of a stopped run is over. If it was not by the cancellation, `_run` has passed its end on."""
        if task.cancelled() and task not in self._abandoned:
            self._finish_stopped(active.lease)
        self._abandoned.discard(task)

    def _abandon(self, active: ActiveRun) -> None:
        """Go on without code that ignores its cancellation."""
        run = active.lease.id
        if self._active.get(run) is active and not active.task.done() and run not in self._concluding:
            _log.warning("cancelled in vain", run=run, job=active.lease.job.name)
            self._abandoned.add(active.task)
            self._finish_stopped(active.lease)

    def _finish_stopped(self, lease: Lease) -> None:
        reason = self._stopping[lease.id]
        if reason is StopReason.LOST or self._execution.hands_over:  # another worker goes on with it
            self._release({lease.id: False})
        else:
            self._completions.add(Finish(lease.id, lease.token, _OUTCOMES[reason], error=reason.value))

    # Storing

    async def finish_turn(self) -> float:
        """Store the ends of runs."""
        return await self._completions.turn()

    async def flush_turn(self) -> float:
        return await self._execution.flush_turn()

    def _on_stored(self, ended: Sequence[Finish], settled: Sequence[Settled | None]) -> None:
        """The store has settled these runs, or refused an end (none) because its token is old."""
        for finish, move in zip(ended, settled, strict=True):
            if move is None:
                _log.warning("late result refused", run=finish.run)
            elif self._on_ended:
                self._on_ended(self._active[finish.run].lease, finish, move)
        self._release({finish.run: move is not None for finish, move in zip(ended, settled, strict=True)})

    def _release(self, runs: Mapping[str, bool]) -> None:
        """Forget runs that are over here, each with whether its end was stored; their room is free."""
        for run, stored in runs.items():
            self._backlog |= self._active.pop(run).queued  # a limit of its queue may have kept others waiting
            self._stopping.pop(run, None)
            self._concluding.discard(run)
            self._execution.forget(run, stored=stored)
        self._room_at = monotonic()
        self._update_idle()
        self._room_freed.set()
        self._wake_if_backlog()

    def _update_idle(self) -> None:
        if self.busy or self._reserved:
            self._idle.clear()
        else:
            self._idle.set()

    # Renewal

    def on_renewed(self, asked: Mapping[str, str], renewed: Renewed) -> bool:
        """Stop runs that were cancelled or lost, and adopt unknown ones; true if those need a renewal now."""
        self._start_pending()
        for run in sorted(renewed.cancel):
            self.stop(run, StopReason.CANCELLED)
        for run, token in asked.items():
            adopted = self._adopted.pop(run, None)
            if adopted and run in renewed.held and not self._closing:
                self._start(adopted)
            active = self._active.get(run)
            if run not in renewed.held and active and active.lease.token == token:
                self.stop(run, StopReason.LOST)
        self._adopt(asked, renewed.unknown)
        return bool(self._adopted)

    def _adopt(self, asked: Mapping[str, str], leases: Iterable[Lease]) -> None:
        unknown = {(lease.id, lease.token): lease for lease in leases}
        if not self._reserved and not self._closing:  # otherwise the answer with this lease may still come
            new = sorted(unknown.keys() - self._started)
            self._adopted |= {key[0]: unknown[key] for key in new if key[0] not in self._active}
        self._started &= unknown.keys() | asked.items() | self.held().items()

    def on_leases_lost(self) -> None:
        """Stop everything: the leases could not be renewed. Whatever is still ours then is handed back."""
        self._stop_all(StopReason.UNRENEWED)

    def _stop_all(self, reason: StopReason) -> None:
        self._start_pending()
        for run in list(self._active):
            self.stop(run, reason)

    # Shutdown

    def end_grace(self) -> None:
        """Give running work no more time to end by itself."""
        self._grace_over.set()

    async def close(self, grace: float) -> None:
        """Lease nothing more, let runs end within the grace, and hand the rest back (S45)."""
        self._closing = True
        if self.busy and grace:
            _log.info("waiting for runs to end", runs=self.busy, up_to=f"{grace:g} s", to_stop_now="Ctrl-C again")
        await wait_for_any(grace, self._idle.wait(), self._grace_over.wait())
        self._grace_over.set()
        self._stop_all(StopReason.SHUTDOWN)
        await wait_for_any(self.options.cancel_grace + self.options.lease, self._idle.wait())  # then leases expire
        await self._execution.close()
