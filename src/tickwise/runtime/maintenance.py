"""The reaper expires leases and runs that waited too long; the pruner deletes what is past its retention."""

from ..core.definition import Keep
from ..log import get_logger
from ..stores.contract import Store

_log = get_logger()
_PRUNE_BATCH = 1_000


class Reaper:
    """Takes back the runs of workers that vanished. Any number of nodes may do so concurrently."""

    def __init__(self, store: Store, *, lease: float) -> None:
        self._store = store
        self._every = lease / 2  # so that a lost run is found within two lease times (S42)

    async def turn(self) -> float:
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
