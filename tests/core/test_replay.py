"""The past played again: the same when nothing is changed, and how it would have gone with another definition."""

from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tickwise.core.definition import JobDefinition
from tickwise.core.model import Pause, Trigger
from tickwise.core.settle import Succeeded
from tickwise.core.simulation.past import Past, circumstances_of
from tickwise.core.states import RunState

from .pasts import past_of, replayed, story
from .world import World, job


def with_policy(past: Past, name: str, times: str, **given: Any) -> JobDefinition:
    """The job of a past, with another policy."""
    return replace(past.job, schedules=job(name, times, **given).schedules)


def overlapping() -> World:
    """A job of every ten minutes whose run of 01:00 took 25 minutes."""
    world = World()
    world.define(job("etl", "*/10 1 * * *"))
    world.run_time["etl"] = "25m"
    world.pass_time("01:05")
    world.run_time["etl"] = "1m"
    world.pass_time("02:00")
    return world


def test_nothing_changed_is_what_happened() -> None:
    """Runs last as long as they did, and slots in their way are skipped for the same reason."""
    world = overlapping()
    told = replayed(past_of(world, "etl", "01:00", "02:00"))
    assert story(world, told, "etl") == [
        "01:00 fired", "01:10 overlap", "01:20 overlap", "01:30 fired", "01:40 fired", "01:50 fired",
    ]  # fmt: skip
    assert told.estimated == frozenset()


def test_another_overlap_rule() -> None:
    """S14: with `queue` the slots wait for the long run. One that had none lasts as long as most did."""
    world = overlapping()
    past = past_of(world, "etl", "01:00", "02:00")
    told = replayed(past, with_policy(past, "etl", "*/10 1 * * *", overlap="queue"))
    assert story(world, told, "etl") == [
        "01:00 fired", "01:10 fired at 01:25", "01:20 fired at 01:26", "01:30 fired", "01:40 fired", "01:50 fired",
    ]  # fmt: skip
    assert {world.says(slot) for _, slot in told.estimated} == {"01:10", "01:20"}


def test_other_times() -> None:
    """A slot that was none then is one now, and one of then that is none any more makes no run."""
    world = overlapping()
    past = past_of(world, "etl", "01:00", "02:00")
    told = replayed(past, with_policy(past, "etl", "15,35 1 * * *"))
    assert story(world, told, "etl") == ["01:15 fired", "01:35 fired"]


def test_an_outage_is_found_in_what_was_missed() -> None:
    """S9, S10: no pass looked from the first slot that was missed to the next pass."""
    world = World()
    world.define(job("etl", "0 * * * *", catchup="skip"))
    world.pass_time("00:30")
    world.down("03:20")
    world.pass_time("05:00")
    past = past_of(world, "etl", "00:30", "05:00")
    assert [(world.says(a), world.says(b)) for a, b in circumstances_of(past).down] == [("01:00", "03:20")]
    assert story(world, replayed(past), "etl") == ["01:00 missed", "02:00 missed", "03:00 missed", "04:00 fired"]
    again = replayed(past, with_policy(past, "etl", "0 * * * *", catchup="all"))
    assert story(world, again, "etl") == [
        "01:00 caught_up at 03:20", "02:00 caught_up at 03:20", "03:00 caught_up at 03:20", "04:00 fired",
    ]  # fmt: skip


def test_two_outages_in_one_record() -> None:
    """S7: a record reaches over both; between them no pass is known but those that it names."""
    world = World()
    world.define(job("etl", "0 1 * * *", catchup="skip"))
    for day in ("01", "02"):
        world.down(f"2026-01-{day}T02:00")
        world.pass_time(f"2026-01-{day}T03:00")
    past = past_of(world, "etl", "00:30", "2026-01-03T00:00")
    assert [(world.says(a), world.says(b)) for a, b in circumstances_of(past).down] == [
        ("01:00", "02:00"), ("2026-01-02T01:00", "2026-01-02T02:00"),
    ]  # fmt: skip
    assert story(world, replayed(past), "etl") == ["01:00 missed", "2026-01-02T01:00 missed"]


