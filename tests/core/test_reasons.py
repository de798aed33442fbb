"""Why: codes that are stable, sentences that can be read."""

import pytest

from tickwise.core.model import Trigger
from tickwise.core.reasons import Reason


@pytest.mark.parametrize("reason", Reason, ids=lambda reason: reason.code)
def test_every_reason_has_text_and_advice(reason: Reason) -> None:
    """A code, what happened in half a sentence, and what to do in whole ones."""
    assert reason.code == reason.name.lower()
    assert Reason.of(reason.code) is reason
    assert reason.text[0].islower()
    assert not reason.text.endswith(".")
    assert reason.advice[0].isupper()
    assert reason.advice.endswith(".")


def test_a_detail_is_filled_in() -> None:
    """The sentence names what it is about; without a detail it says so."""
    assert Reason.OVERLAP.explain("42") == "the job was still active: run 42 was in the way"
    assert Reason.OVERLAP.explain() == "the job was still active: run … was in the way"


def test_a_code_of_a_newer_version() -> None:
    """It is passed on as it stands, with the advice to update; it is none of the reasons that there are."""
    lunar = Reason.of("lunar")
    assert (lunar.code, lunar in list(Reason)) == ("lunar", False)
    assert "the moon" in lunar.explain("the moon")
    assert lunar.advice.startswith("Update")


def test_a_trigger_of_a_newer_version() -> None:
    """It is passed on as it stands, too."""
    assert [Trigger.of(str(trigger)) for trigger in Trigger] == list(Trigger)
    lunar = Trigger.of("lunar")
    assert (str(lunar), lunar.value, lunar in list(Trigger), isinstance(lunar, Trigger)) == (
        "lunar",
        "lunar",
        False,
        True,
    )
