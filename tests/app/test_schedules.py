"""`tw.schedules`, `tw.jobs` and `tw.upcoming`: what people do with schedules."""

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from tickwise import ConflictError, InputError, Tickwise

from ..support.app import START, Clock, at

HOURLY = "0 * * * *"


@pytest.fixture
def ran(tw: Tickwise) -> list[Any]:
    """The slots and triggers of the job `hourly`, which has been seen for the first time at midnight."""
    ran: list[Any] = []

    @tw.job(HOURLY)
    async def hourly(run: Any, word: str = "") -> None:
        ran.append((run.slot, run.trigger, *([word] if word else [])))

    tw.drain()
    return ran


def pass_to(tw: Tickwise, clock: Clock, time: str) -> None:
    """Move the clock, and do all that is due."""
    clock.set(at(time))
    tw.drain()


def test_what_is_seen_of_a_schedule(tw: Tickwise, ran: list[Any], clock: Clock) -> None:
    """Its times as written and in words, its cursor, the next run, and the last one with its real start."""
    new = tw.schedules.get("hourly")
    assert (new.job, new.kind, new.times, new.timezone, new.source) == (
        "hourly",
        "start",
        HOURLY,
        "UTC",
        "app:app",
    )
    assert new.means == "Every hour, UTC"
    assert (new.cursor, new.next_run_at, new.created_at) == (START, at("01:00"), START)
    assert (new.last_run_at, new.last_run_id, new.last_enqueued_at, new.paused) == (None, None, None, None)
    pass_to(tw, clock, "01:00:20")
    after = tw.schedules.get("hourly")
    (run,) = tw.runs.list()
    assert (after.last_run_id, after.last_run_at, after.cursor) == (run.id, at("01:00:20"), at("01:00"))
    assert (after.next_run_at, ran) == (at("02:00"), [(at("01:00"), "schedule")])


def test_pause_and_resume(tw: Tickwise, ran: list[Any], clock: Clock) -> None:
    """A paused schedule shows who paused it and why, and no next time; resumed, it drops the pause (S29)."""
    paused = tw.schedules.pause("hourly", reason="migration", by="ada")
    assert paused.paused == {"at": START, "by": "ada", "reason": "migration", "until": None}
    assert (paused.next_run_at, paused.finished) == (None, False)
    pass_to(tw, clock, "02:30")
    resumed = tw.schedules.resume("hourly")
    assert (resumed.paused, resumed.next_run_at) == (None, at("03:00"))
    pass_to(tw, clock, "03:00")
    assert ran == [(at("03:00"), "schedule")]


def test_resume_asking_for_what_was_missed(tw: Tickwise, ran: list[Any], clock: Clock) -> None:
    """A resume may ask for the slots of the pause after all (S29)."""
    tw.schedules.pause("hourly")
    pass_to(tw, clock, "02:30")
    tw.schedules.resume("hourly", run_missed=True)
    tw.drain()
    assert ran == [(at("02:00"), "catchup")]


def test_everything_paused(tw: Tickwise, ran: list[Any], clock: Clock) -> None:
    """A pause of everything holds all schedules, shows nothing to come, and ends as it began (S29)."""
    tw.pause(reason="fire drill", by="ada")
    pass_to(tw, clock, "01:00")
    assert (ran, tw.upcoming()) == ([], [])
    assert "Everything is paused since 2026-01-01T00:00:00Z by ada." in tw.why("hourly").notes
    tw.resume()
    pass_to(tw, clock, "02:00")
    assert ran == [(at("02:00"), "schedule")]


def test_trigger(tw: Tickwise, ran: list[Any], clock: Clock) -> None:
    """By hand it runs at once, with params of its own; the cursor and the next time stay (S30)."""
    clock.set(at("00:30"))
    run = tw.schedules.trigger("hourly", {"word": "now"}, by="ada")
    assert (run.trigger, run.slot, run.state) == ("manual", None, "queued")
    tw.drain()
    after = tw.schedules.get("hourly")
    assert ran == [(None, "manual", "now")]
    assert (after.next_run_at, after.cursor) == (at("01:00"), START)


def test_trigger_while_it_is_active(tw: Tickwise, ran: list[Any]) -> None:
    """With no lane free it is refused, naming the run in the way, unless asked to run beside it (S30)."""
    first = tw.schedules.trigger("hourly")
    with pytest.raises(ConflictError, match=f"run {first.id}"):
        tw.schedules.trigger("hourly")
    tw.schedules.trigger("hourly", allow_overlap=True)
    tw.drain()
    assert ran == [(None, "manual")] * 2


@pytest.mark.parametrize("to", [at("00:20"), timedelta(minutes=20), "20m", "2026-01-01T00:20:00Z"])
def test_reschedule(tw: Tickwise, ran: list[Any], clock: Clock, to: Any) -> None:
    """The next fire is moved, once; then the expression goes on (S31)."""
    assert tw.schedules.reschedule("hourly", to).next_run_at == at("00:20")
    pass_to(tw, clock, "00:20")
    pass_to(tw, clock, "01:00")
    assert ran == [(at("00:20"), "schedule"), (at("01:00"), "schedule")]


