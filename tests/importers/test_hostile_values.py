"""Whatever rows of a database or objects of a library hold, an importer returns jobs and refusals."""

import json
from collections.abc import Callable, Mapping
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from typing import Any

import pytest
from apscheduler.schedulers.background import BackgroundScheduler
from celery import Celery
from celery.schedules import crontab, schedule
from hypothesis import given, settings
from hypothesis import strategies as st

from tickwise.cli.beat_database import NAMES
from tickwise.cli.imported_jobs import build_job_files, job_file_lines
from tickwise.core.errors import InputError
from tickwise.importers import apscheduler, apscheduler_store, beat_tables, celery_beat
from tickwise.importers.model import Imported, ReadOptions
from tickwise.sources.defaults import NO_DEFAULTS

from .support import START
from .test_apscheduler_store import PLAIN, ROWS

EXECUTED: list[str] = []


class Bomb:
    """A value whose every look at it is an error, and whose pickle would be executed."""

    def __reduce__(self) -> tuple[Any, tuple[str]]:
        return EXECUTED.append, ("pickle",)

    def __str__(self) -> str:
        raise RuntimeError("the text of a value")

    __repr__ = __str__

    def __bool__(self) -> bool:
        raise RuntimeError("the truth of a value")


DEEP = "[" * 100_000
HUGE = 10**400
VALUES: list[Any] = [
    None, True, False, 0, -1, 1, HUGE, -HUGE, 1 << 31, 1 << 63, 0.5, float("nan"), float("inf"), Decimal("1e999"),
    Decimal("nan"), "", " ", "\x00", "\x1b[31m\n\r\u2028", "٣", "9" * 400, "9" * 5_000, "*", "*/0", "1-", "L",
    "Europe/Berlin", "../etc/passwd", "/etc/passwd", "No/Zone", "-x --help", "a\nb: 1", "é" * 999, "{", "[]", "{}",
    "null", "NaN", "[" + "9" * 5_000 + "]", DEEP, '{"a": ' * 5_000, '"x"', "2026-13-99",
    "9999-12-31T23:59:59+00:00", "0001-01-01T00:00:00+14:00", b"", b"\x80\x04.", b"\xff\xfe", b"{}", b"[]",
    b"null", b"9" * 5_000, DEEP.encode(), memoryview(b"x"), bytearray(b"[1]"), [], {}, [1], {"a": 1}, {1: {2}},
    (), object(), date.max, datetime(9999, 12, 31),  # noqa: DTZ001
    datetime.max.replace(tzinfo=UTC), datetime.min.replace(tzinfo=UTC),
    timedelta.max, timedelta.min, timedelta(microseconds=1), lambda: EXECUTED.append("called"),
    crontab(), schedule(1e-9), "os:system", "a:b:c", ":", "a:", ":b", "a.b:c.d",
]  # fmt: skip
HOSTILE = st.sampled_from(range(len(VALUES))).map(lambda number: VALUES[number])


def check(found: Imported) -> None:
    files, refused = build_job_files(found, NO_DEFAULTS, START, START + 3_600)
    for file in files:
        assert job_file_lines(file, found.scheduler)
    assert all(each.place and each.problem and "\n" not in each.problem for each in refused), refused
    assert all(len(each.problem) < 300 for each in refused), refused
    assert not EXECUTED


BEAT = {
    **dict.fromkeys(NAMES), "name": "a", "task": "t", "args": "[]", "kwargs": "{}", "enabled": 1, "one_off": 0,
    "description": "",
}  # fmt: skip
BEAT_ROWS = [
    {**BEAT, "minute": "0", "hour": "*/2", "day_of_month": "*", "month_of_year": "*", "day_of_week": "1",
     "timezone": "UTC"},
    {**BEAT, "every": 5, "period": "hours"},
    {**BEAT, "clocked_time": "2027-05-01T10:00:00"},
]  # fmt: skip
STORE_ROWS = [{**PLAIN, "func": "a:b", "max_running_jobs": 1, **row} for row in ROWS]


def read_beat(rows: list[Mapping[str, Any]]) -> Imported:
    return beat_tables.read(beat_tables.BeatTables("here", rows), ReadOptions())


def read_store(rows: list[Mapping[str, Any]]) -> Imported:
    return apscheduler_store.read(apscheduler_store.ScheduleRows("here", rows), ReadOptions())


TABLES: dict[str, tuple[Callable[[list[Mapping[str, Any]]], Imported], list[Any]]] = {
    "celery-beat": (read_beat, BEAT_ROWS),
    "apscheduler": (read_store, STORE_ROWS),
}


