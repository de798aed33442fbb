"""Changing definitions, pausing, triggering, moving: the rules S23 to S34, and S51 as far as it is pure."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from tickwise.core.backfill import BackfillAsked, backfill_slots
from tickwise.core.change import (
    Added,
    Change,
    Deleted,
    Paused,
    Renamed,
    Rescheduled,
    Reset,
    Restored,
    Resumed,
    Switched,
    Updated,
    apply_change,
)
from tickwise.core.definition import Catchup, Overlap, ScheduleDefinition
from tickwise.core.errors import ConflictError, InputError
from tickwise.core.model import Pause, Planned, ScheduleFacts, Trigger
from tickwise.core.reasons import Reason
from tickwise.core.states import RunState

from .world import World, instant, job, once, schedule


def planned(world: World, name: str) -> Planned:
    """A schedule as a pass would leave it."""
    return next(p for p in world.plan().schedules if p.schedule.name == name)


def a_backlog(**given: Any) -> World:
    """An hourly job at 04:30: the first slot runs for hours, three wait."""
    world = World()
    world.run_time["etl"] = "10h"
    world.define(job("etl", "0 * * * *", **{"catchup": "all", **given}))
    world.pass_time(to="04:30")
    return world


# Changing definitions


def test_deleting_drops_what_is_pending_and_cancels_what_is_queued() -> None:
    """S23: both are recorded; what is running goes on."""
    world = a_backlog()
    queued = world.ledger.enqueue("etl", Trigger.BACKFILL, world.now, schedule="etl", slot=world.at("00:00"))
    world.delete("etl")
    assert world.verdicts("etl") == ["deleted 02:00 to 04:00 (3)"]
    assert queued.state is RunState.CANCELLED
    world.pass_time(to="23:00")
    assert [run.state for run in world.runs("etl")] == [RunState.SUCCEEDED, RunState.CANCELLED]
    assert world.ran("etl")[2:] == []


def test_a_schedule_that_its_job_no_longer_has_is_deleted() -> None:
    """S23: the others stay; a run that is over is left alone by a late cancel."""
    world = World()
    world.define(job("etl", "0 * * * *", beside=[schedule("etl.late", "30 * * * *")]))
    world.pass_time(to="01:00")
    world.define(job("etl", "0 * * * *"))
    assert world.schedule("etl.late").deleted_at == world.now
    assert world.schedule("etl").deleted_at is None
    (done,) = world.runs("etl")
    world.ledger.cancel(done.id, world.now)
    assert (done.state, done.cancelling) == (RunState.SUCCEEDED, False)


@pytest.mark.parametrize("catchup", ["once", "all"])
def test_remove_and_create_keeps_the_identity(catchup: str) -> None:
    """S23: an editor that removes a file and writes it again loses no slot, not even one in between."""
    world = World()
    world.define(job("etl", "0 * * * *", catchup=catchup))
    world.pass_time(to="00:59:30")
    world.delete("etl")
    world.pass_time(to="01:00:30")
    assert world.ran("etl") == []
    world.define(job("etl", "0 * * * *", catchup=catchup))
    world.pass_time(to="01:01")
    assert world.ran("etl") == [("01:00", "schedule")]
    assert world.schedule("etl").first_seen == world.at("00:00")


@pytest.mark.parametrize(("away", "cursor"), [(120, "00:30"), (121, "00:32:01")])
def test_the_cursor_of_a_deleted_schedule_is_kept_for_two_minutes(away: int, cursor: str) -> None:
    """S23: after two minutes a schedule of the same name is a new one."""
    world = World()
    world.define(job("etl", "0 * * * *"))
    world.pass_time(to="00:30")
    world.delete("etl")
    world.pass_time(seconds=away)
    world.define(job("etl", "0 * * * *"))
    assert world.cursor("etl") == cursor


def test_a_deleted_schedule_is_not_there() -> None:
    """S23: while its cursor is kept, nobody can pause or change it."""
    world = World()
    world.define(job("etl", "0 * * * *"))
    world.delete("etl")
    with pytest.raises(InputError, match="no such schedule"):
        world.pause("etl")
    with pytest.raises(InputError, match="no such schedule"):
        apply_change(None, Paused(), world.now)


def test_a_delete_records_what_a_move_had_passed_over() -> None:
    """S23: slots that a reschedule hid until now do not vanish with the schedule."""
    world = World()
    world.define(job("etl", "0 * * * *"))
    world.pass_time(to="00:30")
    world.reschedule("etl", "05:30")
    world.pass_time(to="02:30")
    world.delete("etl")
    assert world.verdicts("etl") == ["rescheduled 01:00 to 02:00 (2)"]


def test_a_denser_expression_does_not_invent_a_past() -> None:
    """S24: if nothing was pending, an edit moves the cursor to now first."""
    world = World()
    world.define(job("etl", "0 0 * * *", catchup="all"))
    world.pass_time(to="12:30")
    world.define(job("etl", "0 * * * *", catchup="all"))
    assert world.cursor("etl") == "12:30"
    world.pass_time(to="13:00")
    assert world.ran("etl") == [("13:00", "schedule")]
    assert world.verdicts("etl") == []


def test_pending_slots_are_recomputed_with_the_new_expression() -> None:
    """S24: if slots were pending, the cursor moves to just before the oldest; from there the new times count."""
    world = World()
    world.define(job("etl", "0 */2 * * *", catchup="all", overlap="allow"))
    world.pass_time(to="02:30")
    world.down(to="06:30")
    world.define(job("etl", "0 * * * *", catchup="all", overlap="allow"))
    assert world.cursor("etl") == "03:59:59"
    world.pass_time(to="06:31")
    assert world.ran("etl") == [("02:00", "schedule"), *[(t, "catchup") for t in ("04:00", "05:00", "06:00")]]


@pytest.mark.parametrize(
    "edited",
    [{"grace": "5m"}, {"overlap": "allow"}, {"jitter": "1m"}, {"catchup_window": "20h"}, {"max_runs": 50}],
    ids=str,
)
def test_pending_work_survives_edits_of_anything_else(edited: dict[str, Any]) -> None:
    """S24: an edit that is not about times leaves the backlog as it was."""
    world = a_backlog()
    world.define(job("etl", "0 * * * *", **{"catchup": "all", **edited}))
    world.pass_time(to="11:00:30")
    world.run_time["etl"] = "0"
    world.pass_time(to="23:30")
    assert [slot for slot, _ in world.ran("etl")][:4] == ["01:00", "02:00", "03:00", "04:00"]
    assert world.verdicts("etl") == []


def test_a_slot_that_jitter_holds_survives_an_edit() -> None:
    """S24: a slot whose time has come but whose jitter has not is not lost by an edit in between."""
    world = World()
    world.define(job("etl", "0 * * * *", jitter="50m"))
    due = planned(world, "etl").due_at
    assert due is not None
    assert due > world.at("01:01")
    world.pass_time(to="01:01")
    world.define(job("etl", "0 * * * *", jitter="49m"))
    world.pass_time(to="01:55")
    assert [slot for slot, _ in world.ran("etl")] == ["01:00"]


@pytest.mark.parametrize("off", [{"catchup": "skip"}, {"catchup_window": "0"}], ids=str)
def test_turning_catch_up_on_reopens_what_was_missed(off: dict[str, Any]) -> None:
    """S25: slots recorded as missed within the window run after all, oldest first, with trigger `catchup`."""
    world = World()
    world.define(job("etl", "0 * * * *", **off))
    world.down(to="05:30")
    world.tick()
    assert world.verdicts("etl") == ["missed 01:00 to 05:00 (5)"]
    world.define(job("etl", "0 * * * *", catchup_window="3h"))
    world.pass_time(to="06:00")
    assert world.ran("etl") == [*[(t, "catchup") for t in ("03:00", "04:00", "05:00")], ("06:00", "schedule")]


def test_turning_catch_up_off_drops_what_is_pending() -> None:
    """S25: what waits, and what was re-opened, is recorded as dropped."""
    world = World()
    world.define(job("etl", "0 * * * *", catchup="skip"))
    world.down(to="02:30")
    world.tick()
    world.run_time["etl"] = "10h"
    world.define(job("etl", "0 * * * *", catchup="all"))
    world.pass_time(to="04:30")
    assert world.ran("etl") == [("01:00", "catchup")]
    world.define(job("etl", "0 * * * *", catchup="skip"))
    world.pass_time(to="05:00")
    assert world.verdicts("etl")[1:] == ["catchup_off 02:00", "catchup_off 03:00 to 04:00 (2)", "overlap 05:00"]


def reopened(**given: Any) -> World:
    """Slots 01:00 to 03:00 were missed under `skip` and are re-opened at 03:30."""
    world = World()
    world.define(job("etl", "0 * * * *", catchup="skip"))
    world.down(to="03:30")
    world.tick()
    world.define(job("etl", "0 * * * *", **{"catchup": "all", **given}))
    return world


def test_of_reopened_slots_latest_keeps_the_newest() -> None:
    """S25: re-opened slots are pending slots like others: `latest` keeps one of them (S14)."""
    world = reopened(overlap="latest")
    world.pass_time(to="03:31")
    assert world.ran("etl") == [("03:00", "catchup")]
    assert world.verdicts("etl")[1:] == ["superseded 01:00 to 02:00 (2)"]


def test_reopened_slots_collapse_under_once() -> None:
    """S25: re-opened slots still pending when the policy becomes `once` collapse into the newest (S10)."""
    world = reopened()
    world.define(job("etl", "0 * * * *"))
    world.pass_time(to="03:31")
    assert world.ran("etl") == [("03:00", "catchup")]
    assert world.verdicts("etl")[1:] == ["coalesced 01:00 to 02:00 (2)"]


def test_reopened_slots_survive_an_outage() -> None:
    """S25: what was re-opened within the window is not judged again by a later outage."""
    world = reopened(catchup_window="6h")
    world.run_time["etl"] = "20m"
    world.tick()
    world.down(to="08:30")
    world.pass_time(to="08:59")
    assert [slot for slot, _ in world.ran("etl")] == ["01:00", "02:00", "03:00"]
    assert world.verdicts("etl") == ["missed 01:00 to 03:00 (3)"]


def test_a_pause_holds_reopened_slots() -> None:
    """S25: re-opened slots of a paused schedule wait for the resume (S29)."""
    world = reopened()
    world.pause("etl")
    world.pass_time(to="03:40")
    assert world.ran("etl") == []
    world.resume("etl")
    world.pass_time(to="03:50")
    assert [slot for slot, _ in world.ran("etl")] == ["01:00", "02:00", "03:00"]


def test_a_reopened_slot_that_has_a_run_is_decided_by_it() -> None:
    """S25: a missed slot that was backfilled meanwhile is not run again (S1)."""
    world = World()
    world.define(job("etl", "0 * * * *", catchup="skip"))
    world.down(to="03:30")
    world.tick()
    world.backfill("etl", "02:00", "02:01")
    world.pass_time(to="03:31")
    world.define(job("etl", "0 * * * *", catchup="all"))
    world.pass_time(to="03:32")
    assert world.ran("etl") == [("02:00", "backfill"), ("01:00", "catchup"), ("03:00", "catchup")]


def test_a_backfill_leaves_reopened_slots_to_catch_up() -> None:
    """S25: a slot that is re-opened and asked for by a backfill gets one run (S1)."""
    world = reopened(overlap="allow")
    world.backfill("etl", "00:00", "03:30", "allow")
    world.pass_time(to="03:31")
    assert sorted(world.ran("etl")) == [("00:00", "backfill"), *[(f"0{n}:00", "catchup") for n in (1, 2, 3)]]


def test_an_edit_of_the_times_keeps_reopened_slots_that_are_still_named() -> None:
    """S25: of the re-opened slots those stay that the new times name."""
    world = reopened()
    world.define(job("etl", "0 */2 * * *", catchup="all"))
    world.pass_time(to="03:59")
    assert world.ran("etl") == [("02:00", "catchup")]


def test_another_name_is_a_delete_and_an_add() -> None:
    """S26: pending slots of the old name are dropped, and the new one has no past."""
    world = a_backlog()
    renamed = world.change("etl", Renamed(schedule("load", "0 * * * *", "etl", catchup="all")))
    assert renamed.cancel_queued
    world.pass_time(to="11:00:30")
    assert world.verdicts("etl") == ["deleted 02:00 to 04:00 (3)"]
    assert world.ran("load") == [("05:00", "schedule")]


def test_a_change_takes_effect_in_the_next_pass() -> None:
    """S27: a changed schedule is looked at at once, by its new definition."""
    world = World()
    world.define(job("etl", "0 0 * * *"))
    world.pass_time(to="12:30")
    world.define(job("etl", "* * * * *"))
    assert world.ledger.next_wake() == world.now
    [left] = world.tick().schedules
    assert left.wake_at == world.at("12:31")


@pytest.mark.parametrize("change", [Added, Updated])
def test_the_same_definition_again_changes_nothing(change: Any) -> None:
    """S28: neither the backlog nor a pause is touched, whichever way it comes."""
    world = a_backlog()
    world.pause("etl", by="ann", reason="audit")
    before = world.schedule("etl")
    after = apply_change(before, change(before.definition), world.now)
    assert (after.schedules, after.decisions) == ((before,), ())


# Pausing, triggering, moving


def test_while_paused_nothing_is_decided() -> None:
    """S29: no slot is decided, the next time is none; triggers and runs go on."""
    world = World()
    world.run_time["etl"] = "10m"
    world.define(job("etl", "0 * * * *"))
    world.pass_time(to="01:00")
    world.pause("etl", by="ann", reason="audit")
    world.pass_time(to="01:30")
    assert world.runs("etl")[0].state is RunState.SUCCEEDED
    assert planned(world, "etl").wake_at is None
    world.trigger("etl")
    world.pass_time(to="03:30")
    assert [run.trigger for run in world.runs("etl")] == ["schedule", "manual"]
    assert world.cursor("etl") == "01:00"


def test_a_moved_fire_that_a_pause_has_dropped_is_decided_once() -> None:
    """S29, S31: it is not pending any more when the next fire is moved, so that says nothing about it."""
    world = World()
    world.define(job("etl", "0 * * * *"))
    world.pass_time(to="00:30")
    world.reschedule("etl", "01:30")
    world.pause("etl")
    world.pass_time(to="02:30")
    world.resume("etl")
    dropped = world.verdicts("etl")
    assert dropped == ["rescheduled 01:00", "paused 01:30 to 02:00 (2)"]
    world.reschedule("etl", "03:30")
    assert world.verdicts("etl") == dropped


def test_a_second_pause_keeps_the_first() -> None:
    """S29: who paused it, when and why stays as it was."""
    world = World()
    world.define(job("etl", "0 * * * *"))
    world.pause("etl", by="ann", reason="audit")
    world.down(minutes=5)
    world.pause("etl", by="bob")
    paused = world.schedule("etl").paused
    assert paused is not None
    assert (paused.at, paused.by, paused.reason) == (world.at("00:00"), "ann", "audit")


@pytest.mark.parametrize(
    ("given", "run_missed", "runs", "verdicts"),
    [
        ({"catchup": "skip"}, None, [], ["paused 02:00 to 03:00 (2)"]),
        ({"catchup": "once"}, None, [], ["paused 02:00 to 03:00 (2)"]),
        ({"catchup": "once"}, True, ["03:00"], ["coalesced 02:00"]),
        ({"catchup": "all"}, None, ["02:00", "03:00"], []),
        ({"catchup_window": "1h"}, None, ["03:00"], ["too_old 02:00"]),
        ({"catchup": "all"}, False, [], ["paused 02:00 to 03:00 (2)"]),
    ],
)
def test_the_slots_of_a_pause(
    given: dict[str, Any],
    run_missed: bool | None,
    runs: list[str],
    verdicts: list[str],
) -> None:
    """S29: missed under `all`, dropped as paused under `once` and `skip`, unless the resume asks otherwise."""
    world = World()
    world.define(job("etl", "0 * * * *", **given))
    world.pass_time(to="01:30")
    world.pause("etl", by="ann", reason="audit")
    world.pass_time(to="03:30")
    world.resume("etl", run_missed=run_missed)
    world.pass_time(to="03:59")
    assert world.ran("etl")[1:] == [(slot, "catchup") for slot in runs]
    assert world.verdicts("etl") == verdicts
    assert all(d.detail == "audit, by ann" for d in world.decisions("etl") if d.reason.code == "paused")
    world.pass_time(to="04:00")
    assert world.ran("etl")[-1] == ("04:00", "schedule")


def test_a_disabled_schedule_is_paused_by_its_definition() -> None:
    """S28: it shows as a pause of its source; enabled again, slots of that time go as those of a pause (S29)."""
    world = World()
    world.define(job("etl", "0 * * * *"))
    world.change("etl", Switched(enabled=False))
    world.pass_time(to="02:30")
    assert world.schedule("etl").paused == Pause(world.at("00:00"), "", "enabled: false")
    assert world.change("etl", Switched(enabled=False)).schedules == (world.schedule("etl"),)
    world.change("etl", Switched(enabled=True))
    world.pass_time(to="03:00")
    assert (world.schedule("etl").paused, world.verdicts("etl")) == (None, ["paused 01:00 to 02:00 (2)"])
    assert (world.decisions("etl")[0].detail, world.ran("etl")) == ("enabled: false", [("03:00", "schedule")])


def test_a_person_overrules_enabled_false() -> None:
    """S28: resumed by a person it runs, whatever else is edited, until it is enabled and disabled again."""
    world = World()
    world.define(job("etl", "0 * * * *"))
    world.change("etl", Switched(enabled=False))
    world.resume("etl")
    world.define(job("etl", "30 * * * *"))
    world.change("etl", Switched(enabled=False))
    assert world.schedule("etl").paused is None
    world.pause("etl", by="ann")
    world.resume("etl")
    world.pass_time(to="00:30")
    assert (world.ran("etl"), world.verdicts("etl")) == ([("00:30", "schedule")], [])
    world.change("etl", Switched(enabled=True))
    world.change("etl", Switched(enabled=False))
    assert world.schedule("etl").paused is not None


@pytest.mark.parametrize("disabled_first", [True, False])
def test_a_pause_and_enabled_do_not_end_each_other(*, disabled_first: bool) -> None:
    """S28: enabled again, a schedule stays paused by a person; each slot of either time is recorded once."""
    world = World()
    world.define(job("etl", "0 * * * *"))
    changes: list[Change] = [Switched(enabled=False), Paused("ann")]
    for when, change in zip(("00:30", "02:30"), changes if disabled_first else changes[::-1], strict=True):
        world.pass_time(to=when)
        world.change("etl", change)
    world.pass_time(to="04:30")
    world.change("etl", Switched(enabled=True))
    paused = world.schedule("etl").paused
    assert paused is not None
    assert paused.by == "ann"
    world.pass_time(to="06:30")
    world.resume("etl")
    world.pass_time(to="07:00")
    told = ["paused 01:00 to 04:00 (4)", "paused 05:00 to 06:00 (2)"] if disabled_first else [
        "paused 03:00 to 04:00 (2)", "paused 01:00 to 06:00 (4)"
    ]  # fmt: skip
    assert (sorted(world.verdicts("etl")), world.ran("etl")) == (sorted(told), [("07:00", "schedule")])


def test_resuming_ends_both_pauses() -> None:
    """S28, S29: what a person resumes goes on, from the earlier of the two pauses on."""
    world = World()
    world.define(job("etl", "0 * * * *", catchup="all"))
    world.pass_time(to="00:30")
    world.change("etl", Switched(enabled=False))
    world.pass_time(to="01:30")
    world.pause("etl", by="ann")
    world.pass_time(to="02:30")
    world.resume("etl", run_missed=False)
    assert (world.schedule("etl").paused, world.verdicts("etl")) == (None, ["paused 01:00 to 02:00 (2)"])


def test_slots_pending_before_a_pause_go_on() -> None:
    """S29: the backlog from before stays, those of the pause are dropped, those after run."""
    world = a_backlog()
    world.pause("etl")
    world.pass_time(to="06:30")
    world.resume("etl", run_missed=False)
    assert world.verdicts("etl") == ["paused 05:00 to 06:00 (2)"]
    assert world.decisions("etl")[-1].detail == "no reason given"
    world.pass_time(to="11:00:30")
    world.run_time["etl"] = "0"
    world.pass_time(to="21:30")
    assert [slot for slot, _ in world.ran("etl")][:5] == ["01:00", "02:00", "03:00", "04:00", "07:00"]


def test_a_pause_does_not_end_a_wait() -> None:
    """S29: a slot that waited before the pause waits after it, and is not recorded a second time (S7)."""
    world = a_backlog()
    world.pause("etl")
    world.pass_time(to="06:30")
    world.resume("etl")
    world.pass_time(to="06:40")
    assert world.waits("etl") == ["waits_for_run 02:00"]


@pytest.mark.parametrize("catchup", ["skip", "once", "all"])
def test_a_paused_one_off_fires_late(catchup: str) -> None:
    """S29: a one-off that fell into a pause fires at the resume, whatever the catch-up policy."""
    world = World()
    world.define(job("etl", once("01:00"), catchup=catchup))
    world.pause("etl")
    world.pass_time(to="05:00")
    world.resume("etl")
    world.pass_time(to="05:01")
    assert world.started("etl") == [("01:00", "05:00")]


def test_a_pause_of_everything_has_its_own_interval() -> None:
    """S29: when everything was paused, each schedule is told since when; its own pause stays."""
    world = World()
    world.define(job("etl", "0 * * * *"), job("held", "0 * * * *"))
    world.pass_time(to="01:30")
    world.pause("held", by="ann")
    world.down(to="03:30")
    for name in ("etl", "held"):
        world.change(name, Resumed(since=world.at("01:30")))
        assert world.verdicts(name) == ["paused 02:00 to 03:00 (2)"]
    assert [world.decisions(name)[0].detail for name in ("etl", "held")] == ["everything was paused", "by ann"]
    assert world.schedule("held").paused
    world.pass_time(to="04:00")
    assert world.ran("etl")[-1:] == [("04:00", "schedule")]


def test_resuming_what_is_not_paused_changes_nothing() -> None:
    """S29: a second resume is a resume."""
    world = a_backlog()
    before = world.schedule("etl")
    assert apply_change(before, Resumed(), world.now).schedules == (before,)


def test_a_trigger_leaves_cursor_and_next_time() -> None:
    """S30: a run by hand starts at once and holds a lane; the schedule goes on as it would have."""
    world = World()
    world.define(job("etl", "0 * * * *"))
    world.pass_time(to="01:30")
    before = planned(world, "etl")
    run = world.trigger("etl")
    assert (run.trigger, run.lane, run.started_at) == (Trigger.MANUAL, 0, world.now)
    assert planned(world, "etl") == before
    world.pass_time(to="02:00")
    assert world.ran("etl")[-1] == ("02:00", "schedule")


def test_a_trigger_without_a_free_lane_is_refused() -> None:
    """S30: the refusal names the run in the way; asked to run beside it, it holds no lane."""
    world = World()
    world.run_time["etl"] = "2h"
    world.define(job("etl", "0 * * * *"))
    world.pass_time(to="01:30")
    with pytest.raises(ConflictError, match=r"run 1 is in the way"):
        world.trigger("etl")
    beside = world.ledger.enqueue("etl", Trigger.MANUAL, world.now)
    assert beside.lane is None


def test_a_reschedule_moves_the_next_fire_once() -> None:
    """S31: slots between now and then are recorded, then the expression goes on."""
    world = World()
    world.define(job("etl", "0 * * * *"))
    world.pass_time(to="00:30")
    world.reschedule("etl", "03:20")
    assert planned(world, "etl").due_at == world.at("03:20")
    world.pass_time(to="05:00")
    assert world.ran("etl") == [(slot, "schedule") for slot in ("03:20", "04:00", "05:00")]
    assert world.verdicts("etl") == ["rescheduled 01:00 to 03:00 (3)"]
    assert world.decisions("etl")[0].detail == "2026-01-01T03:20:00Z"


def test_a_reschedule_brings_the_next_fire_forward() -> None:
    """S31: to a time before the next slot: both fire."""
    world = World()
    world.define(job("etl", "0 * * * *"))
    world.pass_time(to="00:30")
    world.reschedule("etl", "00:40")
    world.pass_time(to="01:00")
    assert world.ran("etl") == [("00:40", "schedule"), ("01:00", "schedule")]
    assert world.verdicts("etl") == []


def test_a_reschedule_knows_no_jitter() -> None:
    """S31: the next fire is at T, whatever jitter the schedule has."""
    world = World()
    world.define(job("etl", "0 * * * *", jitter="50m"))
    world.reschedule("etl", "00:20")
    assert planned(world, "etl").due_at == world.at("00:20")


@pytest.mark.parametrize(
    ("to", "fires"),
    [("00:30", "00:30"), ("00:29:30", "00:30"), ("00:29", "00:30"), ("00:28:59", None), ("09:00", None)],
)
def test_a_reschedule_within_grace_counts_as_now(to: str, fires: str | None) -> None:
    """S31: earlier than grace is refused, as is a time past `until`; nothing has changed then."""
    world = World()
    world.define(job("etl", "0 * * * *", until="08:00"))
    world.pass_time(to="00:30")
    before = world.schedule("etl")
    if fires:
        world.reschedule("etl", to)
        world.pass_time(to="00:31")
        assert world.started("etl") == [(fires, fires)]
    else:
        with pytest.raises(InputError, match=r"has passed|after the end"):
            world.reschedule("etl", to)
        assert world.schedule("etl") == before


def test_a_reschedule_survives_edits() -> None:
    """S31: an edit of the times or of anything else leaves the move."""
    world = World()
    world.define(job("etl", "0 * * * *"))
    world.reschedule("etl", "03:20")
    world.pass_time(to="01:30")
    world.define(job("etl", "30 * * * *", grace="5m"))
    world.pass_time(to="04:00")
    assert world.ran("etl") == [("03:20", "schedule"), ("03:30", "schedule")]


def test_an_edit_records_what_a_move_has_passed_over_by_then() -> None:
    """S31: slots of the old times up to the edit are recorded by the old times, later ones by the new."""
    world = World()
    world.define(job("etl", "0 * * * *"))
    world.reschedule("etl", "04:20")
    world.pass_time(to="02:10")
    world.define(job("etl", "30 * * * *"))
    assert world.verdicts("etl") == ["rescheduled 01:00 to 02:00 (2)"]
    world.pass_time(to="04:30")
    assert world.verdicts("etl")[1:] == ["rescheduled 02:30 to 03:30 (2)"]
    assert world.ran("etl") == [("04:20", "schedule"), ("04:30", "schedule")]


def test_a_second_reschedule_replaces_the_first() -> None:
    """S31: what the first has passed over by then is recorded, and the rest by the second."""
    world = World()
    world.define(job("etl", "0 * * * *"))
    world.pass_time(to="00:30")
    world.reschedule("etl", "05:20")
    world.pass_time(to="01:30")
    world.reschedule("etl", "02:20")
    world.pass_time(to="03:00")
    assert world.ran("etl") == [("02:20", "schedule"), ("03:00", "schedule")]
    assert world.verdicts("etl") == ["rescheduled 01:00", "rescheduled 02:00"]


def test_a_reschedule_does_not_touch_what_is_pending() -> None:
    """S31: slots from before it go on waiting; the moved fire comes after them."""
    world = a_backlog()
    world.reschedule("etl", "06:20")
    world.pass_time(to="06:30")
    world.end("etl")
    world.run_time["etl"] = "0"
    world.pass_time(to="07:00")
    assert [slot for slot, _ in world.ran("etl")] == ["01:00", "02:00", "03:00", "04:00", "06:20", "07:00"]
    assert world.verdicts("etl") == ["rescheduled 05:00 to 06:00 (2)"]


def test_a_reschedule_of_a_moved_fire_that_still_waits_moves_it_again() -> None:
    """S31: a moved fire that is due and waits is recorded as moved on, and fires once."""
    world = a_backlog()
    world.reschedule("etl", "06:20")
    world.pass_time(to="07:10")
    world.reschedule("etl", "08:20")
    assert world.verdicts("etl") == ["rescheduled 05:00 to 06:00 (2)", "rescheduled 06:20"]
    world.pass_time(to="08:30")
    world.end("etl")
    world.run_time["etl"] = "0"
    world.pass_time(to="09:00")
    slots = [slot for slot, _ in world.ran("etl")]
    assert slots == ["01:00", "02:00", "03:00", "04:00", "07:00", "08:20", "09:00"]
    assert world.verdicts("etl")[2:] == ["rescheduled 08:00"]


@pytest.mark.parametrize("seen", [False, True], ids=["not met yet", "met"])
def test_a_reset_drops_a_moved_fire_that_is_pending(seen: bool) -> None:
    """S31: what the move had passed over is recorded once, whether a pass has met its time or not."""
    world = a_backlog()
    world.reschedule("etl", "05:20")
    if seen:
        world.pass_time(to="05:30")
    world.down(to="05:31")
    world.reset("etl")
    assert sorted(world.verdicts("etl")) == ["rescheduled 05:00", "reset 02:00 to 05:20 (4)"]
    assert world.schedule("etl").moved is None


def test_a_reset_leaves_a_move_that_is_ahead() -> None:
    """S31: a reset sets the cursor to now; the moved fire still comes."""
    world = World()
    world.define(job("etl", "0 * * * *"))
    world.reschedule("etl", "03:20")
    world.pass_time(to="01:30")
    world.reset("etl")
    world.pass_time(to="04:00")
    assert world.ran("etl") == [("03:20", "schedule"), ("04:00", "schedule")]
    assert world.verdicts("etl") == ["rescheduled 01:00", "rescheduled 02:00 to 03:00 (2)"]


def test_a_moved_fire_that_was_missed_goes_through_catch_up() -> None:
    """S31: an outage over the moved time is an outage."""
    world = World()
    world.define(job("etl", "0 * * * *"))
    world.reschedule("etl", "02:20")
    world.down(to="04:30")
    world.tick()
    assert world.ran("etl") == [("04:00", "catchup")]
    assert world.verdicts("etl") == ["rescheduled 01:00 to 02:00 (2)", "coalesced 02:20 to 03:00 (2)"]


def test_a_backfill_runs_slots_of_the_past_that_have_no_run() -> None:
    """S32: oldest first, one after the other, from A inclusive to B exclusive."""
    world = World()
    world.run_time["etl"] = "1m"
    world.define(job("etl", "0 * * * *"))
    world.pass_time(to="01:30")
    world.backfill("etl", "2025-12-31T22:00", "01:30")
    world.pass_time(to="01:40")
    assert world.ran("etl")[1:] == [(t, "backfill") for t in ("2025-12-31T22:00", "2025-12-31T23:00", "00:00")]
    assert world.started("etl")[1:] == [
        ("2025-12-31T22:00", "01:30"),
        ("2025-12-31T23:00", "01:31"),
        ("00:00", "01:32"),
    ]
    assert world.schedule("etl").backfill is None
    assert world.cursor("etl") == "01:00"


def test_a_backfill_has_its_own_overlap_rule_and_cap() -> None:
    """S32: side by side if it says so and the lanes are there, and not more than it may."""
    world = World()
    world.define(job("etl", "0 * * * *", overlap="allow", max_active_runs=3))
    world.backfill("etl", "2025-12-31T12:00", "00:00", "allow", most=5)
    assert [start.lane for start in world.tick().starts] == [0, 1, 2]
    world.pass_time(seconds=1)
    assert len(world.ran("etl")) == 5
    assert world.schedule("etl").backfill is None


def test_a_dry_run_lists_the_slots() -> None:
    """S32: what a backfill would enqueue can be listed before: the slots of the range that have no run."""
    etl = schedule("etl", once("01:00", "02:00", "03:00"))
    known = apply_change(None, Added(etl), 0).schedules[0]

    def listed(start: str, end: str, *taken: str) -> list[int]:
        own = ScheduleFacts(frozenset(map(instant, taken)))
        return list(backfill_slots(known, own, instant(start), instant(end)))

    assert listed("01:00", "03:00") == [instant("01:00"), instant("02:00")]
    assert listed("00:00", "09:00", "02:00") == [instant("01:00"), instant("03:00")]


def test_live_slots_go_before_a_backfill() -> None:
    """S32: a live slot blocked only by a backfill run waits for it instead of being skipped, and goes next."""
    world = World()
    world.run_time["etl"] = "50m"
    world.define(job("etl", "0 * * * *"))
    world.pass_time(to="00:30")
    world.backfill("etl", "2025-12-31T20:00", "00:00")
    world.pass_time(to="02:30")
    assert world.started("etl") == [
        ("2025-12-31T20:00", "00:30"),
        ("01:00", "01:20"),
        ("2025-12-31T21:00", "02:10"),
    ]
    assert world.verdicts("etl") == ["overlap 02:00"]  # that was a live run's doing


@pytest.mark.parametrize("overlap", ["allow", "skip"])
def test_with_all_lanes_held_by_a_backfill_a_live_slot_waits(overlap: str) -> None:
    """S32: also where lanes are many."""
    world = World()
    world.run_time["etl"] = "50m"
    world.define(job("etl", "0 * * * *", overlap=overlap))
    world.pass_time(to="00:30")
    world.backfill("etl", "2025-12-01T00:00", "00:00", overlap.replace("skip", "queue"), most=16)
    world.pass_time(to="01:20")
    assert world.started("etl")[-1] == ("01:00", "01:20")


def test_a_backfill_leaves_undecided_slots_to_the_live_cursor() -> None:
    """S32: a slot that is pending, or starts in the same pass, is not enqueued a second time."""
    world = World()
    world.run_time["etl"] = "1h"
    world.define(job("etl", "0 * * * *", overlap="allow", max_active_runs=8, catchup="all"))
    world.down(to="03:30")
    world.backfill("etl", "00:00", "03:30", "allow")
    world.pass_time(to="07:00")
    made = [slot for slot, _ in world.ran("etl")]
    assert sorted(made) == sorted(set(made))
    assert ("00:00", "backfill") in world.ran("etl")


def test_a_long_backfill_of_what_is_done_goes_on() -> None:
    """S32: a stretch of slots that all have a run, longer than one pass looks at, does not stall it."""
    world = World()
    world.define(job("etl", "* * * * *"))
    world.pass_time(to="2026-01-02T12:00")
    world.backfill("etl", "00:01", "2026-01-02T12:00", most=3)
    world.pass_time(seconds=30)
    assert world.schedule("etl").backfill is None


def test_a_backfill_waits_for_slots_that_a_move_hides() -> None:
    """S32: slots that are not decided yet are the live cursor's; once they are, the backfill goes on."""
    world = World()
    world.define(job("etl", "0 * * * *"))
    world.reschedule("etl", "06:30")
    world.pass_time(to="04:10")
    world.backfill("etl", "00:00", "04:00")
    world.pass_time(to="06:00")
    assert world.ran("etl") == [("00:00", "backfill")]
    world.pass_time(to="06:31")
    assert world.ran("etl")[1:] == [("06:30", "schedule"), *[(f"0{n}:00", "backfill") for n in (1, 2, 3)]]


