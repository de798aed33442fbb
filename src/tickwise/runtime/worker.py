"""The worker: takes runs as it has room, has them executed, and tells the store how they ended.

A run is `held` from its lease until its end is stored, and renewed all that time. Three things end it from
outside, each with its own outcome: a person (cancelled), a shutdown (handed back), a lost lease (nothing: it is
somebody else's by now). Code that does not let itself be cancelled is left behind, and takes up room.

What the store holds as ours and we do not know is a commit whose answer was lost: we adopt it. Its lease may be
nearly over by then, so it begins when the keeper has renewed that: else another worker could begin it before we
know that we have lost it (S42). But the keeper asks the store while we go on, so its answer may name runs that
have ended since; and it names those that we stopped when their lease seemed lost. Neither may begin again (S43),
so what has begun here is remembered.
"""

import asyncio
from collections.abc import Callable, Iterable, Mapping, Sequence
from enum import Enum
from functools import partial
from itertools import islice
from typing import NamedTuple

from ..core.settle import Cancelled, HandedBack, Outcome, Settled
from ..log import get_logger
from ..stores.contract import Store, StoreUnavailableError
from ..stores.records import Finish, Lease, LeaseRequest, Renewed
from .completions import CompletionWriter
from .execution import Execution
from .executors.failure import failure_text
from .executors.result import AttemptResult, failed

_log = get_logger()
_TIMES = 10  # the patience that somebody has in all, as long as something goes on
_SLICE = 20  # runs that begin at once: then the loop looks at what else there is, such as the store's answers


class StopReason(Enum):
    """Why a run is ended from outside."""

    CANCELLED = "it was asked to end"
    SHUTDOWN = "its worker shut down"
    LOST = "its lease was lost"


class WorkerOptions(NamedTuple):
    """How much a worker takes on, from where, and for how long it asks to have it."""

    concurrency: int = 10
    queues: tuple[str, ...] = ("default",)
    lease: int = 30  # seconds
    stubborn: float = 10.0  # seconds that code may go on after it was cancelled; what it started may take as long


class ActiveRun(NamedTuple):
    """A run in hand."""

    lease: Lease
    task: "asyncio.Task[None]"
    queued: bool  # it had waited in a queue, where others may wait for it to end


