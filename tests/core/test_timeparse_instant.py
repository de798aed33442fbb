"""The border between aware datetimes and whole seconds."""

from datetime import UTC, datetime, timedelta, timezone

import pytest

from tickwise.core.errors import InputError
from tickwise.core.timeparse import ceil_second, floor_second, iso, to_datetime

NOON = datetime(2026, 7, 1, 12, tzinfo=UTC)


@pytest.mark.parametrize(("micro", "floor", "ceil"), [(0, 0, 0), (1, 0, 1), (999_999, 0, 1)])
@pytest.mark.parametrize("start", [NOON, datetime(1910, 1, 1, tzinfo=UTC), datetime(9999, 12, 1, tzinfo=UTC)])
def test_fractions_round_exactly(start: datetime, micro: int, floor: int, ceil: int) -> None:
    """A microsecond before the next second still belongs to this one, in every century."""
    whole = floor_second(start)
    assert to_datetime(whole) == start
    assert floor_second(start + timedelta(microseconds=micro)) == whole + floor
    assert ceil_second(start + timedelta(microseconds=micro)) == whole + ceil


def test_any_zone_is_the_same_instant() -> None:
    """An instant does not depend on the zone that it is written in."""
    assert floor_second(NOON.astimezone(timezone(timedelta(hours=5, minutes=45)))) == floor_second(NOON)


def test_beyond_the_calendar() -> None:
    """What only a damaged row can hold is shown as the calendar's end, in whatever zone."""
    assert [iso(second) for second in (-1 << 63, -(10**12))] == ["0001-01-01T00:00:00Z"] * 2
    assert [iso(second) for second in (1 << 63, 10**12)] == ["9999-12-31T23:59:59Z"] * 2
    assert to_datetime(1 << 63, timezone(timedelta(hours=5))) == to_datetime(10**12)


def test_naive_datetimes_are_refused() -> None:
    """A time without a zone is no instant, and the error says what to do."""
    with pytest.raises(InputError, match="give it a time zone"):
        floor_second(datetime(2026, 7, 1))  # noqa: DTZ001