def test_a_pause_holds_a_backfill() -> None:
    """S32: and the resume lets it go on; it can be cancelled."""
    world = World()
    world.run_time["etl"] = "1m"
    world.define(job("etl", "0 * * * *"))
    world.pass_time(to="00:30")
    world.backfill("etl", "2025-12-31T12:00", "00:00")
    world.pass_time(seconds=30)
    world.pause("etl")
    world.pass_time(to="00:40")
    assert len(world.ran("etl")) == 1
    world.resume("etl")
    world.pass_time(to="00:41")
    assert len(world.ran("etl")) > 1
    world.cancel_backfill("etl")
    made = len(world.ran("etl"))
    world.pass_time(to="00:59")
    assert len(world.ran("etl")) == made


@pytest.mark.parametrize(
    ("asked", "problem"),
    [
        (BackfillAsked(100, 100), "from one time to a later one"),
        (BackfillAsked(0, 10_000_000_000), "that has passed"),
        (BackfillAsked(0, 100, Overlap.SKIP), "waits .queue. or runs side by side"),
        (BackfillAsked(0, 100, history_from=50), "may have been removed"),
    ],
)
def test_a_backfill_that_makes_no_sense_is_refused(asked: Change, problem: str) -> None:
    """S32, S51: not backwards, not into the future, and not where runs may have been removed."""
    world = World()
    world.define(job("etl", "0 * * * *"))
    with pytest.raises(InputError, match=problem):
        world.change("etl", asked)


