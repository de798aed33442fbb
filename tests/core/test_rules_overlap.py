"""Overlap, guards on live slots, stop and restart, lists: the rules S14 to S22 and S49."""

from typing import Any
from unittest.mock import patch

import pytest

from tickwise.core import planner
from tickwise.core.cron import Every, parse
from tickwise.core.cron.recurrences import AnyOf
from tickwise.core.cron.zone import zone
from tickwise.core.definition import Catchup, Kind, Overlap
from tickwise.core.errors import ConflictError, InputError
from tickwise.core.model import Facts, Holder, JobFacts, Trigger
from tickwise.core.planner import plan

from .world import Moody, World, job, once, policy, schedule

# Overlap


@pytest.mark.parametrize(
    ("given", "overlap", "catchup", "lanes"),
    [
        ({}, Overlap.SKIP, Catchup.ONCE, 1),
        ({"catchup": "skip"}, Overlap.SKIP, Catchup.SKIP, 1),
        ({"catchup": "all"}, Overlap.QUEUE, Catchup.ALL, 1),
        ({"catchup": "all", "overlap": "skip"}, Overlap.SKIP, Catchup.ALL, 1),
        ({"overlap": "queue"}, Overlap.QUEUE, Catchup.ALL, 1),
        ({"overlap": "latest"}, Overlap.LATEST, Catchup.ONCE, 1),
        ({"overlap": "allow"}, Overlap.ALLOW, Catchup.ONCE, 16),
        ({"overlap": "allow", "max_active_runs": 3}, Overlap.ALLOW, Catchup.ONCE, 3),
        ({"overlap": "replace"}, Overlap.REPLACE, Catchup.ONCE, 1),
        ({"overlap": "skip", "max_active_runs": 1}, Overlap.SKIP, Catchup.ONCE, 1),
    ],
)
def test_overlap_has_defaults(given: dict[str, Any], overlap: Overlap, catchup: Catchup, lanes: int) -> None:
    """S14: the default is `skip`, with `catchup: all` it is `queue`, and `allow` means sixteen at most."""
    made = policy(**given)
    assert (made.overlap, made.catchup, made.max_active_runs) == (overlap, catchup, lanes)


@pytest.mark.parametrize(
    ("given", "problem"),
    [
        ({"overlap": "queue", "catchup": "skip"}, "overlap: queue keeps every slot"),
        ({"overlap": "queue", "catchup": "once"}, "overlap: queue keeps every slot"),
        ({"overlap": "queue", "catchup_window": "0"}, "overlap: queue keeps every slot"),
        ({"overlap": "replace", "catchup": "all"}, "overlap: replace keeps only the newest"),
        ({"overlap": "replace", "catchup_window": "6h"}, "overlap: replace keeps only the newest"),
        ({"overlap": "skip", "max_active_runs": 2}, "max_active_runs above 1 needs overlap: allow"),
    ],
)
def test_overlaps_that_contradict_catchup_are_refused(given: dict[str, Any], problem: str) -> None:
    """S14: `queue` with an explicit `skip` or `once`, and `replace` with `all`, are refused."""
    with pytest.raises(InputError, match=problem):
        policy(**given)


HOURLY_FOR_150_MINUTES = {
    "skip": ({}, ["01:00 at 01:00", "04:00 at 04:00"], ["overlap 02:00", "overlap 03:00"]),
    "queue": ({"overlap": "queue"}, ["01:00 at 01:00", "02:00 at 03:30"], []),
    "latest": ({"overlap": "latest"}, ["01:00 at 01:00", "03:00 at 03:30"], ["superseded 02:00"]),
    "allow": (
        {"overlap": "allow", "max_active_runs": 2},
        ["01:00 at 01:00", "02:00 at 02:00", "04:00 at 04:00"],
        ["lanes_full 03:00"],
    ),
    "allow all": (
        {"overlap": "allow", "max_active_runs": 2, "catchup": "all"},
        ["01:00 at 01:00", "02:00 at 02:00", "03:00 at 03:30"],
        [],
    ),
    "replace": (
        {"overlap": "replace"},
        ["01:00 at 01:00", "02:00 at 02:00:05", "03:00 at 03:00:05", "04:00 at 04:00:05"],
        [],
    ),
}


