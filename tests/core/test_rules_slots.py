"""Slots and cursor, on time and missed: the rules S1 to S13."""

from collections import Counter
from typing import Any

import pytest

from tickwise.core.definition import Catchup, Overlap, Policy
from tickwise.core.errors import ConflictError, InputError
from tickwise.core.model import Planned
from tickwise.core.reasons import Verdict

from .world import World, job, once, policy, schedule, seconds


def planned(world: World, name: str) -> Planned:
    """A schedule as a pass would leave it."""
    return next(p for p in world.plan().schedules if p.schedule.name == name)


# Slots and cursor


def test_a_slot_has_one_run_at_most() -> None:
    """S1: a plan that was committed cannot be committed again, and the second try changes nothing."""
    world = World()
    world.define(job("etl", "0 * * * *"))
    world.down(to="01:00")
    twice = world.plan()
    world.ledger.commit(twice, world.now)
    with pytest.raises(ConflictError, match=r"etl at .* has a run"):
        world.ledger.commit(twice, world.now)
    assert world.ran("etl") == [("01:00", "schedule")]


def test_a_slot_with_a_run_is_decided_by_it() -> None:
    """S1: a pending slot that has a run already is decided by that run before any other rule is asked."""
    world = World()
    world.define(job("etl", "0 * * * *", catchup="skip"))
    world.pass_time(to="01:00")
    midnight = world.at("00:00")
    world.ledger.schedules["etl"] = world.schedule("etl")._replace(cursor=midnight, last_seen_slot=midnight)
    world.down(to="03:30")
    world.tick()
    assert world.ran("etl") == [("01:00", "schedule")]
    assert world.verdicts("etl") == ["missed 02:00 to 03:00 (2)"]


def test_a_new_schedule_has_no_past() -> None:
    """S2: the cursor of a schedule seen for the first time is now, whatever its catch-up policy."""
    world = World()
    world.down(to="12:30")
    world.define(job("etl", "0 * * * *", catchup="all", catchup_window="2d"))
    assert world.cursor("etl") == "12:30"
    world.pass_time(to="13:00")
    assert world.ran("etl") == [("13:00", "schedule")]
    assert world.verdicts("etl") == []


def test_a_file_added_while_down_has_no_past() -> None:
    """S2: slots between the writing of a file and the start of the scheduler are nobody's."""
    world = World()
    world.define(job("old", "0 * * * *", catchup="all"))
    world.down(hours=3)
    world.define(job("old", "0 * * * *", catchup="all"), job("new", "0 * * * *", catchup="all"))
    world.pass_time(seconds=0)
    assert [slot for slot, _ in world.ran("old")] == ["01:00", "02:00", "03:00"]
    assert world.ran("new") == []


@pytest.mark.parametrize(
    ("defined", "ticked", "slots"),
    [
        ("00:59:59", "01:00", ["01:00"]),  # the end is inclusive
        ("01:00", "01:59:59", []),  # the start is exclusive
        ("01:00", "02:00", ["02:00"]),
    ],
)
def test_pending_slots_lie_after_the_cursor_and_up_to_now(defined: str, ticked: str, slots: list[str]) -> None:
    """S3: what is pending is derived from the cursor: start exclusive, end inclusive."""
    world = World()
    world.down(to=defined)
    world.define(job("etl", "0 * * * *"))
    world.down(to=ticked)
    world.tick()
    assert [slot for slot, _ in world.ran("etl")] == slots


def test_a_restart_loses_nothing_that_was_pending() -> None:
    """S3: half of a backlog survives a restart, since it is derived from the cursor and kept in no buffer."""
    world = World()
    world.run_time["etl"] = "10m"
    world.define(job("etl", "0 * * * *", catchup="all"))
    world.down(to="04:30")
    world.pass_time(minutes=15)
    assert [slot for slot, _ in world.ran("etl")] == ["01:00", "02:00"]
    world.down(minutes=15)
    world.pass_time(minutes=30)
    assert [slot for slot, _ in world.ran("etl")] == ["01:00", "02:00", "03:00", "04:00", "05:00"]