@pytest.mark.parametrize("asked", [BackfillAsked(50, 100, history_from=50), BackfillAsked(0, 100, again=True)])
def test_below_history_a_backfill_must_be_asked_for_again(asked: BackfillAsked) -> None:
    """S51: from `history_from` on, or with `again`, a backfill is taken."""
    world = World()
    world.define(job("etl", "0 * * * *"))
    [changed] = world.change("etl", asked).schedules
    assert changed.backfill is not None
    assert (changed.backfill.cursor, changed.backfill.end) == (asked.start - 1, asked.end)


def test_stop_and_restart_have_no_past_to_fill() -> None:
    """S32: a backfill of a stop or restart schedule is refused; they are on time or not at all (S21)."""
    world = World()
    world.define(job("web", "0 * * * *", stop="0 3 * * *", restart="0 4 * * *"))
    for name in ("web.stop", "web.restart"):
        with pytest.raises(InputError, match="it never catches up"):
            world.backfill(name, "2025-12-31T12:00", "00:00")


def test_a_schedule_has_one_backfill_at_a_time() -> None:
    """S32: a second is refused until the first is done or cancelled."""
    world = World()
    world.define(job("etl", "0 * * * *"))
    world.backfill("etl", "2025-12-31T12:00", "00:00")
    with pytest.raises(ConflictError, match=r"under way, up to 2026-01-01T00:00:00Z"):
        world.backfill("etl", "2025-12-30T12:00", "2025-12-31T00:00")


