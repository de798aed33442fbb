"""The ticker: has the store decide what is due, again and again, and knows when the next is."""

from collections.abc import Callable
from typing import Protocol

from ..core.planner import plan
from ..stores.contract import Store
from ..stores.records import MICRO, Lease, Reservation, Ticked

_NO_PROGRESS = 0.05  # seconds before jobs are planned again whose runs are just ending
_FOR_ROOM = 0.01  # seconds that a batch waits, so that its runs can be handed over rather than queued


class Hands(Protocol):
    """The worker of the same process, who may be handed runs at once."""

    ring: Callable[[], None]  # there are runs to lease

    def reserve(self) -> Reservation | None: ...

    def take(self, reserved: Reservation | None, leases: tuple[Lease, ...]) -> None: ...

    async def wait_for_room(self, patience: float) -> None: ...


class Ticker:
    """One turn is one pass: all that is due is decided."""

    def __init__(
        self,
        store: Store,
        node: str,
        *,
        batch: int = 200,
        poll: float = 1.0,
        hands: Hands | None = None,
        on_pass: Callable[[Ticked], None] | None = None,
    ) -> None:
        self._store = store
        self._node = node
        self._batch = batch
        self._poll = poll
        self._hands = hands
        self._on_pass = on_pass
        self.passes = 0

    async def turn(self) -> float:
        ticked = await self.once()
        while ticked.more and ticked.jobs:
            if self._hands:
                await self._hands.wait_for_room(_FOR_ROOM)
            ticked = await self.once()
        self.passes += 1
        if self._on_pass:
            self._on_pass(ticked)
        if ticked.more:
            return _NO_PROGRESS
        if ticked.next_due is None:
            return self._poll
        return min(self._poll, max(0.0, ticked.next_due - ticked.now / MICRO))

    async def once(self, jobs: list[str] | None = None) -> Ticked:
        """A batch of due jobs, or of those that are named; runs that fit go straight to the worker."""
        reserved = self._hands.reserve() if self._hands else None
        leases: tuple[Lease, ...] = ()
        try:
            ticked = await self._store.tick(plan, self._node, limit=self._batch, jobs=jobs, reserve=reserved)
            leases = ticked.leases
        finally:
            if self._hands:
                self._hands.take(reserved, leases)
        if self._hands and ticked.runs > len(leases):
            self._hands.ring()
        return ticked