def test_a_clock_that_jumps_back_fires_nothing_again() -> None:
    """S4: the cursor never moves back."""
    world = World()
    world.define(job("etl", "*/10 * * * *"))
    world.pass_time(to="02:00")
    before = world.ran("etl")
    world.clock.advance(-3600)
    world.pass_time(to="02:05")
    assert world.ran("etl") == before
    assert world.cursor("etl") == "02:00"
    world.pass_time(to="02:10")
    assert world.ran("etl")[len(before) :] == [("02:10", "schedule")]


def test_a_clock_that_jumps_ahead_makes_missed_slots_and_no_burst() -> None:
    """S4: what a jump or a sleeping machine leaves behind goes through the catch-up policy."""
    world = World()
    world.define(job("etl", "*/10 * * * *"))
    world.pass_time(to="01:00")
    world.clock.advance(3600 * 5)
    world.pass_time(minutes=5)
    assert world.ran("etl")[-1:] == [("06:00", "schedule")]
    assert world.verdicts("etl") == ["coalesced 01:10 to 05:50 (29)"]


def test_reset_drops_a_backlog() -> None:
    """S4: a person may set the cursor to now; what was pending is recorded."""
    world = World()
    world.run_time["etl"] = "6h"
    world.define(job("etl", "0 * * * *", catchup="all"))
    world.pass_time(to="04:30")
    world.reset("etl")
    world.pass_time(to="06:59")
    assert world.ran("etl") == [("01:00", "schedule")]
    assert world.verdicts("etl") == ["reset 02:00 to 04:00 (3)"]
    world.pass_time(to="07:00")
    assert world.ran("etl")[1:] == [("05:00", "schedule")]


def test_reset_repairs_a_cursor_that_a_wrong_clock_pushed_ahead() -> None:
    """S4: only `reset` moves a cursor back, and slots that have a run stay as they are."""
    world = World()
    world.define(job("etl", "0 * * * *"))
    world.pass_time(to="02:00")
    world.clock.advance(-3600)
    world.reset("etl")
    assert world.cursor("etl") == "01:00"
    world.pass_time(to="03:00")
    assert world.ran("etl") == [(slot, "schedule") for slot in ("01:00", "02:00", "03:00")]


def test_time_is_what_the_store_says() -> None:
    """S5: a pass knows no time but the one it is given, so nodes with wrong clocks plan the same."""
    world, off = World(), World()
    for each in (world, off):
        each.define(job("etl", "0 * * * *"))
        each.down(to="01:00")
    assert off.plan() == world.plan()
    assert world.starts(world.plan()) == [("etl", "01:00", "schedule")]


def test_of_a_long_outage_the_newest_thousand_are_kept() -> None:
    """S6: of 43,200 missed slots the newest 1,000 are caught up, and the rest is one summed-up decision."""
    world = World()
    world.define(job("etl", "* * * * * *", catchup="all", overlap="allow", max_active_runs=1000))
    world.down(hours=12)
    decided = world.tick()
    assert world.verdicts("etl") == ["too_many 00:00:01 to 11:43:20 (42200)"]
    assert {start.slot for start in decided.starts} == set(range(world.at("11:43:21"), world.at("12:00") + 1))


@pytest.mark.parametrize(("most", "dropped"), [(1, 4), (2, 3), (3, 2), (4, 1), (5, 0), (6, 0)])
def test_max_catchup_counts_slots(most: int, dropped: int) -> None:
    """S6: as many of the newest slots are kept as `max_catchup` says, from whichever end they are counted."""
    world = World()
    world.define(job("etl", "0 * * * *", catchup="all", max_catchup=most))
    world.down(to="05:30")
    world.pass_time(seconds=1)
    assert len(world.ran("etl")) == 5 - dropped
    assert sum(d.count for d in world.decisions("etl") if d.reason.code == "too_many") == dropped