@pytest.mark.parametrize("catchup", ["skip", "once", "all"])
def test_an_overdue_one_off_fires_late_once(catchup: str) -> None:
    """S33: after an outage it fires, whatever the catch-up policy; then it is finished."""
    world = World()
    world.define(job("etl", once("01:00"), catchup=catchup))
    world.down(days=3)
    world.pass_time(days=1)
    assert world.ran("etl") == [("01:00", "catchup")]
    assert planned(world, "etl").wake_at is None


@pytest.mark.parametrize("overlap", ["skip", "queue", "latest", "allow", "replace"])
def test_overdue_one_offs_run_one_after_the_other(overlap: str) -> None:
    """A6, S33: overlap drops none of several overdue one-offs, and none ends another."""
    world = World()
    world.run_time["etl"] = "10m"
    lanes = 1 if overlap == "allow" else None
    world.define(job("etl", once("01:00", "02:00", "03:00"), overlap=overlap, max_active_runs=lanes))
    world.down(to="05:00")
    world.pass_time(to="06:00")
    assert world.started("etl") == [("01:00", "05:00"), ("02:00", "05:10"), ("03:00", "05:20")]
    assert {run.state for run in world.runs("etl")} == {"succeeded"}


@pytest.mark.parametrize("overlap", ["skip", "latest"])
def test_a_one_off_waits_for_the_run_in_its_way(overlap: str) -> None:
    """S33: also one that is on time is not dropped."""
    world = World()
    world.run_time["etl"] = "30m"
    world.define(job("etl", once("01:00", "01:10", "01:20"), overlap=overlap))
    world.pass_time(to="03:00")
    assert world.started("etl") == [("01:00", "01:00"), ("01:10", "01:30"), ("01:20", "02:00")]


