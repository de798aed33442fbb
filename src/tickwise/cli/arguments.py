"""Times as people type them."""

from ..clock import now
from ..core.cron.zone import zone
from ..core.instant import floor_second
from ..core.moment import instant, read_moment


def read_second(text: str | None, timezone: str) -> int:
    """The UTC second of a date or time, in the given zone if it names no offset; now if there is no text."""
    return floor_second(now()) if text is None else instant(read_moment(text), zone(timezone))
