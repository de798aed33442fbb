"""S62: blackouts, as pauses that begin and end by themselves, and what they leave of slots."""

from typing import Any

import pytest

from tickwise.core.blackout import Blackout, begun, blackouts_of, rest_end
from tickwise.core.change import BlackoutsSet, Paused, Resumed, SkipAsked
from tickwise.core.codec import decode_rest, encode_rest
from tickwise.core.cron import parse
from tickwise.core.cron.recurrences import At
from tickwise.core.cron.zone import zone
from tickwise.core.errors import ConflictError, InputError
from tickwise.core.slot_history import SlotLedger
from tickwise.core.upcoming import due_slots, next_wanted_slot

from .world import World, instant, job, once, seconds

HOURLY = "0 * * * *"


def single(start: str, end: str, name: str = "freeze", **given: Any) -> Blackout:
    """A window of its own."""
    first = instant(start)
    return Blackout(name, At((first,), zone("UTC")), instant(end) - first, jobs=("*",), **given)


def nightly(text: str, length: str, name: str = "nights", **given: Any) -> Blackout:
    return Blackout(name, parse(text), seconds(length), jobs=("*",), **given)


def put(world: World, *blackouts: Blackout, name: str = "etl") -> None:
    """These are in force from now on."""
    world.change(
        name, BlackoutsSet(blackouts_of([begun(each, world.now) for each in blackouts], name, {}, world.now))
    )


def hourly(*blackouts: Blackout, **given: Any) -> World:
    world = World()
    world.define(job("etl", HOURLY, **given))
    put(world, *blackouts)
    return world


FREEZE = single("02:00", "05:00", reason="stocktaking")


@pytest.mark.parametrize(
    ("given", "ran", "verdicts"),
    [
        ({}, ["01:00", "05:00"], ["blackout 02:00 to 04:00 (3)"]),
        ({"catchup": "skip"}, ["01:00", "05:00"], ["blackout 02:00 to 04:00 (3)"]),
        ({"catchup": "all"}, ["01:00", "02:00", "03:00", "04:00", "05:00"], []),
        ({"catchup": "all", "blackout": "skip"}, ["01:00", "05:00"], ["blackout 02:00 to 04:00 (3)"]),
        ({"catchup_window": "90m"}, ["01:00", "04:00", "05:00"], ["too_old 02:00 to 03:00 (2)"]),
    ],
)
def test_a_schedule_rests_in_a_window_and_goes_on(
    given: dict[str, Any], ran: list[str], verdicts: list[str]
) -> None:
    """S62, S29: nothing starts in [A, B); at its end the slots go where a resume would send them."""
    world = hourly(FREEZE, **given)
    world.pass_time("04:59:59")
    assert [slot for slot, _ in world.ran("etl")] == ["01:00"]
    world.pass_time("05:30")
    assert [slot for slot, _ in world.ran("etl")] == ran
    assert world.verdicts("etl") == verdicts
    told = {d.detail for d in world.decisions("etl") if not d.waits}
    assert told <= {"freeze: stocktaking", "1h30m"}
    assert world.schedule("etl").blackouts == ()  # it is over, and costs nothing any more


def test_passes_come_at_the_end_of_a_window_and_not_in_between() -> None:
    """S62: the first slot in the window finds it, and the next look is at its end."""
    world = hourly(FREEZE)
    world.pass_time("02:00")
    assert world.ledger.next_wake() == instant("05:00")


def test_what_was_pending_before_goes_on_after() -> None:
    """S29: a slot that waits for a run when the window begins starts when it has ended, before newer ones."""
    world = hourly(FREEZE, overlap="queue")
    world.run_time["etl"] = "90m"
    world.define(job("etl", "0,30 * * * *", overlap="queue"))
    world.pass_time("07:00")
    assert world.started("etl")[:3] == [("00:30", "00:30"), ("01:00", "05:00"), ("01:30", "06:30")]


