"""S65: by when the work of a slot is to have begun and to be done, and what is recorded if it is not."""

from dataclasses import replace
from itertools import islice
from typing import Any

import pytest

from tickwise.core.change import Paused, Resumed, SkipAsked, Updated
from tickwise.core.cron import parse
from tickwise.core.deadlines import judging_instants, slots_to_judge
from tickwise.core.definition import Kind, RetryPolicy
from tickwise.core.facts_needed import progress_needed
from tickwise.core.jobstate import JobState, ScheduleState
from tickwise.core.model import DeadlineState, DeadlineWatch, Relief
from tickwise.core.planner import plan
from tickwise.core.settle import Failed, HandedBack, Snoozed
from tickwise.core.states import RunState
from tickwise.core.time_limit import Deadline, TimeLimit
from tickwise.core.timeparse import to_datetime
from tickwise.core.upcoming import looks

from .world import World, job, once, schedule, seconds

FINISH = Deadline(finish=TimeLimit(600))


def late(start: str = "", finish: str = "", *, cancel: bool = False) -> Deadline:
    return Deadline(
        TimeLimit(seconds(start)) if start else None, TimeLimit(seconds(finish)) if finish else None, cancel
    )


def world(deadline: Deadline, times: str = "0 * * * *", run_time: str = "0", **given: Any) -> World:
    """A job with a deadline."""
    one = World()
    one.run_time["etl"] = run_time
    one.define(job("etl", times, deadline=deadline, **given))
    one.tick()
    return one


def notes(one: World, name: str = "etl") -> list[str]:
    """The deadlines that were missed."""
    return [text for text in one.verdicts(name) if text.startswith("late_")]


def test_work_in_time_leaves_no_record() -> None:
    """S65: a slot whose run began and was done by its deadlines says nothing."""
    one = world(late("1m", "10m"), run_time="10m")
    one.pass_time(to="05:00")
    assert (len(one.runs("etl")), notes(one)) == (5, [])


def test_a_late_finish_is_recorded_once_and_the_run_goes_on() -> None:
    """S65: when the deadline comes and the run is not done, that is recorded on its slot; once."""
    one = world(late(finish="10m"), run_time="20m")
    one.pass_time(to="01:09:59")
    assert notes(one) == []
    one.pass_time(to="01:10")
    assert notes(one) == ["late_finish 01:00"]
    one.pass_time(to="01:59")
    assert notes(one) == ["late_finish 01:00"]
    assert [run.state for run in one.runs("etl")] == [RunState.SUCCEEDED]


def test_a_failed_run_is_not_done() -> None:
    """S65: work that failed before its deadline is not done by then."""
    one = world(late(finish="10m"), run_time="1m")
    one.failing.add("etl")
    one.pass_time(to="01:30")
    assert notes(one) == ["late_finish 01:00"]


def test_a_skipped_slot_misses_its_deadline() -> None:
    """S65: also when the slot was skipped."""
    one = world(late(finish="30m"), "*/20 * * * *", run_time="25m")
    one.pass_time(to="01:15")
    assert one.verdicts("etl") == ["overlap 00:40", "late_finish 00:40"]


def test_a_waiting_slot_misses_its_deadline() -> None:
    """S65: also when the slot still waits; both deadlines of a slot are judged apart."""
    one = world(late("5m", "50m"), catchup="all", run_time="90m")
    one.pass_time(to="02:20")
    assert one.waits("etl") == ["waits_for_run 02:00"]
    assert notes(one) == ["late_finish 01:00", "late_start 02:00"]
    one.pass_time(to="05:00")
    assert "late_finish 02:00" in notes(one)


def test_slots_that_passed_in_an_outage_miss_their_deadlines() -> None:
    """S65: deadlines that came while nothing ran are judged afterwards, for each slot."""
    one = world(late(finish="30m"))
    one.pass_time(to="01:10")
    one.down(to="04:10")
    one.pass_time(to="04:40")
    assert one.ran("etl") == [("01:00", "schedule"), ("04:00", "catchup")]
    assert notes(one) == ["late_finish 02:00 to 03:00 (2)"]


