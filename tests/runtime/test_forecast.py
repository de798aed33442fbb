"""The index of what is about to run."""

from datetime import timedelta
from itertools import takewhile
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from tickwise.core.backfill import BackfillAsked
from tickwise.core.change import Added, Change, Deleted, Paused, Rescheduled, Resumed, apply_change
from tickwise.core.model import Schedule
from tickwise.core.timeparse import to_datetime
from tickwise.core.upcoming import due_slots, upcoming_slots
from tickwise.runtime.forecast import Forecast
from tickwise.runtime.schedules import all_schedules
from tickwise.testing.conformance.world import HOURLY, instant, job, once, schedule, short_time

from ..support.app import new_world, patiently

NOW = instant("00:00")
_TEXTS = st.sampled_from([HOURLY, "*/7 * * * *", "15,45 */2 * * *", "0 3 * * *", "* * * * *"])


def added(name: str, *given: Any, at: int = NOW, **policy: Any) -> Schedule:
    return apply_change(None, Added(schedule(name, *given, **policy)), at).schedules[0]


def changed(state: Schedule, change: Change, at: int = NOW) -> Schedule:
    return apply_change(state, change, at).schedules[0]


def runs(forecast: Forecast) -> list[str]:
    window = forecast.index.query(0, 2**40)
    return [f"{run.job_id} {short_time(int(run.scheduled_at.timestamp()))}" for run in window]


def foreseen(*schedules: Schedule, now: int = NOW, hours: int = 2) -> list[str]:
    forecast = Forecast(lookahead=hours * 3_600)
    forecast.rebuild(schedules, now)
    return runs(forecast)


def test_it_lists_what_is_due_in_time_order() -> None:
    """Of all schedules together, from now on and as far as it looks ahead."""
    assert foreseen(added("a", HOURLY), added("b", "*/40 * * * *")) == [
        "b 00:40",
        "a 01:00",
        "b 01:00",
        "b 01:40",
    ]


def test_one_offs_and_moved_times_stand_in_it() -> None:
    """What a person moved stands at its new time, and what that passes over does not."""
    moved = changed(added("moved", HOURLY), Rescheduled(instant("01:30")))
    assert foreseen(added("once", once("00:20", "05:00")), moved) == ["once 00:20", "moved 01:30"]


def test_jitter_shows_the_true_times() -> None:
    """What is foreseen is when it will really start (S36)."""
    (told,) = foreseen(added("a", HOURLY, jitter=600), hours=2)
    assert told > "a 01:00"
    assert told < "a 01:10"


def test_paused_finished_and_deleted_ones_are_left_out() -> None:
    """A resumed one is back."""
    paused = changed(added("paused", HOURLY), Paused())
    ended = added("ended", HOURLY, until=NOW)
    done = added("done", HOURLY, max_runs=1)._replace(runs_made=1)
    deleted = changed(added("deleted", HOURLY), Deleted())
    past = added("past", once("00:00"), at=instant("01:00"))
    assert foreseen(paused, ended, done, deleted, past) == []
    assert foreseen(changed(paused, Resumed())) == ["paused 01:00"]


def test_what_is_decided_is_left_out() -> None:
    """A slot of this very second that has had its run, and all up to a cursor that is ahead (S4)."""
    ahead = added("ahead", "*/30 * * * *")._replace(cursor=instant("01:00"))
    assert foreseen(added("now", "*/30 * * * *", until=instant("01:00")), ahead) == [
        "now 00:30",
        "now 01:00",
        "ahead 01:30",
    ]


def test_bounds_are_kept() -> None:
    """Nothing after `until` (S34)."""
    assert foreseen(added("a", "*/30 * * * *", until=instant("01:00"))) == ["a 00:30", "a 01:00"]


def test_what_is_pending_stands_at_the_first_second() -> None:
    """Simple schedules and others alike, and backfills, so that the first look finds them."""
    late = instant("03:30")
    plain, special = added("plain", HOURLY), added("special", HOURLY, until=instant("9T00:00"))
    filled = changed(added("filled", HOURLY, at=late), BackfillAsked(instant("01:00"), instant("02:00")), at=late)
    assert foreseen(plain, special, filled, now=late, hours=1) == [
        "filled 03:30",
        "plain 03:30",
        "special 03:30",
        "filled 04:00",
        "plain 04:00",
        "special 04:00",
    ]


def test_it_looks_less_far_ahead_rather_than_take_too_much_memory() -> None:
    """As far as the runs fit, and it says how far that is; even where one second holds too many."""
    dense = [added(f"s{n}", "* * * * * *", at=NOW - 1) for n in range(10)]
    forecast = Forecast(lookahead=3_600, most=1_000)
    forecast.rebuild(dense, NOW)
    assert (forecast.until - NOW, len(forecast.index)) == (56, 560)
    tiny = Forecast(lookahead=3_600, most=5)
    tiny.rebuild(dense, NOW)
    assert (tiny.until - NOW, len(tiny.index)) == (1, 10)


def test_a_reader_sees_the_old_index_or_the_new() -> None:
    """A view that was taken before shows what it showed."""
    forecast = Forecast(lookahead=3_600)
    forecast.rebuild([added("a", "*/30 * * * *")], NOW)
    view = forecast.index.query(NOW, NOW + 3_600)
    forecast.rebuild([added("b", HOURLY)], NOW + 1)
    assert [run.job_id for run in view] == ["a"]
    assert (forecast.jobs, runs(forecast)) == ({"b": ""}, ["b 01:00"])


@given(_TEXTS, st.integers(0, 7_200), st.integers(0, 7_200))
def test_simple_schedules_stand_in_it_as_the_walk_finds_them(text: str, behind: int, passed: int) -> None:
    """Expanded together or walked one by one, the times are the same."""
    now = NOW + passed
    state = added("a", text, at=now - behind)
    forecast = Forecast(lookahead=6 * 3_600)
    forecast.rebuild([state], now)
    walked = takewhile(lambda each: each.due < now + 6 * 3_600, due_slots(state, now, now))
    assert forecast.index.query(0, 2**40).times.tolist() == [each.due for each in walked]


def test_a_ticker_looks_at_every_slot_and_a_forecast_at_those_that_run() -> None:
    """What `max_runs` leaves is an estimate: a slot that is skipped does not count (S34)."""
    state = added("a", HOURLY, max_runs=1)
    assert foreseen(state) == ["a 01:00"]
    assert foreseen(state, hours=4) == ["a 01:00", "a 02:00", "a 03:00"]
    forecast = Forecast(lookahead=4 * 3_600, walk=upcoming_slots)
    forecast.rebuild([state], NOW)
    assert runs(forecast) == ["a 01:00"]


@patiently
async def test_it_is_built_from_all_pages_of_a_store() -> None:
    """However many schedules there are."""
    world = await new_world()
    await world.define(*(job(f"j{n:04}", "30 12 * * *") for n in range(1_050)))
    schedules = await all_schedules(world.insights)
    forecast = Forecast(lookahead=round(timedelta(days=1).total_seconds()))
    forecast.rebuild(schedules, world.now)
    assert len(forecast.index) == 1_050
    first = forecast.index.peek()
    assert first
    assert (first.job_id, first.scheduled_at) == ("j0000", to_datetime(instant("12:30")))
