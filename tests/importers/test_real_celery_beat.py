"""Celery's beat itself, under libfaketime over both changes of the clock, fires as an import says that it does."""

import json
import shutil
import subprocess
import sys
from collections import Counter
from datetime import UTC, datetime
from pathlib import Path

import pytest
from celery import Celery
from celery.schedules import crontab

from tickwise.core.cron.zone import zone
from tickwise.importers.celery_beat import CeleryRules

ZONE = "Europe/Berlin"
ENTRIES = {
    "fixed": {"hour": "2", "minute": "0,30"},
    "hourly": {"minute": "15"},
    "later": {"hour": "3", "minute": "10"},
}
PROGRAM = """
import json, sys, time
from celery import Celery
from celery.beat import Scheduler
from celery.schedules import crontab

entries, zone, end = json.loads(sys.argv[1]), sys.argv[2], float(sys.argv[3])
app = Celery("proj", broker="memory://", set_as_current=True)
app.conf.update(timezone=zone, beat_schedule={
    name: {"task": name, "schedule": crontab(**fields, app=app)} for name, fields in entries.items()
})

class Beat(Scheduler):
    def apply_async(self, entry, **given):
        print(entry.name, int(time.time()), flush=True)

beat = Beat(app, lazy=True, max_interval=60)
beat.setup_schedule()
while time.time() < end:
    time.sleep(max(0, beat.tick()))
"""


@pytest.mark.parametrize(
    ("start", "minutes"),
    [(datetime(2027, 3, 28, 0, 50, 30, tzinfo=UTC), 45), (datetime(2027, 10, 30, 23, 50, 30, tzinfo=UTC), 90)],
    ids=["gap", "fold"],
)
def test_real_beat_fires_as_the_rules_say(tmp_path: Path, start: datetime, minutes: int) -> None:
    """A running beat publishes each entry in the minutes with which an import is compared."""
    assert shutil.which("faketime"), "install faketime"
    first = int(start.timestamp())
    end = first + 60 * minutes
    (tmp_path / "program.py").write_text(PROGRAM)
    local = f"@{start.astimezone(zone(ZONE).tzinfo):%Y-%m-%d %H:%M:%S} x60"
    arguments = [sys.executable, str(tmp_path / "program.py"), json.dumps(ENTRIES), ZONE, str(end + 60)]
    done = subprocess.run(
        [shutil.which("faketime") or "", "-f", local, *arguments], env={"TZ": ZONE, "PATH": "/usr/bin:/bin"},
        capture_output=True, text=True, check=True,
    )  # fmt: skip
    fired = [line.split() for line in done.stdout.splitlines() if line]
    app = Celery("proj", set_as_current=False)
    app.conf.timezone = ZONE
    for name, fields in ENTRIES.items():
        seconds = [int(at) // 60 * 60 for fires, at in fired if fires == name]
        expected = list(CeleryRules(crontab(**fields, app=app)).fires(first, end))
        assert Counter(at for at in seconds if at < end) == Counter(expected), (name, seconds, expected)
