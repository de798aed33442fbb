"""APScheduler itself, under libfaketime over both changes of the clock, fires as its trigger says in an import."""

import json
import shutil
import subprocess
import sys
from collections import Counter
from datetime import UTC, datetime
from pathlib import Path

import pytest

from tickwise.core.cron.zone import zone
from tickwise.importers.apscheduler import trigger_rules

ZONE = "Europe/Berlin"
ENTRIES = {
    "fixed": {"hour": "2", "minute": "0,30"},
    "stepped": {"hour": "2", "minute": "*/15"},
    "hourly": {"minute": "15"},
    "later": {"hour": "3", "minute": "10"},
}
PROGRAM = """
import asyncio, json, sys, time
from apscheduler.events import EVENT_JOB_SUBMITTED
from apscheduler.schedulers.asyncio import AsyncIOScheduler

def note(event):
    for at in event.scheduled_run_times:
        print(event.job_id, int(at.timestamp()), flush=True)

async def main(entries, zone, end):
    scheduler = AsyncIOScheduler(timezone=zone, job_defaults={"misfire_grace_time": None, "coalesce": False})
    for name, fields in entries.items():
        scheduler.add_job(str, "cron", id=name, **fields)
    scheduler.add_listener(note, EVENT_JOB_SUBMITTED)
    scheduler.start()
    await asyncio.sleep(end - time.time())
    scheduler.shutdown()

asyncio.run(main(json.loads(sys.argv[1]), sys.argv[2], float(sys.argv[3])))
"""


@pytest.mark.parametrize(
    ("start", "minutes"),
    [(datetime(2027, 3, 28, 0, 50, 30, tzinfo=UTC), 40), (datetime(2027, 10, 30, 23, 50, 30, tzinfo=UTC), 150)],
    ids=["gap", "fold"],
)
def test_real_apscheduler_fires_as_its_trigger_says(tmp_path: Path, start: datetime, minutes: int) -> None:
    """A running scheduler submits each entry at the seconds with which an import is compared."""
    assert shutil.which("faketime"), "install faketime"
    first = int(start.timestamp())
    end = first + 60 * minutes
    (tmp_path / "program.py").write_text(PROGRAM)
    local = f"@{start.astimezone(zone(ZONE).tzinfo):%Y-%m-%d %H:%M:%S} x120"
    arguments = [sys.executable, str(tmp_path / "program.py"), json.dumps(ENTRIES), ZONE, str(end + 60)]
    done = subprocess.run(
        [shutil.which("faketime") or "", "-f", local, *arguments], env={"TZ": ZONE, "PATH": "/usr/bin:/bin"},
        capture_output=True, text=True, check=True,
    )  # fmt: skip
    fired = [line.split() for line in done.stdout.splitlines() if line]
    for name, fields in ENTRIES.items():
        seconds = [int(at) for fires, at in fired if fires == name]
        expected = trigger_rules(fields, ZONE).fires(first, end)
        assert Counter(at for at in seconds if at < end) == Counter(expected), name