@pytest.mark.parametrize(
    ("given", "runs", "verdicts"), HOURLY_FOR_150_MINUTES.values(), ids=HOURLY_FOR_150_MINUTES
)
def test_an_hourly_job_that_runs_for_150_minutes(
    given: dict[str, Any], runs: list[str], verdicts: list[str]
) -> None:
    """S14: skipped, waiting one after the other, the newest only, side by side, or in place of the older."""
    world = World()
    world.run_time["etl"], world.cancel_time = "150m", "5s"
    world.define(job("etl", "0 * * * *", **given))
    world.pass_time(to="04:10")
    assert [f"{slot} at {made}" for slot, made in world.started("etl")] == runs
    assert world.verdicts("etl") == verdicts
    assert {trigger for _, trigger in world.ran("etl")} == {"schedule"}


def test_a_skipped_slot_names_the_run_in_its_way() -> None:
    """S14: the decision says which run it was."""
    world = World()
    world.run_time["etl"] = "2h"
    world.define(job("etl", "0 * * * *"))
    world.pass_time(to="02:00")
    [decision] = world.decisions("etl")
    assert decision.detail == world.runs("etl")[0].id
    assert f"run {decision.detail} was in the way" in decision.reason.explain(decision.detail)


def test_with_several_pending_the_oldest_starts_and_the_others_are_skipped() -> None:
    """S14: under `skip` those behind the oldest in the same pass are skipped."""
    world = World()
    world.define(job("etl", "0 * * * *", catchup="all", overlap="skip"))
    world.down(to="03:30")
    world.tick()
    assert world.ran("etl") == [("01:00", "catchup")]
    assert world.verdicts("etl") == ["overlap 02:00 to 03:00 (2)"]
    assert world.decisions("etl")[0].detail == "etl@2026-01-01T01:00:00Z"


def test_latest_supersedes_at_once() -> None:
    """S14: under `latest` an older slot is recorded the moment a newer one is pending, not when that starts."""
    world = World()
    world.run_time["etl"] = "10h"
    world.define(job("etl", "0 * * * *", overlap="latest"))
    world.pass_time(to="04:00")
    assert world.verdicts("etl") == ["superseded 02:00", "superseded 03:00"]
    assert world.waits("etl") == ["waits_for_run 02:00", "waits_for_run 03:00", "waits_for_run 04:00"]


def test_replace_waits_until_the_old_run_has_ended() -> None:
    """S14: cancel is requested once, and the slot starts only when the run has ended."""
    world = World()
    world.run_time["etl"], world.cancel_time = "10h", "20m"
    world.define(job("etl", "0 * * * *", overlap="replace"))
    world.pass_time(to="02:00")
    assert [run.cancelling for run in world.runs("etl")] == [True]
    world.ledger._wake("etl", world.now)
    assert world.tick().cancels == ()
    world.pass_time(to="02:20")
    assert world.started("etl") == [("01:00", "01:00"), ("02:00", "02:20")]
    assert world.runs("etl")[0].state == "cancelled"


def test_two_schedules_that_replace_do_not_cancel_what_does_not_exist_yet() -> None:
    """S14: of two that replace and are due at once, the second ends the first's run, once there is one."""
    world = World()
    world.run_time["etl"] = "10m"
    world.define(job("etl", beside=[schedule(name, "0 * * * *", overlap="replace") for name in ("a", "b")]))
    world.pass_time(to="01:00")
    assert world.started("a") == [("01:00", "01:00")]
    assert world.started("b") == [("01:00", "01:00")]
    assert [run.state for run in world.runs("a")] == ["cancelled"]


def test_a_pass_starts_one_run_of_a_job() -> None:
    """S15: a start counts as active for the rest of the pass, for the job's other schedules too."""
    world = World()
    world.define(job("etl", "0 * * * *", catchup="all", beside=[schedule("more", "0 * * * *")]))
    world.down(to="04:30")
    assert world.starts(world.tick()) == [("etl", "01:00", "catchup")]