def test_a_one_off_that_is_on_time_replaces_the_active_run() -> None:
    """S14, S33: that is what `replace` says; the one-off itself is not dropped."""
    world = World()
    world.run_time["etl"] = "30m"
    world.define(job("etl", once("01:00", "01:10"), overlap="replace"))
    world.pass_time(to="03:00")
    assert world.started("etl") == [("01:00", "01:00"), ("01:10", "01:10")]
    assert [run.state for run in world.runs("etl")] == ["cancelled", "succeeded"]


@pytest.mark.parametrize(
    ("at", "grace", "runs"),
    [
        ("12:00:01", None, ["12:00:01"]),
        ("12:00", None, ["12:00"]),
        ("11:59", None, ["11:59"]),
        ("11:58:59", None, []),
        ("11:55", "5m", ["11:55"]),
        ("11:59:59", "0", []),
    ],
)
def test_a_one_off_first_seen_in_its_past_never_fires(at: str, grace: str | None, runs: list[str]) -> None:
    """S33: beyond grace it is recorded as expired; within, it is on time."""
    world = World()
    world.down(to="12:00")
    world.define(job("etl", once(at), grace=grace))
    world.pass_time(to="12:05")
    assert world.ran("etl") == [(slot, "schedule") for slot in runs]
    assert world.verdicts("etl") == ([] if runs else [f"past_one_off {at}"])


