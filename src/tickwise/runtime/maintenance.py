"""The reaper takes back what vanished workers hold, and ends what waited too long; the pruner clears away."""

from ..log import get_logger
from ..stores.contract import Store

_log = get_logger()
_PRUNE_AT_ONCE = 1_000


class Reaper:
    """Any number of nodes may do it side by side."""

    def __init__(self, store: Store, *, lease: float) -> None:
        self._store = store
        self._every = lease / 2  # so that what is lost is found within two lease times (S42)

    async def turn(self) -> float:
        expired = await self._store.expire()
        if not (expired.leases or expired.runs):
            return self._every
        _log.info("expired", leases=expired.leases, runs=expired.runs)
        return 0.0  # there may be more than a store takes back at once


class Pruner:
    """Retention, in small moves (S51)."""

    def __init__(self, store: Store, *, every: float = 60.0) -> None:
        self._store = store
        self._every = every

    async def turn(self) -> float:
        removed = await self._store.prune(_PRUNE_AT_ONCE)
        return 0.0 if removed >= _PRUNE_AT_ONCE else self._every
