"""Recurrences made of others: one-off instants (S33) and the union of a list (S49)."""

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tickwise.core.cron import parse
from tickwise.core.cron.expression import DAY
from tickwise.core.cron.recurrences import AnyOf, At
from tickwise.core.cron.zone import zone
from tickwise.core.errors import InputError
from tickwise.core.timeparse import FIRST

from .world import instant, once

BOTH = AnyOf((parse("0 * * * *"), parse("*/45 * * * *")))


def test_one_offs_are_walked_both_ways() -> None:
    """S33: after the last and before the first there is nothing."""
    times = once("01:00", "03:00")
    one, three = times.seconds
    assert [times.after(t) for t in (0, one - 1, one, three)] == [one, one, three, None]
    assert [times.before(t) for t in (one, one + 1, three, three + 1)] == [None, one, one, three]
    assert [times.count(*span) for span in ((0, one), (one, three), (one - 1, three), (three, three + 9))] == [
        1,
        1,
        2,
        0,
    ]


@pytest.mark.parametrize("seconds", [(), (2, 1), (1, 1)])
def test_one_offs_come_in_order_and_once(seconds: tuple[int, ...]) -> None:
    """S33: none, a wrong order or a repetition is refused."""
    with pytest.raises(InputError, match="once each and in order"):
        At(seconds, zone("UTC"))


def test_one_offs_explain_themselves_in_their_zone() -> None:
    """S33: for people in the schedule's zone, in writing in UTC."""
    times = At((instant("01:00"), instant("03:00")), zone("Asia/Tokyo"))
    assert times.explain() == "Once, at 2026-01-01 10:00:00 and 2026-01-01 12:00:00, Asia/Tokyo"
    assert str(times) == "@at 2026-01-01T01:00:00Z,2026-01-01T03:00:00Z"


def test_a_union_is_walked_both_ways() -> None:
    """S49: the earliest of what its parts say after, the latest of what they say before."""
    met, second = [], instant("00:00") - 1
    while (following := BOTH.after(second)) is not None and following <= instant("02:00"):
        met.append(following)
        second = following
    assert met == [instant(text) for text in ("00:00", "00:45", "01:00", "01:45", "02:00")]
    back, last = [], instant("02:00") + 1
    while (previous := BOTH.before(last)) is not None and previous >= instant("00:00"):
        back.append(previous)
        last = previous
    assert back == met[::-1]


@pytest.mark.parametrize("hours", [0, 1, 23, 24, 25, 24 * 40])
def test_a_union_counts_what_it_names(hours: int) -> None:
    """S49: a second named by both parts counts once; the first instant does not count, the last does."""
    start = instant("00:00")
    assert BOTH.count(start, start + hours * 3600) == 2 * hours


PARTS = st.sampled_from(
    [
        "*/7 * * * *", "30 2 * * *", "15 2,3 * * *", "*/20 1-3 * * * *", "0 0 1 * 1", "@every 97s", "@every 5m",
        "@every 30h",
    ]
)  # fmt: skip
ZONES = st.sampled_from(["UTC", "Europe/Berlin", "America/New_York", "Australia/Lord_Howe", "Asia/Kathmandu"])
CHANGES = st.sampled_from(["2026-03-08T07:00", "2026-03-29T01:00", "2026-04-04T15:00", "2026-10-25T01:00"])


@given(
    st.lists(st.tuples(PARTS, ZONES), min_size=2, max_size=4), CHANGES,
    st.integers(-DAY, DAY), st.integers(0, 2 * DAY),
)  # fmt: skip
def test_a_union_counts_as_it_is_walked(parts: list[tuple[str, str]], near: str, shift: int, length: int) -> None:
    """S6, S49: over clock changes of several zones, too, the count is that of the walk."""
    union = AnyOf(tuple(parse(text, zone_name) for text, zone_name in parts))
    after = instant(near) + shift
    walked, second = 0, union.after(after)
    while second is not None and second <= after + length:
        walked, second = walked + 1, union.after(second)
    assert union.count(after, after + length) == walked


@pytest.mark.parametrize(
    "parts",
    [
        ("0 3 * * 1", "*/20 3 * * *"),
        ("30 2 * * *", "@every 97m"),
        ("CRON_TZ=Europe/Berlin 30 2 L * *", "CRON_TZ=Asia/Kathmandu 0 4 * 1-3 5#2"),
        ("0 0 0 29 2 ? 1972-1980,2000", "0 12 29 2 *"),
    ],
)
def test_a_union_of_many_years_is_the_sum_of_its_months(parts: tuple[str, ...]) -> None:
    """S6, S49: years of the same kind are counted once, whatever clocks did in others."""
    union = AnyOf(tuple(map(parse, parts)))
    first = instant("1880-02-15T10:30")
    for years in (3, 160):
        ends = [first + n * 31 * DAY for n in range(12 * years)]
        assert union.count(ends[0], ends[-1]) == sum(union.count(a, b) for a, b in pairwise(ends))


@pytest.mark.parametrize("text", ["0 3 * * 1", "0 0 29 2 *", "0 0 L 1-3 *", "0 0 0 1 1 ? 2024-2030"])
def test_slots_of_many_years_are_counted_year_by_year(text: str) -> None:
    """S6: however long nothing ran, the sum is that of its parts."""
    times, years = parse(text), [instant(f"{year}-01-01T00:00") for year in range(1896, 2105)]
    whole = times.count(years[0], years[-1])
    assert whole == sum(times.count(a, b) for a, b in pairwise(years))
    middle = [year + 40 * DAY for year in years]
    assert whole == sum(times.count(a, b) for a, b in pairwise([years[0], *middle[:-1], years[-1]]))
    assert times.count(FIRST, years[-1]) - times.count(FIRST, years[0]) == whole
