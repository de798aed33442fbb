"""The checker of ledgers: whole ones pass, and each kind of hole is found, named and given a repair."""

from collections.abc import Sequence
from typing import Any

import pytest

from tickwise.core.audit import AuditedRun, Checked, DefinedSpan, Fault, ScheduleHistory, check, overlapping
from tickwise.core.cron import parse
from tickwise.core.model import Decision, Trigger
from tickwise.core.reasons import Reason
from tickwise.core.states import RunState

BEGIN = 1_767_225_600  # 2026-01-01T00:00:00Z
MINUTES = parse("* * * * *")
MICRO = 1_000_000


def slot(minute: float) -> int:
    return BEGIN + round(60 * minute)


def run(minute: float, trigger: Trigger = Trigger.SCHEDULE, made: float | None = None, **given: Any) -> AuditedRun:
    """A run of a slot, made on time and over after a second, if nothing else is said."""
    made_at = slot(minute if made is None else made) * MICRO
    usual = {"attempt": 1, "started_at": made_at, "finished_at": made_at + MICRO, "due_at": slot(minute) * MICRO}
    state = given.pop("state", RunState.SUCCEEDED)
    return AuditedRun(
        given.pop("id", f"r{minute}"), "s", slot(minute), trigger, state, made_at=made_at, **(usual | given)
    )


def told(first: float, last: float, number: int, reason: Reason = Reason.OVERLAP) -> Decision:
    return Decision("s", reason, slot(first), slot(last), number)


def found(
    runs: Sequence[AuditedRun],
    *decisions: Decision,
    until: float = 5,
    moves: Sequence[float] | None = (),
    **given: Any,
) -> Checked:
    """The slots of the first minutes, checked."""
    spans = given.pop("spans", (DefinedSpan(BEGIN, slot(until), MINUTES),))
    known = None if moves is None else frozenset(map(slot, moves))
    return check(ScheduleHistory("s", spans, tuple(runs), decisions, known, **given))


def kinds(checked: Checked) -> list[Fault]:
    return [finding.kind for finding in checked.findings]


def test_a_slot_has_a_run_or_a_reason() -> None:
    """Each slot with its run or in a range with a reason: nothing is wrong, and all is counted (S7)."""
    assert found([run(1), run(2), run(5)], told(3, 4, 2)) == Checked(5, 3, 2, ())


def test_waiting_is_no_reason() -> None:
    """A deferral says that a slot waits, not how it ended."""
    checked = found([run(1), run(2), run(4), run(5)], told(3, 3, 1, Reason.WAITS_FOR_RUN))
    assert kinds(checked) == [Fault.MISSED]


def test_a_note_decides_nothing() -> None:
    """A note on a slot stands beside its run or its reason, and takes the place of neither (S65)."""
    late = told(2, 3, 2, Reason.LATE_FINISH)
    assert found([run(1), run(2), run(3), run(4), run(5)], late) == Checked(5, 5, 0, ())
    assert kinds(found([run(1), run(4), run(5)], late)) == [Fault.MISSED]


def test_what_was_passed_over_is_found() -> None:
    """Slots between others without run and reason are one finding each row, with the backfill that mends it."""
    (finding,) = found([run(1), run(5)]).findings
    assert (
        finding.text
        == "3 slots from 2026-01-01T00:02:00Z to 2026-01-01T00:04:00Z passed without a run or a reason"
    )
    assert finding.repair == "tickwise schedules backfill s --from 2026-01-01T00:02:00Z --to 2026-01-01T00:04:01Z"


def test_the_last_slots_are_found_too() -> None:
    """What lies between the newest record and the cursor counts as well; one slot is called one."""
    (finding,) = found([run(1), run(2), run(3)], told(4, 4, 1)).findings
    assert (finding.slot, finding.text[:8]) == (slot(5), "the slot")


def test_a_range_that_counts_too_few_is_found() -> None:
    """A record over five slots that counts three leaves two without a reason."""
    (finding,) = found([], told(1, 5, 3)).findings
    assert (finding.kind, finding.text[:6]) == (Fault.MISSED, "2 of 5")


def test_records_that_overlap_are_summed_up() -> None:
    """A range with a hole and the record that fills it are whole together, and so are a hole and a run in it."""
    assert not found([run(4)], told(1, 5, 3), told(2, 2, 1, Reason.PAUSED)).findings


def test_a_backfill_after_a_reason_is_no_double() -> None:
    """A backfill runs what had a reason not to (S32); but it does not make up for one that is missing."""
    assert not found([run(2, Trigger.BACKFILL, made=30)], told(1, 5, 5)).findings
    assert kinds(found([run(2, Trigger.BACKFILL, made=30)], told(1, 1, 1), told(3, 5, 3))) == [Fault.MISSED]


def test_catch_up_after_missed_is_no_double() -> None:
    """Turning catch-up on re-opens what was recorded as missed, even behind newer runs (S25)."""
    again = run(2, Trigger.CATCHUP, made=6)
    assert not found([run(5), again], told(1, 4, 4, Reason.MISSED)).findings
    assert not found([run(5)], told(1, 4, 4, Reason.MISSED), told(2, 3, 2, Reason.TOO_OLD)).findings


def test_a_run_and_a_reason_are_a_double() -> None:
    """A slot with a run and a reason why there is none is found: at the edge of a range, or by the count (S7)."""
    assert kinds(found([run(3)], told(1, 3, 3), told(4, 5, 2))) == [Fault.DOUBLED]
    assert kinds(found([run(2)], told(1, 5, 5))) == [Fault.DOUBLED]