def test_the_run_of_a_newer_slot_stands_for_coalesced_ones() -> None:
    """S65, S10: a slot that a newer run stands for has met its deadline if that run does."""
    one = world(late(finish="3h"))
    one.down(to="03:10")
    one.pass_time(to="08:00")
    assert (one.verdicts("etl"), one.ran("etl")[0]) == (["coalesced 01:00 to 02:00 (2)"], ("03:00", "catchup"))


def test_a_newer_run_that_is_late_itself_stands_for_nothing() -> None:
    """S65: each slot is judged by its own deadline, also by the run of another."""
    one = world(late(finish="3h"), "0 1,2,3 * * *", run_time="70m")
    one.down(to="03:10")
    one.pass_time(to="08:00")
    assert notes(one) == ["late_finish 01:00"]


@pytest.mark.parametrize("mode", ["once", "all"])
def test_slots_that_a_person_did_not_want_have_no_deadline(mode: str) -> None:
    """S65: a pause, a mark to skip, a move: what a person took out is not late."""
    one = world(late(finish="10m"), catchup=mode)
    one.pass_time(to="01:30")
    one.change("etl", SkipAsked(one.at("02:00")))
    one.pass_time(to="03:30")
    one.change("etl", Paused())
    one.pass_time(to="06:30")
    assert notes(one) == []
    one.change("etl", Resumed(run_missed=False))
    one.pass_time(to="07:30")
    one.reschedule("etl", "09:30")
    one.pass_time(to="11:30")
    assert notes(one) == []


def test_a_pause_with_an_end_takes_its_slots_out() -> None:
    """S65, S66: the same when the pause ends by itself."""
    one = world(late(finish="10m"))
    one.change("etl", Paused(until=one.at("03:30")))
    one.pass_time(to="05:00")
    assert notes(one) == []


def test_a_run_that_was_active_before_a_pause_is_judged_in_it() -> None:
    """S65, S29: a pause holds slots, and no deadline of what runs."""
    one = world(late(finish="10m"), run_time="30m")
    one.pass_time(to="01:05")
    one.pause("etl")
    one.pass_time(to="01:10")
    assert notes(one) == ["late_finish 01:00"]
    one.pass_time(to="05:00")
    assert notes(one) == ["late_finish 01:00"]


def test_a_moved_fire_has_a_deadline() -> None:
    """S65, S31: counted from where a person moved it."""
    one = world(late(finish="10m"), run_time="20m")
    one.reschedule("etl", "02:30")
    one.pass_time(to="02:50")
    assert notes(one) == ["late_finish 02:30"]


def test_a_slot_that_was_done_already_is_in_time() -> None:
    """S65, S18: what need not run again is not late."""
    one = world(late(finish="10m"), skip_if_successful=True)
    one.pass_time(to="01:30")
    one.trigger("etl")
    one.pass_time(to="02:30")
    assert (one.verdicts("etl"), notes(one)) == (["already_successful 02:00"], [])


@pytest.mark.parametrize(
    ("zone", "start", "slot", "deadline"),
    [
        ("UTC", "2026-01-01T00:00:00Z", "2026-01-01T02:00", "2026-01-01T06:00"),
        ("Europe/Berlin", "2026-03-28T23:00:00Z", "2026-03-29T00:00", "2026-03-29T01:00"),  # 02:30 is not there
        ("Europe/Berlin", "2026-10-24T22:00:00Z", "2026-10-25T00:00", "2026-10-25T00:30"),  # 02:30 is there twice
    ],
)
def test_a_time_of_day_is_the_first_after_the_slot(zone: str, start: str, slot: str, deadline: str) -> None:
    """S65, S39: 06:00 is the first 06:00 after the slot; one that does not exist comes at the end of the gap."""
    clock = parse("0 6 * * *" if zone == "UTC" else "30 2 * * *", zone)
    one = World(start)
    limit = TimeLimit(clock=clock)
    assert one.says(limit.instant(one.at(slot))) == one.says(one.at(deadline))
    assert limit.newest_due(one.at(deadline)) == one.at(deadline) - 1
    assert limit.newest_due(one.at(deadline) - 1) < one.at(slot)


def test_a_time_of_day_is_said_with_its_zone() -> None:
    """S65: the record names the deadline as it was written."""
    assert str(TimeLimit(clock=parse("5 6 * * *", "Europe/Berlin"))) == "06:05 Europe/Berlin"
    assert str(TimeLimit(5_400)) == "1h30m after its slot"