def test_pauses_and_what_people_decided_stay() -> None:
    """S29, S31, S66: a pause that has ended, one that lasts, one of everything, and slots decided by hand."""
    world = World()
    world.define(job("etl", "0 * * * *"))
    world.pass_time("00:30")
    world.pause("etl")
    world.pass_time("02:30")
    world.resume("etl")
    world.reschedule("etl", "04:10")
    world.pass_time("06:30")
    world.pause("etl", "ann")
    world.pass_time("08:30")
    past = past_of(world, "etl", "00:30", "07:30")
    expected = ["01:00 paused", "02:00 paused", "04:10 fired", "05:00 fired", "06:00 fired", "07:00 paused"]
    assert story(world, replayed(past), "etl") == expected
    all_paused = replace(past, pauses=((world.at("04:30"), world.at("05:30")),))
    assert story(world, replayed(all_paused), "etl") == [
        *expected[:3], "05:00 paused", *expected[4:],
    ]  # fmt: skip
    disabled = {"etl": past.schedules["etl"]._replace(manual_pause=Pause(world.at("05:30")))}
    assert story(world, replayed(replace(past, schedules=disabled)), "etl") == [
        *expected[:4], "06:00 paused", "07:00 paused",
    ]  # fmt: skip


def test_no_worker_holds_slots_again() -> None:
    """S47: from when the slots began to wait to when the first of them was decided."""
    world = World()
    world.define(job("etl", "0 * * * *", catchup="all"))
    world.pass_time("00:30")
    world.ledger.served_queues = frozenset()
    world.pass_time("02:30")
    world.ledger.served_queues = None
    world.pass_time("05:00")
    past = past_of(world, "etl", "00:30", "05:00")
    assert story(world, replayed(past), "etl") == [
        "01:00 caught_up at 02:31", "02:00 caught_up at 02:31", "03:00 fired", "04:00 fired",
    ]  # fmt: skip


def test_what_people_and_code_asked_for_is_asked_for_again() -> None:
    """S17, S30, S32: a run by hand holds a lane, an enqueued one none; a backfilled slot stays backfilled."""
    world = World()
    world.define(job("etl", "0 * * * *"))
    world.run_time["etl"] = "90m"
    world.pass_time("00:30")
    world.trigger("etl")
    world.pass_time("02:30")
    world.run_time["etl"] = "1m"
    run = world.ledger.enqueue("etl", Trigger.ENQUEUE, world.now)
    world.ledger.lease(run.id, world.now)
    world.ledger.finish(run.id, Succeeded(), world.now)
    world.pass_time("03:30")
    world.backfill("etl", "01:00", "02:00")
    world.pass_time("04:30")
    past = past_of(world, "etl", "00:20", "04:10")
    told = replayed(past)
    assert story(world, told, "etl") == ["01:00 caught_up at 03:30", "02:00 fired", "03:00 overlap", "04:00 fired"]
    assert told.refused == 0


def test_a_run_that_finds_no_lane_is_counted() -> None:
    """S30, S32: with other runs in their place, a run by hand and a backfill of then would have been refused."""
    world = World()
    world.define(job("etl", "0 * * * *", catchup="skip"))
    world.run_time["etl"] = "10m"
    world.down("01:02")
    world.pass_time("01:03")
    world.trigger("etl")
    world.pass_time("01:20")
    world.backfill("etl", "01:00", "01:10")
    world.pass_time("03:00")
    past = past_of(world, "etl", "00:30", "03:00")
    assert replayed(past).refused == 0
    slow = replace(past, runs=[run._replace(finished_at=run.created_at + 3_600) for run in past.runs])
    assert replayed(slow, with_policy(past, "etl", "0 * * * *", grace="2m")).refused == 2


def test_a_backfill_finds_that_its_slot_has_run() -> None:
    """S1, S32: with catch-up the slot runs when the outage ends, and nothing is left to backfill."""
    world = World()
    world.define(job("etl", "0 * * * *", catchup="skip"))
    world.down("01:02")
    world.pass_time("01:20")
    world.backfill("etl", "01:00", "01:10")
    world.pass_time("02:30")
    past = past_of(world, "etl", "00:30", "02:30")
    assert story(world, replayed(past), "etl") == ["01:00 caught_up at 01:20", "02:00 fired"]
    told = replayed(past, with_policy(past, "etl", "0 * * * *", catchup="once"))
    assert story(world, told, "etl") == ["01:00 caught_up at 01:02", "02:00 fired"]
    assert told.refused == 0