def test_allow_starts_up_to_the_free_lanes() -> None:
    """S15: under `allow` a pass fills the lanes, oldest slots first."""
    world = World()
    world.define(job("etl", "0 * * * *", overlap="allow", max_active_runs=3, catchup="all"))
    world.down(to="05:30")
    decided = world.tick()
    assert [(world.says(start.slot), start.lane) for start in decided.starts] == [
        ("01:00", 0),
        ("02:00", 1),
        ("03:00", 2),
    ]
    assert world.waits("etl") == ["waits_for_lane 04:00"]


def test_when_a_run_ends_its_waiting_schedule_is_looked_at_at_once() -> None:
    """S15: the end of a run wakes the schedules of its job that wait."""
    world = World()
    world.run_time["etl"] = "61m7s"
    world.define(job("etl", "0 * * * *", catchup="all"))
    world.pass_time(to="02:30")
    assert world.started("etl") == [("01:00", "01:00"), ("02:00", "02:01:07")]


def test_a_schedule_with_pending_slots_sleeps_a_minute_at_most() -> None:
    """S15: whatever wake-up was lost, a waiting schedule is looked at within a minute."""
    world = World()
    world.run_time["etl"] = "5h"
    world.define(job("etl", "0 * * * *", catchup="all"))
    world.pass_time(to="02:30")
    [left] = world.plan().schedules
    assert left.wake_at == world.now + 60
    assert left.due_at == world.at("03:00")


def test_lanes_are_held_under_a_unique_key() -> None:
    """S16: of two plans for one lane the second is refused as a whole, and planning again finds it taken."""
    world = World()
    world.define(job("etl", "0 * * * *", catchup="all", beside=[schedule("more", "30 * * * *")]))
    world.down(to="01:00")
    late = world.plan()
    world.trigger("etl")
    with pytest.raises(ConflictError, match="its lane 0 is held"):
        world.ledger.commit(late, world.now)
    assert world.ran("etl") == []
    assert world.plan().starts == ()


@pytest.mark.parametrize(("taken", "lane"), [((), 0), ((0,), 1), ((1,), 0), ((0, 2), 1), ((7,), 0)])
def test_a_run_takes_the_lowest_free_lane(taken: tuple[int, ...], lane: int) -> None:
    """S16: lanes are numbers below max_active_runs; a run on one beyond them, from before an edit, counts too."""
    world = World()
    world.define(job("etl", "0 * * * *", overlap="allow", max_active_runs=3))
    world.down(to="01:00")
    holders = tuple(Holder(f"r{n}", n, Trigger.SCHEDULE) for n in taken)
    facts = Facts(jobs={"etl": JobFacts(holders)})
    assert [start.lane for start in plan(world.now, [world.schedule("etl")], facts).starts] == [lane]


def test_a_retrying_run_holds_its_lane() -> None:
    """S16: a job is active between the attempts of a run, too."""
    world = World()
    world.define(job("etl", "0 * * * *"))
    world.pass_time(to="01:30")
    retrying = world.ledger.enqueue("etl", Trigger.SCHEDULE, world.now, lane=0)
    world.pass_time(to="02:00")
    assert world.verdicts("etl") == ["overlap 02:00"]
    assert world.decisions("etl")[0].detail == retrying.id


# Guards on live slots


def test_a_run_by_hand_at_or_after_the_slot_does_it() -> None:
    """S17: a live slot is skipped if a run by hand has started since, and the decision says so."""
    world = World()
    world.define(job("etl", "0 * * * *"))
    world.down(to="01:00")
    world.trigger("etl")
    world.down(seconds=1)
    world.tick()
    assert world.verdicts("etl") == ["already_done 01:00"]
    assert world.decisions("etl")[0].detail == "a run by hand started at 2026-01-01T01:00:00Z"