POLICIES: dict[str, dict[str, Any]] = {
    "default": {},
    "catchup skip": {"catchup": "skip"},
    "catchup all": {"catchup": "all"},
    "a short window": {"catchup_window": "3h"},
    "few at most": {"catchup": "all", "max_catchup": 3},
    "overlap latest": {"overlap": "latest"},
    "latest of all": {"overlap": "latest", "catchup": "all"},
    "overlap allow": {"overlap": "allow", "max_active_runs": 2},
    "allow all": {"overlap": "allow", "max_active_runs": 2, "catchup": "all"},
    "overlap replace": {"overlap": "replace"},
    "skip beside all": {"overlap": "skip", "catchup": "all"},
    "successful": {"skip_if_successful": True},
    "jitter": {"jitter": "50m"},
    "max runs": {"max_runs": 4, "catchup": "all"},
    "until": {"until": "09:00"},
}


@pytest.mark.parametrize("given", POLICIES.values(), ids=POLICIES)
def test_every_slot_ends_in_one_run_or_one_decision(given: dict[str, Any]) -> None:
    """S7: whatever the policy, no slot before the cursor is without a verdict and none has two."""
    world = World()
    world.run_time["etl"] = "2h"
    world.define(job("etl", "*/30 * * * *", **given))
    world.pass_time(to="04:10")
    world.down(to="09:40")
    world.pass_time(to="20:00")
    verdicts = Counter(run.slot for run in world.runs("etl"))
    for decision in world.decisions("etl"):
        if decision.reason.verdict is not Verdict.DEFERRED:
            row = range(decision.first, decision.last + 1, 1800)
            assert len(row) == decision.count
            verdicts.update(row)
    left = world.schedule("etl")
    decided = set(range(world.at("00:30"), left.cursor + 1, 1800))
    decided.update(slot for after, until in left.dropped for slot in range(after, until + 1) if slot % 1800 == 0)
    assert verdicts == Counter(decided)


def test_a_deferral_is_recorded_when_it_begins() -> None:
    """S7: a slot that waits through many passes is recorded as waiting once."""
    world = World()
    world.run_time["etl"] = "3h"
    world.define(job("etl", "0 * * * *", catchup="all"), job("tick", "* * * * *"))
    world.pass_time(to="01:00")
    for _ in range(5):
        world.pass_time(minutes=30)
        world.ledger._wake("etl", world.now)
        world.tick()
    assert world.waits("etl") == ["waits_for_run 02:00"]


def test_verdicts_around_a_run_are_not_one_row() -> None:
    """S7: only verdicts in a row are one record; a slot between them that ran breaks the row."""
    world = World()
    world.define(job("source", "0 0 1 1 *"))
    world.define(job("etl", "0 * * * *", catchup="all", overlap="allow", after={"source": "30m"}))
    world.down(to="02:00")
    world.trigger("source")
    world.down(to="03:30")
    world.tick()
    assert world.verdicts("etl") == ["dependency_missing 01:00", "dependency_missing 03:00"]
    assert world.ran("etl") == [("02:00", "catchup")]


@pytest.mark.parametrize(
    "ending",
    [
        job("etl", once("01:00")),
        job("etl", "0 * * * *", until="01:30"),
        job("etl", "0 * * * *", max_runs=1),
    ],
    ids=["a one-off", "until", "max_runs"],
)
def test_no_next_time_is_a_value_of_its_own(ending: Any) -> None:
    """S8: a schedule that has come to its end is looked at never again, neither far in the future nor now."""
    world = World()
    world.define(ending)
    world.pass_time(to="05:00")
    left = planned(world, "etl")
    assert (left.wake_at, left.due_at) == (None, None)
    assert world.ran("etl") == [("01:00", "schedule")]


# On time and missed


