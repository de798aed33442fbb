"""The hand-over of an attempt to an engine: how its record changes, and what a look means (S52-S56)."""

from pathlib import Path
from typing import Any

import pytest

from tickwise.core.definition import EngineUse, JobDefinition
from tickwise.core.handover import (
    NOTHING_NEW,
    REPORT_GRACE,
    WORK_ENDS_ITSELF,
    WORK_LEASE,
    Accepted,
    Alive,
    Answered,
    Began,
    HandOver,
    HandOverChange,
    Intended,
    Judgement,
    LogRead,
    Over,
    Sight,
    Sighting,
    Silent,
    ToldToEnd,
    Unheard,
    changed,
    digest,
    fingerprint_of,
    is_over,
    judged,
    reference_of,
)
from tickwise.core.settle import Failed, LeaseExpired, Lost, Succeeded
from tickwise.core.states import HandOverState, hand_over_mermaid

NOW = 1_000_000_000_000_000
SECOND = 1_000_000
INTENDED, ACCEPTED = HandOverState.INTENDED, HandOverState.ACCEPTED
BEGUN, ENDING = HandOverState.BEGUN, HandOverState.ENDING


def record(**given: Any) -> HandOver:
    plain = HandOver("gpu", "7.1", "print", "n/1", ticket="ticket", patience=600)
    return plain._replace(**given)


def begun(**given: Any) -> HandOver:
    return record(
        **{
            "state": BEGUN,
            "ticket": digest("ticket"),
            "claim": digest("c"),
            "begun_at": NOW,
            "alive_at": NOW,
            **given,
        }
    )


def after(before: HandOver | None, *changes: HandOverChange, cancelling: bool = False) -> HandOver | None:
    for change in changes:
        before = changed(before, change, NOW, cancelling=cancelling)
    return before


def test_a_reference_names_run_and_attempt() -> None:
    """The same text is the engine's own id (S52)."""
    assert reference_of("7", 2) == "7.2"


def test_orders_of_the_same_work_have_one_fingerprint() -> None:
    """Other params, another definition, another engine or a run of another store are other work."""
    one, other = JobDefinition("a", engine=EngineUse("gpu")), JobDefinition("a", engine=EngineUse("cpu"))
    given = [(one, None, "n/1"), (other, None, "n/1"), (one, {"x": 1}, "n/1"), (one, None, "m/1")]
    prints = [fingerprint_of(*each) for each in given]
    assert len(set(prints)) == 4
    assert fingerprint_of(JobDefinition("a", engine=EngineUse("gpu")), None, "n/1") == prints[0]


@pytest.mark.parametrize("kept", [record(), begun(address="http://x", log_cursor="5"), record(gated=False)])
def test_a_record_comes_back_as_it_was_stored(kept: HandOver) -> None:
    """Stores keep it as text."""
    assert HandOver.from_text(kept.text) == kept


def test_a_record_of_a_newer_version_is_read() -> None:
    """What it has besides is left out, so that a fleet can be upgraded node by node."""
    assert HandOver.from_text(record().text.replace("{", '{"later":1,', 1)) == record()


def test_the_intent_comes_first_and_once() -> None:
    """The same again is taken; another for the same attempt is not, and nothing else without it (S52)."""
    assert after(None, Intended(record())) == record()
    assert after(record(), Intended(record())) == record()
    assert after(record(), Intended(record(fingerprint="x"))) is None
    assert after(None, Accepted()) is None


def test_the_gate_opens_once() -> None:
    """With the ticket, for one claim, which may ask again; the ticket is worthless afterwards (S53)."""
    assert after(record(), Began("wrong", "c")) is None
    assert after(record(), Began("\ud800é", "c")) is None
    assert after(record(), Began("ticket", "c")) == begun()
    assert after(begun(), Began("", "c")) == begun()
    assert after(begun(alive_at=1), Began("ticket", "c")) == begun(), "asking again is a sign of life"
    assert after(begun(), Began("ticket", "d")) is None
    assert after(record(), Began("ticket", "c"), cancelling=True) is None
    assert after(begun(), Began("ticket", "c"), cancelling=True) == begun()
    assert after(record(state=ENDING), Began("ticket", "c")) is None