def test_a_run_by_hand_before_the_slot_does_not() -> None:
    """S17: a run by hand a second before the slot stands for nothing."""
    world = World()
    world.define(job("etl", "0 * * * *"))
    world.down(to="00:59:59")
    world.trigger("etl")
    world.pass_time(to="01:00")
    assert world.ran("etl") == [("01:00", "schedule")]


def test_a_run_for_a_later_slot_does_it() -> None:
    """S17: a cursor set back by hand does not let slots run that a later one's run has overtaken."""
    world = World()
    world.define(job("etl", "0 * * * *"))
    world.pass_time(to="00:59")
    world.reschedule("etl", "02:30")
    world.pass_time(to="02:30")
    world.clock.advance(-7200)
    world.reset("etl")
    world.pass_time(to="02:31")
    assert world.ran("etl") == [("02:30", "schedule")]
    assert world.verdicts("etl")[-2:] == ["already_done 01:00", "already_done 02:00"]


@pytest.mark.parametrize(
    ("last", "skipped"), [("00:59:59", False), ("01:00", False), ("01:00:01", True), ("02:00:00", True)]
)
def test_skip_if_successful_looks_for_a_success_since_the_slot_before(last: str, skipped: bool) -> None:
    """S18: a success since the previous slot stands for this one; the previous slot's own does not."""
    world = World()
    world.define(job("etl", "0 * * * *", skip_if_successful=True))
    world.pass_time(to="01:30")
    world.down(to="02:00")
    facts = Facts(jobs={"etl": JobFacts(last_success=world.at(last))})
    decided = plan(world.now, [world.schedule("etl")], facts)
    assert bool(decided.starts) is not skipped
    assert [decision.reason.code for decision in decided.decisions] == ["already_successful"] * skipped


def test_a_success_is_compared_by_slot_and_not_by_finish() -> None:
    """S18: a run that ends after the next slot's time succeeded for its own slot only."""
    world = World()
    world.run_time["etl"] = "59m59s"
    world.define(job("etl", "0 * * * *", skip_if_successful=True))
    world.pass_time(to="04:00")
    assert [slot for slot, _ in world.ran("etl")] == ["01:00", "02:00", "03:00", "04:00"]


def test_a_success_by_hand_is_compared_by_start() -> None:
    """S18: a run by hand since the last slot, once it has succeeded, stands for the next."""
    world = World()
    world.define(job("etl", "0 * * * *", skip_if_successful=True))
    world.pass_time(to="01:30")
    world.trigger("etl")
    world.pass_time(to="03:00")
    assert world.ran("etl") == [("01:00", "schedule"), ("03:00", "schedule")]
    assert world.verdicts("etl") == ["already_successful 02:00"]


def test_a_failure_by_hand_stands_for_nothing() -> None:
    """S18: only a success counts."""
    world = World()
    world.define(job("etl", "0 * * * *", skip_if_successful=True))
    world.pass_time(to="01:30")
    world.failing.add("etl")
    world.trigger("etl")
    world.pass_time(to="02:00")
    assert world.ran("etl")[1:] == [("02:00", "schedule")]


def test_a_success_from_before_an_edit_does_not_count() -> None:
    """S18: after an edit of the times, successes of the old ones stand for nothing."""
    world = World()
    world.define(job("etl", "0 */4 * * *", skip_if_successful=True))
    world.pass_time(to="05:00")
    world.trigger("etl")
    world.pass_time(to="05:30")
    world.define(job("etl", "0 */2 * * *", skip_if_successful=True))
    world.pass_time(to="06:00")
    assert world.ran("etl") == [("04:00", "schedule"), ("06:00", "schedule")]


def test_the_guards_do_not_apply_to_catch_up_of_all() -> None:
    """S19: under `all` a missed slot runs, whatever has run or succeeded since; overlap applies."""
    world = World()
    world.run_time["etl"] = "5m"
    world.define(job("etl", "0 * * * *", catchup="all", skip_if_successful=True))
    world.down(to="02:30")
    world.trigger("etl")
    world.pass_time(to="02:34")
    assert world.ran("etl") == []
    assert world.waits("etl") == ["waits_for_run 01:00"]
    world.pass_time(to="02:59")
    assert world.ran("etl") == [("01:00", "catchup"), ("02:00", "catchup")]
    world.pass_time(to="03:00")
    assert world.verdicts("etl") == ["already_successful 03:00"]


