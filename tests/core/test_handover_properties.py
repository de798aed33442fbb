"""Whatever happens to a hand-over, in whatever order: it begins at most once, and its states only go forward."""

from collections.abc import Sequence
from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from tickwise.core.handover import (
    Accepted,
    Alive,
    Answered,
    Began,
    HandOver,
    HandOverChange,
    Intended,
    LogRead,
    Over,
    Sight,
    Sighting,
    Silent,
    ToldToEnd,
    Unheard,
    changed,
    digest,
    judged,
)
from tickwise.core.settle import LeaseExpired, Lost
from tickwise.core.states import HandOverState

SECOND = 1_000_000
FIRST = HandOver("gpu", "7.1", "print", "n/1", ticket="ticket", patience=600)
SAID = st.text(st.characters() | st.sampled_from("\0\ud800"), max_size=20) | st.just("x" * 10_000)
CLAIMS = st.sampled_from(["a", "b", "c"])
CHANGES: st.SearchStrategy[HandOverChange] = st.one_of(
    st.builds(Intended, st.sampled_from([FIRST, FIRST._replace(fingerprint="other")])),
    st.builds(Accepted, SAID),
    st.builds(Began, st.sampled_from(["ticket", "wrong", ""]), CLAIMS),
    st.builds(Alive, CLAIMS),
    st.sampled_from([Unheard(), Answered(), Over(), ToldToEnd()]),
    st.builds(Silent, SAID),
    st.builds(LogRead, st.sampled_from(["", "5", "12"])),
)
HISTORIES = st.lists(st.tuples(CHANGES, st.booleans()), max_size=30)
SIGHTINGS = st.builds(Sighting, st.sampled_from(Sight), error=SAID, address=SAID)


def told(history: Sequence[tuple[HandOverChange, bool]], first: HandOver) -> list[HandOver]:
    """The record after each change that was not refused; once cancelled, a run stays so."""
    records, is_cancelling = [first], False
    for second, (change, cancels) in enumerate(history, 1):
        is_cancelling |= cancels
        record = changed(records[-1], change, second * SECOND, cancelling=is_cancelling)
        records += [] if record is None else [record]
    return records


@given(HISTORIES, st.booleans())
def test_an_attempt_begins_once(history: list[tuple[HandOverChange, bool]], gated: bool) -> None:
    """One claim and one moment, whoever asks how often; and nothing leads away from it but the end (S53)."""
    records = told(history, FIRST if gated else FIRST._replace(gated=False, ticket=""))
    assert len({(each.claim, each.begun_at) for each in records if each.begun_at is not None}) <= 1
    for before, after in pairwise(records):
        if before.begun_at is not None:
            assert after.begun_at == before.begun_at
        if before.state in (HandOverState.BEGUN, HandOverState.ENDING):
            assert after.state in (before.state, HandOverState.ENDING)
        assert (after.begun_at is None) or after.state in (HandOverState.BEGUN, HandOverState.ENDING)


@given(HISTORIES)
def test_one_claim_is_let_in(history: list[tuple[HandOverChange, bool]]) -> None:
    """Of all answers of the gate, those that say yes are to one claim, with the ticket or after it (S53)."""
    record, is_cancelling, let_in = FIRST, False, set[str]()
    for second, (change, cancels) in enumerate(history, 1):
        is_cancelling |= cancels
        after = changed(record, change, second * SECOND, cancelling=is_cancelling)
        if isinstance(change, Began) and after is not None:
            let_in.add(change.claim)
            assert after.claim == digest(change.claim)
            assert record.begun_at is not None or (change.ticket == "ticket" and not is_cancelling)
        record = after or record
    assert len(let_in) <= 1


@given(HISTORIES, st.booleans())
def test_a_stored_record_is_read_back(history: list[tuple[HandOverChange, bool]], gated: bool) -> None:
    """Stores keep it as text, and compare texts. What an engine says may hold anything."""
    for record in told(history, FIRST._replace(gated=gated)):
        assert HandOver.from_text(record.text) == record
        assert HandOver.from_text(record.text).text == record.text


@given(HISTORIES, st.lists(SIGHTINGS, min_size=1, max_size=30), st.integers(1, 20))
def test_a_watcher_loses_only_what_nobody_can_say(
    history: list[tuple[HandOverChange, bool]], looks: list[Sighting], every: int
) -> None:
    """Work that asks the gate is lost only by a silence of the patience, and dead only after its lease (S55)."""
    record, silent_since = told(history, FIRST)[-1]._replace(silent_since=None, silence=""), None
    for number, seen in enumerate(looks, 1):
        now = (len(history) + number * every) * SECOND
        unheard = seen.sight is Sight.SILENT or (
            seen.sight is Sight.UNSURE and record.state is HandOverState.INTENDED and silent_since is not None
        )
        silent_since = (now if silent_since is None else silent_since) if unheard else None
        judgement = judged(record, seen, now)
        if judgement.outcome == Lost():
            assert silent_since is not None
            assert now - silent_since >= record.patience * SECOND
        if judgement.outcome == LeaseExpired():
            assert record.alive_at is not None
            assert now - record.alive_at > 30 * SECOND
        if judgement.outcome is not None:
            return
        if judgement.change:
            record = changed(record, judgement.change, now, cancelling=False) or record
