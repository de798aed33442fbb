"""S7: equal verdicts in a row are one record with a count and a range, in a pass and across passes."""

from typing import Any

import pytest

from tickwise.core.backfill import BackfillAsked, BackfillCancelled
from tickwise.core.change import Change, Paused, Reset, Resumed, Updated
from tickwise.core.journal import Journal
from tickwise.core.model import Decision, Start, Trigger
from tickwise.core.planner import plan
from tickwise.core.reasons import Reason
from tickwise.core.timeparse import to_datetime

from .world import Moody, World, job, schedule


def blocked(times: str = "*/10 * * * *", run_time: str = "3d", **given: Any) -> World:
    """A job whose first run goes on and on."""
    world = World()
    world.run_time["etl"] = run_time
    world.define(job("etl", times, **given))
    return world


def recorded(world: World, reason: Reason) -> list[tuple[str, str]]:
    """When the records with a reason were made, and when they were last extended."""
    return [
        (world.says(made_at), world.says(extended_at))
        for decision, made_at, extended_at in world.ledger.decisions.values()
        if decision.reason is reason
    ]


def test_a_day_of_skipped_seconds_is_a_record_an_hour() -> None:
    """S7: a schedule due each second that never runs adds 24 rows a day, which count every slot."""
    world = blocked("* * * * * *")
    ledger, midnight = world.ledger, world.now
    for now in range(midnight + 1, midnight + 86_400):
        due = ledger.claim(now)
        ledger.commit(plan(now, due, ledger.facts(due)), now)
    told = world.decisions("etl")
    assert len(world.runs("etl")) == 1
    assert [d.first for d in told] == [midnight + 2, *range(midnight + 3_600, midnight + 86_400, 3_600)]
    assert [d.count for d in told] == [3_598] + [3_600] * 23
    assert all(d.count == d.last - d.first + 1 for d in told)


def test_a_record_ends_with_its_hour() -> None:
    """S7: a record grows for as long as verdicts fall into the hour in which it began."""
    world = blocked()
    world.pass_time(to="02:10")
    assert world.verdicts("etl") == [
        "overlap 00:20 to 00:50 (4)",
        "overlap 01:00 to 01:50 (6)",
        "overlap 02:00 to 02:10 (2)",
    ]
    assert recorded(world, Reason.OVERLAP) == [("00:20", "00:50"), ("01:00", "01:50"), ("02:00", "02:10")]


def test_another_verdict_in_between_ends_a_record() -> None:
    """S7: equal verdicts around another one are three records."""
    world = blocked("* * * * *", catchup="skip")
    world.pass_time(to="00:05")
    world.down(to="00:08:30")
    world.pass_time(to="00:12")
    assert world.verdicts("etl") == [
        "overlap 00:02 to 00:05 (4)",
        "missed 00:06 to 00:07 (2)",
        "overlap 00:08 to 00:12 (5)",
    ]


def test_a_run_in_between_ends_a_record() -> None:
    """S7: equal verdicts around a run are two records."""
    world = blocked("*/10 * * * *", run_time="25m")
    world.pass_time(to="00:59")
    assert world.ran("etl") == [("00:10", "schedule"), ("00:40", "schedule")]
    assert world.verdicts("etl") == ["overlap 00:20 to 00:30 (2)", "overlap 00:50"]


def test_a_run_that_was_there_already_ends_a_record() -> None:
    """S1, S7: a slot that has a run by other means stands between the verdicts around it."""
    world = blocked()
    world.pass_time(to="00:20")
    world.ledger._make(Start("etl", "etl", world.at("00:30"), Trigger.SCHEDULE, lane=1), world.now)
    world.pass_time(to="00:50")
    assert world.verdicts("etl") == ["overlap 00:20", "overlap 00:40 to 00:50 (2)"]


def test_skips_behind_a_start_go_on_in_the_next_pass() -> None:
    """S7, S14: what a pass skips behind its own start is in a row with what the next pass skips."""
    world = blocked("*/10 * * * *", catchup="all", overlap="skip")
    world.down(to="00:35")
    world.pass_time(to="00:50")
    assert world.ran("etl") == [("00:10", "catchup")]
    assert world.verdicts("etl") == ["overlap 00:20 to 00:50 (4)"]


