"""How work names its end: every outcome that it can report is read back as it was."""

import pytest

from tickwise.core.errors import TickwiseError
from tickwise.core.settle import Cancelled, Failed, HandedBack, LeaseExpired, Outcome, Snoozed, Succeeded, Unmet
from tickwise.core.work_report import REPORTED, outcome_of, reported

ENDS: list[Outcome] = [
    Succeeded(),
    Failed(),
    Failed(0),
    Failed(30),
    Cancelled(),
    Snoozed(5),
    HandedBack(),
    Unmet(),
]


@pytest.mark.parametrize("outcome", ENDS)
def test_an_outcome_is_read_back(outcome: Outcome) -> None:
    """A failure keeps when it wants to be tried again, a snooze how long it is."""
    assert outcome_of(*reported(outcome)) == outcome


def test_every_word_is_of_an_outcome() -> None:
    """No word is left over; a snooze without a time is over at once."""
    assert {reported(outcome)[0] for outcome in ENDS} == set(REPORTED)
    assert outcome_of("snoozed", None) == Snoozed(0)


def test_work_does_not_say_that_it_vanished() -> None:
    """S42: only others find that out."""
    with pytest.raises(TickwiseError, match="does not report"):
        reported(LeaseExpired())
