"""Instants at the border between people's aware datetimes and the whole UTC seconds the core counts in."""

from datetime import UTC, datetime, tzinfo

from .errors import InputError

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


def floor_second(instant: datetime) -> int:
    """The last whole second at or before an aware datetime."""
    try:
        since = instant - _EPOCH
    except TypeError:
        raise InputError(
            f"{instant!r} is not an aware datetime: give it a time zone, such as tzinfo=datetime.UTC"
        ) from None
    return since.days * 86_400 + since.seconds


def ceil_second(instant: datetime) -> int:
    """The first whole second at or after an aware datetime."""
    return floor_second(instant) + (instant.microsecond > 0)


def to_datetime(second: int, zone: tzinfo = UTC) -> datetime:
    return datetime.fromtimestamp(second, zone)
