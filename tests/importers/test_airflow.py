"""DAG files are read as syntax and never executed."""

from datetime import UTC, datetime, timedelta

import pytest
from croniter import croniter

from tickwise.core.cron.zone import zone
from tickwise.importers.airflow import read
from tickwise.importers.airflow_rules import AirflowRules
from tickwise.importers.model import ReadOptions
from tickwise.importers.wall_clock import CRONITER, read_fields

from .support import files_of
from .test_wall_clock import CHANGES

DAGS = """
from airflow import DAG
raise SystemExit("it was executed")
with DAG("etl", schedule="30 2 * * *", start_date=pendulum.datetime(2024, 1, 1, tz="Europe/Berlin"),
         catchup=True, max_active_runs=1, description="Loads", end_date=datetime(2030, 1, 1),
         dagrun_timeout=timedelta(hours=2)) as dag: ...
@dag(schedule=timedelta(hours=6))
def six(): ...
airflow.DAG(dag_id="dynamic", schedule=make())
DAG("old", schedule_interval="@daily", catchup=False, max_active_runs=4)
DAG("by-hand", schedule=None)
"""


def test_dags_become_jobs() -> None:
    """Schedule, zone, catch-up, limits, end and description are literals; a computed schedule is refused."""
    found = read({"dags.py": DAGS}, ReadOptions())
    assert [(each.place, each.text) for each in found.refused] == [("dags.py:9", "dynamic")]
    jobs = {
        file.imported.name: file.imported.fields
        for file in files_of(found.__class__(scheduler="", jobs=found.jobs))
    }
    assert jobs == {
        "etl": {
            "description": "Loads",
            "schedule": "30 2 * * *",
            "timezone": "Europe/Berlin",
            "catchup": "all",
            "overlap": "queue",
            "until": "2030-01-01",
            "timeout": "2h",
        },
        "six": {"schedule": {"every": "6h"}, "timezone": "UTC", "catchup": "once", "overlap": "allow"},
        "old": {
            "schedule": "@daily",
            "timezone": "UTC",
            "catchup": "once",
            "overlap": "allow",
            "max_active_runs": 4,
        },
        "by-hand": {},
    }


ZONES = """
tz = pendulum.timezone("Europe/Berlin")
NAME = "America/New_York"
DAG("call", schedule="0 5 * * *", start_date=pendulum.datetime(2024, 1, 1, tz=tz))
DAG("text", schedule="0 5 * * *", start_date=pendulum.datetime(2024, 1, 1, tz=NAME))
DAG("info", schedule="0 5 * * *", start_date=datetime(2024, 1, 1, tzinfo=ZoneInfo("Asia/Tokyo")))
DAG("utc", schedule="0 5 * * *", start_date=datetime(2024, 1, 1, tzinfo=timezone.utc))
DAG("table", schedule=CronTriggerTimetable("0 5 * * 1", timezone=tz))
DAG("spans", timetable=CronDataIntervalTimetable("0 5 * * 1", "UTC"))
DAG("unknown", schedule="0 5 * * *", start_date=datetime(2024, 1, 1, tzinfo=settings.TZ))
DAG("computed", schedule="0 5 * * *", start_date=begin)
DAG("bad", schedule=CronTriggerTimetable("0 5 * * 1", timezone=settings.TZ))
DAG("own", schedule=MyTimetable("0 5 * * 1"))
"""


def test_zones_of_variables_and_timetables() -> None:
    """A zone in a variable of the file is read; a computed one is UTC and not compared."""
    found = read({"a.py": ZONES}, ReadOptions())
    files = {file.imported.name: file for file in files_of(found.__class__(scheduler="", jobs=found.jobs))}
    assert {name: (file.imported.fields["timezone"], file.verdict) for name, file in files.items()} == {
        "call": ("Europe/Berlin", "same"), "text": ("America/New_York", "same"), "info": ("Asia/Tokyo", "same"),
        "utc": ("UTC", "same"), "table": ("Europe/Berlin", "same"), "spans": ("UTC", "same"),
        "unknown": ("UTC", "unknown"), "computed": ("UTC", "unknown"),
    }  # fmt: skip
    assert "UTC is taken for it" in files["unknown"].imported.notes[0]
    assert [(each.text, each.problem.partition(":")[0]) for each in found.refused] == [
        ("bad", "the zone of its timetable is computed"),
        ("own", "its schedule is no literal"),
    ]


def test_what_is_no_python_is_named() -> None:
    """A half-written file is refused with its line."""
    found = read({"a.py": "with DAG(", "b.py": "x = \x00"}, ReadOptions())
    assert [each.place.partition(":")[0] for each in found.refused] == ["a.py", "b.py"]


@pytest.mark.parametrize(
    "text",
    [
        "*/15 2 * * *",
        "0 0 */2 * 1",
        "0 9 1 * */2",
        "5/20 3 * * 7",
        "0 0 1,15 * fri",
        "0 0 1 * 0-7",
        "0 0 1-7,5 */2 0",
    ],
)
def test_airflow_rules_are_those_of_croniter(text: str) -> None:
    """Away from changes of the clock the times are croniter's, which Airflow asks."""
    start = datetime(2027, 5, 1, tzinfo=UTC)
    expected, end = [], start + timedelta(days=40)
    asked = croniter(text, start - timedelta(seconds=1))
    while (at := asked.get_next(datetime)) < end:
        expected.append(int(at.timestamp()))
    rules = AirflowRules(read_fields(text.split(), CRONITER), zone("UTC").tzinfo)
    assert list(rules.fires(int(start.timestamp()), int(end.timestamp()))) == expected


def test_gaps_push_and_folds_take_the_second() -> None:
    """02:00 and 02:30 in the gap: one run at 03:00, which hides the other; 02:30 in the fold is the second."""
    berlin = zone("Europe/Berlin").tzinfo
    gap, fold = (int((day + timedelta(days=1)).timestamp()) - 3_600 for day in CHANGES["Europe/Berlin"])
    half_hours = AirflowRules(read_fields("*/30 2 * * *".split(), CRONITER), berlin)
    assert [(at - gap) / 3_600 for at in half_hours.fires(gap, gap + 23 * 3_600)] == [2.0]
    fixed = AirflowRules(read_fields("30 2 * * *".split(), CRONITER), berlin)
    assert [(at - fold) / 3_600 for at in fixed.fires(fold - 3_600, fold + 23 * 3_600)] == [2.5]
