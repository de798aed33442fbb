"""What became of a slot: each has one state, in a list and in bins alike."""

from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tickwise.core.cron import parse
from tickwise.core.definition import Policy, ScheduleDefinition
from tickwise.core.model import Decision, Deferral, Schedule
from tickwise.core.reasons import Reason
from tickwise.core.slot_history import (
    Bins,
    RunCount,
    SlotLedger,
    SlotRecord,
    SlotRun,
    SlotState,
    state_of_run,
)
from tickwise.core.states import RunState

DAY = 1_767_225_600  # 2026-01-01
MINUTE = 60
MICRO = 1_000_000


def at(minute: int) -> int:
    return DAY + minute * MINUTE


def schedule(cursor: int, times: str = "*/5 * * * *", **policy: object) -> Schedule:
    definition = ScheduleDefinition("s", "j", parse(times), times, policy=Policy.of(**policy))  # type: ignore[arg-type]
    return Schedule(definition, at(cursor), at(cursor), 0, 0, 0)


def decided(reason: Reason, first: int, last: int, count: int) -> Decision:
    return Decision("s", reason, at(first), at(last), count, "x")


def run(minute: int, state: RunState = RunState.SUCCEEDED, attempt: int = 1) -> SlotRun:
    return SlotRun(at(minute), str(minute), state, attempt, at(minute) * MICRO)


