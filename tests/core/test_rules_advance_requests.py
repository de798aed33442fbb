"""S63 and S66: a beginning, a pause that ends by itself, a pause after failures, slots that a person skips."""

from collections.abc import Callable
from typing import Any

import pytest

from tickwise.core.change import Paused, SkipAsked, SkipTakenBack, Switched
from tickwise.core.cron import parse
from tickwise.core.cron.recurrences import AnyOf, Window
from tickwise.core.errors import ConflictError, InputError, TickwiseError
from tickwise.core.settle import Failed, Succeeded
from tickwise.core.slot_history import SlotLedger
from tickwise.core.upcoming import due_slots, next_wanted_slot

from .world import World, instant, job, once

HOURLY = "0 * * * *"


def hourly(**given: Any) -> World:
    world = World()
    world.define(job("etl", HOURLY, **given))
    return world


@pytest.mark.parametrize("parts", [("0 3 * * *",), ("0 3 * * *", "@every 7h")])
def test_there_is_no_slot_before_the_beginning(parts: tuple[str, ...]) -> None:
    """S63: `from` is inclusive, in every question that is asked of the times."""
    inner = AnyOf(tuple(map(parse, parts))) if len(parts) > 1 else parse(parts[0])
    first, far = instant("2026-03-01T03:00"), instant("2026-04-01T03:00")
    times = Window(inner, first)
    assert times.after(0) == first == times.before(first + 1)
    assert times.before(first) is None
    assert times.count(0, far) == inner.count(first - 1, far)
    assert times.after(first) == inner.after(first)
    assert AnyOf((times, parse("30 9 * * *"))).count(first - 86_400 * 400, far) == times.count(0, far) + 431


def test_a_schedule_begins_at_its_beginning() -> None:
    """S63: nothing runs before, nothing is recorded, and a move to before it is refused."""
    world = World()
    world.define(job("etl", Window(parse(HOURLY), instant("05:00"))))
    with pytest.raises(InputError, match="before the beginning of the schedule, 2026-01-01T05:00:00Z"):
        world.reschedule("etl", "04:30")
    world.pass_time("06:30")
    assert [slot for slot, _ in world.ran("etl")] == ["05:00", "06:00"]
    assert world.verdicts("etl") == []


@pytest.mark.parametrize(
    ("given", "ran", "verdicts"),
    [
        ({}, ["01:00", "04:00", "05:00"], ["paused 02:00 to 03:00 (2)"]),
        ({"catchup": "all"}, ["01:00", "02:00", "03:00", "04:00", "05:00"], []),
    ],
)
def test_a_pause_ends_by_itself(given: dict[str, Any], ran: list[str], verdicts: list[str]) -> None:
    """S66, S29: at its end the slots of the pause go where a resume would send them, and the next is on time."""
    world = hourly(**given)
    world.pass_time("01:30")
    world.change("etl", Paused("ann", "a release", world.at("03:30")))
    assert next_wanted_slot(world.schedule("etl")) == world.at("04:00" if not given else "02:00")
    world.pass_time("05:30")
    assert [slot for slot, _ in world.ran("etl")] == ran
    assert world.verdicts("etl") == verdicts
    assert world.schedule("etl").paused is None


def test_a_pause_ends_at_its_end_however_late_that_is_seen() -> None:
    """S66: after an outage the slots behind its end are missed, not paused."""
    world = hourly()
    world.change("etl", Paused(until=world.at("02:30")))
    world.down("05:30")
    world.tick()
    assert world.verdicts("etl") == ["paused 01:00 to 02:00 (2)", "coalesced 03:00 to 04:00 (2)"]
    assert world.ran("etl") == [("05:00", "catchup")]


def test_a_second_pause_says_when_the_first_ends() -> None:
    """S66: a pause may be made longer, shorter or endless; an end that has passed is refused."""
    world = hourly()
    world.change("etl", Paused("ann", "one", world.at("02:30")))
    world.change("etl", Paused("bob", "two"))
    world.pass_time("03:30")
    assert (world.ran("etl"), next_wanted_slot(world.schedule("etl"))) == ([], None)
    with pytest.raises(InputError, match="has passed: give a time after now"):
        world.change("etl", Paused(until=world.at("03:30")))


