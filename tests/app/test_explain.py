"""`tw.why`: for every slot an answer, with its reason and what can be done."""

from datetime import datetime
from typing import Any

import pytest

from tickwise import InputError, Tickwise
from tickwise.app.explain import Explanation
from tickwise.core.planner import plan

from ..support.app import START, Clock, at

HOURLY = "0 * * * *"


def declare(tw: Tickwise, name: str = "job", schedule: Any = HOURLY, **options: Any) -> None:
    """A job that does nothing, seen for the first time now."""

    async def nothing() -> None: ...

    nothing.__qualname__ = name
    tw.job(schedule, name=name, **options)(nothing)
    tw.jobs.list()


def pass_to(tw: Tickwise, clock: Clock, time: str) -> None:
    clock.set(at(time))
    tw.drain()


def said(answer: Explanation) -> tuple[datetime | None, str, str]:
    return answer.slot, answer.verdict, answer.reason


def test_nothing_was_due_yet(tw: Tickwise) -> None:
    """A new schedule has no answer but its next time."""
    declare(tw)
    answer = tw.why("job")
    assert said(answer) == (None, "none", "not_due")
    assert answer.notes == ("Next: 2026-01-01T01:00:00Z.",)


def test_it_ran(tw: Tickwise, clock: Clock) -> None:
    """A slot that ran names its run, how late it started and how long it took; also for people to read."""
    declare(tw)
    pass_to(tw, clock, "01:00:10")
    (run,) = tw.runs.list()
    answer = tw.why("job")
    assert (said(answer), answer.run) == ((at("01:00"), "fired", "on_time"), run.id)
    started = "(attempt 1, started 10.0 s after it was due, took 0.0 s)"
    assert answer.notes[0] == f"Run {run.id} succeeded {started}."
    assert str(answer).splitlines()[:2] == [
        "job at 2026-01-01 01:00:00 UTC: fired",
        "  it was due and nothing stood in its way",
    ]


def test_it_ran_and_failed(tw: Tickwise, clock: Clock) -> None:
    """A run that failed says so in its own last words."""

    async def breaks() -> None:
        raise LookupError("no such table")

    tw.job(HOURLY)(breaks)
    tw.jobs.list()
    pass_to(tw, clock, "01:00")
    assert "It said: LookupError: no such table" in tw.why("breaks").notes


def test_it_was_caught_up_and_stands_for_others(tw: Tickwise, clock: Clock) -> None:
    """After an outage the newest was caught up; those it stands for say that, and how many they are (S10)."""
    declare(tw)
    pass_to(tw, clock, "03:30")
    assert said(tw.why("job")) == (at("03:00"), "caught_up", "catch_up")
    older = tw.why("job", at("01:00"))
    assert said(older) == (at("01:00"), "coalesced", "coalesced")
    assert "It is one of 2 slots from 2026-01-01T01:00:00Z to 2026-01-01T02:00:00Z." in older.notes


def test_it_was_missed(tw: Tickwise, clock: Clock) -> None:
    """Under `catchup: skip` a missed slot says what to set so that it would have run (S7, S10)."""
    declare(tw, catchup="skip")
    pass_to(tw, clock, "01:30")
    answer = tw.why("job")
    assert said(answer) == (at("01:00"), "skipped", "missed")
    assert "catchup: once" in answer.advice


def test_it_was_too_old(tw: Tickwise, clock: Clock) -> None:
    """Slots that lie before the catch-up window are expired (S10)."""
    declare(tw, catchup_window="1h")
    pass_to(tw, clock, "03:30")
    assert said(tw.why("job", at("01:00"))) == (at("01:00"), "expired", "too_old")


def test_it_is_backfilled(tw: Tickwise, clock: Clock) -> None:
    """A slot of a backfill says that it was asked for (S32)."""
    declare(tw, catchup="skip")
    pass_to(tw, clock, "03:30")
    tw.schedules.backfill("job", at("01:00"), at("02:00"))
    tw.drain()
    assert said(tw.why("job", at("01:00"))) == (at("01:00"), "caught_up", "backfill")


def test_another_run_was_in_its_way(tw: Tickwise, clock: Clock) -> None:
    """A slot that was skipped for an active run names that run (S14)."""
    declare(tw)
    clock.set(at("00:59"))
    run = tw.schedules.trigger("job", by="ada")
    clock.set(at("01:00"))
    tw.drain()
    answer = tw.why("job")
    assert (said(answer), run.id in answer.text) == ((at("01:00"), "skipped", "overlap"), True)


def test_it_waits(tw: Tickwise, clock: Clock) -> None:
    """A slot that is held says what for, and that it has not been decided (S35)."""
    declare(tw, "first", "30 0 * * *")
    declare(tw, "job", after=[{"schedule": "first", "within": "2h"}], wait_for="30m")
    clock.set(at("00:15"))
    tw.schedules.pause("first")
    pass_to(tw, clock, "01:00")
    answer = tw.why("job")
    assert (said(answer), "first" in answer.text) == ((at("01:00"), "deferred", "waits_for_success"), True)