def told(records: list[SlotRecord]) -> list[tuple[int, str, str | None, int]]:
    return [((each.slot - DAY) // MINUTE, str(each.state), each.reason, each.slots) for each in records]


def ledger(
    own: Schedule, *decisions: Decision, now: int, paused: bool = False, readable: bool = True
) -> SlotLedger:
    return SlotLedger(own, decisions, at(now), paused=paused, readable=readable)


@pytest.mark.parametrize("state", RunState)
def test_every_state_of_a_run_is_a_state_of_its_slot(state: RunState) -> None:
    """Whatever a run is, its slot has a state, and one that did not run says why."""
    found, reason = state_of_run(state, retried=False)
    assert (reason is None) is (found in {SlotState.RAN, SlotState.RUNNING})
    again, _ = state_of_run(state, retried=True)
    assert again == (SlotState.RAN_AFTER_RETRIES if state is RunState.SUCCEEDED else found)


def test_a_list_tells_runs_decisions_what_waits_and_what_is_to_come() -> None:
    """Each slot by its run, its decision, or its place before or after the cursor (S7)."""
    own = schedule(20)
    found = ledger(own, decided(Reason.OVERLAP, 10, 15, 2), now=26).newest([run(5), run(20)], at(0), at(35), 99)
    assert told(found) == [
        (30, "to_come", None, 1),
        (25, "waiting", "not_decided", 1),
        (20, "ran", None, 1),
        (15, "skipped", "overlap", 1),
        (10, "skipped", "overlap", 1),
        (5, "ran", None, 1),
    ]
    newest = ledger(own, decided(Reason.OVERLAP, 10, 15, 2), now=26).newest([run(5), run(20)], at(12), at(35), 3)
    assert told(newest) == told(found)[:3]
    since = ledger(own, decided(Reason.OVERLAP, 10, 15, 2), now=26).newest([run(5), run(20)], at(12), at(18), 9)
    assert told(since) == [(15, "skipped", "overlap", 1)]


def test_a_run_goes_before_a_decision_about_its_slot() -> None:
    """A slot that was skipped and then backfilled is told once, as its run (S32)."""
    own, skipped = schedule(20), decided(Reason.MISSED, 5, 20, 4)
    assert told(ledger(own, skipped, now=21).newest([run(10)], at(0), at(21), 9)) == [
        (20, "skipped", "missed", 1),
        (15, "skipped", "missed", 1),
        (10, "ran", None, 1),
        (5, "skipped", "missed", 1),
    ]
    bins = Bins(at(0), 600, 3)
    drawn = ledger(own, skipped, now=21).binned(bins, [RunCount(1, RunState.SUCCEEDED, False, 1)], [at(10)])
    assert drawn[1] == {(SlotState.RAN, None): 1, (SlotState.SKIPPED, "missed"): 1}
    assert drawn[2] == {(SlotState.SKIPPED, "missed"): 1, (SlotState.TO_COME, None): 1}


def test_a_stop_that_did_its_work_ran() -> None:
    """A stop slot has no run of its own (S21)."""
    found = ledger(schedule(5), decided(Reason.STOPPED, 5, 5, 1), now=6).newest([], at(0), at(6), 9)
    assert told(found) == [(5, "ran", "stopped", 1)]


def test_a_decision_to_wait_is_no_end() -> None:
    """A slot that waits is told by its schedule's deferral, and by a pause before all else (S29)."""
    own = schedule(0)._replace(deferral=Deferral(at(10), Reason.WAITS_FOR_RUN, at(10)))
    waits = decided(Reason.WAITS_FOR_RUN, 10, 10, 1)
    assert told(ledger(own, waits, now=11).newest([], at(0), at(12), 9)) == [
        (10, "waiting", "waits_for_run", 1),
        (5, "waiting", "not_decided", 1),
    ]
    assert told(ledger(own, now=11, paused=True).newest([], at(0), at(16), 9)) == [
        (15, "to_come", "paused", 1),
        (10, "waiting", "paused", 1),
        (5, "waiting", "paused", 1),
    ]


def test_a_note_is_no_end() -> None:
    """A slot with a note is told by what became of it otherwise (S65)."""
    late = decided(Reason.LATE_START, 5, 10, 2)
    found = ledger(schedule(5), decided(Reason.OVERLAP, 5, 5, 1), late, now=11).newest([], at(0), at(11), 9)
    assert told(found) == [(10, "waiting", "not_decided", 1), (5, "skipped", "overlap", 1)]


def test_a_slot_is_to_come_until_its_jitter_is_over() -> None:
    """A slot is due from slot + jitter on (S36)."""
    own = schedule(0, jitter=299)
    assert told(ledger(own, now=5).newest([], at(0), at(6), 9)) == [(5, "to_come", None, 1)]
    assert told(SlotLedger(own, (), at(10) - 1, paused=False).newest([], at(0), at(6), 9)) == [
        (5, "waiting", "not_decided", 1)
    ]


def test_a_slot_that_is_pending_again_waits() -> None:
    """What was recorded as missed and re-opened is no longer skipped (S25); with a run, it has that."""
    own = schedule(20)._replace(reopened=(at(5), at(10)))
    book = ledger(own, decided(Reason.MISSED, 5, 20, 4), now=21)
    states = [state for _, state, _, _ in told(book.newest([run(10)], at(0), at(21), 9))]
    assert states == ["skipped", "skipped", "ran", "waiting"]
    assert told(book.newest([], at(7), at(12), 9)) == [(10, "waiting", "not_decided", 1)]
    drawn = book.binned(Bins(at(0), 600, 2), [RunCount(1, RunState.SUCCEEDED, False, 1)], [at(10)])
    assert drawn[0] == {(SlotState.WAITING, "not_decided"): 1}
    assert drawn[1] == {(SlotState.RAN, None): 1, (SlotState.SKIPPED, "missed"): 1}
    assert book.binned(Bins(at(11), 60, 1), [], []) == {}


def test_a_decision_whose_slots_are_not_known_any_more_stands_at_its_last() -> None:
    """After an edit the times do not name what was decided; the number stays (S24)."""
    own, old = schedule(30, "0 * * * *"), decided(Reason.TOO_MANY, 2, 22, 5)
    book = ledger(own, old, now=31)
    assert told(book.newest([run(12)], at(0), at(31), 9)) == [(22, "skipped", "too_many", 4), (12, "ran", None, 1)]
    assert told(book.newest([], at(0), at(20), 9)) == []
    drawn = book.binned(Bins(at(0), 600, 3), [], [at(12)])
    assert drawn == {2: {(SlotState.SKIPPED, "too_many"): 4}}
    assert ledger(own, old, now=31).binned(Bins(at(0), 600, 2), [], []) == {}
    everything = [at(minute) for minute in range(2, 23)]
    assert ledger(own, old, now=31).binned(Bins(at(0), 3_000, 1), [], everything) == {}


def test_a_decision_over_bins_is_split_where_its_slots_are() -> None:
    """A wide range is counted bin by bin, and not slot by slot (S6)."""
    wide = decided(Reason.TOO_OLD, 5, 5 * 20_000, 20_000)
    drawn = ledger(schedule(5 * 20_000), wide, now=5 * 20_000).binned(Bins(at(0), 3_600, 2), [], [])
    assert drawn == {0: {(SlotState.SKIPPED, "too_old"): 11}, 1: {(SlotState.SKIPPED, "too_old"): 12}}


def test_a_later_decision_about_the_same_slots_counts() -> None:
    """Re-opened and decided again: each slot once, by the newest verdict (S25)."""
    own = schedule(40)
    first = decided(Reason.MISSED, 5, 30, 6)
    for later, left in (
        (decided(Reason.TOO_OLD, 10, 15, 2), [5, 20, 25, 30]),
        (decided(Reason.TOO_OLD, 5, 10, 2), [15, 20, 25, 30]),
        (decided(Reason.TOO_OLD, 25, 40, 4), [5, 10, 15, 20]),
        (decided(Reason.TOO_OLD, 5, 30, 6), []),
        (decided(Reason.TOO_OLD, 35, 40, 2), [5, 10, 15, 20, 25, 30]),
    ):
        book = ledger(own, first, later, now=40)
        found = told(book.newest([], at(0), at(41), 99))
        assert [minute for minute, _, reason, _ in reversed(found) if reason == "missed"] == left
        counts = sum(book.binned(Bins(at(0), 700, 5), [], []).values(), Counter())
        assert counts[SlotState.SKIPPED, "missed"] == len(left)
        assert counts[SlotState.SKIPPED, "too_old"] == later.count


def test_decisions_that_overlap_may_be_about_other_slots() -> None:
    """Where the slots of one are not known, none is taken from the other: only the sum is certain."""
    own = schedule(40)
    vague, sure = decided(Reason.PAUSED, 5, 40, 6), decided(Reason.MISSED, 10, 15, 2)
    for order in ((vague, sure), (sure, vague)):
        counts = sum(ledger(own, *order, now=40).binned(Bins(at(0), 3_000, 1), [], []).values(), Counter())
        assert (counts[SlotState.SKIPPED, "paused"], counts[SlotState.SKIPPED, "missed"]) == (6, 2)
    third = decided(Reason.TOO_OLD, 35, 40, 2)
    counts = sum(ledger(own, vague, sure, third, now=40).binned(Bins(at(0), 3_000, 1), [], []).values(), Counter())
    assert (counts[SlotState.SKIPPED, "missed"], counts[SlotState.SKIPPED, "too_old"]) == (2, 2)


def test_a_schedule_that_cannot_be_read_has_only_its_records() -> None:
    """Its times are not known, so nothing waits and nothing is to come (S20)."""
    book = ledger(schedule(0), decided(Reason.OVERLAP, 5, 10, 2), now=21, readable=False)
    assert told(book.newest([run(15)], at(0), at(40), 9)) == [(15, "ran", None, 1), (10, "skipped", "overlap", 2)]
    assert book.binned(Bins(at(0), 600, 4), [], []) == {1: {(SlotState.SKIPPED, "overlap"): 2}}


@given(
    st.lists(st.sampled_from(["run", "again", Reason.OVERLAP, Reason.MISSED, None]), min_size=1, max_size=60),
    st.integers(60, 2_000),
    st.integers(0, 40),
)
def test_bins_and_list_agree(kinds: list[str | Reason | None], step: int, pending: int) -> None:
    """However slots ended and however bins lie, both tell the same slots, each once."""
    runs, decisions, again = [], [], []
    for place, kind in enumerate(kinds, 1):
        minute = 5 * place
        if kind in ("run", "again"):
            runs.append(run(minute, RunState.FAILED))
        if kind == "again":
            again.append(at(minute))
        if isinstance(kind, Reason) or kind == "again":
            decisions.append(decided(kind if isinstance(kind, Reason) else Reason.MISSED, minute, minute, 1))
    now = 5 * (len(kinds) + pending)
    own = schedule(5 * len(kinds))
    bins = Bins(at(0), step, (now * MINUTE + 1_200) // step + 1)
    counts = Counter(((each.slot - bins.since) // step) for each in runs)
    book = ledger(own, *decisions, now=now)
    drawn = book.binned(bins, [RunCount(place, RunState.FAILED, False, n) for place, n in counts.items()], again)
    listed = book.newest(runs, bins.since, bins.until, 10_000)
    assert len({each.slot for each in listed}) == len(listed)
    assert Counter(((each.slot - bins.since) // step, each.state, each.reason) for each in listed) == {
        (place, *kind): number for place, each in drawn.items() for kind, number in each.items()
    }
