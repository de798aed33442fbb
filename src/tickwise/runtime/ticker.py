"""The ticker asks the store to decide what is due, pass after pass, and knows when the next job is due."""

from collections.abc import Callable
from typing import Protocol

from ..clock import monotonic as machine_monotonic
from ..core.planner import plan
from ..stores.contract import Store
from ..stores.records import MICRO, Lease, LeaseRequest, TickResult
from .claim_health import ClaimHealth
from .loop import together

MAX_MISSED_POLLS = 3  # more are too many
_NO_PROGRESS = 0.05  # seconds before due jobs are planned again that could not be decided
_ROOM_TIMEOUT = 0.1  # seconds that a pass waits for room in the worker, so that its runs need not be queued
_BURST = 3  # batches in a pass of a burst: half of what a pass costs is the same for one job and for hundreds
_CONCURRENT_PASSES = 2  # in a burst: the store works on one while this process plans another
_SMALLEST_PART = 4  # a pass of less than this part of a batch costs more than to queue what does not fit
_BEFORE = TickResult(0, jobs=1, more=True)  # stands for the pass before the first of a burst


class LocalWorker(Protocol):
    """The worker of the same process, to which a pass may lease runs."""

    @property
    def concurrency(self) -> int:
        """The runs that it can have at a time."""

    def wake(self) -> None:
        """There are runs to lease."""

    def reserve(self, limit: int) -> LeaseRequest | None: ...

    def take(self, reserved: LeaseRequest | None, leases: tuple[Lease, ...]) -> None: ...

    async def wait_for_room(self, least: int, seconds: float) -> bool: ...


class Ticker:
    """One turn decides all that is due, a batch of jobs in each pass.

    A node whose worker can take only a few runs leaves most of what it decides to other nodes. Smaller passes, one
    after the other, are enough then, and leave the database to those who lease.
    """

    def __init__(
        self,
        store: Store,
        node: str,
        *,
        batch: int = 200,
        poll: float = 1.0,
        worker: LocalWorker | None = None,
        on_pass: Callable[[TickResult], None] | None = None,
        monotonic: Callable[[], float] = machine_monotonic,
    ) -> None:
        self._store = store
        self._node = node
        self._least = max(1, batch // _SMALLEST_PART)  # room for which a pass is made smaller
        is_small = worker is not None and worker.concurrency < self._least
        self._batch = self._least if is_small else batch
        self._burst = self._batch if is_small else _BURST * batch  # jobs in a pass, once more than a batch are due
        self._concurrent = 1 if is_small else _CONCURRENT_PASSES
        self._poll = poll
        self._worker = worker
        self._on_pass = on_pass
        self.claims = ClaimHealth(MAX_MISSED_POLLS * poll, monotonic)

    async def turn(self) -> float:
        """A pass; and if it finds more than a batch, a burst of passes until nothing more is due."""
        last = [await self._pass(self._batch)]
        if _goes_on(last[0]):
            last = await together(self._burst_of_passes() for _ in range(self._concurrent))
        return min(map(self._delay, last))

    async def _burst_of_passes(self) -> TickResult:
        worker, ticked = self._worker, _BEFORE
        while _goes_on(ticked):
            if worker and not await worker.wait_for_room(self._least, _ROOM_TIMEOUT):
                worker = None  # it keeps only one pass of a turn waiting
            ticked = await self._pass(self._burst)
        return ticked

    async def _pass(self, batch: int) -> TickResult:
        """One that was turned away is no pass: nothing was looked at."""
        try:
            ticked = await self.once(batch=batch)
        except Exception as error:
            self.claims.failed(f"{type(error).__name__}: {error}")
            raise
        if ticked.turned_away:
            self.claims.failed(ticked.turned_away)
            return ticked
        self.claims.succeeded()
        if self._on_pass:
            self._on_pass(ticked)
        return ticked

    def _delay(self, ticked: TickResult) -> float:
        """Until the next job is due; one that is due but locked by another node is left alone for a moment."""
        if ticked.more:
            return _NO_PROGRESS
        if ticked.next_due is None:
            return self._poll
        left = ticked.next_due - ticked.now / MICRO
        if left <= 0:
            return 0.0 if ticked.jobs else _NO_PROGRESS
        return min(self._poll, left)

    async def once(self, jobs: list[str] | None = None, *, batch: int | None = None) -> TickResult:
        """A pass over a batch of due jobs, or over these jobs; runs that fit are leased to the worker."""
        batch = batch or self._batch
        reserved = self._worker.reserve(batch) if self._worker else None
        leases: tuple[Lease, ...] = ()
        try:
            limit = reserved.capacity if reserved and reserved.capacity >= self._least else batch
            ticked = await self._store.tick(plan, self._node, limit=limit, jobs=jobs, reserve=reserved)
            leases = ticked.leases
        finally:
            if self._worker:
                self._worker.take(reserved, leases)
        if self._worker and ticked.runs > len(leases):
            self._worker.wake()
        return ticked


def _goes_on(ticked: TickResult) -> bool:
    return ticked.more and ticked.jobs > 0
