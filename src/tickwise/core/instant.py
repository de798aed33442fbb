"""Instants at the border between people's aware datetimes and the whole UTC seconds the core counts in."""

from datetime import UTC, datetime, timedelta, tzinfo

from .errors import InputError

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


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
    return datetime.fromtimestamp(second, zone)


def iso(second: int) -> str:
    """`2026-03-29T01:00:00Z`: an instant for people and logs, always in UTC."""
    return to_datetime(second).isoformat()[:19] + "Z"