@pytest.mark.parametrize("minutes", [30, 150])
def test_a_disabled_schedule_rests_on(minutes: int) -> None:
    """S28, S66: the end of a person's pause does not overrule `enabled: false`."""
    world = hourly()
    world.change("etl", Paused(until=world.now + minutes * 60))
    world.change("etl", Switched(enabled=False))
    world.pass_time("04:30")
    world.change("etl", Switched(enabled=True))
    world.pass_time("05:30")
    assert world.ran("etl") == [("05:00", "schedule")]
    assert world.verdicts("etl") == ["paused 01:00 to 04:00 (4)"]


def fail(world: World, times: int) -> None:
    for _ in range(times):
        world.pass_time(hours=1)
        world.end("etl", Failed())
        world.tick()


def test_a_schedule_pauses_after_failures() -> None:
    """S66: after so many failed runs in a row, at once, with the reason; a resume counts from zero."""
    world = hourly(pause_after=2)
    world.run_time["etl"] = "10h"
    fail(world, 1)
    world.pass_time(hours=1)
    world.end("etl", Succeeded())
    fail(world, 1)
    assert world.schedule("etl").paused is None
    fail(world, 1)
    pause = world.schedule("etl").paused
    assert pause is not None
    assert (pause.by, pause.reason) == ("pause_after", "2 failed runs in a row")
    world.pass_time(hours=3)
    world.resume("etl")
    fail(world, 1)
    assert world.schedule("etl").paused is None
    fail(world, 1)
    assert world.schedule("etl").paused is not None


def test_a_marked_slot_is_skipped_when_it_is_met() -> None:
    """S66: with who and why; the others run, and the next that is shown is not the marked one."""
    world = hourly()
    world.change("etl", SkipAsked(world.at("02:00"), "ann", "no power"))
    world.change("etl", SkipAsked(world.at("01:00"), "bob"))
    assert next_wanted_slot(world.schedule("etl")) == world.at("03:00")
    coming = due_slots(world.schedule("etl"), world.now, world.now)
    assert [next(coming).slot for _ in range(2)] == [world.at("03:00"), world.at("04:00")]
    world.pass_time("03:30")
    assert world.ran("etl") == [("03:00", "schedule")]
    assert [(d.reason.code, d.detail) for d in world.decisions("etl")] == [
        ("skipped_by_hand", "by bob"), ("skipped_by_hand", "no power, by ann"),
    ]  # fmt: skip
    assert world.schedule("etl").skips == ()


def test_a_marked_slot_stands_for_no_other() -> None:
    """S66, S10: after an outage what was missed is one run, for the newest slot that is wanted."""
    world = hourly()
    world.change("etl", SkipAsked(world.at("03:00")))
    world.down("03:30")
    world.tick()
    assert world.ran("etl") == [("02:00", "catchup")]
    assert sorted(world.verdicts("etl")) == ["coalesced 01:00", "skipped_by_hand 03:00"]


def test_a_skip_is_taken_back_until_the_slot_comes() -> None:
    """S66: then it runs; afterwards there is nothing to take back."""
    world = hourly()
    for slot in ("01:00", "02:00"):
        world.change("etl", SkipAsked(world.at(slot)))
    world.change("etl", SkipTakenBack(world.at("02:00")))
    world.pass_time("02:30")
    assert world.ran("etl") == [("02:00", "schedule")]
    with pytest.raises(ConflictError, match="01:00:00Z is not to be skipped; marked: none"):
        world.change("etl", SkipTakenBack(world.at("01:00")))


WRONG: dict[str, tuple[Callable[[World], object], str]] = {
    "no slot": (
        lambda w: w.change("etl", SkipAsked(w.at("02:30"))),
        "none of its times; nearest: 2026-01-01T02:00:00Z and 2026-01-01T03:00:00Z",
    ),
    "decided": (lambda w: w.change("etl", SkipAsked(w.at("01:00"))), "has come already"),
}