def test_work_without_a_gate_begins_when_the_engine_says_so() -> None:
    """Nobody has a claim on it."""
    before = record(gated=False, ticket="")
    assert after(before, Began()) == before._replace(state=BEGUN, begun_at=NOW, alive_at=NOW)
    assert after(before, Began(), Began()) == after(before, Began())


def test_only_the_work_that_began_is_alive() -> None:
    """Nobody else can keep a dead attempt alive."""
    assert after(begun(alive_at=1), Alive("c")) == begun()
    assert after(begun(), Alive("d")) is None
    assert after(record(), Alive("")) is None


def test_what_the_engine_says_is_kept() -> None:
    """An answer ends the silence; the first moment of silence and of the end count."""
    silent = after(record(), Silent("down"))
    assert silent == record(silent_since=NOW, silence="down")
    assert after(record(silent_since=1), Silent("still")) == record(silent_since=1, silence="still")
    taken = record(state=ACCEPTED, address="http://x", accepted_at=NOW)
    assert after(silent, Accepted("http://x"), Accepted()) == taken
    assert after(begun(), Over()) == begun(ended_at=NOW)
    assert after(begun(ended_at=1, silent_since=2), Over()) == begun(ended_at=1)
    assert after(record(), LogRead("12")) == record(log_cursor="12")
    assert after(begun(silent_since=1, silence="down"), Answered()) == begun()
    once = record(state=ACCEPTED, accepted_at=1)
    assert after(once, Accepted()) == once, "the patience counts from the order"
    assert after(once, Unheard(), Accepted()) == record(state=ACCEPTED, accepted_at=NOW, unheard_at=NOW)


@pytest.mark.parametrize(
    ("state", "change", "then"),
    [
        (INTENDED, Unheard(), INTENDED),
        (ACCEPTED, Unheard(), INTENDED),
        (BEGUN, Unheard(), None),
        (ENDING, Unheard(), None),
        (INTENDED, ToldToEnd(), ENDING),
        (ACCEPTED, ToldToEnd(), ENDING),
        (BEGUN, ToldToEnd(), ENDING),
        (ENDING, ToldToEnd(), ENDING),
        (BEGUN, Accepted(), BEGUN),
        (ENDING, Accepted(), ENDING),
    ],
)
def test_moves_that_exist(state: HandOverState, change: HandOverChange, then: HandOverState | None) -> None:
    """A hand-over that has begun, or was told to end, is never sent again (S53, S56)."""
    moved = after(record(state=state), change)
    assert (moved.state if moved else None) is then


def test_an_engine_that_does_not_answer_is_waited_for() -> None:
    """Up to the patience; then nobody can say what became of the work (S55)."""
    down, taken = Sighting(Sight.SILENT, error="down"), record(state=ACCEPTED)
    assert judged(taken, down, NOW) == Judgement(Silent("down"))
    waiting = taken._replace(silent_since=NOW, silence="down")
    assert judged(waiting, down, NOW + 600 * SECOND - 1) == NOTHING_NEW
    lost = judged(waiting, down, NOW + 600 * SECOND)
    assert (lost.outcome, lost.error) == (Lost(), "gpu has not answered for 10m: down")