def test_several_past_one_offs_are_one_record() -> None:
    """S33: those of a list that have passed are expired, the others wait."""
    world = World()
    world.down(to="12:00")
    world.define(job("etl", once("01:00", "02:00", "13:00")))
    world.pass_time(to="14:00")
    assert world.verdicts("etl") == ["past_one_off 01:00 to 02:00 (2)"]
    assert world.ran("etl") == [("13:00", "schedule")]


@pytest.mark.parametrize(("at", "runs"), [("11:00", []), ("11:59:30", ["11:59:30"]), ("12:30", ["12:30"])])
def test_an_edit_that_brings_a_past_one_off(at: str, runs: list[str]) -> None:
    """S33: a one-off first seen in an edit is judged as one first seen in a new schedule."""
    world = World()
    world.define(job("etl", once("20:00")))
    world.pass_time(to="12:00")
    world.define(job("etl", once(at)))
    world.pass_time(to="21:00")
    assert [slot for slot, _ in world.ran("etl")] == runs
    assert world.verdicts("etl") == ([] if runs else [f"past_one_off {at}"])


def test_a_one_off_that_is_done_is_not_past_when_another_is_added() -> None:
    """S33: an edit that keeps a decided one-off and adds one says nothing about the first."""
    world = World()
    world.define(job("etl", once("01:00")))
    world.pass_time(to="12:00")
    world.define(job("etl", once("01:00", "13:00")))
    world.pass_time(to="14:00")
    assert world.ran("etl") == [("01:00", "schedule"), ("13:00", "schedule")]
    assert world.verdicts("etl") == []


