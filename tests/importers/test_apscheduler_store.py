"""A data store of APScheduler 4 is read as its JSON serializer wrote it; nothing of it is executed."""

import json
import pickle
import sqlite3
from collections.abc import Mapping, Sequence
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from tickwise.cli.apscheduler_database import read_schedule_rows
from tickwise.core.errors import InputError
from tickwise.importers.apscheduler_store import ScheduleRows, read
from tickwise.importers.model import Imported, ReadOptions

from .support import files_of

TABLES = """
CREATE TABLE tasks (id VARCHAR(500) PRIMARY KEY, func VARCHAR(500), job_executor VARCHAR(500),
    max_running_jobs INTEGER, misfire_grace_time BIGINT, metadata JSON);
CREATE TABLE schedules (id VARCHAR(500) PRIMARY KEY, task_id VARCHAR(500), "trigger" BLOB, args BLOB, kwargs BLOB,
    paused BOOLEAN, coalesce VARCHAR(8), misfire_grace_time BIGINT, max_jitter BIGINT, metadata JSON);
INSERT INTO tasks VALUES ('work:tick', 'work:tick', 'async', 1, NULL, '{}'),
    ('free', 'work:tick', 'async', 4, NULL, '{}');
"""
ADDED = "2026-11-19T05:07:44.929825+00:00"  # when a schedule was added, if nobody gave a start_time


def trigger(name: str, **state: Any) -> bytes:
    """A trigger as the JSON serializer of version 4.0.0a6 writes it."""
    return json.dumps({"_apscheduler_json": [f"apscheduler.triggers.x:{name}", {"version": 1, **state}]}).encode()


def cron(*fields: str, start_time: str = ADDED, end_time: str | None = None) -> bytes:
    return trigger(
        "CronTrigger", timezone="Europe/Berlin", fields=list(fields), start_time=start_time, end_time=end_time,
        last_fire_time=None,
    )  # fmt: skip


def interval(*numbers: int) -> bytes:
    return trigger(
        "IntervalTrigger", interval=list(numbers), start_time="2026-01-01T00:07:00+00:00", end_time=None,
        last_fire_time=None,
    )  # fmt: skip


def calendar(*numbers: int, time: Sequence[int] = (3, 0, 0)) -> bytes:
    return trigger(
        "CalendarIntervalTrigger", interval=list(numbers), time=list(time), start_date="2026-11-19",
        end_date="2027-11-19", timezone="Europe/Berlin", last_fire_date=None,
    )  # fmt: skip


PLAIN: dict[str, Any] = {
    "task_id": "work:tick", "args": b"[]", "kwargs": b"{}", "paused": 0, "coalesce": "latest",
    "misfire_grace_time": None, "max_jitter": None, "metadata": "{}",
}  # fmt: skip
ROWS: list[dict[str, Any]] = [
    {"id": "week", "trigger": cron("*", "*", "*", "*", "mon-fri,sun", "2", "*/5", "0"), "kwargs": b'{"x": 2}',
     "misfire_grace_time": 90_000_000, "max_jitter": 3_000_000, "args": b"[1]"},
    {"id": "nth", "trigger": cron("*", "*", "3rd fri,last mon", "*", "*", "9", "0", "5",
                                  start_time="2027-02-01T00:00:00+01:00", end_time="2028-01-01T00:00:00+01:00"),
     "paused": 1, "task_id": "free"},
    {"id": "every", "trigger": interval(0, 0, 0, 15, 0, 0), "coalesce": "all"},
    {"id": "once", "trigger": trigger("DateTrigger", run_time="2027-05-01T10:00:00+02:00", completed=True)},
    {"id": "monthly", "trigger": calendar(0, 1, 0, 0)},
    {"id": "weekly", "trigger": calendar(0, 0, 1, 0, time=(3, 30, 5))},
]  # fmt: skip
REFUSED: list[tuple[dict[str, Any], str]] = [
    ({"trigger": cron("*", "*", "*", "3", "*", "9", "0", "0")}, "names weeks of the year"),
    ({"trigger": trigger("OrTrigger", triggers=[])}, "class OrTrigger has no text here"),
    ({"trigger": interval(0, 0, 0, 0, 0, 500_000)}, "whole seconds"),
    ({"trigger": calendar(0, 2, 0, 0)}, "leaves out whole days"),
    ({"trigger": b"\xd9\x128\x82x"}, "another serializer"),
    ({"trigger": b'{"_apscheduler_json": ["os:system", {"version": 1}]}'}, "class system has no text"),
    ({"trigger": b'{"other": 1}'}, "not as APScheduler 4.0.0a6 writes one"),
    ({"trigger": trigger("CronTrigger", version=2)}, "not as APScheduler 4.0.0a6 writes one"),
    ({"kwargs": b"[]"}, "no JSON object"),
    ({"misfire_grace_time": "soon"}, "no length of time"),
]


