"""The tables of django-celery-beat, as the library itself writes them; Celery's own rules prove the jobs."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from tickwise.cli.beat_database import NAMES, read_beat_tables
from tickwise.core.errors import InputError
from tickwise.importers.beat_tables import BeatTables, read
from tickwise.importers.model import Imported, ReadOptions

from .support import files_of

SETTINGS = """
SECRET_KEY = "x"
INSTALLED_APPS = ["django_celery_beat"]
DATABASES = {"default": {"ENGINE": "django.db.backends.sqlite3", "NAME": "beat.db"}}
USE_TZ = True
"""
FILL = """
import os
from datetime import datetime, UTC
os.environ["DJANGO_SETTINGS_MODULE"] = "proj.settings"
import django; django.setup()
from django.core.management import call_command
call_command("migrate", verbosity=0)
from django_celery_beat.models import *
when = lambda text: datetime.fromisoformat(text).replace(tzinfo=UTC)
cron = CrontabSchedule.objects.create(minute="30", hour="*/6", day_of_week="mon-fri", timezone="Europe/Berlin")
hour = IntervalSchedule.objects.create(every=2, period="hours")
PeriodicTask.objects.create(
    name="report", task="proj.report", crontab=cron, args='["daily"]', kwargs='{"a": 1}', queue="mail", priority=3,
    expires=when("2028-01-01"), start_time=when("2026-01-01"), headers='{"x": "y"}',
    description="Mails the report", enabled=False)
PeriodicTask.objects.create(
    name="each 2 h", task="proj.sync", interval=hour, expire_seconds=60, one_off=True,
    last_run_at=when("2026-11-01"))
may = ClockedSchedule.objects.create(clocked_time=when("2027-05-01T10:00:00"))
PeriodicTask.objects.create(name="once", task="proj.once", clocked=may, one_off=True)
PeriodicTask.objects.create(
    name="sun", task="proj.sun", solar=SolarSchedule.objects.create(event="sunrise", latitude=52, longitude=13))
PeriodicTask.objects.create(
    name="tiny", task="proj.tiny", interval=IntervalSchedule.objects.create(every=5, period="microseconds"))
PeriodicTask.objects.create(name="celery.backend_cleanup", task="celery.backend_cleanup", crontab=cron)
"""


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A Django project with periodic tasks, written in a process of its own."""
    folder = tmp_path_factory.mktemp("django")
    (folder / "proj").mkdir()
    (folder / "proj" / "__init__.py").touch()
    (folder / "proj" / "settings.py").write_text(SETTINGS)
    subprocess.run([sys.executable, "-c", FILL], cwd=folder, check=True)
    return folder


def imported(project: Path) -> Imported:
    return read(read_beat_tables(f"sqlite:///{project}/beat.db"), ReadOptions())


def test_periodic_tasks_become_jobs(project: Path) -> None:
    """Times in the zone of the row, bounds, arguments and options; what has no field is named."""
    found = imported(project)
    jobs = {job.name: job for job in found.jobs}
    report = jobs["report"]
    assert report.fields == {
        "schedule": {"cron": "30 0,6,12,18 * * 1-5", "timezone": "Europe/Berlin"}, "catchup": "once",
        "overlap": "allow", "from": "2026-01-01T00:00:00Z", "until": "2027-12-31T23:59:59Z", "enabled": False,
        "description": "Mails the report",
        "command": [
            "celery", "-A", "APP", "call", "proj.report", "--args", '["daily"]', "--kwargs", '{"a": 1}', "--queue",
            "mail",
        ],
    }  # fmt: skip
    assert [note.partition(":")[0] for note in report.notes] == [
        "the priority 3 of the message",
        "the headers of the message",
    ]
    every = next(job for name, job in jobs.items() if name.startswith("each-2-h"))
    assert (every.fields["schedule"], every.fields["max_runs"]) == ({"every": "2h"}, 1)
    assert every.fields["command"][-2:] == ["--expires", "60"]
    assert every.notes[1].startswith("beat ran it last at 2026-11-01T00:00:00Z")
    assert jobs["once"].fields["schedule"] == {"at": "2027-05-01T10:00:00Z"}
    assert {(each.place.rpartition(": ")[2], each.problem.partition(":")[0]) for each in found.refused} == {
        ("sun", "sunrise"), ("tiny", "every 5 microseconds"),
    }  # fmt: skip


def test_they_fire_as_celery_says(project: Path) -> None:
    """A year of the crontab in its own zone, and the one instant of a clocked task."""
    found = imported(project)
    verdicts = {
        file.imported.name.partition("-")[0]: file
        for file in files_of(found.__class__(scheduler="", jobs=found.jobs))
    }
    assert (verdicts["once"].verdict, verdicts["each"].verdict) == ("same", "unknown")
    assert verdicts["report"].proof is not None
    assert verdicts["report"].proof.theirs > 1_000
    assert verdicts["report"].verdict == "same"


def test_by_the_settings_of_a_project(project: Path) -> None:
    """Its database is found, and its name stands for the Celery app."""
    asked = [sys.executable, "-m", "tickwise", "import", "celery-beat", "proj.settings", "--json"]
    done = subprocess.run(asked, cwd=project, capture_output=True, text=True, check=False)
    answer = json.loads(done.stdout)
    assert done.returncode == 1  # two were refused
    assert answer["jobs"][0]["definition"]["command"][:3] == ["celery", "-A", "proj"]


@pytest.mark.parametrize(
    ("source", "says"),
    [
        ("oracle://here", "write sqlite://…"),
        ("sqlite:////nowhere/beat.db", "cannot be read: unable to open database file"),
        ("postgresql://user:secret@127.0.0.1:9/x", "cannot be read"),
    ],
)
def test_what_cannot_be_read_says_so(source: str, says: str) -> None:
    """Without a password."""
    with pytest.raises(InputError, match=says) as caught:
        read_beat_tables(source)
    assert "secret" not in str(caught.value)


def test_a_damaged_row_is_refused_alone() -> None:
    """Arguments that are no JSON, and a task without times."""
    empty = dict.fromkeys(NAMES) | {"task": "t", "enabled": 1}
    rows = [{**empty, "name": "a"}, {**empty, "name": "b", "every": 1, "period": "days", "args": "{"}]
    rows.append({**empty, "name": "c", "every": 1, "period": "days"})
    found = read(BeatTables("here", rows), ReadOptions())
    assert [each.place for each in found.refused] == ["here: a", "here: b"]
    assert [job.name for job in found.jobs] == ["c"]
