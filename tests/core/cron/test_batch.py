"""The batch forms equal the scalar walk on every input."""

from datetime import UTC, datetime

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from tickwise.core.cron import CronError, Recurrence, parse
from tickwise.core.cron.batch import NEVER, expand, in_order, next_many
from tickwise.core.timeparse import FIRST, LAST

ZONES = [
    "UTC", "Europe/Berlin", "America/New_York", "Australia/Lord_Howe", "Asia/Kathmandu", "America/Sao_Paulo",
    "Pacific/Apia", "Africa/Monrovia", "Antarctica/Troll",
]  # fmt: skip
CHANGES = [
    datetime(2026, 3, 29, 1, tzinfo=UTC), datetime(2026, 10, 25, 1, tzinfo=UTC),
    datetime(2024, 11, 3, 6, tzinfo=UTC), datetime(2024, 4, 6, 15, tzinfo=UTC),
    datetime(2018, 11, 4, 3, tzinfo=UTC), datetime(2011, 12, 30, 10, tzinfo=UTC),
    datetime(1972, 1, 7, tzinfo=UTC), datetime(2400, 2, 29, tzinfo=UTC),
]  # fmt: skip


def _field(low: int, high: int) -> st.SearchStrategy[str]:
    number = st.integers(low, high)
    return st.one_of(
        st.just("*"),
        number.map(str),
        st.integers(1, high).map("*/{}".format),
        st.tuples(number, number).map(lambda ab: f"{min(ab)}-{max(ab)}"),
        st.lists(number, min_size=2, max_size=4).map(lambda ns: ",".join(map(str, ns))),
    )


_TEXTS = st.one_of(
    st.builds(
        "{} {} {} {} {}".format,
        _field(0, 59),
        _field(0, 23),
        st.one_of(st.just("*"), _field(1, 28), st.sampled_from(["L", "L-3", "LW", "15W"])),
        st.one_of(st.just("*"), _field(1, 12)),
        st.one_of(st.just("*"), _field(0, 6), st.sampled_from(["5#3", "1L"])),
    ),
    st.builds("{} {} {} * * *".format, _field(0, 59), _field(0, 59), _field(0, 23)),
    st.builds("0 {} {} 25-L * MON-FRI#1& {}".format, _field(0, 59), _field(0, 23), _field(1970, 2099)),
    st.builds("0 {} {} L-2W * Friday {}".format, _field(0, 59), _field(0, 23), _field(2010, 2030)),
    st.integers(30, 200_000).map("@every {}s".format),
)


@st.composite
def _recurrences(draw: st.DrawFn) -> list[Recurrence]:
    found: list[Recurrence] = []
    for text, zone in draw(st.lists(st.tuples(_TEXTS, st.sampled_from(ZONES)), max_size=12)):
        try:
            found.append(parse(text, zone))
        except CronError as error:  # days that never coincide
            assert "never fires" in str(error)  # noqa: PT017
    return found


_INSTANTS = st.one_of(
    st.integers(-2_000_000_000, 4_000_000_000),
    st.builds(lambda t, d: int(t.timestamp()) + d, st.sampled_from(CHANGES), st.integers(-9_000, 9_000)),
    st.sampled_from([FIRST - 1, FIRST, LAST - 1, LAST, LAST + 1, FIRST + 100, LAST - 100_000]),
)


@settings(max_examples=300)
@given(_recurrences(), _INSTANTS)
def test_next_many_equals_next(recurrences: list[Recurrence], now: int) -> None:
    """S39: one array of next times, the same as asking each; NEVER where there is none."""
    walked = [r.after(now) for r in recurrences]
    assert next_many(recurrences, now).tolist() == [NEVER if t is None else t for t in walked]


@settings(max_examples=300)
@given(_recurrences(), _INSTANTS, st.integers(-100, 20_000))
def test_expand_equals_walking(recurrences: list[Recurrence], start: int, length: int) -> None:
    """S39: all runs of a window in (time, position) order, the same as walking each and sorting."""
    walked = []
    for position, recurrence in enumerate(recurrences):
        second = recurrence.after(start - 1)
        while second is not None and second < start + length:
            walked.append((second, position))
            second = recurrence.after(second)
    times, positions = expand(recurrences, start, start + length)
    assert list(zip(times.tolist(), positions.tolist(), strict=True)) == sorted(walked)
    assert (times.dtype.name, positions.dtype.name) == ("int64", "int32")


def test_aware_datetimes_are_taken_too() -> None:
    """Bounds may be datetimes; a fraction of a second is not lost."""
    every_second = parse("* * * * * *")
    start, end = datetime(2026, 1, 1, 0, 0, 0, 1, tzinfo=UTC), datetime(2026, 1, 1, 0, 0, 2, 1, tzinfo=UTC)
    times, _ = expand([every_second], start, end)
    first = int(start.timestamp())
    assert times.tolist() == [first + 1, first + 2]
    assert next_many([every_second], start).tolist() == [first + 1]


def test_nothing_in_nothing_out() -> None:
    """No recurrences give empty arrays."""
    assert next_many([], 0).tolist() == []
    assert [column.tolist() for column in expand([], 0, 10**6)] == [[], []]


@given(st.lists(st.tuples(st.integers(-(2**40), 2**40), st.integers(0, 999))), st.sampled_from([1000, 2**31 - 1]))
@example([(2**62, 3), (-(2**61), 2), (0, 1)], 1000)
@example([(5, 999), (5, 0), (4, 7)], 2**31 - 1)
def test_in_order_is_sorting(runs: list[tuple[int, int]], count: int) -> None:
    """Times and positions are sorted as pairs, also where both do not fit into one key."""
    times = np.array([t for t, _ in runs], np.int64)
    positions = np.array([p for _, p in runs], np.int32)
    ordered = in_order(times, positions, count)
    assert list(zip(*(column.tolist() for column in ordered), strict=True)) == sorted(runs)


@pytest.mark.parametrize("zone", ZONES)
def test_a_whole_year_of_a_zone(zone: str) -> None:
    """S39: a year of fixed, hourly and second-wise schedules in one zone, clock changes included."""
    recurrences = [parse(text, zone) for text in ("30 2 * * *", "0 * * * *", "*/20 0-3 * * 0", "7 0 0 1 * *")]
    start, end = (
        int(datetime(2024, 1, 1, tzinfo=UTC).timestamp()),
        int(datetime(2025, 1, 1, tzinfo=UTC).timestamp()),
    )
    times, positions = expand(recurrences, start, end)
    for position, recurrence in enumerate(recurrences):
        walked = [recurrence.after(start - 1)]
        while (following := recurrence.after(walked[-1] or 0)) is not None and following < end:
            walked.append(following)
        assert times[positions == position].tolist() == walked