def test_a_record_of_many_hours_was_decided_at_once() -> None:
    """S6, S7: one pass sums up as many hours as were missed; the next begins a record of its own."""
    world = blocked("*/30 * * * *", catchup="all", overlap="skip")
    world.down(to="05:10")
    world.pass_time(to="06:00")
    assert world.verdicts("etl") == ["overlap 01:00 to 05:00 (9)", "overlap 05:30", "overlap 06:00"]


def test_a_record_has_the_newest_detail() -> None:
    """S7: of the runs that were in the way of a row of slots, the record names the last."""
    world = World()
    world.run_time["etl"] = "15m"
    world.define(job("etl", beside=[schedule("a", "5,25 * * * *"), schedule("b", "10,30 * * * *")]))
    world.pass_time(to="00:45")
    assert world.verdicts("b") == ["overlap 00:10 to 00:30 (2)"]
    assert [d.detail for d in world.decisions("b")] == [world.runs("a")[1].id]


def test_waiting_slots_in_a_row_are_one_record() -> None:
    """S7, S14: under `latest` one slot after the other waits for the same run, an hour in one record."""
    world = blocked("*/10 * * * *", overlap="latest")
    world.pass_time(to="01:10")
    assert world.waits("etl") == ["waits_for_run 00:20 to 00:50 (4)", "waits_for_run 01:00 to 01:10 (2)"]
    assert world.verdicts("etl") == ["superseded 00:20 to 00:50 (4)", "superseded 01:00"]


def test_slots_that_wait_for_something_else_each_have_their_record() -> None:
    """S7: a slot that waits for a worker, then for a run, then for a worker again was told thrice."""
    world = blocked("*/10 * * * *", overlap="latest")
    for minute, queues in (("00:20", frozenset[str]()), ("00:30", None), ("00:40", frozenset[str]())):
        world.pass_time(to=minute[:-1] + "0")
        world.ledger.served_queues = queues
        world.ledger._wake("etl", world.now)
        world.tick()
    assert [d.reason.code for d in world.decisions("etl") if d.waits] == [
        "waits_for_run",
        "no_worker",
        "waits_for_run",
        "no_worker",
    ]


CHANGES: dict[str, tuple[Change, ...]] = {
    "an edit": (Updated(schedule("etl", "*/10 * * * *", max_catchup=7)),),
    "a pause": (Paused(), Resumed()),
    "a backfill": (BackfillAsked(0, 600), BackfillCancelled()),
    "a reset": (Reset(),),
}


@pytest.mark.parametrize("changes", CHANGES.values(), ids=CHANGES)
def test_a_change_ends_a_record(changes: tuple[Change, ...]) -> None:
    """S7: what was decided before a change and after it is not one record."""
    world = blocked()
    world.pass_time(to="00:35")
    for change in changes:
        world.change("etl", change)
    world.pass_time(to="00:50")
    assert world.verdicts("etl") == ["overlap 00:20 to 00:30 (2)", "overlap 00:40 to 00:50 (2)"]


def test_no_change_ends_no_record() -> None:
    """S7, S28: the same definition written again leaves a row of verdicts as it is."""
    world = blocked()
    world.pass_time(to="00:35")
    world.change("etl", Updated(world.schedule("etl").definition))
    world.pass_time(to="00:50")
    assert world.verdicts("etl") == ["overlap 00:20 to 00:50 (4)"]


def test_a_schedule_that_breaks_again_is_told_in_one_record() -> None:
    """S7, S20: two failures to plan in one hour are one record with a count of two."""
    world, moody = World(), Moody(None)
    world.define(job("etl", moody))
    for broken_from in (0, None, 0):
        world.clock.set(to_datetime(world.now + 60))
        moody.broken_from = broken_from
        world.ledger._wake("etl", world.now)
        world.tick()
    assert [(d.reason, d.count) for d in world.decisions("etl")] == [(Reason.BROKEN, 2)]


def test_notes_grow_beside_the_verdicts_on_their_slots() -> None:
    """S65: a note neither ends the record of how its slots ended, nor that of another note."""
    journal = Journal(blocked().schedule("etl"))
    reasons = Reason.OVERLAP, Reason.LATE_START, Reason.LATE_FINISH, Reason.WAITS_FOR_RUN
    for slot in (600, 1_200):
        for reason in reasons:
            journal.tell(Decision("etl", reason, slot, slot))
    assert [(d.reason, d.first, d.last, d.count) for d in journal.decisions] == [
        (reason, 600, 1_200, 2) for reason in reasons
    ]
