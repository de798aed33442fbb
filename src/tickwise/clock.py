"""The only module that reads the machine's clock."""

from datetime import UTC, datetime
from time import monotonic, time_ns

__all__ = ["microseconds", "monotonic", "now"]


def now() -> datetime:
    return datetime.now(UTC)


def microseconds() -> int:
    return time_ns() // 1_000
