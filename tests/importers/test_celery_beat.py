"""Entries of Celery's beat become jobs that publish their tasks; Celery says when it fires itself."""

from celery import Celery
from celery.schedules import crontab

from tickwise.importers.celery_beat import read
from tickwise.importers.model import ReadOptions

from .support import files_of


def test_entries_become_jobs() -> None:
    """Task, arguments, options and times; an interval is not compared, an odd option is named."""
    app = Celery("proj")
    app.conf.timezone = "Europe/Berlin"
    app.conf.beat_schedule = {
        "heart": {"task": "proj.heartbeat", "schedule": 30.0},
        "report": {
            "task": "proj.report", "schedule": crontab(minute=30, hour=2), "args": ("daily",),
            "options": {"queue": "mail", "priority": 3},
        },
        "half": {"task": "proj.half", "schedule": 0.5},
    }  # fmt: skip
    found = read(app, ReadOptions())
    assert [(each.text, "whole seconds" in each.problem) for each in found.refused] == [("half", True)]
    heart, report = files_of(found.__class__(scheduler="", jobs=found.jobs))
    assert (heart.verdict, heart.imported.fields["schedule"]) == ("unknown", {"every": "30s"})
    command = "celery -A proj call proj.report --args".split()
    assert report.imported.fields["command"] == [*command, '["daily"]', "--queue", "mail"]
    assert "priority" in report.imported.notes[0]
    assert report.proof is not None
    assert [str(each.day) for each in report.proof.differences] == ["2027-03-28"]  # Celery: 03:30, an hour late