@pytest.mark.parametrize("wrong", WRONG)
def test_only_a_slot_to_come_can_be_marked(wrong: str) -> None:
    """S66: what cannot be skipped is refused, and nothing changes."""
    act, problem = WRONG[wrong]
    world = hourly()
    world.pass_time("01:30")
    before = world.schedule("etl")
    with pytest.raises(TickwiseError, match=problem):
        act(world)
    assert world.schedule("etl") == before


def test_an_edit_keeps_the_marks_that_are_still_slots() -> None:
    """S66, S24: a mark on what is no slot any more would hit a later edit by surprise."""
    world = hourly()
    for slot in ("02:00", "03:00"):
        world.change("etl", SkipAsked(world.at(slot)))
    world.define(job("etl", "0 */2 * * *"))
    assert [mark.slot for mark in world.schedule("etl").skips] == [world.at("02:00")]


def test_a_window_explains_itself() -> None:
    """S63: for people in the zone of its times, in writing in UTC; a union may hold one, and hold unions."""
    first, last = instant("2026-03-01T03:00"), instant("2026-03-09T03:00")
    times = Window(parse("CRON_TZ=Asia/Tokyo 0 3 * * *"), first, last)
    assert times.explain() == (
        "At 03:00, every day, Asia/Tokyo, from 2026-03-01 12:00:00 on, up to 2026-03-09 12:00:00"
    )
    assert str(times).endswith("0 3 * * * from 2026-03-01T03:00:00Z until 2026-03-09T03:00:00Z")
    assert times.zone.name == "Asia/Tokyo"
    assert [times.warnings_after(second) for second in (0, first)] == [(), ()]
    union = AnyOf((AnyOf((times, parse("30 9 * * *"))), parse("@every 6h")))
    long_ago = instant("2020-01-01T00:00")
    assert union.count(long_ago, last) == AnyOf((times, parse("30 9 * * *"), parse("@every 6h"))).count(
        long_ago, last
    )
    with pytest.raises(InputError, match="only recurring times"):
        Window(once("01:00"), first)


def test_a_mark_is_kept_once_and_there_are_not_endless_ones() -> None:
    """S66: marking again changes nothing; who skips a thousand slots is told to pause."""
    world = hourly()
    mark = SkipAsked(world.at("01:00"), "ann")
    world.change("etl", mark)
    before = world.schedule("etl")
    world.change("etl", SkipAsked(mark.slot, "bob"))
    assert world.schedule("etl") == before
    for slot in range(world.at("02:00"), world.at("01:00") + 1_000 * 3_600, 3_600):
        world.change("etl", SkipAsked(slot))
    with pytest.raises(ConflictError, match="pause the schedule instead"):
        world.change("etl", SkipAsked(world.at("01:00") + 1_000 * 3_600))


def test_the_slots_to_come_say_that_they_are_skipped() -> None:
    """S66: the ribbon shows a marked slot, and which slots a pause with an end still holds."""
    world = hourly()
    world.change("etl", SkipAsked(world.at("04:00")))
    world.change("etl", Paused(until=world.at("02:30")))
    ledger = SlotLedger(world.schedule("etl"), (), world.now, paused=True)
    found = {world.says(one.slot): one.reason for one in ledger.newest((), world.now, world.at("05:30"), 9)}
    assert found == {
        "01:00": "paused",
        "02:00": "paused",
        "03:00": None,
        "04:00": "skipped_by_hand",
        "05:00": None,
    }
    world.change("etl", Paused())
    assert list(due_slots(world.schedule("etl"), world.now, world.now)) == []


def test_a_moved_fire_that_is_skipped_records_what_it_passed_over() -> None:
    """S66, S31, S7: the slots before it are recorded as rescheduled, although nothing runs at its new time."""
    world = hourly()
    world.pass_time(to="01:30")
    world.reschedule("etl", "04:20")
    world.change("etl", SkipAsked(world.at("04:20"), "ann"))
    world.pass_time(to="05:30")
    assert [slot for slot, _ in world.ran("etl")] == ["01:00", "05:00"]
    assert world.verdicts("etl") == ["rescheduled 02:00 to 04:00 (3)", "skipped_by_hand 04:20"]
