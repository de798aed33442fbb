"""Recurrences made of others: one-off instants (S33) and the union of a list (S49)."""

import pytest

from tickwise.core.cron import parse
from tickwise.core.cron.recurrences import AnyOf, At
from tickwise.core.cron.zone import zone
from tickwise.core.errors import InputError

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
