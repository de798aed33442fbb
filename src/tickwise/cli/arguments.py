"""Times as people type them."""

from datetime import datetime

from ..core.cron.zone import zone
from ..core.errors import InputError
from ..runtime.clock import now


def read_instant(text: str | None, timezone: str) -> datetime:
    """An ISO 8601 time, in the given zone if it names none; now if there is no text."""
    where = zone(timezone).tzinfo
    if text is None:
        return now().astimezone(where)
    try:
        instant = datetime.fromisoformat(text)
    except ValueError:
        raise InputError(
            f"{text[:60]!r} is not a time: write it like 2026-03-29T02:30 or 2026-03-29T02:30+01:00"
        ) from None
    return instant if instant.tzinfo else instant.replace(tzinfo=where)