@pytest.mark.parametrize("down", [False, True])
def test_windows_that_overlap_are_one_rest(*, down: bool) -> None:
    """S62: it lasts until the last of them has ended, and each slot is told by one of them."""
    world = hourly(single("02:00", "04:30"), single("03:30", "06:30", "move"))
    if down:
        world.down("06:29:59")
    world.pass_time("06:29:59")
    assert [slot for slot, _ in world.ran("etl")] == ([] if down else ["01:00"])
    world.pass_time("07:30")
    assert [slot for slot, _ in world.ran("etl")][-1] == "07:00"
    found = [(world.tells(d), d.detail) for d in world.decisions("etl") if d.reason.code == "blackout"]
    assert found == [("blackout 02:00 to 03:00 (2)", "freeze"), ("blackout 04:00 to 06:00 (3)", "move")]


def test_windows_of_one_outage_are_told_apart() -> None:
    """S62: slots of each window are dropped by its name, those between them are missed (S10)."""
    world = World()
    world.define(job("etl", HOURLY))
    put(world, nightly("0 2 * * *", "2h"))
    world.down("2026-01-04T00:30")
    world.pass_time("2026-01-04T01:30")
    assert world.ran("etl") == [("2026-01-04T00:00", "catchup"), ("2026-01-04T01:00", "schedule")]
    found = [world.tells(d) for d in world.decisions("etl") if d.reason.code == "blackout"]
    assert found == [f"blackout {day}02:00 to {day}03:00 (2)" for day in ("", "2026-01-02T", "2026-01-03T")]
    assert sum(d.count for d in world.decisions("etl")) + 2 == 74 - 1


def test_an_outage_over_very_many_windows_takes_a_bounded_pass() -> None:
    """S6: beyond two hundred windows, what no pass has seen is one record."""
    world = World()
    world.define(job("etl", HOURLY))
    put(world, nightly("0 2 * * *", "2h"))
    world.down("2027-06-01T00:30")
    world.tick()
    found = [d for d in world.decisions("etl") if d.reason.code == "blackout"]
    assert world.ran("etl") == [("2027-06-01T00:00", "catchup")]
    assert (len(found), sum(d.count for d in world.decisions("etl")) + 1) == (200, 516 * 24)


def test_a_blackout_that_is_removed_ends_now() -> None:
    """S62: its slots go where the end of a pause sends them; one that is changed begins anew."""
    world = hourly(FREEZE)
    world.pass_time("03:30")
    put(world)
    world.pass_time("04:30")
    assert world.ran("etl") == [("01:00", "schedule"), ("04:00", "schedule")]
    assert world.verdicts("etl") == ["blackout 02:00 to 03:00 (2)"]
    world = hourly(FREEZE, catchup="all")
    world.pass_time("03:30")
    put(world, single("02:00", "04:30"))
    world.pass_time("05:30")
    assert [slot for slot, _ in world.ran("etl")] == ["01:00", "02:00", "03:00", "04:00", "05:00"]
    assert world.started("etl")[1] == ("02:00", "04:30")


def test_what_was_pending_when_it_was_written_lies_in_no_window() -> None:
    """S62: a window whose beginning has passed counts from when it was written."""
    world = World()
    world.define(job("etl", HOURLY))
    world.down("03:30")
    put(world, FREEZE)
    world.pass_time("05:30")
    assert [d for d in world.verdicts("etl") if d.startswith("blackout")] == ["blackout 04:00"]
    with pytest.raises(InputError, match="no window after now"):
        begun(FREEZE, instant("05:00"))


def test_a_pause_in_a_window_and_a_window_in_a_pause() -> None:
    """S62, S29: what both cover is told by what ends first; nothing starts before both have ended."""
    world = hourly(FREEZE)
    world.pass_time("02:30")
    world.change("etl", Paused("ann", until=instant("06:30")))
    world.pass_time("07:30")
    assert [slot for slot, _ in world.ran("etl")] == ["01:00", "07:00"]
    assert sum(d.count for d in world.decisions("etl")) == 5
    world = hourly(FREEZE)
    world.pause("etl")
    world.pass_time("03:30")
    world.resume("etl")
    world.pass_time("05:30")
    assert world.verdicts("etl") == ["paused 01:00 to 03:00 (3)", "blackout 04:00"]
    world = hourly(FREEZE)
    world.pause("etl")
    world.pass_time("05:30")
    world.change("etl", Resumed(run_missed=True))
    world.pass_time("05:31")
    assert world.ran("etl") == [("05:00", "catchup")]
    assert world.verdicts("etl") == ["blackout 02:00 to 04:00 (3)", "coalesced 01:00"]


