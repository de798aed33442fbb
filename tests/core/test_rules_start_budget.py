"""`max_starts`: at most so many runs of slots in any time of a length (S77)."""

from itertools import islice
from typing import Any

import pytest

from tickwise.core.change import Updated
from tickwise.core.definition import StartBudget
from tickwise.core.reasons import Reason
from tickwise.core.upcoming import count_upcoming, upcoming_slots

from .world import World, job, once, schedule

THREE_IN_SIX_HOURS = StartBudget(3, 6 * 3_600)


def hourly(times: str = "0 * * * *", **given: Any) -> World:
    world = World()
    world.define(job("etl", times, max_starts=given.pop("max_starts", THREE_IN_SIX_HOURS), **given))
    return world


def test_a_slot_over_the_budget_is_skipped() -> None:
    """S77: the reason names the budget and when there is room again, as the oldest start gets too old."""
    world = hourly()
    world.pass_time(to="13:00")
    assert [slot for slot, _ in world.ran("etl")] == [
        "01:00",
        "02:00",
        "03:00",
        "07:00",
        "08:00",
        "09:00",
        "13:00",
    ]
    assert world.verdicts("etl") == [
        "budget 04:00", "budget 05:00", "budget 06:00", "budget 10:00", "budget 11:00", "budget 12:00",
    ]  # fmt: skip
    first = next(told for told in world.decisions("etl") if told.reason is Reason.BUDGET)
    assert first.detail == "3 in 6h; there is room again at 2026-01-01T07:00:00Z"


def test_under_catchup_all_a_slot_waits_for_room() -> None:
    """S77: and is looked at when there is room; what was missed goes through the budget, too."""
    world = hourly(catchup="all")
    world.pass_time(to="02:00")
    world.down(to="05:30")
    world.tick()
    assert [slot for slot, _ in world.ran("etl")] == ["01:00", "02:00", "03:00"]
    assert world.waits("etl") == ["waits_for_budget 04:00"]
    world.pass_time(to="12:00")
    assert world.started("etl")[3:] == [("04:00", "07:00"), ("05:00", "08:00"), ("06:00", "11:30")]


def test_a_one_off_waits_for_room() -> None:
    """S77, S33: no rule drops it."""
    world = World()
    budget = StartBudget(1, 3_600)
    world.define(job("etl", once("02:00", "02:10"), max_starts=budget))
    world.pass_time(to="04:00")
    assert world.started("etl") == [("02:00", "02:00"), ("02:10", "03:00")]


def test_starts_of_one_pass_count() -> None:
    """S77, S16: runs side by side do not overrun the budget in the pass that starts them."""
    world = hourly(catchup="all", overlap="allow", max_active_runs=16)
    world.run_time["etl"] = "10h"
    world.down(to="05:30")
    plan = world.tick()
    assert len(plan.starts) == 3


def test_runs_by_hand_and_backfills_do_not_count() -> None:
    """S77, as for max_runs (S34): somebody asked for just them."""
    world = hourly()
    world.pass_time(to="03:30")
    world.trigger("etl")
    world.backfill("etl", "2025-12-31T20:00", "2025-12-31T23:00")
    world.pass_time(to="03:40")
    assert len(world.runs("etl")) == 7
    assert len(world.schedule("etl").recent_starts) == 3
    world.pass_time(to="09:00")
    assert [slot for slot, _ in world.ran("etl")][-3:] == ["07:00", "08:00", "09:00"]


def test_no_run_is_cancelled_for_a_slot_without_room() -> None:
    """S77, S14: the budget is asked before the rule that would end the active run."""
    world = hourly(overlap="replace")
    world.run_time["etl"] = "10h"
    world.pass_time(to="03:30")
    assert [slot for slot, _ in world.ran("etl")] == ["01:00", "02:00", "03:00"]
    world.pass_time(to="04:30")
    assert not world.active("etl")[0].cancelling


def test_an_edit_keeps_what_was_started() -> None:
    """S77, S24: another count applies to the starts that are remembered; without a budget they are forgotten."""
    world = hourly()
    world.pass_time(to="03:30")
    wider = schedule("etl", "0 * * * *", max_starts=StartBudget(4, 6 * 3_600))
    world.change("etl", Updated(wider))
    world.pass_time(to="05:30")
    assert [slot for slot, _ in world.ran("etl")][3:] == ["04:00"]
    world.change("etl", Updated(schedule("etl", "0 * * * *")))
    world.pass_time(to="07:30")
    assert [slot for slot, _ in world.ran("etl")][4:] == ["06:00", "07:00"]
    assert world.schedule("etl").recent_starts == ()


def test_what_is_remembered_is_bounded() -> None:
    """S77: no more starts than the budget has, and none that counts no more."""
    world = hourly("* * * * *", max_starts=StartBudget(5, 600))
    for _ in range(50):
        world.pass_time(minutes=7)
        starts = world.schedule("etl").recent_starts
        assert len(starts) <= 5
        assert all(start > world.now - 1_200 for start in starts)


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ({}, ["04:00", "05:00", "06:00", "10:00", "11:00", "12:00"]),
        ({"max_runs": 4}, ["04:00", "05:00", "06:00", "10:00"]),
        ({"catchup": "all"}, ["04:00", "05:00", "06:00", "10:00", "11:00", "12:00"]),
    ],
)
def test_what_comes_is_within_the_budget(given: dict[str, Any], expected: list[str]) -> None:
    """S77: lists of runs to come leave out what the budget skips, and put later what waits for it."""
    world = hourly(**given)
    world.down(to="03:30")
    new = world.schedule("etl")._replace(cursor=world.now)
    found = islice(upcoming_slots(new, world.now, world.now), len(expected))
    assert [world.says(each.due) for each in found] == expected
    seconds = world.at("12:30")
    assert count_upcoming(new, world.now, seconds) == len(expected)


def test_what_comes_within_the_budget_ends_with_its_times() -> None:
    """S77, S33: one-offs are two slots, the later of them when there is room."""
    world = World()
    world.define(job("etl", once("02:00", "02:10"), max_starts=StartBudget(1, 3_600)))
    found = upcoming_slots(world.schedule("etl"), world.now, world.now)
    assert [world.says(each.due) for each in found] == ["02:00", "03:00"]


def test_what_waits_for_room_is_due_then() -> None:
    """S77: each slot keeps its place."""
    world = hourly(catchup="all")
    world.pass_time(to="03:30")
    found = islice(upcoming_slots(world.schedule("etl"), world.now, world.now), 3)
    assert [(world.says(each.slot), world.says(each.due)) for each in found] == [
        ("04:00", "07:00"), ("05:00", "08:00"), ("06:00", "09:00"),
    ]  # fmt: skip