def test_a_beginning_and_requests_in_advance(tw: Tickwise) -> None:
    """S63, S66: `from_` stands for the field `from`, a word of Python; skips and ends of pauses are shown."""
    begun = tw.schedules.add("late", schedule="0 * * * *", command="true", from_="2026-01-01T05:00")
    assert begun.next_run_at == at("05:00")
    assert tw.schedules.update("late", schedule="0 * * * *", command="true", from_=at("06:00")).next_run_at == at(
        "06:00"
    )
    assert tw.schedules.patch("late", from_="2026-01-01T07:00").next_run_at == at("07:00")
    assert tw.schedules.skip("late", at("07:00"), reason="no power").next_run_at == at("08:00")
    assert tw.schedules.take_skip_back("late", at("07:00")).next_run_at == at("07:00")
    paused = tw.schedules.pause("late", until=at("07:30"))
    assert (paused.paused and paused.paused["until"], paused.next_run_at) == (at("07:30"), at("08:00"))


def test_reschedule_into_the_past(tw: Tickwise, ran: list[Any], clock: Clock) -> None:
    """A time that has passed is refused, and nothing changes (S31)."""
    clock.set(at("00:30"))
    with pytest.raises(InputError):
        tw.schedules.reschedule("hourly", at("00:10"))
    assert tw.schedules.get("hourly").next_run_at == at("01:00")
    assert ran == []


def test_backfill(tw: Tickwise, ran: list[Any], clock: Clock) -> None:
    """A time that has passed is made up for, oldest first; what has a run is left out (S32)."""
    pass_to(tw, clock, "01:00")
    clock.set(at("04:30"))
    tw.schedules.reset("hourly")
    asked = tw.schedules.backfill("hourly", at("00:30"), at("04:00"), dry_run=True)
    assert (asked, tw.drain()) == ([at("02:00"), at("03:00")], 0)
    assert tw.schedules.backfill("hourly", at("00:30"), at("04:00")) == asked
    tw.drain()
    assert ran == [(at("01:00"), "schedule"), (at("02:00"), "backfill"), (at("03:00"), "backfill")]


def test_a_backfill_is_cancelled(tw: Tickwise, ran: list[Any], clock: Clock) -> None:
    """What a cancelled backfill has not begun is not run (S32)."""
    clock.set(at("04:30"))
    tw.schedules.reset("hourly")
    tw.schedules.backfill("hourly", at("00:30"), at("04:00"))
    tw.schedules.cancel_backfill("hourly")
    assert (tw.drain(), ran) == (0, [])


@pytest.mark.parametrize(
    ("start", "end", "options"),
    [("03:00", "02:00", {}), ("01:00", "09:00", {}), ("01:00", "02:00", {"overlap": "quee"})],
)
def test_a_backfill_that_makes_no_sense(
    tw: Tickwise, ran: list[Any], clock: Clock, start: str, end: str, options: dict[str, Any]
) -> None:
    """One that ends before it begins, or in the future, or with an unknown word, is refused (S32)."""
    clock.set(at("04:30"))
    tw.schedules.reset("hourly")
    with pytest.raises(InputError):
        tw.schedules.backfill("hourly", at(start), at(end), **options)
    assert (tw.drain(), ran) == (0, [])


def test_reset(tw: Tickwise, ran: list[Any], clock: Clock) -> None:
    """A reset drops the backlog and goes on from now (S4)."""
    clock.set(at("05:30"))
    assert tw.schedules.reset("hourly").cursor == at("05:30")
    tw.drain()
    pass_to(tw, clock, "06:00")
    assert ran == [(at("06:00"), "schedule")]


def test_add_update_and_remove(tw: Tickwise, clock: Clock) -> None:
    """What is added by hand is a job with the fields of a file; it can be written anew and deleted (S50)."""
    added = tw.schedules.add("backup", schedule="0 3 * * *", timezone="Europe/Berlin", command="true")
    assert (added.source, added.next_run_at, added.timezone) == ("api", at("02:00"), "Europe/Berlin")
    with pytest.raises(ConflictError, match="there is a job backup already: update it instead"):
        tw.schedules.add("backup", schedule="@daily", command="true")
    clock.set(at("01:00"))
    updated = tw.schedules.update("backup", schedule={"every": timedelta(hours=6)}, command="true")
    assert (updated.next_run_at, updated.created_at, updated.updated_at) == (at("06:00"), START, at("01:00"))
    tw.schedules.remove("backup")
    assert (tw.schedules.list(), tw.jobs.list()) == ([], [])


def test_one_off(tw: Tickwise, clock: Clock) -> None:
    """A schedule with one time runs once, is finished, and stays to be seen (S33)."""
    tw.schedules.add("reminder", schedule={"at": at("00:10")}, command="true")
    pass_to(tw, clock, "00:10")
    reminder = tw.schedules.get("reminder")
    assert (reminder.finished, reminder.next_run_at) == (True, None)
    assert [(run.slot, run.state) for run in tw.runs.list()] == [(at("00:10"), "succeeded")]