def test_one_offs_fire_late_unless_they_are_to_be_dropped() -> None:
    """S62, S29, S33: at the end of the window, one after the other."""
    cases: list[tuple[dict[str, Any], list[str]]] = [({}, ["03:00", "04:00"]), ({"blackout": "skip"}, [])]
    for given, ran in cases:
        world = World()
        world.define(job("etl", once("03:00", "04:00"), **given))
        put(world, FREEZE)
        world.pass_time("06:00")
        assert [slot for slot, _ in world.ran("etl")] == ran
        assert world.verdicts("etl") == ([] if ran else ["blackout 03:00 to 04:00 (2)"])


def test_a_move_into_a_window_is_refused() -> None:
    """S62, S31: naming the window and its end; a window that is written later drops the moved slot."""
    world = hourly(FREEZE)
    with pytest.raises(ConflictError, match=r"the blackout freeze: stocktaking: give a time from .*05:00:00Z on"):
        world.reschedule("etl", "03:30")
    put(world)
    world.reschedule("etl", "03:30")
    put(world, FREEZE)
    world.pass_time("05:30")
    assert world.ran("etl") == [("05:00", "schedule")]
    assert world.verdicts("etl") == ["rescheduled 01:00 to 03:00 (3)", "blackout 03:30 to 04:00 (2)"]


def test_marked_slots_and_slots_with_a_run_stay_what_they_are() -> None:
    """S66, S1: a mark in a window needs no decision of its own, and a run decides its slot."""
    world = hourly(FREEZE)
    world.pass_time("01:30")
    world.change("etl", SkipAsked(instant("03:00")))
    world.ledger._slots["etl"][instant("04:00")] = world.runs("etl")[0]
    world.ledger._newest["slot", "etl"] = instant("04:00")
    world.pass_time("05:30")
    assert world.verdicts("etl") == ["blackout 02:00 to 03:00 (2)"]
    assert world.schedule("etl").skips == ()


def test_stops_rest_too_and_hold_back_no_start() -> None:
    """S62, S22: a stop in a window stops nothing, and starts after it are not stopped since."""
    world = World()
    world.define(job("etl", "0 1 * * *", stop="0 3 * * *"))
    world.run_time["etl"] = "10h"
    for name in ("etl", "etl.stop"):
        put(world, FREEZE, name=name)
    world.pass_time("06:00")
    assert world.active("etl") != []
    assert world.verdicts("etl.stop") == ["blackout 03:00"]
    assert world.tick().cancels == ()


@pytest.mark.parametrize(
    ("given", "now", "dues"),
    [
        ({}, "00:30", ["01:00", "05:00", "06:00"]),
        ({}, "03:30", ["05:00", "06:00", "07:00"]),
        ({"catchup": "all"}, "00:30", ["01:00", "05:00", "05:00"]),
        ({"catchup": "all"}, "03:30", ["05:00", "05:00", "06:00"]),
        ({"jitter": "59m"}, "00:30", ["01:58:35", "05:13", "06:35:51"]),
    ],
)
def test_what_comes_is_told_as_it_will_be(given: dict[str, Any], now: str, dues: list[str]) -> None:
    """S62: after the window or, under `all`, at its end, where the oldest slot stands for all."""
    world = hourly(FREEZE, **given)
    world.pass_time(now)
    schedule = world.schedule("etl")
    found = due_slots(schedule, world.now, world.now)
    assert [world.says(next(found).due) for _ in dues] == dues
    slot = next_wanted_slot(schedule)
    assert slot is not None
    assert world.says(slot) == ("01:00" if now == "00:30" else "02:00" if "catchup" in given else "05:00")


