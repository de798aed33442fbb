"""A clock that stands still until it is moved, forwards or back."""

from datetime import UTC, datetime, timedelta

from ..core.timeparse import floor_second

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


class FakeClock:
    """Stands where it was set. `now()` reads it as the real clock is read, `second` as the core counts."""

    def __init__(self, start: datetime) -> None:
        self._now = _in_utc(start)

    def now(self) -> datetime:
        return self._now

    def __call__(self) -> int:
        """In microseconds, as stores ask: `Tickwise(clock=clock)`."""
        return (self._now - _EPOCH) // timedelta(microseconds=1)

    @property
    def second(self) -> int:
        return floor_second(self._now)

    def advance(self, by: float | timedelta) -> None:
        """Move by seconds or a timedelta; back, if negative."""
        self._now += by if isinstance(by, timedelta) else timedelta(seconds=by)

    def set(self, instant: datetime) -> None:
        """Move to an aware datetime, on whichever side of now it is."""
        self._now = _in_utc(instant)


def _in_utc(instant: datetime) -> datetime:
    floor_second(instant)  # refuses one without a time zone
    return instant.astimezone(UTC)
