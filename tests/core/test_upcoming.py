"""The walk over what a schedule will start."""

from itertools import islice, takewhile
from typing import Any

from tickwise.core.backfill import BackfillAsked
from tickwise.core.blackout import Blackout
from tickwise.core.change import Added, BlackoutsSet, Change, Deleted, Paused, Rescheduled, apply_change
from tickwise.core.cron import parse
from tickwise.core.model import Schedule
from tickwise.core.slots import due_at
from tickwise.core.upcoming import count_upcoming, due_slots, next_wanted_slot, upcoming_slots
from tickwise.testing.conformance.world import HOURLY, instant, schedule, short_time

NOW = instant("00:00")
HOUR = 3_600


def added(name: str, *given: Any, at: int = NOW, **policy: Any) -> Schedule:
    return apply_change(None, Added(schedule(name, *given, **policy)), at).schedules[0]


def changed(state: Schedule, change: Change, at: int = NOW) -> Schedule:
    return apply_change(state, change, at).schedules[0]


def shown(state: Schedule, now: int = NOW, start: int | None = None, hours: int = 3) -> list[str]:
    """The time at which each is due, and its slot."""
    start = now if start is None else start
    found = takewhile(lambda each: each.due < start + hours * HOUR, upcoming_slots(state, now, start))
    return [f"{short_time(each.due)} {short_time(each.slot)}" for each in found]


def test_one_overdue_slot_stands_for_all() -> None:
    """It is the oldest, and due now; a slot of this very second is its own."""
    late = added("a", HOURLY)
    assert shown(late, instant("02:30"), hours=1) == ["02:30 01:00", "03:00 03:00"]
    assert shown(late, instant("02:00"), hours=1) == ["02:00 01:00", "02:00 02:00"]


def test_a_start_ahead_of_now_leaves_out_what_is_overdue() -> None:
    """Only what is due from then on is listed."""
    assert shown(added("a", HOURLY), instant("02:30"), instant("03:30"), hours=1) == ["04:00 04:00"]


def test_what_its_jitter_delays_is_not_overdue() -> None:
    """A slot of the past that is due later stands at that time, behind older ones that are overdue (S36)."""
    state = added("a", HOURLY, jitter=1_800)
    slot = instant("02:00")
    now = due_at(state, slot) - 1
    assert slot < now
    assert shown(state, now, hours=1)[:2] == [f"{short_time(now)} 01:00", f"{short_time(now + 1)} 02:00"]
    assert shown(state._replace(cursor=instant("01:00")), now)[0] == f"{short_time(now + 1)} 02:00"


def test_slots_before_the_start_are_left_out_whatever_their_jitter() -> None:
    """One that could be delayed up to the start, but is due before it, is not listed (S36)."""
    state = added("a", HOURLY, jitter=1_800)
    start = due_at(state, instant("02:00")) + 1
    assert shown(state, NOW, start)[0] == f"{short_time(due_at(state, instant('03:00')))} 03:00"


def test_reopened_slots_and_backfills_are_due_now() -> None:
    """The first of each stands for the rest (S25, S32)."""
    now = instant("03:30")
    state = added("a", HOURLY, at=now)
    assert shown(state._replace(reopened=(instant("01:00"), instant("02:00"))), now, hours=1) == [
        "03:30 01:00", "04:00 04:00",
    ]  # fmt: skip
    filled = changed(state, BackfillAsked(instant("01:00"), instant("03:00")), now)
    assert shown(filled, now, hours=1) == ["03:30 01:00", "04:00 04:00"]
    empty = changed(state, BackfillAsked(instant("01:10"), instant("01:50")), now)
    assert shown(empty, now, hours=1) == ["04:00 04:00"]


def test_paused_and_deleted_schedules_start_nothing() -> None:
    """S23, S29."""
    state = added("a", HOURLY)
    assert [shown(changed(state, Paused())), shown(changed(state, Deleted()))] == [[], []]
    assert list(due_slots(changed(state, Paused()), NOW, NOW)) == []
    assert shown(changed(state, Paused(until=instant("02:30"))), hours=4)[:1] == ["03:00 03:00"]


def test_moves_and_bounds_are_kept() -> None:
    """S31, S34."""
    assert shown(changed(added("a", HOURLY), Rescheduled(instant("01:30")))) == ["01:30 01:30", "02:00 02:00"]
    assert shown(added("a", HOURLY, until=instant("01:00"))) == ["01:00 01:00"]


def test_no_more_than_max_runs_leaves() -> None:
    """A schedule that has made its runs but one starts one; a ticker looks at every slot all the same (S34)."""
    state = added("a", HOURLY, max_runs=3)._replace(runs_made=1)
    assert shown(state, hours=24) == ["01:00 01:00", "02:00 02:00"]
    assert shown(state, start=instant("01:30"), hours=24) == ["02:00 02:00"]
    assert len(list(islice(due_slots(state, NOW, NOW), 5))) == 5
    now = instant("03:30")
    filled = changed(
        added("b", HOURLY, at=now, max_runs=1), BackfillAsked(instant("01:00"), instant("03:00")), now
    )
    assert shown(filled, now) == ["03:30 01:00", "04:00 04:00"]


def test_runs_are_counted_without_a_walk() -> None:
    """Of a new schedule, as far as max_runs lets them run."""
    for state in (added("a", HOURLY), added("b", HOURLY, max_runs=2), added("c", HOURLY, until=instant("04:00"))):
        assert count_upcoming(state, NOW + 1, NOW + 24 * HOUR) == len(shown(state, hours=24))


def test_a_schedule_whose_last_slot_lies_in_a_blackout_has_no_next_time() -> None:
    """S62, S8: the slot is dropped when the window ends, and none comes after it."""
    state = added("a", "0 5 * * *", until=instant("06:00"))
    assert next_wanted_slot(state) == instant("05:00")
    freeze = Blackout("freeze", parse("0 4 * * *"), 2 * HOUR, ("*",))
    resting = changed(state, BlackoutsSet((freeze,)))
    assert next_wanted_slot(resting) is None
