"""How often an address may be wrong about its token."""

from collections import OrderedDict
from collections.abc import Callable
from math import ceil

from ..clock import monotonic

MOST, WINDOW = 10, 60.0  # failures, in so many seconds
_ADDRESSES = 10_000  # that are remembered; the oldest are forgotten first


class Attempts:
    """Failures by address, in a window that begins with the first."""

    def __init__(self, clock: Callable[[], float] = monotonic) -> None:
        self._clock = clock
        self._failed: OrderedDict[str, tuple[float, int]] = OrderedDict()  # since when, how many

    def wait(self, address: str) -> int:
        """Seconds until the address may try again; 0 if it may now."""
        since, failures = self._failed.get(address, (0.0, 0))
        left = since + WINDOW - self._clock()
        if left <= 0:
            self._failed.pop(address, None)
        return ceil(left) if failures >= MOST and left > 0 else 0

    def fail(self, address: str) -> None:
        since, failures = self._failed.pop(address, (self._clock(), 0))
        self._failed[address] = (since, failures + 1)
        while len(self._failed) > _ADDRESSES:
            self._failed.popitem(last=False)