@pytest.mark.parametrize(
    ("times", "grace", "late", "runs"),
    [
        ("0 * * * *", None, "0", ["01:00"]),
        ("0 * * * *", None, "60s", ["01:00"]),
        ("0 * * * *", None, "61s", []),
        ("0 * * * *", "5m", "5m", ["01:00"]),
        ("0 * * * *", "5m", "301s", []),
        ("0 * * * *", "0", "0", ["01:00"]),
        ("0 * * * *", "0", "1s", []),
        ("0 * * * *", "90m", "80m", ["01:00", "02:00"]),  # as given, even past the next slot
        ("0,1 1 * * *", None, "60s", ["01:00", "01:01"]),  # at the next slot, not past it
        ("*/20 0 1 * * *", None, "21s", ["01:00:20"]),
        ("*/20 0 1 * * *", None, "20s", ["01:00", "01:00:20"]),
        (once("01:00"), None, "60s", ["01:00"]),
    ],
)
def test_a_slot_is_on_time_within_grace(times: Any, grace: str | None, late: str, runs: list[str]) -> None:
    """S9: the first pass judges a slot: on time within a minute, but not past the next slot, or as grace says."""
    world = World()
    world.define(job("etl", times, catchup="skip", overlap="allow", grace=grace))
    world.down(to="01:00")
    world.down(seconds=seconds(late))
    world.tick()
    assert world.ran("etl") == [(slot, "schedule") for slot in runs]


def test_jitter_counts_before_grace() -> None:
    """S9: a slot is due from slot + jitter on, and grace counts from there."""
    world = World()
    world.define(job("etl", "0 * * * *", jitter="30m", catchup="skip"))
    due = planned(world, "etl").due_at
    assert due is not None
    assert due > world.at("01:00")
    world.down(to="01:00")
    world.down(seconds=due - world.now - 1)
    world.tick()
    assert world.ran("etl") == []
    world.down(seconds=61)
    world.tick()
    assert world.ran("etl") == [("01:00", "schedule")]


@pytest.mark.parametrize("then", ["skip", "once"])
def test_a_slot_that_was_met_on_time_stays_on_time(then: str) -> None:
    """S9: judged once: however long a rule makes a slot wait, it is no miss."""
    world = World()
    world.run_time["etl"] = "150m"
    world.define(job("etl", "0 * * * *", overlap="latest", catchup=then))
    world.pass_time(to="03:30")
    assert world.started("etl") == [("01:00", "01:00"), ("03:00", "03:30")]
    assert [trigger for _, trigger in world.ran("etl")] == ["schedule", "schedule"]


def test_a_slot_that_was_found_missed_stays_missed() -> None:
    """S9: judged once: a longer grace given later does not make a missed slot a live one."""
    world = World()
    world.run_time["etl"] = "30m"
    world.define(job("etl", "0 * * * *", catchup="all"))
    world.down(to="02:30")
    world.tick()
    world.define(job("etl", "0 * * * *", catchup="all", grace="6h"))
    world.pass_time(to="03:00")
    assert world.ran("etl") == [("01:00", "catchup"), ("02:00", "catchup")]


@pytest.mark.parametrize(
    ("catchup", "runs", "verdicts"),
    [
        ("skip", [], ["missed 01:00 to 03:00 (3)"]),
        ("once", [("03:00", "catchup")], ["coalesced 01:00 to 02:00 (2)"]),
        ("all", [("01:00", "catchup"), ("02:00", "catchup"), ("03:00", "catchup")], []),
    ],
)
def test_three_missed_hours(catchup: str, runs: list[tuple[str, str]], verdicts: list[str]) -> None:
    """S10: three missed hours give no run, one, or three, and the next slot is computed from now."""
    world = World()
    world.define(job("etl", "0 * * * *", catchup=catchup))
    world.down(to="03:30")
    world.pass_time(to="03:59")
    assert world.ran("etl") == runs
    assert world.verdicts("etl") == verdicts
    world.pass_time(to="04:00")
    assert world.ran("etl") == [*runs, ("04:00", "schedule")]


def test_the_default_is_once() -> None:
    """S10: without a word about catch-up, missed slots collapse into one run."""
    assert Policy.of().catchup is Catchup.ONCE


def test_a_late_poll_is_not_a_miss() -> None:
    """S10: under `skip` a slot that a slow pass meets within grace runs as if nothing had been."""
    world = World()
    world.define(job("etl", "0 * * * *", catchup="skip"))
    world.down(to="01:00:45")
    world.pass_time(minutes=1)
    assert world.started("etl") == [("01:00", "01:00:45")]
    assert world.verdicts("etl") == []