def test_a_silence_begins_anew_after_a_pause() -> None:
    """The engine might have answered in between, so the patience is counted from the end of the pause (S55)."""
    down, asked_since = Sighting(Sight.SILENT, error="down"), NOW + 500 * SECOND
    waiting = record(state=ACCEPTED, silent_since=NOW, silence="down")
    judgement = judged(waiting, down, NOW + 700 * SECOND, asked_since)
    assert judgement == Judgement(Silent("down", asked_since))
    anew = after(waiting, Silent("down", asked_since))
    assert anew == waiting._replace(silent_since=asked_since)
    assert judged(anew, down, asked_since + 600 * SECOND - 1, asked_since) == NOTHING_NEW
    assert judged(anew, down, asked_since + 600 * SECOND, asked_since).outcome == Lost()


def test_work_that_gives_signs_of_life_does_not_need_its_engine() -> None:
    """However long the engine is silent; when the work is silent too, it is dead (S42)."""
    down, later = Sighting(Sight.SILENT, error="down"), NOW + 3_600 * SECOND
    alone = begun(silent_since=NOW, silence="down", alive_at=later)
    assert judged(alone, down, later) == NOTHING_NEW
    assert judged(alone, down, later + WORK_LEASE * SECOND + 1).outcome == LeaseExpired()
    free = begun(gated=False, silent_since=NOW, silence="down")
    assert judged(free, down, later).outcome == Lost()


@pytest.mark.parametrize("sight", [Sight.UNKNOWN, Sight.UNSURE, Sight.ENDED])
def test_any_answer_ends_a_silence(sight: Sight) -> None:
    """One call that is lost now and then does not add up to an engine that has not answered for the patience."""
    silent = begun(silent_since=NOW, silence="down", ended_at=NOW)
    assert judged(silent, Sighting(sight), NOW + SECOND) == Judgement(Answered())
    assert judged(begun(ended_at=NOW), Sighting(sight), NOW + SECOND) == NOTHING_NEW


def test_what_the_engine_never_heard_of_is_sent_again() -> None:
    """Forgotten work that had begun is lost instead, unless it reports by itself (S55)."""
    unknown = Sighting(Sight.UNKNOWN)
    assert judged(record(), unknown, NOW) == Judgement(Unheard())
    assert judged(record(state=ACCEPTED), unknown, NOW) == Judgement(Unheard())
    assert judged(begun(), unknown, NOW) == NOTHING_NEW
    forgotten = judged(begun(gated=False, claim=""), unknown, NOW)
    assert (forgotten.outcome, forgotten.error) == (Lost(), "gpu has forgotten 7.1, which had begun")


def test_an_engine_that_cannot_say_is_sent_the_order_again_after_the_patience() -> None:
    """The gate makes a second order harmless (S53); an unanswered first one counts as silence."""
    unsure = Sighting(Sight.UNSURE)
    assert judged(record(), unsure, NOW) == NOTHING_NEW
    taken = record(state=ACCEPTED, accepted_at=NOW)
    assert judged(taken, unsure, NOW + 600 * SECOND - 1) == NOTHING_NEW
    assert judged(taken, unsure, NOW + 600 * SECOND) == Judgement(Unheard())
    assert judged(begun(accepted_at=NOW), unsure, NOW + SECOND) == NOTHING_NEW
    unsent = record(silent_since=NOW, silence="down")
    assert judged(unsent, unsure, NOW + SECOND) == NOTHING_NEW
    assert judged(unsent, unsure, NOW + 600 * SECOND).outcome == Lost()


def test_work_that_stops_giving_signs_of_life_is_dead() -> None:
    """It has ended itself before that, so another attempt may begin (S42)."""
    running = Sighting(Sight.RUNNING)
    assert judged(begun(), running, NOW + WORK_LEASE * SECOND) == NOTHING_NEW
    dead = judged(begun(), running, NOW + WORK_LEASE * SECOND + 1)
    assert (dead.outcome, dead.error) == (LeaseExpired(), "the work on gpu has given no sign of life for 30s")
    free = begun(gated=False)
    assert judged(free, running, NOW + 10 * WORK_LEASE * SECOND) == NOTHING_NEW