def test_nothing_comes_where_every_slot_lies_in_a_window() -> None:
    """S62: neither list nor next time looks for ever."""
    world = World()
    world.define(job("etl", "30 2 * * *"))
    put(world, nightly("0 2 * * *", "2h"))
    assert next_wanted_slot(world.schedule("etl")) is None
    assert list(due_slots(world.schedule("etl"), world.now, world.now)) == []
    put(world, nightly("* * * * *", "60m"))
    assert rest_end(world.schedule("etl").blackouts, world.now + 1) == world.now + 100 * 3600


def test_a_blackout_is_for_jobs_by_name_or_label() -> None:
    """S62: any pattern or label that fits is enough; what is over is for nobody."""
    named = Blackout("b", FREEZE.opens, FREEZE.length, jobs=("etl-*", "report"))
    labelled = Blackout("a", FREEZE.opens, FREEZE.length, labels=("team=data", "slow"))
    both, now = [named, labelled], instant("01:00")
    found = {
        "etl-a": {}, "report": {"slow": "no"}, "other": {"team": "data"}, "etl": {"team": "web"}, "ETL-a": {},
    }  # fmt: skip
    assert {job: [b.name for b in blackouts_of(both, job, labels, now)] for job, labels in found.items()} == {
        "etl-a": ["b"], "report": ["a", "b"], "other": ["a"], "etl": [], "ETL-a": [],
    }  # fmt: skip
    assert blackouts_of(both, "report", {}, instant("05:00")) == ()


@pytest.mark.parametrize(
    ("given", "problem"),
    [
        ({"length": 0}, "from a second to 366 days"),
        ({"length": 366 * 86_400 + 1}, "from a second to 366 days"),
        ({"jobs": ()}, "name jobs or labels"),
        ({"jobs": ("a",) * 101}, "more than 100 patterns"),
    ],
)
def test_a_blackout_that_cannot_be_is_refused(given: dict[str, Any], problem: str) -> None:
    """S62: it has a length, and says which jobs it is for."""
    with pytest.raises(InputError, match=problem):
        Blackout(**{"name": "x", "opens": FREEZE.opens, "length": 60, "jobs": ("*",), **given})


def test_blackouts_are_kept_with_the_state_of_a_schedule() -> None:
    """They come back from a store as they went in."""
    world = hourly(FREEZE, nightly("CRON_TZ=Europe/Berlin 0 2 * * *", "90m", labels=("a=b",), by="ann"))
    schedule = world.schedule("etl")
    assert decode_rest(encode_rest(schedule))["blackouts"] == schedule.blackouts


def test_a_slot_that_its_jitter_moves_into_a_window_runs_after_it() -> None:
    """S36, S62: as the list of what comes says."""
    world = hourly(single("01:30", "04:30"), jitter="59m")
    (first,) = [next(due_slots(world.schedule("etl"), world.now, world.now))]
    assert (world.says(first.slot), world.says(first.due)) == ("01:00", "04:30")
    world.pass_time("04:40")
    assert world.started("etl") == [("01:00", "04:30")]


def test_the_ribbon_tells_which_slots_fall_into_a_blackout() -> None:
    """S62: those to come, those that wait for its end, and nothing of what runs after it."""

    def told(**given: Any) -> list[tuple[str, str | None, str]]:
        world = hourly(FREEZE, **given)
        world.pass_time("02:30")
        ledger = SlotLedger(world.schedule("etl"), world.decisions("etl"), world.now, paused=False)
        found = ledger.newest([], instant("02:00"), instant("06:00"), 10)
        return [(world.says(each.slot), each.reason, each.detail) for each in reversed(found)]

    freeze = "freeze: stocktaking"
    assert told() == [
        ("02:00", "blackout", freeze), ("03:00", "blackout", freeze), ("04:00", "blackout", freeze),
        ("05:00", None, ""),
    ]  # fmt: skip
    assert told(catchup="all")[:2] == [("02:00", "blackout", freeze), ("03:00", None, freeze)]


def test_a_marked_slot_is_no_next_time_beside_a_window() -> None:
    """S66, S62: what is skipped by hand and what falls into a window are both passed over."""
    world = hourly(FREEZE)
    world.change("etl", SkipAsked(instant("01:00")))
    slot = next_wanted_slot(world.schedule("etl"))
    assert slot is not None
    assert world.says(slot) == "05:00"
