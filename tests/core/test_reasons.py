"""Why: codes that are stable, sentences that can be read."""

import pytest

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


def test_an_unknown_code_is_an_error() -> None:
    """Codes are looked up, never guessed."""
    with pytest.raises(KeyError):
        Reason.of("nonsense")
