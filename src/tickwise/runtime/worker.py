"""The worker: takes runs as it has room, has them executed, and tells the store how they ended.

Ends go to the store in batches: whatever has ended while the last batch was under way makes the next. A run is
`held` from its lease until its end is stored, and renewed all that time. Three things end it from outside, each
with its own outcome: a person (cancelled), a shutdown (handed back), a lost lease (nothing: it is somebody
else's by now).
"""

import asyncio
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from enum import Enum
from typing import Any, NamedTuple

import structlog

from ..core.settle import Cancelled, HandedBack
from ..stores.contract import Store
from ..stores.records import Finish, Lease, Renewed, Reservation
from .execution import Execution

_log = structlog.get_logger("tickwise")


class Why(Enum):
    """Why a run is ended from outside."""

    CANCELLED = "cancelled"
    SHUTDOWN = "shutdown"
    LOST = "lost"


class Room(NamedTuple):
    """How much a worker takes on, from where, and for how long it asks to have it."""

    concurrency: int = 10
    queues: tuple[str, ...] = ("default",)
    lease: int = 30  # seconds


class Held(NamedTuple):
    """A run in hand."""

    lease: Lease
    task: "asyncio.Task[None]"


class Worker:
    """Runs of some queues, so many at once."""

    def __init__(
        self,
        store: Store,
        node: str,
        execution: Execution,
        *,
        room: Room,
        poll: float = 1.0,
        on_ended: Callable[[Lease, Finish], None] | None = None,
    ) -> None:
        self._store = store
        self.node = node
        self._execution = execution
        self.room = room
        self._poll = poll
        self._on_ended = on_ended
        self._held: dict[str, Held] = {}
        self._why: dict[str, Why] = {}
        self._reserved = 0
        self._turned_away = False  # all free room was set aside when runs were to be leased
        self._ended: list[Finish] = []
        self._closing = False
        self._idle = asyncio.Event()
        self._idle.set()
        self._freed = asyncio.Event()
        self.settled = asyncio.Event()  # a batch of ends has just been stored
        self.ring_finisher: Callable[[], None] = lambda: None
        self.ring: Callable[[], None] = lambda: None

    @property
    def busy(self) -> int:
        return len(self._held)

    @property
    def free(self) -> int:
        if self._closing:
            return 0
        return max(0, self.room.concurrency - len(self._held) - self._reserved - self._execution.stuck)

    def held(self) -> Mapping[str, str]:
        """Run ids to tokens; called from the keeper's thread too."""
        return {id_: held.lease.token for id_, held in list(self._held.items())}

    def reserve(self) -> Reservation | None:
        """Set room aside for what a pass may hand over at once."""
        reserved = self._reservation()
        self._reserved += reserved.capacity
        return reserved if reserved.capacity else None

    def _reservation(self) -> Reservation:
        return Reservation(self.node, self.free, self.room.queues, self._execution.known, self.room.lease)

    def take(self, reserved: Reservation | None, leases: Sequence[Lease]) -> None:
        """Give the room back, and start what came."""
        self._reserved -= reserved.capacity if reserved else 0
        for lease in leases:
            self.start(lease)
        if self._turned_away:
            self._turned_away = False
            self.ring()

    async def wait_for_room(self, patience: float) -> None:
        """Wait until there is some, but not for long."""
        if not self.free:
            self._freed.clear()
            with suppress(TimeoutError):
                await asyncio.wait_for(self._freed.wait(), patience)

    async def turn(self) -> float:
        """Fill the free room from the queues."""
        wanted = self._reservation()
        self._turned_away = not wanted.capacity and self._reserved > 0
        if wanted.capacity:
            self._reserved += wanted.capacity
            leases: Sequence[Lease] = ()
            try:
                leases = await self._store.lease(wanted)
            finally:
                self.take(wanted, leases)
        return self._poll

    def start(self, lease: Lease) -> None:
        if lease.id in self._held:
            return
        self._idle.clear()
        self._held[lease.id] = Held(lease, asyncio.ensure_future(self._run(lease)))

    async def _run(self, lease: Lease) -> None:
        try:
            ended = await self._execution.run(lease)
            finish = Finish(lease.id, lease.token, ended.outcome, ended.result, ended.error)
        except asyncio.CancelledError:
            why = self._why.pop(lease.id, Why.SHUTDOWN)
            if why is Why.LOST:
                self._let_go([lease.id])
                return
            outcome = Cancelled() if why is Why.CANCELLED else HandedBack()
            finish = Finish(lease.id, lease.token, outcome, error=_SAID[why])
            if why is Why.CANCELLED:
                await self._execution.conclude_cancelled(lease, _SAID[why])
        self._ended.append(finish)
        self.ring_finisher()

    async def finish_turn(self) -> float:
        """Store what has ended since the last time; what cannot be stored is kept for the next."""
        batch, self._ended = self._ended, []
        if not batch:
            return self._poll
        try:
            await self._execution.flush(batch)
            settled = await self._store.finish(batch)
        except BaseException:
            self._ended = batch + self._ended
            raise
        for finish, move in zip(batch, settled, strict=True):
            if move is None:
                _log.warning("late result refused", run=finish.run)
            elif self._on_ended:
                self._on_ended(self._held[finish.run].lease, finish)
        self._let_go([finish.run for finish in batch])
        self.settled.set()
        self.settled.clear()
        return 0.0 if self._ended else self._poll

    async def flush_turn(self) -> float:
        """Tell the store how far the runs are."""
        return await self._execution.flush_turn()

    def _let_go(self, runs: Sequence[str]) -> None:
        for run in runs:
            self._held.pop(run, None)
            self._why.pop(run, None)
        if not self._held:
            self._idle.set()
        self._freed.set()
        self.ring()

    def renewed(self, asked: Mapping[str, str], renewed: Renewed) -> None:
        """What the keeper heard: end what was cancelled or lost, adopt what a lost answer gave us."""
        for run in renewed.cancel:
            self.end(run, Why.CANCELLED)
        for run, token in asked.items():
            held = self._held.get(run)
            if run not in renewed.held and held and held.lease.token == token and not self._has_ended(run):
                self.end(run, Why.LOST)
        for lease in renewed.unknown:
            if lease.id not in self._held and not self._reserved:
                self.start(lease)

    def _has_ended(self, run: str) -> bool:
        return any(finish.run == run for finish in self._ended) or self._held[run].task.done()

    def end(self, run: str, why: Why) -> None:
        """End a run from outside."""
        held = self._held.get(run)
        if held and not held.task.done() and run not in self._why:
            self._why[run] = why
            held.task.cancel()

    def lose_all(self) -> None:
        """Stop everything: the leases could not be renewed."""
        for run in list(self._held):
            self.end(run, Why.LOST)

    async def close(self, grace: float) -> None:
        """Take nothing more; let what runs end within the grace, and hand back the rest (S45)."""
        self._closing = True
        try:
            await asyncio.wait_for(self._idle.wait(), grace)
        except TimeoutError:
            for run in list(self._held):
                self.end(run, Why.SHUTDOWN)
            await asyncio.wait([held.task for held in self._held.values() if not held.task.done()] or [_done()])
            self.ring_finisher()
        await self._execution.close()

    @property
    def unfinished(self) -> bool:
        return bool(self._ended)


_SAID = {Why.CANCELLED: "it was asked to end", Why.SHUTDOWN: "its worker shut down"}


def _done() -> "asyncio.Future[Any]":
    future: asyncio.Future[Any] = asyncio.get_running_loop().create_future()
    future.set_result(None)
    return future