def test_under_skip_the_missed_are_recorded_and_the_slot_on_time_runs() -> None:
    """S10: missed slots are recorded as skipped, the one on time runs."""
    world = World()
    world.define(job("etl", "0 * * * *", catchup="skip"))
    world.down(to="03:00:30")
    world.tick()
    assert world.ran("etl") == [("03:00", "schedule")]
    assert world.verdicts("etl") == ["missed 01:00 to 02:00 (2)"]


def test_under_once_a_newest_slot_on_time_stands_for_all() -> None:
    """S10: if any pending slot is missed, all collapse into the newest; on time, its trigger is `schedule`."""
    world = World()
    world.define(job("etl", "0 * * * *"))
    world.down(to="03:00:30")
    world.tick()
    assert world.ran("etl") == [("03:00", "schedule")]
    assert world.verdicts("etl") == ["coalesced 01:00 to 02:00 (2)"]
    assert world.decisions("etl")[0].detail == "2026-01-01T03:00:00Z"


def test_under_once_the_guards_apply_to_the_missed() -> None:
    """S10: a run by hand after the newest missed slot stands for it (S17)."""
    world = World()
    world.define(job("etl", "0 * * * *"))
    world.down(to="03:30")
    world.trigger("etl")
    world.down(to="03:40")
    world.tick()
    assert world.ran("etl") == []
    assert world.verdicts("etl") == ["coalesced 01:00 to 02:00 (2)", "already_done 03:00"]


def test_under_all_the_window_counts_when_a_slot_is_first_met() -> None:
    """S10: slots older than the window are expired, oldest first; once met in time they wait however long."""
    world = World()
    world.run_time["etl"] = "4h"
    world.define(job("etl", "0 * * * *", catchup_window="3h"))
    world.down(to="05:00:30")
    world.pass_time(to="23:00")
    assert world.verdicts("etl") == ["too_old 01:00 to 02:00 (2)"]
    assert world.decisions("etl")[0].detail == "3h"
    assert world.ran("etl")[:4] == [
        ("03:00", "catchup"),
        ("04:00", "catchup"),
        ("05:00", "schedule"),
        ("06:00", "schedule"),
    ]
    assert world.started("etl")[3] == ("06:00", "17:00:30")


def test_a_second_outage_expires_only_what_it_hid() -> None:
    """S10: what waits since before an outage is not judged again by it."""
    world = World()
    world.run_time["etl"] = "90m"
    world.define(job("etl", "0 * * * *", catchup_window="2h"))
    world.pass_time(to="03:10")
    assert world.waits("etl")[-1:] == ["waits_for_run 03:00"]
    world.down(to="09:30")
    world.pass_time(to="15:00")
    assert world.verdicts("etl") == ["too_old 04:00 to 07:00 (4)"]
    assert [slot for slot, _ in world.ran("etl")][:5] == ["01:00", "02:00", "03:00", "08:00", "09:00"]


@pytest.mark.parametrize(
    ("given", "catchup", "window"),
    [
        ({}, Catchup.ONCE, "24h"),
        ({"catchup_window": "6h"}, Catchup.ALL, "6h"),
        ({"catchup_window": "0"}, Catchup.SKIP, "24h"),
        ({"catchup_window": "0", "catchup": "skip"}, Catchup.SKIP, "24h"),
        ({"catchup": "all"}, Catchup.ALL, "24h"),
        ({"catchup": "all", "catchup_window": "2d12h"}, Catchup.ALL, "60h"),
    ],
)
def test_a_window_says_which_catchup(given: dict[str, str], catchup: Catchup, window: str) -> None:
    """S11: a window alone means `all`, zero means `skip`, and `all` has one of a day."""
    made = policy(**given)
    assert (made.catchup, made.catchup_window) == (catchup, seconds(window))


@pytest.mark.parametrize(
    "given",
    [
        {"catchup_window": "0", "catchup": "all"},
        {"catchup_window": "0", "catchup": "once"},
        {"catchup_window": "6h", "catchup": "skip"},
        {"catchup_window": "6h", "catchup": "once"},
    ],
)
def test_a_window_that_contradicts_catchup_is_refused(given: dict[str, str]) -> None:
    """S11: what contradicts itself is refused, naming both."""
    with pytest.raises(InputError, match=r"catchup_window.*catchup is"):
        policy(**given)


