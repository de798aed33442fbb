"""The only module that reads the machine's clock."""

import time
from datetime import UTC, datetime

__all__ = ["microseconds", "monotonic", "now"]
_SINCE_BOOT = getattr(time, "CLOCK_BOOTTIME", None)  # Linux: counts on while the machine sleeps


def now() -> datetime:
    return datetime.now(UTC)


def microseconds() -> int:
    return time.time_ns() // 1_000


def from_microseconds(instant: int) -> datetime:
    return datetime.fromtimestamp(instant / 1_000_000, UTC)


def monotonic() -> float:
    """Seconds of a clock that is never set; time in which the machine slept counts, where the system tells it."""
    return time.monotonic() if _SINCE_BOOT is None else time.clock_gettime(_SINCE_BOOT)
