"""Jobs of APScheduler keep their times, functions and policies; its triggers say when they fire."""

from apscheduler.schedulers.background import BackgroundScheduler

from tickwise.importers.apscheduler import read
from tickwise.importers.model import ReadOptions

from .support import files_of


def work(x: int = 1) -> None: ...


def test_jobs_keep_their_times() -> None:
    """Weekdays from Monday, last and n-th days, seconds, intervals from their start, and dates fire alike."""
    scheduler = BackgroundScheduler(timezone="UTC", job_defaults={"coalesce": False, "max_instances": 3})
    scheduler.add_job(work, "cron", hour=2, minute=30, day_of_week="0-4,sun", id="week", kwargs={"x": 2})
    scheduler.add_job(work, "cron", day="3rd fri,last mon", hour=9, id="nth")
    scheduler.add_job(
        work, "cron", day="last", hour="*/2", minute="0,30", second=5, day_of_week="mon-thu", id="last"
    )
    scheduler.add_job(work, "cron", year="2027-2028", month="1-6/2", id="years")
    scheduler.add_job(work, "interval", minutes=15, start_date="2026-01-01 00:07:00", id="interval")
    scheduler.add_job(work, "date", run_date="2027-05-01 10:00:00", id="once")
    files = {file.imported.name: file for file in files_of(read(scheduler, ReadOptions()))}
    assert {name: file.verdict for name, file in files.items()} == dict.fromkeys(files, "same")
    assert len(files) == 6
    week = files["week"].imported.fields
    assert week["python"] == f"{__name__}:work"
    assert (week["params"], week["catchup"], week["overlap"], week["max_active_runs"]) == (
        {"x": 2},
        "all",
        "allow",
        3,
    )


def test_a_cron_trigger_keeps_its_bounds() -> None:
    """It begins and ends as its trigger says, and is the same within the year of the proof."""
    scheduler = BackgroundScheduler(timezone="Europe/Berlin")
    scheduler.add_job(work, "cron", hour=3, id="a", start_date="2027-03-01", end_date="2027-06-01 03:00:00")
    (file,) = files_of(read(scheduler, ReadOptions()))
    fields = file.imported.fields
    assert (fields["from"], fields["until"]) == ("2027-02-28T23:00:00Z", "2027-06-01T01:00:00Z")
    assert (file.verdict, file.imported.notes) == ("same", [])
    assert file.proof is not None
    assert (file.proof.theirs, file.proof.ours) == (93, 93)


def test_what_has_no_text_is_refused() -> None:
    """Weeks of the year cannot be said; the others are read."""
    scheduler = BackgroundScheduler(timezone="UTC")
    scheduler.add_job(work, "cron", week=3, id="weeks")
    scheduler.add_job(lambda: None, "cron", hour=3, id="lambda")
    found = read(scheduler, ReadOptions())
    assert [each.problem for each in found.refused] == ["it names weeks of the year, which no cron text can"]
    assert "can be imported" in found.jobs[0].notes[0]