@pytest.mark.parametrize("catchup", ["skip", "once", "all"])
def test_a_guard_that_cannot_be_read_holds_the_slot(catchup: str) -> None:
    """S20: with the facts unreadable a slot neither runs unguarded nor is lost; it was met, so it is on time."""
    world = World()
    world.unreadable["etl"] = "the disk is full"
    world.define(job("etl", "0 * * * *", catchup=catchup), job("other", "0 * * * *"))
    world.pass_time(to="01:20")
    assert world.waits("etl") == ["unreadable 01:00"]
    assert world.decisions("etl")[0].detail == "the disk is full"
    assert world.ran("etl") == []
    assert world.ran("other") == [("01:00", "schedule")]
    world.unreadable.clear()
    world.pass_time(minutes=1)
    assert world.ran("etl") == [("01:00", "schedule")]


def test_an_edit_does_not_make_a_held_slot_late() -> None:
    """S20: with a grace of its own and an edit just before, a slot held by a guard is on time all the same."""
    world = World()
    world.define(job("etl", "0 0 * * *", grace="0", catchup="skip"))
    world.pass_time(to="00:30")
    world.define(job("etl", "*/10 * * * *", grace="0", catchup="skip"))
    world.unreadable["etl"] = "the disk is full"
    world.pass_time(to="00:45")
    world.unreadable.clear()
    world.pass_time(to="00:46")
    assert world.ran("etl") == [("00:40", "schedule")]


def test_one_bad_schedule_does_not_hold_up_the_others() -> None:
    """S20: a schedule that cannot be planned gets a decision and a back-off; the batch goes on."""
    world = World()
    bad = Moody(world.at("01:00"))
    world.define(job("bad", bad), job("good", "0 * * * *"))
    world.define(job("mixed", "0 * * * *", beside=[schedule("mixed.bad", bad)]))
    world.pass_time(to="03:00")
    assert world.ran("good") == [(slot, "schedule") for slot in ("01:00", "02:00", "03:00")]
    assert world.ran("mixed") == world.ran("good")
    assert world.waits("bad") == ["broken 00:00"]
    assert world.waits("mixed.bad") == ["broken 00:00"]
    assert world.decisions("bad")[0].detail == "ValueError: no such hour"


def test_schedules_that_break_only_together_are_all_held() -> None:
    """S20: where no schedule of a job is bad alone, each gets the error, and none of their slots is lost."""
    world = World()
    world.define(job("etl", beside=[schedule(name, "0 * * * *", catchup="all") for name in ("a", "b")]))
    with patch.object(planner, "merge", side_effect=RuntimeError("no order")):
        world.pass_time(to="01:00")
    assert [d.detail for name in ("a", "b") for d in world.decisions(name)] == ["RuntimeError: no order"] * 2
    world.pass_time(to="01:10")
    assert world.ran("a") + world.ran("b") == [("01:00", "schedule"), ("01:00", "schedule")]


def test_the_back_off_of_a_bad_schedule_grows() -> None:
    """S20: a bad schedule is tried again after seconds, then ever more rarely, but within ten minutes."""
    world = World()
    world.define(job("bad", Moody(world.at("01:00"))))
    world.pass_time(to="01:00")
    waits = []
    for _ in range(10):
        wake = world.ledger.next_wake()
        assert wake is not None
        waits.append(wake - world.now)
        world.clock.advance(wake - world.now)
        world.tick()
    assert waits == [5, 5, 10, 20, 40, 80, 160, 320, 600, 600]


def test_a_mended_schedule_goes_on() -> None:
    """S20: once it can be planned again, its pending slots are judged as after an outage."""
    world = World()
    moody = Moody(world.at("01:00"))
    world.define(job("bad", moody))
    world.pass_time(to="02:30")
    moody.broken_from = None
    world.pass_time(to="03:00")
    assert world.ran("bad") == [("02:00", "catchup"), ("03:00", "schedule")]
    assert world.verdicts("bad") == ["coalesced 01:00"]