def test_cancel_ends_the_run_as_failed() -> None:
    """S65: with `cancel` the run is asked to end, and ends as failed, for that reason, without another try."""
    one = world(late(finish="10m", cancel=True), run_time="20m", retry=RetryPolicy(limit=3))
    one.pass_time(to="01:11")
    [run] = one.runs("etl")
    assert (run.state, run.failures, one.says(run.finished_at or 0)) == (RunState.FAILED, 1, "01:10")
    assert run.failure == "its work was not done by its deadline, 10m after its slot"
    assert notes(one) == ["late_finish 01:00"]


@pytest.mark.parametrize("outcome", [Failed(), HandedBack(), Snoozed(60)])
def test_whatever_an_overdue_run_says_last_it_failed(outcome: Any) -> None:
    """S65: it was asked to end for its deadline, so it is not tried again, and has failed."""
    one = world(late(finish="10m", cancel=True), run_time="3h", retry=RetryPolicy(limit=3))
    one.cancel_time = "1h"
    one.pass_time(to="01:11")
    one.end("etl", outcome)
    assert [run.state for run in one.runs("etl")] == [RunState.FAILED]


def test_a_run_that_has_not_begun_is_cancelled() -> None:
    """S65, S41: a queued run cannot fail."""
    one = world(late(finish="10m", cancel=True))
    one.pass_time(to="00:59")
    one.clock.set(to_datetime(one.at("01:00")))
    due = one.ledger.claim(one.now)
    one.ledger.commit(plan(one.now, due, one.ledger.facts(due)), one.now)
    one.pass_time(to="01:11")
    assert [run.state for run in one.runs("etl")] == [RunState.CANCELLED]


def test_a_deadline_that_is_added_has_no_past() -> None:
    """S65, S2: slots that were decided before have no deadline."""
    one = world(None, run_time="20m")  # type: ignore[arg-type]
    one.pass_time(to="03:05")
    one.define(job("etl", "0 * * * *", deadline=FINISH))
    one.pass_time(to="04:30")
    assert notes(one) == ["late_finish 04:00"]


def test_a_deadline_that_is_taken_away_is_forgotten() -> None:
    """S65: without a deadline the schedule is as if it had never had one."""
    one = world(FINISH, run_time="20m")
    one.pass_time(to="01:05")
    one.define(job("etl", "0 * * * *"))
    one.pass_time(to="03:00")
    assert (notes(one), one.schedule("etl").deadlines) == ([], None)


def test_new_times_leave_the_deadlines_of_decided_slots() -> None:
    """S65, S24: a slot whose run goes on keeps its deadline, and no second becomes a slot in hindsight."""
    one = world(late(finish="30m"), run_time="50m")
    one.pass_time(to="01:10")
    one.change("etl", Updated(schedule("etl", "5,45 * * * *", deadline=late(finish="30m"), catchup="skip")))
    one.pass_time(to="01:46")
    assert notes(one) == ["late_finish 01:00"]
    one.pass_time(to="02:20")
    assert notes(one) == ["late_finish 01:00", "late_finish 01:45"]


def test_a_schedule_that_stops_its_job_instead_has_no_deadlines() -> None:
    """S65: how far they were judged is forgotten in the next pass."""
    one = world(late(finish="30m"))
    one.pass_time(to="01:10")
    assert one.schedule("etl").deadlines
    one.change("etl", Updated(schedule("etl", "0 * * * *", kind=Kind.STOP, deadline=late(finish="30m"))))
    one.pass_time(to="02:40")
    assert one.schedule("etl").deadlines is None
    assert notes(one) == []


def test_a_schedule_asks_for_warnings_by_a_probability() -> None:
    """S65: a deadline alone asks for none."""
    one = world(FINISH)
    assert not one.schedule("etl").asks_for_warnings
    one.define(job("etl", "0 * * * *", deadline=replace(FINISH, warn=0.5)))
    assert one.schedule("etl").asks_for_warnings