def test_slots_of_a_job_are_decided_in_time_order() -> None:
    """S12: all schedules of a job together: by slot, then by name."""
    world = World()
    world.run_time["etl"] = "1m"
    world.define(
        job("etl", beside=[schedule(name, "0 * * * *", catchup="all") for name in ("b", "a")]),
    )
    world.down(to="02:30")
    world.pass_time(to="02:50")
    made = [(run.schedule, world.says(run.slot or 0)) for run in world.ledger.runs.values()]
    assert made == [("a", "01:00"), ("b", "01:00"), ("a", "02:00"), ("b", "02:00")]


def test_a_live_slot_waits_behind_older_ones() -> None:
    """S12: a slot that falls due while older ones are pending waits behind them and is not lost."""
    world = World()
    world.run_time["etl"] = "40m"
    world.define(job("etl", "0 * * * *", catchup="all"))
    world.down(to="02:50")
    world.pass_time(to="04:30")
    assert world.started("etl") == [("01:00", "02:50"), ("02:00", "03:30"), ("03:00", "04:10")]
    assert world.ran("etl")[2] == ("03:00", "schedule")


def test_a_slot_of_another_schedule_waits_behind_too() -> None:
    """S12: a live slot of one schedule waits behind the job's older pending slot of another, and says so."""
    world = World()
    world.run_time["etl"] = "45m"
    world.define(job("etl", "0 * * * *", catchup="all", beside=[schedule("extra", "30 * * * *")]))
    world.down(to="02:10")
    world.pass_time(to="02:50")
    assert world.waits("extra") == ["waits_behind 02:30"]
    assert world.decisions("extra")[-1].detail == "2026-01-01T02:00:00Z"
    world.pass_time(to="03:00")
    assert world.ran("etl")[1:] == [("02:00", "catchup")]
    assert world.verdicts("extra") == ["coalesced 00:30", "overlap 01:30", "overlap 02:30"]


def test_a_backlog_goes_behind_the_live_slots_of_other_jobs() -> None:
    """S12: in one plan live slots come first, then catch-up, then backfill."""
    world = World()
    world.define(
        job("a-backlog", "0 * * * *", catchup="all"),
        job("b-backfill", "0 0 * * *"),
        job("c-live", "30 * * * *"),
    )
    world.down(to="05:29")
    world.backfill("b-backfill", "2025-12-30T00:00", "05:00")
    world.down(to="05:30")
    assert world.starts(world.tick()) == [
        ("c-live", "05:30", "schedule"),
        ("a-backlog", "01:00", "catchup"),
        ("b-backfill", "2025-12-30T00:00", "backfill"),
    ]


def test_within_a_job_the_backlog_stays_in_front() -> None:
    """S12: a job's own live slot goes behind its own catch-up, other jobs' live slots before both."""
    world = World()
    world.define(
        job("both", "0 * * * *", catchup="all", overlap="allow"), job("live", "0 * * * *", catchup="skip")
    )
    world.down(to="03:00")
    assert world.starts(world.tick()) == [
        ("live", "03:00", "schedule"),
        ("both", "01:00", "catchup"),
        ("both", "02:00", "catchup"),
        ("both", "03:00", "schedule"),
    ]


def test_an_outage_is_judged_by_the_current_definition() -> None:
    """S13: slots that fell into an outage are judged by the definition of the day after."""
    world = World()
    world.define(job("etl", "0 * * * *", catchup="all"))
    world.down(to="03:30")
    world.define(job("etl", "0 * * * *"))
    world.tick()
    assert world.ran("etl") == [("03:00", "catchup")]
    assert world.verdicts("etl") == ["coalesced 01:00 to 02:00 (2)"]


def test_overlap_follows_catchup() -> None:
    """S14: `catchup: all` alone means `overlap: queue`, and `overlap: queue` alone means `catchup: all`."""
    assert policy(catchup="all").overlap is Overlap.QUEUE
    assert policy(overlap="queue").catchup is Catchup.ALL
    assert policy().overlap is Overlap.SKIP