# Stop, restart, and lists


def test_stop_cancels_every_active_run() -> None:
    """S21: the stop schedule ends what is active, and says which runs."""
    world = World()
    world.run_time["web"] = "10h"
    world.define(job("web", "0 1,2 * * *", stop="0 3 * * *", overlap="allow"))
    world.pass_time(to="03:00")
    assert [run.state for run in world.runs("web")] == ["cancelled", "cancelled"]
    assert world.verdicts("web.stop") == ["stopped 03:00"]
    assert world.decisions("web.stop")[0].detail == "1, 2"


def test_stop_does_nothing_when_there_is_nothing() -> None:
    """S21: a stop that finds no active run is recorded as such."""
    world = World()
    world.define(job("web", "0 1 * * *", stop="0 3 * * *"))
    world.pass_time(to="03:00")
    assert world.verdicts("web.stop") == ["nothing_to_stop 03:00"]


def test_restart_cancels_and_starts() -> None:
    """S21: a restart waits until what it cancelled has ended, then starts, whatever the overlap rule."""
    world = World()
    world.run_time["web"], world.cancel_time = "10h", "90s"
    world.define(job("web", "0 1 * * *", restart="0 3 * * *"))
    world.pass_time(to="04:00")
    assert [run.state for run in world.runs("web")] == ["cancelled"]
    assert world.ran("web.restart") == [("03:00", "restart")]
    assert world.started("web.restart") == [("03:00", "03:01:30")]


def test_restart_just_starts_what_is_not_active() -> None:
    """S21: without an active run a restart is a start."""
    world = World()
    world.define(job("web", restart="0 3 * * *"))
    world.pass_time(to="03:00")
    assert world.started("web.restart") == [("03:00", "03:00")]


def test_of_restarts_that_wait_the_newest_is_kept() -> None:
    """S21: a restart that still waits when the next is due is superseded by it."""
    world = World()
    world.run_time["web"], world.cancel_time = "10h", "90m"
    world.define(job("web", "30 0 * * *", restart="0 * * * *"))
    world.pass_time(to="02:30")
    assert world.verdicts("web.restart") == ["superseded 01:00"]
    assert world.started("web.restart") == [("02:00", "02:30")]


def test_in_one_second_stop_goes_before_restart_before_start() -> None:
    """S21: stop ends the active run, restart takes its place, and the start finds the job active."""
    world = World()
    world.run_time["web"] = "10h"
    world.define(job("web", "0 * * * *", stop="0 2 * * *", restart="0 2 * * *"))
    world.pass_time(to="02:00")
    assert [run.state for run in world.runs("web")] == ["cancelled"]
    assert world.verdicts("web.stop") == ["stopped 02:00"]
    assert world.ran("web.restart") == [("02:00", "restart")]
    assert world.verdicts("web") == ["overlap 02:00"]


def test_a_stop_ends_what_the_same_pass_has_started() -> None:
    """S21: start and stop met by one slow pass go in time order, and the run is cancelled once it exists."""
    world = World()
    world.run_time["web"] = "10h"
    world.define(job("web", "0 0 1 * * *", stop="30 0 1 * * *"))
    world.down(to="01:00:40")
    world.pass_time(seconds=1)
    assert world.ran("web") == [("01:00", "schedule")]
    assert [run.state for run in world.runs("web")] == ["cancelled"]
    assert world.verdicts("web.stop") == ["stopped 01:00:30"]


@pytest.mark.parametrize("kind", [Kind.STOP, Kind.RESTART])
def test_stop_and_restart_never_catch_up(kind: Kind) -> None:
    """S21: on time or not at all."""
    world = World()
    world.run_time["web"] = "10h"
    beside: dict[str, Any] = {str(kind): "0 * * * *"}
    world.define(job("web", "30 0 * * *", **beside))
    world.pass_time(to="00:30")
    world.down(to="03:30")
    world.tick()
    assert world.verdicts(f"web.{kind}") == ["missed 01:00 to 03:00 (3)"]
    assert [run.state for run in world.runs("web")] == ["running"]