def test_what_the_engine_has_is_accepted() -> None:
    """The address is learnt with it; work without a gate begins when it is seen running."""
    waiting = Sighting(Sight.WAITING, address="http://x")
    assert judged(record(), waiting, NOW) == Judgement(Accepted("http://x"))
    assert judged(record(state=ACCEPTED), waiting, NOW) == NOTHING_NEW
    assert judged(record(state=ACCEPTED, silent_since=1), waiting, NOW) == Judgement(Accepted("http://x"))
    free = record(state=ACCEPTED, gated=False)
    assert judged(free, Sighting(Sight.RUNNING), NOW) == Judgement(Began())
    assert judged(record(state=ACCEPTED), Sighting(Sight.RUNNING), NOW) == NOTHING_NEW


def test_the_end_of_work_without_a_gate_is_as_the_engine_says() -> None:
    """One that does not know how it ended is taken as a failure."""
    free = begun(gated=False)
    assert judged(free, Sighting(Sight.ENDED, Succeeded()), NOW) == Judgement(outcome=Succeeded())
    ended = judged(free, Sighting(Sight.ENDED, error="exit 1"), NOW)
    assert (ended.outcome, ended.error) == (Failed(), "exit 1")


def test_work_with_a_gate_has_time_to_report_its_end() -> None:
    """Its own word may be under way; without it the attempt has failed."""
    ended = Sighting(Sight.ENDED, Succeeded(), error="exit 137")
    assert judged(begun(), ended, NOW) == Judgement(Over())
    over = begun(ended_at=NOW, alive_at=NOW - (WORK_ENDS_ITSELF - REPORT_GRACE) * SECOND - 1)
    assert judged(over, ended, NOW + REPORT_GRACE * SECOND - 1) == NOTHING_NEW
    late = judged(over, ended, NOW + REPORT_GRACE * SECOND)
    assert (late.outcome, late.error) == (Failed(), "7.1 has ended and did not report how on gpu: exit 137")
    early = judged(record(ended_at=NOW), Sighting(Sight.ENDED), NOW + REPORT_GRACE * SECOND)
    assert early.error == "7.1 has ended before the work began on gpu"


def test_a_copy_that_has_left_is_not_the_end_of_the_work() -> None:
    """An engine that delivered twice says that it is over; the work that began gives signs of life (S53, S56)."""
    ended = Sighting(Sight.ENDED)
    soon, late = NOW + WORK_ENDS_ITSELF * SECOND, NOW + WORK_ENDS_ITSELF * SECOND + 1
    over = begun(ended_at=NOW)
    assert judged(over, ended, soon) == NOTHING_NEW
    assert judged(over, ended, late).outcome == Failed()
    for sight in (ended, Sighting(Sight.UNKNOWN)):
        assert not is_over(begun(state=ENDING), sight, soon)
        assert is_over(begun(state=ENDING), sight, late)


def test_when_a_cancellation_is_certain() -> None:
    """Work that never began never will; other work must be seen to be over, or be dead (S56)."""
    running, told = Sighting(Sight.RUNNING), begun(state=ENDING)
    assert is_over(record(state=ENDING), running, NOW)
    assert not is_over(told, running, NOW)
    assert is_over(told, running, NOW + WORK_LEASE * SECOND + 1)
    assert is_over(told._replace(alive_at=1), Sighting(Sight.ENDED), NOW)
    assert is_over(told._replace(gated=False), Sighting(Sight.UNKNOWN), NOW)
    assert not is_over(record(state=ENDING, gated=False), running, NOW)


def test_nobody_watches() -> None:
    """The reason names reference, engine and time."""
    assert record().unwatched == "no node has watched 7.1 on gpu for 10m"


def test_the_picture_in_the_docs_is_current() -> None:
    """docs/states.md shows the table that the code uses."""
    page = Path(__file__).parents[2] / "docs" / "states.md"
    assert hand_over_mermaid() in page.read_text(encoding="utf-8")
