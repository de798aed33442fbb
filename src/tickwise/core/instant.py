"""Instants at the border between people's aware datetimes and the whole UTC seconds the core counts in."""

from datetime import UTC, datetime, timedelta, tzinfo

from .errors import InputError

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_FIRST, _LAST = datetime(1, 1, 1, tzinfo=UTC), datetime(9999, 12, 31, 23, 59, 59, tzinfo=UTC)


def floor_second(instant: datetime) -> int:
    """The last whole second at or before an aware datetime."""
    since = _since_epoch(instant)
    return since.days * 86_400 + since.seconds


def ceil_second(instant: datetime) -> int:
    """The first whole second at or after an aware datetime."""
    since = _since_epoch(instant)
    return since.days * 86_400 + since.seconds + (since.microseconds > 0)


def _since_epoch(instant: datetime) -> timedelta:
    try:
        return instant - _EPOCH
    except TypeError:
        raise InputError(
            f"{instant!r} is not an aware datetime: give it a time zone, such as tzinfo=datetime.UTC"
        ) from None


def to_datetime(second: int, zone: tzinfo = UTC) -> datetime:
    """One beyond the calendar, which only a damaged row holds, is shown as the calendar's end."""
    try:
        return datetime.fromtimestamp(second, zone)
    except (ValueError, OverflowError, OSError):
        return _FIRST if second < 0 else _LAST


def iso(second: int) -> str:
    """`2026-03-29T01:00:00Z`: an instant for people and logs, always in UTC."""
    return to_datetime(second).isoformat()[:19] + "Z"