def test_it_is_due(tw: Tickwise, clock: Clock) -> None:
    """A due slot that no ticker has looked at says so."""
    declare(tw)
    clock.set(at("01:00"))
    answer = tw.why("job")
    assert said(answer) == (at("01:00"), "none", "pending")
    assert "See that a ticker runs" in answer.advice


def test_its_run_waits(tw: Tickwise, clock: Clock) -> None:
    """A run that is queued says what it needs to start (S44)."""

    async def breaks() -> None:
        raise LookupError("no such table")

    tw.job(HOURLY, retry={"limit": 1, "interval": "10m"})(breaks)
    tw.jobs.list()
    pass_to(tw, clock, "01:00")
    assert "It may not start before 2026-01-01T01:1" in str(tw.why("breaks"))


@pytest.mark.parametrize(
    ("slot", "reason"),
    [
        (at("05:00"), "future"),
        ("2026-01-01T00:17:00Z", "no_slot"),
        ("2025-12-31T23:00:00Z", "before_it_was_added"),
    ],
)
def test_other_instants(tw: Tickwise, clock: Clock, slot: Any, reason: str) -> None:
    """A slot to come, an instant that is no slot, and one before the schedule was there are told apart (S2)."""
    declare(tw)
    pass_to(tw, clock, "01:00")
    answer = tw.why("job", slot)
    assert (answer.verdict, answer.reason, answer.run) == ("none", reason, None)


def test_paused(tw: Tickwise, clock: Clock) -> None:
    """A slot that falls into a pause says so, and afterwards that it was dropped for it (S29)."""
    declare(tw)
    tw.schedules.pause("job", by="ada")
    clock.set(at("01:00"))
    answer = tw.why("job")
    assert said(answer) == (at("01:00"), "none", "paused_now")
    assert "It is paused since 2026-01-01T00:00:00Z by ada." in answer.notes
    tw.schedules.resume("job")
    assert said(tw.why("job")) == (at("01:00"), "skipped", "paused")


def test_everything_is_paused(tw: Tickwise, clock: Clock) -> None:
    """The same for a pause of everything (S29)."""
    declare(tw)
    tw.pause(by="ada")
    clock.set(at("01:00"))
    answer = tw.why("job")
    assert said(answer) == (at("01:00"), "none", "paused_now")
    assert "Everything is paused since 2026-01-01T00:00:00Z by ada." in answer.notes


def test_reset(tw: Tickwise, clock: Clock) -> None:
    """What a person dropped says so (S4)."""
    declare(tw)
    clock.set(at("01:30"))
    tw.schedules.reset("job")
    assert said(tw.why("job")) == (at("01:00"), "skipped", "reset")


def test_moved(tw: Tickwise, clock: Clock) -> None:
    """A slot that the next run was moved past says where it went (S31)."""
    declare(tw)
    tw.schedules.reschedule("job", at("01:30"))
    pass_to(tw, clock, "01:30")
    answer = tw.why("job", at("01:00"))
    assert (said(answer), "01:30" in answer.text) == ((at("01:00"), "skipped", "rescheduled"), True)


def test_stopped(tw: Tickwise, clock: Clock) -> None:
    """A stop that found nothing to stop says so (S21)."""
    declare(tw, "feed", {"start": "0 9 * * *", "stop": "0 1 * * *"})
    pass_to(tw, clock, "01:00")
    assert said(tw.why("feed.stop")) == (at("01:00"), "skipped", "nothing_to_stop")


def test_a_one_off_that_was_past(tw: Tickwise) -> None:
    """A one-off that had passed when it was first seen says why it never ran, and has no further times (S33)."""
    declare(tw, "reminder", {"at": "2025-12-31T12:00:00Z"})
    tw.drain()
    answer = tw.why("reminder")
    assert (answer.verdict, answer.reason) == ("expired", "past_one_off")
    assert "It has no further times." in answer.notes


def test_a_cursor_ahead_of_the_clock(tw: Tickwise, clock: Clock) -> None:
    """After a clock that was wrong, the cursor is said to be ahead, with the way to repair it (S4)."""
    declare(tw)
    pass_to(tw, clock, "05:00")
    clock.set(START)
    repair = "Its cursor is ahead of the clock (2026-01-01T05:00:00Z): reset the schedule to repair that."
    assert repair in tw.why("job").notes
    tw.schedules.reset("job")
    assert repair not in tw.why("job").notes


def test_an_unknown_schedule(tw: Tickwise) -> None:
    """A name that nobody knows is refused with the nearest."""
    declare(tw)
    with pytest.raises(InputError, match=r"there is no schedule 'jb' \(did you mean job\?\)"):
        tw.why("jb")


def test_a_slot_behind_one_that_waits(tw: Tickwise, clock: Clock) -> None:
    """Slots are decided in order: what the oldest waits for is the answer for those after it (S47)."""
    declare(tw)
    clock.set(at("02:00:10"))

    async def tick_without_workers() -> None:
        await (await tw.awaited.store()).tick(plan, "t1")

    tw._loop_thread.call(tick_without_workers())
    answer = tw.why("job")
    assert said(answer) == (at("02:00"), "deferred", "no_worker")
    assert answer.notes[0] == "It comes after the slot 2026-01-01T01:00:00Z, which waits."