def test_runs_under_way_at_the_start_are_in_the_way() -> None:
    """S14: what began before the stretch of time holds its lane into it; one that has not ended, to its end."""
    world = World()
    world.define(job("etl", "0 * * * *"))
    world.run_time["etl"] = "3h"
    world.pass_time("03:30")
    past = past_of(world, "etl", "01:30", "03:30")
    assert story(world, replayed(past), "etl") == ["02:00 overlap", "03:00 overlap"]
    endless = replace(past, runs=[run._replace(finished_at=None, state=RunState.RUNNING) for run in past.runs])
    assert story(world, replayed(endless), "etl") == ["02:00 overlap", "03:00 overlap"]


def test_successes_of_others_count_when_they_were_known() -> None:
    """S35: a slot that depends on another schedule waits for its success, and runs when that came."""
    world = World()
    world.define(job("load", "0 * * * *"), job("report", "5 * * * *", after={"load": "1h"}, wait_for="30m"))
    world.run_time["load"] = "20m"
    world.pass_time("03:30")
    past = past_of(world, "report", "00:30", "03:30")
    assert story(world, replayed(past), "report") == [
        "01:05 fired at 01:20", "02:05 fired at 02:20", "03:05 fired at 03:20",
    ]  # fmt: skip
    assert story(world, replayed(replace(past, successes=())), "report") == [
        "01:05 dependency_missing", "02:05 dependency_missing", "03:05 waits_for_success",
    ]  # fmt: skip


def test_a_stop_ends_what_runs_and_a_schedule_begins_when_it_was_added() -> None:
    """S2, S21, S34: kinds of one job go together, slots before it was added are none, and max_runs counts on."""
    world = World()
    world.pass_time("01:30")
    world.define(job("etl", "0 * * * *", stop="30 * * * *", max_runs=3))
    world.run_time["etl"] = "3h"
    world.pass_time("05:40")
    past = past_of(world, "etl", "00:00", "05:40")
    told = replayed(past)
    assert story(world, told, "etl") == ["02:00 fired", "03:00 fired", "04:00 fired"]
    assert [line for line in story(world, told, "etl.stop") if "stopped" in line] == [
        "02:30 stopped", "03:30 stopped", "04:30 stopped",
    ]  # fmt: skip


MINUTES = st.integers(1, 45)


@given(
    rules=st.sampled_from(
        ["skip skip", "skip once", "latest skip", "latest once", "allow once", "queue all", "replace once"]
    ),
    parts=st.lists(st.tuples(st.booleans(), MINUTES, MINUTES), min_size=1, max_size=6),
)  # fmt: skip
def test_any_past_can_be_told_again(rules: str, parts: list[tuple[bool, int, int]]) -> None:
    """With nothing changed each slot ends as it did, whatever run times there were, and outages.

    An outage while a slot waits for a run leaves too few traces, so rules under which slots wait are without.
    """
    world, (overlap, catchup) = World(), rules.split()
    world.define(job("etl", "*/10 * * * *", overlap=overlap, catchup=catchup))
    world.pass_time("00:05")
    for is_down, minutes, takes in parts:
        world.run_time["etl"] = f"{takes}m"
        (world.down if is_down and overlap in ("skip", "allow") else world.pass_time)(minutes=minutes)
    world.pass_time(minutes=50)
    past = past_of(world, "etl", "00:05", world.says(world.now + 1))
    told = replayed(past)
    ran = {run.slot: run.created_at for run in past.runs}
    again = {slot: report.run.started_at for (_, slot), report in told.slots.items() if report.run}
    assert again == ran


def test_a_past_without_runs_is_no_error() -> None:
    """A schedule that never ran, and one that the store does not know yet."""
    world = World()
    world.define(job("etl", "0 * * * *"))
    past = replace(past_of(world, "etl", "00:00", "01:30"), schedules={})
    assert story(world, replayed(past), "etl") == ["00:00 fired", "01:00 fired"]
    with pytest.raises(KeyError):
        past_of(world, "nobody", "00:00", "01:00")