def store(folder: Path, rows: Sequence[Mapping[str, Any]]) -> str:
    """A data store with these schedules."""
    with sqlite3.connect(folder / "jobs.db") as connection:
        connection.executescript(TABLES)
        for row in rows:
            full = {"id": "a", "trigger": cron("*", "*", "*", "*", "*", "3", "0", "0"), **PLAIN, **row}
            names = ", ".join(f'"{name}"' for name in full)
            marks = ", ".join("?" * len(full))
            connection.execute(f"INSERT INTO schedules ({names}) VALUES ({marks})", list(full.values()))
    connection.close()
    return f"sqlite+aiosqlite:///{folder}/jobs.db"


def imported(folder: Path, rows: Sequence[Mapping[str, Any]]) -> Imported:
    return read(read_schedule_rows(store(folder, rows)), ReadOptions())


def test_schedules_become_jobs(tmp_path: Path) -> None:
    """Times, zone, bounds, function, kwargs and policies go along; cron triggers are proved."""
    files = {file.imported.name: file for file in files_of(imported(tmp_path, ROWS))}
    assert {name: file.imported.fields for name, file in files.items()} == {
        "week": {
            "schedule": "*/5 2 * * mon,tue,wed,thu,fri,sun", "timezone": "Europe/Berlin", "catchup": "once",
            "grace": "1m30s", "jitter": "3s", "overlap": "latest", "python": "work:tick", "params": {"x": 2},
        },
        "nth": {
            "schedule": "5 0 9 * * fri#3,monL", "timezone": "Europe/Berlin", "from": "2027-01-31T23:00:00Z",
            "until": "2027-12-31T23:00:00Z", "catchup": "once", "overlap": "allow", "max_active_runs": 4,
            "enabled": False, "python": "work:tick",
        },
        "every": {
            "schedule": {"every": "15m", "offset": "7m"}, "from": "2026-01-01T00:07:00Z", "catchup": "all",
            "overlap": "queue", "python": "work:tick",
        },
        "once": {
            "schedule": {"at": "2027-05-01T08:00:00Z"}, "catchup": "once", "overlap": "latest",
            "python": "work:tick",
        },
        "monthly": {
            "schedule": "0 3 19 * *", "timezone": "Europe/Berlin", "from": "2026-11-19", "until": "2027-11-19",
            "catchup": "once", "overlap": "latest", "python": "work:tick",
        },
        "weekly": {
            "schedule": "5 30 3 * * thu", "timezone": "Europe/Berlin", "from": "2026-11-19",
            "until": "2027-11-19", "catchup": "once", "overlap": "latest", "python": "work:tick",
        },
    }  # fmt: skip
    assert files["nth"].verdict == "same"
    assert files["week"].proof is not None
    assert {str(each.day) for each in files["week"].proof.differences} == {"2027-10-31"}
    assert "positional arguments [1]" in files["week"].imported.notes[-1]


@pytest.mark.parametrize(("row", "says"), REFUSED, ids=range(len(REFUSED)))
def test_what_cannot_be_read_is_refused_alone(tmp_path: Path, row: Mapping[str, Any], says: str) -> None:
    """The other schedules are read."""
    found = imported(tmp_path, [row, {"id": "fine"}])
    assert [job.name for job in found.jobs] == ["fine"]
    assert [(each.place.rpartition(": ")[2], says in each.problem) for each in found.refused] == [("a", True)]


class Bomb:
    def __reduce__(self) -> tuple[Any, tuple[str]]:
        return exec, ("raise SystemExit('executed')",)


@pytest.mark.parametrize("column", ["trigger", "args", "kwargs"])
@pytest.mark.parametrize("protocol", range(6))
def test_a_pickle_is_never_opened(tmp_path: Path, column: str, protocol: int) -> None:
    """It is refused, and a note says what to give instead."""
    found = imported(tmp_path, [{column: pickle.dumps(Bomb(), protocol)}])
    assert len(found.refused) == 1
    assert "JSONSerializer()" in found.notes[0]
    assert ("is a pickle" in found.refused[0].problem) == (protocol >= 2)


def test_a_store_of_version_3_says_so(tmp_path: Path) -> None:
    """It has no table of schedules."""
    with sqlite3.connect(tmp_path / "jobs.db") as connection:
        connection.execute("CREATE TABLE apscheduler_jobs (id, next_run_time, job_state)")
    with pytest.raises(
        InputError, match=r"no such table: schedules\. The job stores of APScheduler 3 hold pickles"
    ):
        read_schedule_rows(f"sqlite:///{tmp_path}/jobs.db")


def test_lengths_of_other_databases() -> None:
    """PostgreSQL has a type for an interval, and its driver may give bytes as a view."""
    row = {
        **PLAIN, "id": "a", "trigger": memoryview(interval(0, 0, 2, 0, 0, 0)), "func": "a:b",
        "max_running_jobs": None, "misfire_grace_time": timedelta(seconds=1.5),
    }  # fmt: skip
    found = read(ScheduleRows("here", [row]), ReadOptions())
    assert not found.refused
    job = found.jobs[0]
    assert (job.fields["grace"], job.fields["overlap"], job.fields["schedule"]["every"]) == ("2s", "allow", "2h")
