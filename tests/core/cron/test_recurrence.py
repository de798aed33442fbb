"""What every kind of times offers, beyond the walk."""

import pickle
from datetime import UTC, datetime

import pytest

from tickwise.core.cron import Every, parse
from tickwise.core.cron.zone import released, zone
from tickwise.core.errors import InputError


def test_warnings_look_ahead_from_the_release_of_the_zone_data() -> None:
    """S38: without a clock the next two clock changes are counted from the year of the zone data."""
    times = parse("30 2 */33 * *", "Europe/Berlin")
    assert times.warnings == times.warnings_after(released())
    spelling, *_ = times.warnings
    assert "it means 1" in spelling
    nightly = parse("30 2 * * *", "Europe/Berlin").warnings
    assert len(nightly) == 1
    assert nightly[0].count("-03-") + nightly[0].count("-10-") == 2


@pytest.mark.parametrize("text", ["@every 90s", "* * * * *", "*/5 * * * *", "0 3 * * 1-5"])
def test_no_warning_where_nothing_is_odd(text: str) -> None:
    """S38: an even step, an interval and fixed times in UTC are taken as they are."""
    assert parse(text).warnings == ()


@pytest.mark.parametrize(("seconds", "offset"), [(0, 0), (-5, 0), (60, 60), (60, -1)])
def test_impossible_intervals_are_refused(seconds: int, offset: int) -> None:
    """S37: an interval is positive and its offset shorter than it."""
    with pytest.raises(InputError, match="not possible"):
        Every(seconds, zone("UTC"), offset)


def test_zones_and_times_travel_by_name() -> None:
    """S40: a zone, a datetime in it and a recurrence can be pickled, and come back as the same zone."""
    berlin = zone("Europe/Berlin")
    assert repr(berlin) == "zone('Europe/Berlin')"
    assert pickle.loads(pickle.dumps(berlin)) is berlin  # noqa: S301
    times = parse("30 2 * * *", "Europe/Berlin")
    back = pickle.loads(pickle.dumps(times))  # noqa: S301
    assert (back, str(back), back.warnings) == (times, str(times), times.warnings)
    local = times.next(datetime(2026, 1, 1, tzinfo=UTC))
    assert pickle.loads(pickle.dumps(local)) == local  # noqa: S301