@pytest.mark.parametrize("kind", TABLES)
def test_each_value_in_each_column(kind: str) -> None:
    """One damaged column makes one refusal or one job, and its neighbour is read."""
    read, rows = TABLES[kind]
    for row in rows[:3]:
        for column in (name for name in row if row[name] is not None):
            found = read(
                [*({**row, column: value} for value in VALUES), {**rows[0], "id": "fine", "name": "fine"}]
            )
            assert len(found.jobs) + len(found.refused) == len(VALUES) + 1, column
            assert found.jobs[-1].name == "fine", column
            check(found.__class__(scheduler="", jobs=found.jobs[::5], refused=found.refused))


@pytest.mark.parametrize("kind", TABLES)
@settings(max_examples=30)
@given(data=st.data())
def test_several_damaged_columns(kind: str, data: st.DataObject) -> None:
    """Any columns with any of these values, and any text."""
    read, rows = TABLES[kind]
    row = data.draw(st.sampled_from(rows))
    damage = data.draw(st.dictionaries(st.sampled_from(sorted(row)), HOSTILE | st.text(max_size=20), max_size=4))
    check(read([{**row, **damage}]))


@settings(max_examples=40)
@given(data=st.data())
def test_damaged_triggers_of_a_store(data: st.DataObject) -> None:
    """A value inside the JSON of a trigger is another, or its bytes were cut."""
    row = data.draw(st.sampled_from(STORE_ROWS))
    stored = json.loads(row["trigger"])
    state = stored["_apscheduler_json"][1]
    name = data.draw(st.sampled_from(sorted(state)))
    plain = st.recursive(st.none() | st.integers() | st.floats() | st.text(max_size=9), st.lists, max_leaves=9)
    state[name] = data.draw(plain)
    text = json.dumps(stored).encode()
    check(read_store([{**row, "trigger": text[: data.draw(st.integers(0, 2 * len(text)))]}]))


MINUTELY = {"task": "t", "schedule": 60}
PARTS = ("task", "schedule", "args", "kwargs", "options", "relative", "unknown")


@pytest.mark.parametrize("part", PARTS)
def test_each_value_in_an_entry_of_beat(part: str) -> None:
    """`beat_schedule` is what a module says: it may hold any object."""
    for value in [*VALUES, Bomb()]:
        app = Celery("proj", set_as_current=False)
        app.conf.beat_schedule = {"a": {**MINUTELY, part: value}, "fine": MINUTELY}
        found = celery_beat.read(app, ReadOptions())
        assert found.jobs[-1].name == "fine", value
        check(found)


def test_a_beat_schedule_of_odd_entries() -> None:
    """Names that are no texts, and entries that are no mappings."""
    for value in VALUES:
        app = Celery("proj", set_as_current=False)
        app.conf.beat_schedule = {"a": value, 5: MINUTELY, (): {}, "fine": MINUTELY}
        found = celery_beat.read(app, ReadOptions())
        assert [job.name for job in found.jobs[-2:]] == ["5", "fine"]
        check(found)


@pytest.mark.parametrize("value", [None, [], "x", object()])
def test_a_beat_schedule_that_is_no_dict(value: Any) -> None:
    """An error says what stands there."""
    app = Celery("proj", set_as_current=False)
    app.conf.beat_schedule = value
    with pytest.raises(InputError, match=f"beat_schedule of proj is a {type(value).__name__} and no dict"):
        celery_beat.read(app, ReadOptions())


FIELDS = ("id", "name", "args", "kwargs", "misfire_grace_time", "coalesce", "max_instances", "trigger", "func_ref")


@pytest.mark.parametrize("field", FIELDS)
def test_each_value_in_a_job_of_a_scheduler(field: str) -> None:
    """A job of APScheduler 3 whose attributes were set by something else."""
    for value in [*VALUES, Bomb()]:
        scheduler = BackgroundScheduler(timezone="UTC")
        job = scheduler.add_job(print, "cron", hour=3, id="a")
        scheduler.add_job(print, "cron", hour=3, id="fine")
        object.__setattr__(job, field, value)
        found = apscheduler.read(scheduler, ReadOptions())
        assert found.jobs[-1].name == "fine", value
        check(found)


TRIGGERS: dict[str, dict[str, Any]] = {
    "cron": {"hour": 3},
    "interval": {"hours": 1},
    "date": {"run_date": "2027-05-01 10:00:00"},
}
ATTRIBUTES = ("fields", "timezone", "jitter", "start_date", "end_date", "interval", "run_date")


@pytest.mark.parametrize("kind", TRIGGERS)
@pytest.mark.parametrize("attribute", ATTRIBUTES)
def test_each_value_in_a_trigger(kind: str, attribute: str) -> None:
    """A trigger of a scheduler, as pickles of another version may hold it."""
    for value in [*VALUES, Bomb()]:
        scheduler = BackgroundScheduler(timezone="UTC")
        job = scheduler.add_job(print, kind, id="a", **TRIGGERS[kind])
        if attribute in type(job.trigger).__slots__:
            setattr(job.trigger, attribute, value)
            check(apscheduler.read(scheduler, ReadOptions()))
