"""The heartbeat: a thread with a store of its own that reports the node as alive and renews its leases.

So neither user code that blocks the event loop nor a busy connection can lose a lease (S42). If nothing could be
renewed for two thirds of a lease, the heartbeat reports the leases as lost: the runs must stop before another
worker may start them. A store that does not answer counts as one that fails. So does time in which the process
itself stood still (stopped, or on a machine that slept): when it goes on, it first reports the leases as lost.

A beat is one small write for all runs of the node. A node that holds no run writes more rarely.

Each lease has its own time at which it was last known to be good: when its last renewal was sent or, for a new
one, the last look at which the node did not hold it yet. So a beat that takes long says nothing about a lease that
was made meanwhile. While an answer is awaited, the heartbeat goes on looking.
"""

import asyncio
from collections.abc import Callable, Mapping
from concurrent.futures import Future
from contextlib import suppress
from threading import Thread
from typing import NamedTuple

from ..clock import monotonic
from ..log import get_logger
from ..stores.contract import Store
from ..stores.records import MICRO, Node, Renewed

_log = get_logger()
_LOST_AFTER = 2 / 3  # of a lease
_IDLE_FACTOR, _IDLE_INTERVAL = 3, 3.0  # a node that holds nothing beats at each third turn, or after 3 seconds
_MIN_DELAY = 0.25  # seconds between two renewals, however often it is woken
_RETRY_DELAY, _MIN_RETRY_DELAY = 1.0, 0.01  # seconds after a renewal that failed; the second, if no time is left
_OPEN_TIMEOUT = 30.0  # seconds for the first beat: over a slow network, to connect takes many round trips
_LEAVE_TIMEOUT = 5.0  # seconds
_NODES_KEPT = 86_400 * MICRO  # as long as stores keep what they know of a node at least


class HeartbeatCallbacks(NamedTuple):
    """What the heartbeat asks its node, and reports to it. All are called from the heartbeat's thread."""

    node: Callable[[], Node]
    passed: Callable[[], bool]  # whether the ticker has completed a pass since the last call
    held: Callable[[], Mapping[str, str]]  # run ids to tokens
    on_renewed: Callable[[Mapping[str, str], Renewed], None]  # what was asked for, and the answer
    on_lost: Callable[[], None]  # nothing could be renewed for too long
    on_set_back: Callable[[int, int], None]  # from when to when the store has forgotten what it had confirmed