def test_a_deadline_of_another_kind_begins_at_the_cursor() -> None:
    """S65: a start deadline that joins a finish deadline says nothing of slots before."""
    one = world(late(finish="30m"), run_time="50m")
    one.pass_time(to="01:10")
    one.define(job("etl", "0 * * * *", deadline=late("1m", "30m")))
    one.pass_time(to="01:40")
    assert notes(one) == ["late_finish 01:00"]


def test_a_pass_judges_a_bounded_number_of_slots() -> None:
    """S65, S6: after an outage of many slots each pass judges a part, and comes again at once."""
    one = world(late(finish="1m"), "* * * * * *")
    one.down(hours=1)
    decided = one.tick()
    assert sum(d.count for d in decided.decisions if d.reason.code == "late_finish") == 1_000
    assert decided.schedules[0].wake_at == one.now
    one.pass_time(seconds=1)
    counts = [d.count for d in one.decisions("etl") if d.reason.code == "late_finish"]
    assert sum(counts) == 3_600 - 60 - 1


def test_reliefs_are_bounded() -> None:
    """S65, S6: of very many slots that others stand for, the oldest share one record."""
    one = world(late(finish="1d"), "* * * * *", skip_if_successful=True)
    for _ in range(150):
        one.pass_time(seconds=30)
        one.trigger("etl")
        one.pass_time(seconds=30)
    state = one.schedule("etl").deadlines
    assert state is not None
    assert len(state.reliefs) == 100
    one.pass_time(days=2)
    assert notes(one) == []


def test_a_one_off_is_kept_until_its_deadline() -> None:
    """S65, S33: `auto_remove` waits until the deadline has been judged."""
    one = World()
    one.run_time["etl"] = "20m"
    one.define(job("etl", once("01:00"), deadline=FINISH, auto_remove=True))
    one.pass_time(to="02:00")
    assert (notes(one), "etl" in one.ledger.schedules) == (["late_finish 01:00"], False)


def test_what_a_pass_must_know() -> None:
    """S65: only slots whose deadlines have come, and the newer ones that stand for them."""
    one = world(late(finish="3h"))
    one.down(to="03:10")
    one.tick()
    own = one.schedule("etl")
    assert [one.says(slot) for slot in slots_to_judge(own, one.at("03:59"))] == []
    assert [one.says(slot) for slot in slots_to_judge(own, one.at("04:00"))] == ["01:00", "03:00"]
    instants = judging_instants(own)
    assert [one.says(next(instants)[0]) for _ in range(4)] == ["04:00", "05:00", "06:00", "07:00"]
    both = JobState(
        "etl", schedules={"etl": ScheduleState(own), "idle": ScheduleState(own._replace(deadlines=None))}
    )
    assert progress_needed(both, one.at("03:59")) == {}
    assert progress_needed(both, one.at("04:00")) == {"etl": [one.at("01:00"), one.at("03:00")]}


def test_a_shared_record_sends_no_slot_back_to_an_older_one() -> None:
    """S65: where the oldest reliefs share a record, a slot behind the one that it names stands for itself."""
    one = world(late(finish="1h"))
    one.pass_time(to="01:30")
    shared = Relief(one.at("00:59"), one.at("03:00"), one.at("02:00"))
    state = DeadlineState(finish=DeadlineWatch(one.at("00:59")), reliefs=(shared,))
    own = one.schedule("etl")._replace(deadlines=state, cursor=one.at("03:00"))
    assert [one.says(slot) for slot in slots_to_judge(own, one.at("02:00"))] == ["01:00", "02:00"]
    assert [one.says(slot) for slot in slots_to_judge(own, one.at("04:00"))] == ["01:00", "02:00", "03:00"]


def test_a_ticker_looks_at_deadlines_too() -> None:
    """S65: a node that finds due slots in its own index finds the deadlines of slots there as well."""
    one = world(late("5m", "30m"), run_time="2h")
    one.pass_time(to="01:10")
    seen = [
        (one.says(due), one.says(slot)) for due, _, slot in islice(looks(one.schedule("etl"), one.now, one.now), 4)
    ]
    assert seen == [("01:30", "01:00"), ("02:00", "02:00"), ("02:05", "02:00"), ("02:30", "02:00")]
    one.define(job("etl", "0 * * * *"))
    assert [one.says(each.due) for each in islice(looks(one.schedule("etl"), one.now, one.now), 2)] == [
        "02:00",
        "03:00",
    ]