def test_each_has_its_own_cursor() -> None:
    """S21: start, stop and restart are schedules of one job with a cursor each."""
    world = World()
    world.define(job("web", "0 1 * * *", stop="0 2 * * *", restart="0 3 * * *"))
    world.pass_time(to="04:00")
    assert [world.cursor(name) for name in ("web", "web.stop", "web.restart")] == ["01:00", "02:00", "03:00"]


def test_catch_up_holds_a_restart_back() -> None:
    """S22: in a pass in which catch-up acted or waits, a restart is suppressed, and that is recorded."""
    world = World()
    world.run_time["web"] = "2h"
    world.define(job("web", "0 * * * *", catchup="all", restart="0 3,4 * * *"))
    world.down(to="03:00")
    world.tick()
    assert world.ran("web") == [("01:00", "catchup")]
    assert world.verdicts("web.restart") == ["catchup_goes_first 03:00"]
    world.pass_time(to="04:00")
    assert world.verdicts("web.restart")[1:] == ["catchup_goes_first 04:00"]  # it waits


def test_catch_up_of_what_comes_after_a_stop_holds_the_stop_back() -> None:
    """S22: a stop that is on time is suppressed where catch-up runs a start of the same second or a later one."""
    world = World()
    world.run_time["web"] = "1h"
    world.define(job("web", "*/10 * * * * *", catchup="all", stop="0 0 3 * * *"))
    world.down(to="03:00:45")
    world.tick()
    assert world.verdicts("web") == ["stopped_since 00:00:10 to 02:59:50 (1079)"]
    assert world.ran("web") == [("03:00", "catchup")]
    assert world.verdicts("web.stop") == ["catchup_goes_first 03:00"]


@pytest.mark.parametrize("catchup", ["skip", "once", "all"])
def test_a_missed_start_is_not_caught_up_after_its_stop(catchup: str) -> None:
    """A3, S22: down 07:00-20:00, start at 8, stop at 18: nothing starts at 20:00; the record names the stop."""
    world = World()
    world.run_time["feed"] = "30h"
    world.define(job("feed", "0 8 * * *", catchup=catchup, restart="0 12,15 * * *", stop="0 18 * * *"))
    world.pass_time(to="07:00")
    world.down(to="20:00")
    world.pass_time(to="2026-01-02T09:00")
    assert world.verdicts("feed") == ["stopped_since 08:00"]
    assert [d.detail for d in world.decisions("feed")] == ["2026-01-01T18:00:00Z"]
    assert world.verdicts("feed.stop") == ["missed 18:00"]
    assert world.ran("feed") == [("2026-01-02T08:00", "schedule")]


def test_a_missed_start_after_the_last_stop_is_caught_up() -> None:
    """S22: of several missed starts only those before the newest stop are not wanted any more."""
    world = World()
    world.run_time["feed"] = "30h"
    world.define(job("feed", "0 8 * * *", catchup="all", stop="0 18 * * *"))
    world.pass_time(to="07:00")
    world.down(to="2026-01-03T10:00")
    world.tick()
    assert world.verdicts("feed") == ["stopped_since 08:00 to 2026-01-02T08:00 (2)"]
    assert world.ran("feed") == [("2026-01-03T08:00", "catchup")]


def test_a_stop_of_the_same_second_goes_before_the_start() -> None:
    """S21, S22: a missed start is caught up if the newest stop fell into its own second."""
    world = World()
    world.define(job("feed", "0 8 * * *", stop="0 8 * * *"))
    world.down(to="09:00")
    world.tick()
    assert world.ran("feed") == [("08:00", "catchup")]


