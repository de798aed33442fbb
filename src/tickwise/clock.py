"""The one place that reads the machine's clock."""

from datetime import UTC, datetime


def now() -> datetime:
    return datetime.now(UTC)