def test_until_is_inclusive() -> None:
    """S34: the slot at `until` runs, and nothing after it."""
    world = World()
    world.define(job("etl", "0 * * * *", until="03:00"))
    world.pass_time(to="09:00")
    assert [slot for slot, _ in world.ran("etl")] == ["01:00", "02:00", "03:00"]
    assert world.verdicts("etl") == []


def test_max_runs_counts_runs_for_slots() -> None:
    """S34: neither a run by hand nor a backfill uses it up, a skipped slot neither."""
    world = World()
    world.define(job("etl", "0 * * * *", max_runs=2))
    world.pass_time(to="00:30")
    world.trigger("etl")
    world.backfill("etl", "2025-12-31T20:00", "00:00")
    world.pass_time(to="09:00")
    assert [slot for slot, trigger in world.ran("etl") if trigger == "schedule"] == ["01:00", "02:00"]
    assert planned(world, "etl").wake_at is None


def test_pending_slots_beyond_max_runs_are_recorded() -> None:
    """S34: slots that were pending when the last run was made are recorded as finished."""
    world = World()
    world.define(job("etl", "0 * * * *", max_runs=2, catchup="all", overlap="allow"))
    world.down(to="05:30")
    world.tick()
    assert world.ran("etl") == [("01:00", "catchup"), ("02:00", "catchup")]
    assert world.verdicts("etl") == ["finished 03:00 to 05:00 (3)"]


def test_a_finished_schedule_has_no_slots() -> None:
    """S34: a schedule that max_runs has finished goes on deciding nothing, whatever else its job does."""
    world = World()
    world.define(job("etl", "0 * * * *", max_runs=1, beside=[schedule("more", "30 * * * *")]))
    world.pass_time(to="05:45")
    assert world.ran("etl") == [("01:00", "schedule")]
    assert world.verdicts("etl") == []
    world.delete("etl")
    assert world.verdicts("etl") == []


def test_a_finished_schedule_cannot_be_rescheduled() -> None:
    """S34: it has no next fire that could be moved."""
    world = World()
    world.define(job("etl", "0 * * * *", max_runs=1))
    world.pass_time(to="05:30")
    with pytest.raises(InputError, match="has made its 1 runs: raise max_runs first"):
        world.reschedule("etl", "09:00")


def test_a_raised_max_runs_goes_on_from_now() -> None:
    """S34: while it was finished there were no slots, so an edit that lets it go on finds no past (S24)."""
    world = World()
    world.define(job("etl", "0 * * * *", max_runs=1, catchup="all"))
    world.pass_time(to="05:30")
    world.define(job("etl", "0 * * * *", max_runs=2, catchup="all"))
    world.pass_time(to="09:00")
    assert world.ran("etl") == [("01:00", "schedule"), ("06:00", "schedule")]


