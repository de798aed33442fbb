"""The ticker: has the store decide what is due, again and again, and knows when the next is."""

import asyncio
from collections.abc import Awaitable, Callable
from typing import NamedTuple, Protocol

from ..core.planner import plan
from ..stores.contract import Store
from ..stores.records import MICRO, Lease, LeaseRequest, TickResult
from .loop import together

_NO_PROGRESS = 0.05  # seconds before jobs are planned again that are due and could not be decided
_FOR_ROOM = 0.1  # seconds that a batch waits, so that its runs can be handed over rather than queued
_BURST = 3  # batches in a pass of a burst: half of what a pass costs is the same for one job and for hundreds
_AT_ONCE = 2  # passes of a burst: the store works on some while this process plans another
_UNKNOWN = TickResult(0, jobs=1, more=True)  # how it stands before a pass
_LEAD, _SLACK = 0.1, 0.005  # seconds by which a crowd is met before it is due: all but the writing is done then
_WORTH_A_PASS = 4  # a pass of less than this part of a batch costs more than to queue what does not fit


class LocalWorker(Protocol):
    """The worker of the same process, who may be handed runs at once."""

    @property
    def concurrency(self) -> int:
        """The runs that it can have in hand."""

    def wake(self) -> None:
        """There are runs to lease."""

    def reserve(self, limit: int) -> LeaseRequest | None: ...

    def take(self, reserved: LeaseRequest | None, leases: tuple[Lease, ...]) -> None: ...

    def has_room(self, least: int) -> bool: ...

    async def wait_for_room(self, least: int, seconds: float) -> bool: ...


class Crowd(NamedTuple):
    """More jobs than a pass takes, all due at a second."""

    second: int
    due_at: float  # by the clock of the loop

    @property
    def left(self) -> float:
        return self.due_at - asyncio.get_running_loop().time()


class Ticker:
    """One turn decides all that is due, a batch of jobs in each pass.

    Beside a worker who can take only a few, somebody else executes most of what is decided: smaller passes, one
    after the other, are enough, and leave the database to those who lease.
    """

    def __init__(
        self,
        store: Store,
        node: str,
        *,
        batch: int = 200,
        poll: float = 1.0,
        hands: LocalWorker | None = None,
        on_pass: Callable[[TickResult], None] | None = None,
    ) -> None:
        self._store = store
        self._node = node
        self._least = max(1, batch // _WORTH_A_PASS)  # room that a pass is kept small for
        small = hands is not None and hands.concurrency < self._least
        self._batch = self._least if small else batch
        self._burst = self._batch if small else _BURST * batch  # jobs in a pass, once more are due than in one
        self._at_once = 1 if small else _AT_ONCE
        self._poll = poll
        self._hands = hands
        self._on_pass = on_pass
        self._crowd: Crowd | None = None  # what was announced

    async def turn(self) -> float:
        """First what there is room for: to make room ends are stored, which would delay the last of a burst."""
        crowd, self._crowd = self._crowd, None
        if crowd and crowd.left <= _LEAD + _SLACK:
            await self._meet(crowd)
            last = [_UNKNOWN]
        else:
            last = [await self._pass(self._batch)]
        for on in (self._while_there_is_room, self._to_the_end):
            if any(map(_goes_on, last)):
                last = await self._together(on)
        self._crowd = next(filter(None, map(_announced, last)), None)
        return min(map(self._delay, last))

    async def _meet(self, crowd: Crowd) -> None:
        """Several passes ahead of its second: they have time. What they leave is due by then."""
        await self._together(lambda: self._pass(self._burst, ahead=crowd.second))
        await asyncio.sleep(crowd.left)

    async def _together(self, on: Callable[[], Awaitable[TickResult]]) -> list[TickResult]:
        return await together(on() for _ in range(self._at_once))

    async def _while_there_is_room(self) -> TickResult:
        ticked = _UNKNOWN
        while _goes_on(ticked) and (not self._hands or self._hands.has_room(self._least)):
            ticked = await self._pass(self._burst)
        return ticked

    async def _to_the_end(self) -> TickResult:
        """Pass after pass, until nothing more is due or can be decided."""
        hands = self._hands  # none, once they have kept a pass waiting for too long
        ticked = _UNKNOWN
        while _goes_on(ticked):
            if hands and not await hands.wait_for_room(self._least, _FOR_ROOM):
                hands = None
            ticked = await self._pass(self._burst)
        return ticked

    async def _pass(self, batch: int, ahead: int | None = None) -> TickResult:
        ticked = await self.once(batch=batch, ahead=ahead)
        if self._on_pass:
            self._on_pass(ticked)
        return ticked

    def _delay(self, ticked: TickResult) -> float:
        """Until the next is due; what is due but in other hands is left alone for a moment."""
        if ticked.more:
            return _NO_PROGRESS
        if ticked.next_due is None:
            return self._poll
        left = ticked.next_due - ticked.now / MICRO
        if left <= 0:
            return 0.0 if ticked.jobs else _NO_PROGRESS
        return min(self._poll, max(0.0, left - _LEAD) if ticked.crowd else left)

    async def once(
        self, jobs: list[str] | None = None, *, batch: int | None = None, ahead: int | None = None
    ) -> TickResult:
        """A batch of due jobs, or of those that are named; runs that fit go straight to the worker."""
        batch = batch or self._batch
        reserved = self._hands.reserve(batch) if self._hands else None
        leases: tuple[Lease, ...] = ()
        try:
            limit = reserved.capacity if reserved and reserved.capacity >= self._least else batch
            ticked = await self._store.tick(
                plan, self._node, limit=limit, jobs=jobs, reserve=reserved, ahead=ahead
            )
            leases = ticked.leases
        finally:
            if self._hands:
                self._hands.take(reserved, leases)
        if self._hands and ticked.runs > len(leases):
            self._hands.wake()
        return ticked


def _announced(ticked: TickResult) -> Crowd | None:
    if not ticked.crowd or ticked.next_due is None:
        return None
    left = ticked.next_due - ticked.now / MICRO
    return Crowd(ticked.next_due, asyncio.get_running_loop().time() + left)


def _goes_on(ticked: TickResult) -> bool:
    return ticked.more and ticked.jobs > 0