class Heartbeat:
    """The thread. `wake` makes it renew now."""

    def __init__(
        self, open_store: Callable[[], Store], callbacks: HeartbeatCallbacks, *, every: float, lease: int
    ) -> None:
        self._open_store = open_store
        self._callbacks = callbacks
        self._every = every
        self._lease = lease
        self._idle_every = max(every, min(_IDLE_FACTOR * every, _IDLE_INTERVAL))
        self._lost_after = lease * _LOST_AFTER
        self._good_at: dict[
            tuple[str, str], float
        ] = {}  # when each lease was last known to be good, by run and token
        self._looked_at = monotonic()
        self._beaten_at: float | None = None
        self._seen_at = 0  # of the last beat that the store has confirmed, by the store's time
        self._steady_since: float | None = None  # no beat has failed or been late since
        self._store: Store | None = None
        self._loop: asyncio.AbstractEventLoop | None = None
        self._stop = asyncio.Event()
        self._wake_event = asyncio.Event()
        self._tried: Future[None] = Future()  # the first beat has succeeded or failed
        self._ended: Future[None] = Future()

    def steady_for(self) -> float:
        """The seconds for which beats have come as they should."""
        since = self._steady_since
        return 0.0 if since is None else monotonic() - since

    def start(self) -> None:
        self._loop = asyncio.new_event_loop()
        Thread(target=self._main, args=(self._loop,), name="tickwise-heartbeat", daemon=True).start()

    async def tried(self) -> None:
        """Wait for the first beat: before that, the time to open a store would count as time without renewal."""
        await asyncio.wrap_future(self._tried)

    def wake(self) -> None:
        self._set(self._wake_event)

    async def close(self) -> None:
        """End the thread, after it has told the store that the node leaves."""
        self._set(self._stop)
        self._set(self._wake_event)
        await asyncio.wrap_future(self._ended)

    def _set(self, event: asyncio.Event) -> None:
        if self._loop:
            with suppress(RuntimeError):  # the loop is closed
                self._loop.call_soon_threadsafe(event.set)

    def _main(self, loop: asyncio.AbstractEventLoop) -> None:
        try:
            loop.run_until_complete(self._beat())
        finally:
            loop.close()
            self._ended.set_result(None)

    async def _beat(self) -> None:
        """Renew until the heartbeat is closed."""
        self._looked_at = monotonic()
        while not self._stop.is_set():
            is_woken = self._wake_event.is_set()
            self._wake_event.clear()
            if self._is_late():
                self._report_lost()
            delay = await self._try_to_renew() if is_woken or self._is_due() else self._every
            if not self._tried.done():
                self._tried.set_result(None)
            with suppress(TimeoutError):
                await asyncio.wait_for(self._stop.wait(), min(_MIN_DELAY, delay))
            with suppress(TimeoutError):
                await asyncio.wait_for(self._wake_event.wait(), delay)
        await self._leave()

    def _is_due(self) -> bool:
        """Whether leases must be renewed, or others must hear that the node lives."""
        return bool(self._look()) or self._beaten_at is None or monotonic() - self._beaten_at >= self._idle_every

    def _look(self) -> Mapping[str, str]:
        """What is held now. A lease that the last look did not see was made after it."""
        now, held = monotonic(), self._callbacks.held()
        self._good_at = {lease: self._good_at.get(lease, self._looked_at) for lease in held.items()}
        self._looked_at = now
        return held

    def _time_left(self) -> float:
        """Until the oldest lease counts as lost."""
        self._look()
        now = monotonic()
        return min(self._good_at.values(), default=now) + self._lost_after - now

    def _is_late(self) -> bool:
        return self._time_left() <= 0

    def _report_lost(self) -> None:
        self._steady_since = None
        self._callbacks.on_lost()

    async def _try_to_renew(self) -> float:
        """Renew; the delay until the next time."""
        is_first = self._beaten_at is None and not self._look()  # there is no lease to lose
        asked_at = monotonic()
        left = _OPEN_TIMEOUT if is_first else self._time_left()
        try:
            await self._renew_within(left if left > 0 else self._lost_after)
        except Exception as error:  # noqa: BLE001  (it is tried again)
            _log.warning("cannot renew", error=str(error))
            self._steady_since = None
            if self._is_late():
                self._report_lost()
                return min(self._every, _RETRY_DELAY)
            return min(self._every, _RETRY_DELAY, max(self._time_left(), _MIN_RETRY_DELAY))
        self._beaten_at = asked_at
        if self._steady_since is None:
            self._steady_since = monotonic()
        return self._every

    async def _renew_within(self, seconds: float) -> None:
        """Renew, or stop waiting: a connection that hangs may not even react to a cancellation."""
        renewal, until = asyncio.ensure_future(self._renew()), monotonic() + seconds
        while not renewal.done() and (left := until - monotonic()) > 0:
            await asyncio.wait({renewal}, timeout=min(self._every, left))
            self._look()
        if not renewal.done():
            renewal.cancel()
            renewal.add_done_callback(lambda late: late.cancelled() or late.exception())  # nobody else asks for it
            raise TimeoutError("the store does not answer")
        renewal.result()

    async def _renew(self) -> None:
        if self._store is None:
            self._store = self._open_store()
        asked_at, node, held = monotonic(), self._callbacks.node(), self._look()
        renewed = await self._store.beat(node, held, self._lease, passed=self._callbacks.passed())
        if held and monotonic() - asked_at >= self._lost_after:
            raise TimeoutError("the answer came when the leases it speaks of were over")
        self._good_at |= {lease: asked_at for lease in held.items() if lease in self._good_at}
        self._compare(renewed)
        self._callbacks.on_renewed(held, renewed)

    def _compare(self, renewed: Renewed) -> None:
        """Notice a store that has forgotten a beat which it had confirmed, and with it all else of that time."""
        confirmed, self._seen_at = self._seen_at, renewed.seen_at
        if renewed.seen_before < confirmed and renewed.seen_at < confirmed + _NODES_KEPT:
            self._callbacks.on_set_back(renewed.seen_before, confirmed)

    async def _leave(self) -> None:
        if self._store is None:
            return
        for last in (self._store.leave(self._callbacks.node().id), self._store.close()):
            with suppress(Exception):
                async with asyncio.timeout(_LEAVE_TIMEOUT):
                    await last
