"""A clock that moves only when told to."""

from datetime import UTC, datetime, timedelta, timezone

import pytest

from tickwise.core.errors import InputError
from tickwise.testing import FakeClock

START = datetime(2026, 1, 1, tzinfo=UTC)


def test_it_stands_still() -> None:
    """Read twice, it says the same, as a datetime in UTC and as the core's second."""
    clock = FakeClock(START.astimezone(timezone(timedelta(hours=5))))
    assert clock.now() is clock.now()
    assert clock.now() == START
    assert clock.now().tzinfo is UTC
    assert clock.second == 1_767_225_600


@pytest.mark.parametrize("by", [90, 90.0, timedelta(seconds=90), -90, timedelta(days=-1)])
def test_it_moves_both_ways(by: float | timedelta) -> None:
    """By seconds or a timedelta, forwards or back."""
    clock = FakeClock(START)
    clock.advance(by)
    assert clock.now() - START == (by if isinstance(by, timedelta) else timedelta(seconds=by))


def test_it_can_be_set() -> None:
    """To any aware datetime, a fraction of a second included."""
    clock = FakeClock(START)
    clock.set(START - timedelta(microseconds=1))
    assert clock.second == 1_767_225_599


def test_a_naive_time_is_refused() -> None:
    """A time without a zone is no instant."""
    with pytest.raises(InputError, match="not an aware datetime"):
        FakeClock(datetime(2026, 1, 1))  # noqa: DTZ001