def test_a_start_that_waited_for_a_worker_is_not_caught_up_after_its_stop() -> None:
    """S22, S47: the stop was decided while no worker was there; when one comes, the start is not wanted."""
    world = World()
    world.define(job("feed", "0 8 * * *", stop="0 18 * * *"))
    world.ledger.served_queues = frozenset()
    world.pass_time(to="19:00")
    assert world.verdicts("feed.stop") == ["nothing_to_stop 18:00"]
    world.ledger.served_queues = None
    world.pass_time(to="20:00")
    assert world.verdicts("feed") == ["stopped_since 08:00"]
    assert world.ran("feed") == []


def test_a_stop_that_is_not_in_force_ends_nothing() -> None:
    """S22: neither a paused stop, nor one moved to later, nor one that is first seen after its time has passed."""
    for act in ("pause", "move", "add"):
        world = World()
        world.define(job("feed", "0 8 * * *", stop=None if act == "add" else "0 18 * * *"))
        world.pass_time(to="07:00")
        if act == "pause":
            world.pause("feed.stop")
        if act == "move":
            world.reschedule("feed.stop", "23:00")
        world.down(to="20:00")
        if act == "add":
            world.define(job("feed", "0 8 * * *", stop="0 18 * * *"))
        world.tick()
        assert world.ran("feed") == [("08:00", "catchup")], act


def test_an_outage_is_judged_by_the_stop_as_it_is_now() -> None:
    """S13, S22: a stop edited while nothing ran counts with the times that it has now."""
    world = World()
    world.define(job("feed", "0 8 * * *", stop="0 17 * * *"))
    world.pass_time(to="07:00")
    world.down(to="20:00")
    world.define(job("feed", "0 8 * * *", stop="0 18 * * *"))
    world.tick()
    assert [d.detail for d in world.decisions("feed")] == ["2026-01-01T18:00:00Z"]
    assert world.ran("feed") == []


def test_without_catch_up_stop_is_not_held_back() -> None:
    """S22: a missed slot that is only recorded does not hold a stop back."""
    world = World()
    world.run_time["web"] = "10h"
    world.define(job("web", "0 * * * *", stop="5 3 * * *", catchup="skip"))
    world.pass_time(to="01:30")
    world.down(to="03:05")
    world.tick()
    assert world.verdicts("web") == ["stopped_since 02:00 to 03:00 (2)"]
    assert world.verdicts("web.stop") == ["stopped 03:05"]


def test_a_list_is_the_union_of_its_entries() -> None:
    """S49: a second named by two entries is one slot, and there is one cursor."""
    world = World()
    world.define(job("etl", ["0 * * * *", "*/30 * * * *", "15 2 * * *"]))
    world.pass_time(to="02:30")
    assert [slot for slot, _ in world.ran("etl")] == ["00:30", "01:00", "01:30", "02:00", "02:15", "02:30"]


def test_the_slots_of_a_list_are_counted_once() -> None:
    """S49: a long outage of a list is summed up with each slot counted once."""
    world = World()
    world.define(job("etl", ["0 * * * *", "*/30 * * * *"], catchup="all", max_catchup=10))
    world.down(days=3)
    world.tick()
    assert world.verdicts("etl") == ["too_many 00:30 to 2026-01-03T19:00 (134)"]


def test_one_offs_and_recurring_entries_do_not_share_a_list() -> None:
    """S49: a list mixes no one-offs with recurring times, and is no list with one entry."""
    hourly = parse("0 * * * *")
    for parts in ((hourly, once("01:00")), (hourly,)):
        with pytest.raises(InputError, match="one-offs stand in a list of their own"):
            AnyOf(parts)


def test_a_list_explains_and_writes_itself() -> None:
    """S49: a list reads back, and knows the zone and the warnings of its entries."""
    both = AnyOf((parse("0 2 * * *", "Europe/Berlin"), Every(90, zone("Europe/Berlin"))))
    assert str(both) == f"{both.parts[0]}; {both.parts[1]}"
    assert both.explain() == f"{both.parts[0].explain()}; {both.parts[1].explain()}"
    assert both.zone.name == "Europe/Berlin"
    assert both.warnings_after(World().now) == both.parts[0].warnings_after(World().now)
