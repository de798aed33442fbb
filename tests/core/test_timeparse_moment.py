"""Dates and times as people write them."""

import pytest

from tickwise.core.cron.zone import zone
from tickwise.core.errors import InputError
from tickwise.core.timeparse import instant, iso, last_instant, read_moment, read_time

BERLIN = zone("Europe/Berlin")


@pytest.mark.parametrize(
    ("text", "meant"),
    [
        ("2026-03-01", "2026-02-28T23:00:00Z"),
        ("2026-03-01T09:00", "2026-03-01T08:00:00Z"),
        (" 2026-03-01 09:00:30 ", "2026-03-01T08:00:30Z"),
        ("2026-03-01T09:00Z", "2026-03-01T09:00:00Z"),
        ("2026-03-01 09:00:00+05:30", "2026-03-01T03:30:00Z"),
        ("2026-03-01T09:00 -05:30", "2026-03-01T14:30:00Z"),
    ],
)
def test_what_is_meant(text: str, meant: str) -> None:
    """The wall clock of the zone, unless an offset is written."""
    assert iso(instant(read_moment(text), BERLIN)) == meant


def test_the_end_of_a_day_is_its_last_second() -> None:
    """S34: a day includes all of itself, also one of 23 hours; a time is itself."""
    day, following = read_moment("2026-03-29"), read_moment("2026-03-30")
    assert last_instant(day, BERLIN) == instant(following, BERLIN) - 1
    assert last_instant(day, BERLIN) - instant(day, BERLIN) == 23 * 3_600 - 1
    assert last_instant(read_moment("2026-03-29T12:00"), BERLIN) == instant(read_time("2026-03-29T12:00"), BERLIN)


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("tomorrow", "'tomorrow' is not a date or time: write it like 2026-03-01T09:00:00"),
        ("2026-03-01T09:00:00" + " " * 40, "is not a date or time"),
        ("2026-02-30", "'2026-02-30' is not in the calendar"),
        ("2026-03-01T25:00", "'2026-03-01T25:00' is not in the calendar"),
    ],
)
def test_what_is_none(text: str, told: str) -> None:
    """The error says what is wrong with it, and how to write it."""
    with pytest.raises(InputError) as refused:
        read_moment(text)
    assert told in str(refused.value)


def test_a_time_of_day_is_asked_for() -> None:
    """A day alone is refused where a time is needed."""
    with pytest.raises(InputError, match="has no time of day: write 2026-03-01T09:00:00"):
        read_time("2026-03-01")


def test_beyond_the_calendar() -> None:
    """What no slot can be at is refused."""
    with pytest.raises(InputError, match="further away than the calendar reaches"):
        instant(read_moment("0001-01-01"), BERLIN)
