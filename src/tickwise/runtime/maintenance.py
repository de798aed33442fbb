"""The reaper expires leases, runs that waited too long, and pauses of everything.

The pruner deletes what is past its retention.

Blackouts whose writer vanished half way are brought into force.
"""

from collections.abc import Awaitable, Callable
from math import inf

from ..core.definition import Keep
from ..log import get_logger
from ..stores.blackouts import finish_blackouts
from ..stores.contract import Store

_log = get_logger()
_MIN_DELAY, _MAX_DELAY = 0.01, 1.0  # seconds; the second, until the end of a lease is noticed
_PRUNE_BATCH = 1_000
_BLACKOUTS_EVERY = 15.0


class Reaper:
    """Takes back the runs of workers that vanished. Any number of nodes may do so concurrently.

    After an outage of the store, or of this machine, the leases of living workers may be over, too. So it first
    waits until the heartbeat of its own node has been steady for a while: then theirs have renewed their leases,
    or stored the ends of what they finished meanwhile.
    """

    def __init__(self, store: Store, *, lease: float, steady_for: Callable[[], float] = lambda: inf) -> None:
        self._store = store
        self._every = min(lease / 2, _MAX_DELAY)
        self._grace = lease / 3
        self._steady_for = steady_for

    async def turn(self) -> float:
        too_early = self._grace - self._steady_for()
        if too_early > 0:
            return max(too_early, _MIN_DELAY)
        if await self._store.end_pause():
            _log.info("the pause of everything has ended by itself")
        expired = await self._store.expire()
        if not (expired.leases or expired.runs):
            return self._every
        _log.info("expired", leases=expired.leases, runs=expired.runs)
        return 0.0  # there may be more than a store expires at once


class Pruner:
    """Deletes old records, in small batches (S51)."""

    def __init__(self, store: Store, *, keep: Keep, every: float = 15.0) -> None:
        self._store = store
        self._keep = keep  # of jobs that do not say
        self._every = every

    async def turn(self) -> float:
        removed = await self._store.prune(_PRUNE_BATCH, self._keep)
        return 0.0 if removed >= _PRUNE_BATCH else self._every


def upkeep(
    store: Store, *, lease: float, keep: Keep, steady_for: Callable[[], float]
) -> dict[str, Callable[[], Awaitable[float]]]:
    """What any node does besides, by name: each turn says when the next is due."""

    async def blackouts() -> float:
        if await finish_blackouts(store):
            _log.info("blackouts brought into force")
        return _BLACKOUTS_EVERY

    reaper = Reaper(store, lease=lease, steady_for=steady_for)
    return {"reaper": reaper.turn, "pruner": Pruner(store, keep=keep).turn, "blackouts": blackouts}