class Worker:
    """Runs of some queues, so many at once."""

    def __init__(
        self,
        store: Store,
        node: str,
        execution: Execution,
        *,
        room: WorkerOptions,
        poll: float = 1.0,
        on_started: Callable[[Lease], None] | None = None,
        on_ended: Callable[[Lease, Finish, Settled], None] | None = None,
    ) -> None:
        self._store = store
        self.node = node
        self._execution = execution
        self.room = room
        self._poll = poll
        self._on_started = on_started
        self._on_ended = on_ended
        self._held: dict[str, ActiveRun] = {}
        self._next: dict[str, tuple[Lease, bool]] = {}  # in hand as well, to begin in the next turns of the loop
        self._why: dict[str, StopReason] = {}  # runs that are ended from outside
        self._noticed: set[str] = set()  # of those, the ones that have ended, and do what is to be done after that
        self._left_behind: set[asyncio.Task[None]] = set()
        self._adopting: dict[str, Lease] = {}  # ours by a lost answer, to begin with the next renewal
        self._begun: set[tuple[str, str]] = set()  # runs and tokens that a renewal may hear of late
        self._reserved = 0
        self._backlog = False  # the queues may hold more than there was room for
        self._closing = False
        self._is_over = asyncio.Event()  # the grace of a shutdown has passed
        self._idle = asyncio.Event()  # nothing is held, and nothing is on its way
        self._idle.set()
        self._freed = asyncio.Event()
        self._finisher = CompletionWriter(store, execution, self._stored, poll)
        self.bell = asyncio.Event()  # there may be runs to lease, and room for them

    @property
    def busy(self) -> int:
        return len(self._held) + len(self._next)

    @property
    def most(self) -> int:
        return self.room.concurrency

    @property
    def free(self) -> int:
        if self._closing:
            return 0
        taken = self.busy + self._reserved + len(self._left_behind) + self._execution.stuck
        return max(0, self.room.concurrency - taken)

    def held(self) -> Mapping[str, str]:
        """Run ids to tokens; called from the keeper's thread too."""
        adopting = {id_: lease.token for id_, lease in list(self._adopting.items())}
        following = {id_: lease.token for id_, (lease, _) in list(self._next.items())}
        return adopting | following | {id_: held.lease.token for id_, held in list(self._held.items())}

    def ring(self) -> None:
        """There are runs to lease."""
        self._backlog = True
        self.bell.set()

    @property
    def finish_bell(self) -> asyncio.Event:
        """Runs have ended."""
        return self._finisher.bell

    def ring_finisher(self) -> None:
        self.finish_bell.set()

    # Taking on.

    def reserve(self, most: int | None = None) -> LeaseRequest | None:
        """Set room aside for what a pass may hand over at once: all that is free, or so much of it."""
        room = self.free if most is None else min(self.free, most)
        wanted = LeaseRequest(self.node, room, self.room.queues, self._execution.known, self.room.lease)
        self._reserved += wanted.capacity
        self._see_whether_idle()
        return wanted if wanted.capacity else None

    def take(self, reserved: LeaseRequest | None, leases: Sequence[Lease], *, queued: bool = False) -> None:
        """Give the room back, and start what came."""
        self._reserved -= reserved.capacity if reserved else 0
        self.start(*leases, queued=queued)
        self._see_whether_idle()
        self._ring_if_there_is_more()

    def has_room(self, least: int) -> bool:
        """Whether so much is free and nothing queued waits for it."""
        return self.free >= least and not self._backlog

    async def room_for(self, least: int, patience: float) -> bool:
        """Wait for that; false if nothing ends, or too little."""
        if self.most < least:
            return False
        clock = asyncio.get_running_loop().time
        until = clock() + _TIMES * patience
        while not self.has_room(least):
            self._freed.clear()
            try:
                async with asyncio.timeout(patience):  # wait_for forgets a cancel that comes with the event
                    await self._freed.wait()
            except TimeoutError:
                if not self._finisher.busy:
                    return False
            if clock() > until:
                return False
        return True

    async def turn(self) -> float:
        """Fill the free room from the queues."""
        wanted = self.reserve()
        if wanted is None:
            self._backlog = True
            return self._poll
        leases: Sequence[Lease] = ()
        try:
            leases = await self._store.lease(wanted)
            self._backlog = len(leases) == wanted.capacity
        finally:
            self.take(wanted, leases, queued=True)
            self._freed.set()
        return self._poll

    def _ring_if_there_is_more(self) -> None:
        if self._backlog and self.free:
            self.bell.set()

    def start(self, *leases: Lease, queued: bool = False) -> None:
        under_way = bool(self._next)
        for lease in leases:
            if lease.id not in self._held:
                self._next.setdefault(lease.id, (lease, queued))
                self._begun.add((lease.id, lease.token))
        if not under_way:
            self._begin_some()

    def _begin_some(self) -> None:
        """A slice now, and the others in the turns that follow."""
        self._begin(_SLICE)
        if self._next:
            asyncio.get_running_loop().call_soon(self._begin_some)

    def _begin(self, most: int | None = None) -> None:
        """So many of those that are next, or all."""
        begin = asyncio.get_running_loop().create_task
        for run in list(islice(self._next, most)):
            lease, queued = self._next[run]
            self._held[run] = ActiveRun(lease, begin(self._run(lease)), queued)
            del self._next[run]  # after that: the keeper must always find it
            if self._on_started:
                self._on_started(lease)
            if self._is_over.is_set():  # it came too late
                self.end(run, StopReason.SHUTDOWN)

    # Ending.

    async def _run(self, lease: Lease) -> None:
        """Execute it, and have its end stored; but who ended it from outside does that himself."""
        try:
            ended = await self._execution.run(lease)
        except asyncio.CancelledError:
            why = self._why.get(lease.id)
            if why is StopReason.CANCELLED:
                self._noticed.add(lease.id)
                await self._execution.conclude_cancelled(lease, why.value)
            if why:
                raise
            ended = failed("the function cancelled its own task")
        except StoreUnavailableError as unavailable:  # asked what earlier attempts have done: nothing has begun
            ended = AttemptResult(HandedBack(), error=failure_text(unavailable))
        except Exception as bug:  # noqa: BLE001  (of ours: it costs an attempt)
            ended = failed(failure_text(bug))
        held = self._held.get(lease.id)
        if held and held.lease is lease and held.task not in self._left_behind:
            self._to_store(Finish(lease.id, lease.token, ended.outcome, ended.result, ended.error))

    def _cancelled(self, held: ActiveRun, task: "asyncio.Task[None]") -> None:
        """Its task is over; if it has ended in another way than it was asked to, that is what counts."""
        if task.cancelled() and task not in self._left_behind:
            self._end_from_outside(held.lease)
        self._left_behind.discard(task)

    def _end_from_outside(self, lease: Lease) -> None:
        why = self._why[lease.id]
        if why is StopReason.LOST:
            self._let_go([lease.id])
        else:
            self._to_store(Finish(lease.id, lease.token, _OUTCOMES[why], error=why.value))

    def _to_store(self, finish: Finish) -> None:
        self._finisher.add(finish)
        self.ring_finisher()

    def end(self, run: str, why: StopReason) -> None:
        """End a run from outside; the first reason to do so counts."""
        if run in self._next:
            self._begin()
        held = self._held.get(run)
        if held and not held.task.done() and run not in self._why:
            self._why[run] = why
            held.task.add_done_callback(partial(self._cancelled, held))
            held.task.cancel()
            asyncio.get_running_loop().call_later(self.room.stubborn, self._leave_behind, held)

    def _leave_behind(self, held: ActiveRun) -> None:
        """Go on without code that does not let itself be cancelled."""
        if self._held.get(held.lease.id) is held and not held.task.done() and held.lease.id not in self._noticed:
            _log.warning("cancelled in vain", run=held.lease.id, job=held.lease.job.name)
            self._left_behind.add(held.task)
            self._end_from_outside(held.lease)

    def _stored(self, ended: Sequence[Finish], settled: Sequence[Settled | None]) -> None:
        """The store knows how runs ended, and has said what becomes of each."""
        for finish, move in zip(ended, settled, strict=True):
            if move is None:
                _log.warning("late result refused", run=finish.run)
            elif self._on_ended:
                self._on_ended(self._held[finish.run].lease, finish, move)
        self._let_go(finish.run for finish in ended)

    async def finish_turn(self) -> float:
        """Tell the store what has ended."""
        return await self._finisher.turn()

    async def flush_turn(self) -> float:
        """Tell the store how far the runs are."""
        return await self._execution.flush_turn()

    def _let_go(self, runs: Iterable[str]) -> None:
        for run in runs:
            self._backlog |= self._held.pop(run).queued  # a limit on its queue may have kept others waiting
            self._why.pop(run, None)
            self._noticed.discard(run)
            self._execution.forget(run)
        self._see_whether_idle()
        self._freed.set()
        self._ring_if_there_is_more()

    def _see_whether_idle(self) -> None:
        if self.busy or self._reserved:
            self._idle.clear()
        else:
            self._idle.set()

    # What the keeper hears.

    def renewed(self, asked: Mapping[str, str], renewed: Renewed) -> bool:
        """End what was cancelled or lost, adopt what a lost answer gave us: true if that is to be renewed now."""
        self._begin()
        for run in sorted(renewed.cancel):
            self.end(run, StopReason.CANCELLED)
        for run, token in asked.items():
            adopted = self._adopting.pop(run, None)
            if adopted and run in renewed.held and not self._closing:
                self.start(adopted)
            held = self._held.get(run)
            if run not in renewed.held and held and held.lease.token == token:
                self.end(run, StopReason.LOST)
        unknown = {(lease.id, lease.token): lease for lease in renewed.unknown}
        if not self._reserved and not self._closing:  # else it may be on its way
            new = sorted(unknown.keys() - self._begun)
            self._adopting |= {key[0]: unknown[key] for key in new if key[0] not in self._held}
        self._begun &= unknown.keys() | asked.items() | self.held().items()
        return bool(self._adopting)

    def lose_all(self) -> None:
        """Stop everything: the leases could not be renewed."""
        self._begin()
        for run in list(self._held):
            self.end(run, StopReason.LOST)

    # Shutting down.

    def hurry(self) -> None:
        """Give no grace, or no more of it."""
        self._is_over.set()

    async def close(self, grace: float) -> None:
        """Take nothing more; let what runs end within the grace, and hand back the rest (S45)."""
        self._closing = True
        await _first(grace, self._idle, self._is_over)
        self._is_over.set()
        self._begin()
        for run in list(self._held):
            self.end(run, StopReason.SHUTDOWN)
        await _first(self.room.stubborn + self.room.lease, self._idle)  # then it is left to the leases
        await self._execution.close()


_OUTCOMES: dict[StopReason, Outcome] = {StopReason.CANCELLED: Cancelled(), StopReason.SHUTDOWN: HandedBack()}


async def _first(seconds: float, *events: asyncio.Event) -> None:
    """Wait until one of them is set, but not longer than this."""
    waits = [asyncio.ensure_future(event.wait()) for event in events]
    await asyncio.wait(waits, timeout=seconds, return_when=asyncio.FIRST_COMPLETED)
    for wait in waits:
        wait.cancel()