def test_a_lowered_max_runs_records_what_was_pending() -> None:
    """S34: an edit that finishes a schedule drops its backlog, recorded."""
    world = a_backlog()
    world.define(job("etl", "0 * * * *", catchup="all", max_runs=1))
    world.pass_time(to="09:00")
    assert world.ran("etl") == [("01:00", "schedule")]
    assert world.verdicts("etl") == ["finished 02:00 to 04:00 (3)"]
    assert world.decisions("etl")[-1].detail == "1"


def test_a_slot_that_waits_behind_another_schedule_is_finished_later() -> None:
    """S34: slots that still waited when the last run was made are decided, even if in a later pass."""
    world = World()
    world.run_time["etl"] = "2h"
    beside = [schedule("more", "30 1 * * *", catchup="all")]
    world.define(job("etl", "0 * * * *", max_runs=1, catchup="all", beside=beside))
    world.down(to="01:00")
    world.tick()
    world.down(to="02:30")
    world.pass_time(to="09:00")
    assert world.ran("etl") == [("01:00", "schedule")]
    assert [slot for slot, _ in world.ran("more")] == ["01:30"]


def test_reset_is_for_schedules_that_exist() -> None:
    """S4: like every change but an add, it needs something to change."""
    with pytest.raises(InputError, match="no such schedule"):
        apply_change(None, Reset(), 0)


def restored(until: str, **given: Any) -> World:
    """An hourly job, decided up to one o'clock by the backup; it is half past five, and the store was lost."""
    world = World()
    world.define(job("etl", "0 * * * *", **given))
    world.pass_time(to="01:30")
    world.down(to="05:30")
    world.change("etl", Restored(world.at(until)))
    return world


@pytest.mark.parametrize(("catchup", "runs"), [("skip", []), ("once", ["05:00"]), ("all", ["04:00", "05:00"])])
def test_slots_of_a_lost_store_are_not_decided_again(catchup: str, runs: list[str]) -> None:
    """S78, S7: they have one record, which says until when that store worked; later ones go through catch-up."""
    world = restored("03:15", catchup=catchup)
    assert (world.cursor("etl"), world.verdicts("etl")) == ("03:15", ["restored 02:00 to 03:00 (2)"])
    world.pass_time(to="05:45")
    assert [slot for slot, _ in world.ran("etl")] == ["01:00", *runs]
    (record,) = [each for each in world.decisions("etl") if each.reason is Reason.RESTORED]
    assert record.detail == "2026-01-01T03:15:00Z"


def test_what_the_backup_knows_already_stays() -> None:
    """S78, S4: a time before the cursor changes nothing, and one to come is refused."""
    world = restored("00:30")
    assert (world.cursor("etl"), world.verdicts("etl")) == ("01:00", [])
    before = world.schedule("etl")
    with pytest.raises(InputError, match="2026-01-01T06:00:00Z is to come"):
        world.change("etl", Restored(world.at("06:00")))
    assert world.schedule("etl") == before


def test_a_backfill_of_the_backup_ends() -> None:
    """S78: nobody knows which of its slots the lost store has run."""
    world = World()
    world.define(job("etl", "0 * * * *"))
    world.pass_time(to="04:30")
    world.backfill("etl", "2025-12-31T00:00", "2025-12-31T05:00")
    world.change("etl", Restored(world.at("02:00")))
    assert (world.schedule("etl").backfill, world.cursor("etl")) == (None, "04:00")


def test_turning_catch_up_on_without_misses_changes_the_policy_only() -> None:
    """S25: nothing recorded as missed, nothing re-opened."""
    world = World()
    world.define(job("etl", "0 * * * *", catchup="skip"))
    world.pass_time(to="03:30")
    world.define(job("etl", "0 * * * *", catchup="all"))
    assert world.schedule("etl").definition.policy.catchup is Catchup.ALL
    assert world.schedule("etl").reopened == ()


@pytest.mark.parametrize("change", [Updated, Renamed, Added, lambda definition: Deleted(definition.source)])
def test_a_definition_is_changed_where_it_was_written(change: Callable[[ScheduleDefinition], Change]) -> None:
    """S50: another source is refused, the schedule's own source is named, and nothing changes."""
    own = replace(schedule("etl", "0 * * * *"), source="the folder jobs")
    known = apply_change(None, Added(own), 0).schedules[0]
    foreign = replace(schedule("etl", "5 * * * *"), source="the API")
    with pytest.raises(ConflictError, match="etl was defined by the folder jobs"):
        apply_change(known, change(foreign), 100)
    assert apply_change(known, change(replace(foreign, source=own.source)), 100).schedules[0] != known


def test_others_may_pause_and_move_what_they_did_not_define() -> None:
    """S50: what is not the definition is open to all; after a delete the name is free for another source."""
    own = replace(schedule("etl", "0 * * * *"), source="the folder jobs")
    known = apply_change(None, Added(own), 0).schedules[0]
    changes: list[Change] = [Paused("ann"), Rescheduled(200), Reset()]
    for change in changes:
        assert apply_change(known, change, 100).schedules[0].definition == own
    gone = apply_change(known, Deleted(own.source), 100).schedules[0]
    back = apply_change(gone, Added(replace(own, source="the API")), 130).schedules[0]
    assert (back.deleted_at, back.definition.source) == (None, "the API")


def test_a_resume_may_ask_for_the_slots_of_the_pause_under_skip() -> None:
    """S29: asked for, they run although missed slots are not caught up; overlap decides how many."""
    world = World()
    world.define(job("etl", "0 * * * *", catchup="skip", overlap="latest"))
    world.pause("etl")
    world.pass_time(to="03:30")
    world.resume("etl", run_missed=True)
    world.tick()
    assert world.ran("etl") == [("03:00", "schedule")]
    assert world.verdicts("etl") == ["superseded 01:00 to 02:00 (2)"]


def test_a_finished_one_off_is_removed_if_asked_to() -> None:
    """S33: after its run it is gone, where others stay as finished; while it waits it is not."""
    world = World()
    world.run_time["done"] = "10m"
    for name, gone in (("done", True), ("kept", False)):
        world.define(job(name, once("01:00"), auto_remove=gone))
    world.pass_time(to="00:30")
    assert set(world.ledger.schedules) == {"done", "kept"}
    world.pass_time(to="02:00")
    assert set(world.ledger.schedules) == {"kept"}
    assert world.ran("done") == world.ran("kept") == [("01:00", "schedule")]
