"""Two lists of fires compared: what appears, vanishes and moves."""

from collections import Counter

from hypothesis import given
from hypothesis import strategies as st

from tickwise.core.fire_diff import FireDiff, diff_fires

HOUR = 3_600
DAY = 24 * HOUR
seconds = st.lists(st.integers(0, 5 * DAY).map(lambda second: second // 600 * 600), max_size=30).map(sorted)


def test_equal_lists_have_no_difference() -> None:
    """Nothing appears, nothing vanishes, nothing moves."""
    assert diff_fires([0, HOUR], [0, HOUR]) == FireDiff()
    assert [*FireDiff((1,), (2,), ((3, 4),)).seconds] == [1, 2, 3, 4]


def test_a_fire_moves_to_the_nearest_new_one() -> None:
    """Also over midnight: 23:30 becomes 00:30 of the next day, and the first new one has no partner."""
    old, new = [DAY - 1800, 2 * DAY - 1800], [1800, DAY + 1800, 2 * DAY + 1800]
    assert diff_fires(old, new) == FireDiff((), (1800,), ((old[0], new[1]), (old[1], new[2])))


def test_a_nearer_partner_goes_before() -> None:
    """A fire that vanishes long before two that belong together stays alone."""
    assert diff_fires([0, 11 * HOUR], [10 * HOUR]) == FireDiff((0,), (), ((11 * HOUR, 10 * HOUR),))


def test_no_fire_moves_further_than_half_a_day() -> None:
    """What is further apart vanishes and appears."""
    assert diff_fires([0], [13 * HOUR]) == FireDiff((0,), (13 * HOUR,), ())


@given(seconds, seconds)
def test_a_difference_turns_the_first_list_into_the_second(old: list[int], new: list[int]) -> None:
    """Without what vanishes and moves away, with what appears and arrives, one list is the other."""
    found = diff_fires(old, new)
    left = Counter(old) - Counter(found.vanished) - Counter(start for start, _ in found.moved)
    there = left + Counter(found.appeared) + Counter(end for _, end in found.moved)
    assert there == Counter(new)
    assert left == Counter(old) & Counter(new)
    assert all(0 < abs(end - start) <= DAY // 2 for start, end in found.moved)
