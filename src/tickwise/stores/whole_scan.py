"""When a store looks at all jobs, and not only at those that are due.

That finds what a damaged row, a lost wake-up or a clock that was set back has put to sleep.
"""

from collections.abc import Awaitable
from enum import Enum
from typing import NamedTuple

from ..log import get_logger
from .contract import StoreUnavailableError
from .records import MICRO, TickResult

_log = get_logger()

WHOLE_SCAN_SECONDS = 30


class Scan(Enum):
    """What to look for."""

    LOST = "jobs that have lost the time at which to look at them"
    AFTER_SET_BACK = "also jobs whose pending slots sleep for more than a minute, by an earlier clock (S15)"


class WokenJobs(NamedTuple):
    """What a scan has found: the jobs that had lost their wake-up, and whether any was made due."""

    lost: list[str]
    any: bool


class WholeScan:
    """Every half minute; the first time, and after the clock was set back, more closely."""

    def __init__(self) -> None:
        self._last: int | None = None

    def take(self, now: int) -> Scan | None:
        """What to look for now; the next scan is half a minute away then."""
        last = self._last
        if last is not None and last <= now < last + WHOLE_SCAN_SECONDS * MICRO:
            return None
        self._last = now
        return Scan.AFTER_SET_BACK if last is None or now < last else Scan.LOST

    async def complete(self, ticked: TickResult, scan: Awaitable[WokenJobs]) -> TickResult:
        """A pass with what its scan has made due; the log says which jobs would have slept for good.

        The pass is committed. If the store does not answer any more, its caller still gets the leases that it
        made, and the next pass scans.
        """
        try:
            woken = await scan
        except StoreUnavailableError:
            self._last = None
            return ticked
        if woken.lost:
            _log.warning(
                "jobs had lost the time at which to look at them: they are looked at now", jobs=woken.lost[:10]
            )
        return ticked._replace(more=ticked.more or woken.any)