def test_both_days_must_match(tw: Tickwise) -> None:
    """S61: `both` in an entry asks for the day of the month and the weekday; each further form of S37 is read."""
    first = tw.schedules.add("first", schedule={"cron": "0 9 1-7 * Monday", "both": True}, command="true")
    assert first.next_run_at == datetime(2026, 1, 5, 9, tzinfo=UTC)
    with pytest.raises(InputError, match="`both` goes with five fields or more"):
        tw.schedules.add("no", schedule={"cron": "@daily", "both": True}, command="true")


def test_overdue_one_offs_all_run(tw: Tickwise, clock: Clock) -> None:
    """A6, S33: two overdue one-offs of a list run one after the other; overlap drops neither."""
    tw.schedules.add("reminder", schedule=[{"at": at("00:10")}, {"at": at("00:20")}], command="true")
    pass_to(tw, clock, "03:00")
    runs = tw.runs.list(schedule="reminder")
    assert sorted((run.slot, run.state) for run in runs) == [
        (at("00:10"), "succeeded"),
        (at("00:20"), "succeeded"),
    ]


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"command": "true"}, "schedule: is missing"),
        ({"schedule": "61 * * * *", "command": "true"}, "minute: 61 is out of range"),
        ({"schedule": "@daily", "comand": "true"}, r"comand: unknown field \(did you mean command\?\)"),
        ({"schedule": "@daily", "command": "true", "after": [{"schedule": "none", "within": "1h"}]}, "none"),
    ],
)
def test_what_cannot_be_added(tw: Tickwise, fields: dict[str, Any], message: str) -> None:
    """A mistake is told with the field, and nothing is written."""
    with pytest.raises(InputError, match=message):
        tw.schedules.add("backup", **fields)
    assert tw.jobs.list() == []


@pytest.mark.parametrize("act", ["get", "pause", "resume", "reset", "trigger", "cancel_backfill", "remove"])
def test_unknown_names(tw: Tickwise, ran: list[Any], act: str) -> None:
    """A name that nobody knows is refused with the nearest."""
    with pytest.raises(InputError, match=r"'hurly' \(did you mean hourly\?\)"):
        getattr(tw.schedules, act)("hurly")
    assert ran == []


def test_listed_in_order(tw: Tickwise) -> None:
    """Schedules and jobs are listed by name; start, stop and restart are schedules of one job (S21)."""
    tw.job({"start": "0 9 * * *", "stop": "0 17 * * *", "restart": "0 12 * * *"}, name="feed")(_nothing)
    tw.job(name="by-hand")(_nothing)
    assert tw.jobs.list() == ["by-hand", "feed"]
    assert [(s.name, s.kind) for s in tw.schedules.list()] == [
        ("feed", "start"),
        ("feed.restart", "restart"),
        ("feed.stop", "stop"),
    ]


def _nothing() -> None: ...


def test_upcoming(tw: Tickwise, ran: list[Any]) -> None:
    """What will run within some hours, in time order, at the times at which it will start (S36)."""
    tw.job("30 */2 * * *", name="other")(_nothing)
    tw.job(HOURLY, name="spread", jitter="30m")(_nothing)
    coming = tw.upcoming(hours=3)
    assert [one.at for one in coming] == sorted(one.at for one in coming)
    assert [(one.schedule, one.at) for one in coming if one.schedule != "spread"] == [
        ("other", at("00:30")),
        ("hourly", at("01:00")),
        ("hourly", at("02:00")),
        ("other", at("02:30")),
    ]
    late = [one.at - one.slot for one in coming if one.schedule == "spread"]
    assert late
    assert all(timedelta() <= delay < timedelta(minutes=30) for delay in late)
    assert len(tw.upcoming(hours=1_000, limit=7)) == 7
    assert ran == []


def test_upcoming_tells_what_is_due_first(tw: Tickwise, ran: list[Any], clock: Clock) -> None:
    """What is pending is due now; paused and finished schedules have nothing to come (S29)."""
    tw.job(HOURLY, name="paused")(_nothing)
    tw.schedules.pause("paused")
    clock.set(at("02:30"))
    coming = [(one.schedule, one.at, one.slot) for one in tw.upcoming(hours=1)]
    assert coming == [("hourly", at("02:30"), at("01:00")), ("hourly", at("03:00"), at("03:00"))]
    assert ran == []


def test_times_are_aware(tw: Tickwise, ran: list[Any], clock: Clock) -> None:
    """All times that are given are datetimes in UTC."""
    pass_to(tw, clock, "01:00")
    run, schedule = tw.runs.list()[0], tw.schedules.get("hourly")
    times = [run.slot, run.due_at, run.started_at, run.finished_at, schedule.cursor, schedule.updated_at]
    assert all(isinstance(time, datetime) and time.utcoffset() == timedelta() for time in times)
    assert ran
