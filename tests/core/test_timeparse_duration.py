"""Durations as people write them."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tickwise.core.errors import InputError
from tickwise.core.timeparse import format_duration, parse_duration


@pytest.mark.parametrize(
    ("text", "seconds"),
    [("90s", 90), ("15m", 900), ("6h", 21_600), ("2d12h", 216_000), ("1d1h1m1s", 90_061), (" 5m ", 300)],
)
def test_reads_what_people_write(text: str, seconds: int) -> None:
    """S11: units from days to seconds, in that order, any of them."""
    assert parse_duration(text) == seconds


@pytest.mark.parametrize(
    "text",
    [
        "",
        "0s",
        "1h0m",
        "-5m",
        "+5m",
        "90",
        "1.5h",
        "5 m",
        "1m1h",
        "1m1m",
        "5M",
        "٣s",
        "1w",
        "9" * 50 + "s",
        "40000d",
    ],
)
def test_refuses_the_rest(text: str) -> None:
    """S11: zero units, signs, bare numbers, fractions, wrong order and absurd lengths are refused."""
    with pytest.raises(InputError, match=r"duration|hundred years"):
        parse_duration(text)


@given(st.integers(1, 100 * 366 * 86_400))
def test_formatting_reads_back(seconds: int) -> None:
    """What is shown as a duration is read as the same seconds."""
    assert parse_duration(format_duration(seconds)) == seconds


def test_no_time_is_shown_as_such() -> None:
    """Zero has a text of its own."""
    assert format_duration(0) == "0s"