def test_two_runs_of_a_slot_are_a_double() -> None:
    """The unique key was broken (S1)."""
    checked = found([run(1), run(2), run(2, id="other"), run(3), run(4), run(5)])
    assert kinds(checked) == [Fault.DOUBLED]
    assert "r2, other" in checked.findings[0].text


def test_a_count_of_too_many_is_extra() -> None:
    """More decisions than slots; one too many may be a moved fire, if those are not known (S31)."""
    assert kinds(found([], told(1, 5, 6))) == [Fault.EXTRA]
    assert not found([], told(1, 5, 6), moves=[2.5]).findings
    assert not found([], told(1, 5, 6), moves=None).findings
    assert not found([], told(1, 5, 6), told(2.5, 2.5, 1, Reason.RESCHEDULED), moves=None).findings
    assert kinds(found([], told(1, 5, 7), moves=None)) == [Fault.EXTRA]


def test_a_moved_fire_is_none_of_its_times() -> None:
    """A run beside the times is extra, unless it was moved there or nobody knows (S31); a backfill never is."""
    between = [run(1), run(2), run(2.5), run(3), run(4), run(5)]
    assert kinds(found(between)) == [Fault.EXTRA]
    assert not found(between, moves=[2.5]).findings
    assert not found(between, moves=None).findings
    assert not found([run(2.5)], told(1, 5, 5), moves=None).findings
    assert kinds(found([run(2.5, Trigger.BACKFILL)], told(1, 5, 5), moves=None)) == [Fault.EXTRA]


def test_order_is_the_order_of_slots() -> None:
    """A slot that became a run after a later one is found (S12), unless the clock was set back meanwhile."""
    late = run(1, made=7, id="late")
    assert kinds(found([run(2), run(3), run(4), run(5), late])) == [Fault.OUT_OF_ORDER]
    assert not found([run(2), run(3), run(4), run(5, made=9), late]).findings


def test_a_record_across_the_border_covers() -> None:
    """What began before a span says nothing certain about it, and nothing is said about it."""
    spans = (DefinedSpan(slot(2), slot(5), MINUTES),)
    assert not found([run(5)], told(0, 4, 1), spans=spans).findings
    assert not found([run(1), run(3)], told(4, 9, 1), spans=spans).findings


def test_times_that_end_leave_no_gap() -> None:
    """Where the times name nothing more, nothing is missing (S8)."""
    once = parse("0 0 1 1 *")
    assert not found([], spans=(DefinedSpan(BEGIN, slot(600), once),)).findings


@pytest.mark.parametrize(("wake_at", "wrong"), [(None, True), (BEGIN + 61, True), (BEGIN + 60, False)])
def test_a_pending_slot_does_not_sleep(wake_at: int | None, wrong: bool) -> None:
    """Whatever wake-up was lost, a pending slot is looked at within a minute (S15)."""
    checked = found([], until=0, pending=BEGIN - 9, wake_at=wake_at, now=BEGIN)
    assert kinds(checked) == [Fault.UNEXPLAINED] * wrong


@pytest.mark.parametrize(
    ("given", "wrong"),
    [
        ({"state": RunState.CANCELLED}, []),
        ({"state": RunState.QUEUED, "finished_at": None, "lease_until": 1}, [Fault.UNEXPLAINED]),
        ({"state": RunState.RUNNING, "finished_at": None, "lease_until": 1}, []),
        ({"state": RunState.RUNNING, "finished_at": None}, [Fault.UNEXPLAINED]),
        ({"state": RunState.RUNNING, "lease_until": 1}, [Fault.UNEXPLAINED]),
        ({"state": RunState.SUCCEEDED, "finished_at": None}, [Fault.UNEXPLAINED]),
        ({"state": RunState.SUCCEEDED, "attempt": 0}, [Fault.UNEXPLAINED]),
        ({"state": RunState.FAILED}, [Fault.UNEXPLAINED]),
        ({"state": RunState.FAILED, "failures": 1}, []),
        ({"state": RunState.LOST, "attempt": 0}, [Fault.UNEXPLAINED]),
        ({"state": RunState.EXPIRED}, [Fault.UNEXPLAINED]),
        ({"state": RunState.EXPIRED, "expires_at": 1}, []),
        ({"attempt": 3, "ended": frozenset({1, 2})}, []),
        ({"attempt": 3, "ended": frozenset({1})}, [Fault.FENCING]),
    ],
)
def test_a_state_has_what_leads_to_it(given: dict[str, Any], wrong: list[Fault]) -> None:
    """No state without its cause (S41), and no attempt that was followed by another before it ended (S42)."""
    assert kinds(found([run(1, **given)], until=1)) == wrong


def test_no_more_runs_at_once_than_may_be() -> None:
    """A run beyond as many as may be active is found (S16); one that has ended is in nobody's way."""
    long = run(1, finished_at=slot(9) * MICRO)
    assert [one.slot for one in overlapping([long, run(2)], 1)] == [slot(2)]
    assert not list(overlapping([long, run(2)], 2))
    assert not list(overlapping([run(1), run(2, finished_at=None)], 1))


def test_what_was_put_back_counts_from_then_on() -> None:
    """A run that ended, and was put back later, was not active in between (S41)."""
    again = run(1, due_at=slot(3) * MICRO, finished_at=slot(4) * MICRO)
    assert not list(overlapping([again, run(2), run(3, finished_at=slot(3) * MICRO)], 1))


def test_a_clock_that_went_back_is_not_believed() -> None:
    """Where instants contradict the order in which runs were made, nothing is said about overlap."""
    assert not list(overlapping([run(3, finished_at=None), run(2)], 1))
