"""What people write down."""

import pytest

from tickwise.core.definition import check_name
from tickwise.core.errors import InputError

from .world import job, schedule


@pytest.mark.parametrize("name", ["a", "0", "etl.stop", "My-Job_2", "x" * 100])
def test_a_name(name: str) -> None:
    """Letters, digits, dots, dashes and underscores, up to a hundred."""
    assert check_name(name) == name


@pytest.mark.parametrize("name", ["", ".etl", "-x", "a b", "ä", "x" * 101, "a\n"])
def test_what_is_no_name(name: str) -> None:
    """The refusal shows the name and says what it was for."""
    with pytest.raises(InputError, match="cannot be a schedule's name: use 1 to 100 letters"):
        check_name(name, "a schedule's name")


def test_definitions_are_values() -> None:
    """Equal texts make equal definitions, so that the same written again changes nothing (S28)."""
    assert job("etl", "0 * * * *", catchup="all") == job("etl", "0 * * * *", catchup="all")
    assert schedule("etl", "0 * * * *") != schedule("etl", "1 * * * *")
    assert hash(schedule("etl", "0 * * * *")) == hash(schedule("etl", "0 * * * *"))
