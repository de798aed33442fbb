"""Code that adds jobs to APScheduler 3 or 4 is read as syntax: nothing of it is executed."""

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tickwise.core.cron import parse
from tickwise.core.errors import InputError
from tickwise.importers.apscheduler import trigger_rules
from tickwise.importers.apscheduler_code import read
from tickwise.importers.apscheduler_fields import all_fields, cron_text, name_weekdays
from tickwise.importers.model import ReadOptions
from tickwise.importers.proof import prove

from .support import START, files_of

CODE = """
import shop.mail as mail
from apscheduler import CoalescePolicy
from apscheduler.schedulers.background import BackgroundScheduler
from apscheduler.triggers.cron import CronTrigger
from shop.jobs import sync

raise SystemExit("this is never executed")
scheduler = BackgroundScheduler(timezone="Europe/Berlin")


@scheduler.scheduled_job("cron", hour="6-20/2", day_of_week="mon-fri", id="poll", misfire_grace_time=90)
def poll():
    ...


scheduler.add_job(sync, "interval", minutes=15, max_instances=3, coalesce=False)
scheduler.add_job(mail.send, CronTrigger(day="3rd fri", hour=9), kwargs={"to": "ops"}, id="mail")
scheduler.add_job("shop.jobs:close", "date", run_date="2027-05-01 10:00:00", args=[1])
scheduler.add_schedule(poll, CronTrigger.from_crontab("30 2 * * 0", timezone="UTC"), id="v4",
                       coalesce=CoalescePolicy.all, paused=True)
scheduler.add_job(sync, "cron", hour=HOUR)
scheduler.add_schedule(sync, AndTrigger([]))
scheduler.add_job(lambda: None, "cron", week=3)
scheduler.add_job(sync, "cron", **times)
"""


def jobs() -> dict[str, Any]:
    found = read({"app.py": CODE}, ReadOptions("UTC"))
    assert [(each.place, each.problem) for each in found.refused] == [
        ("app.py:22", "hour is computed: HOUR"),
        ("app.py:23", "a trigger of the class AndTrigger has no text here: write its times"),
        ("app.py:24", "it names weeks of the year, which no cron text can"),
        ("app.py:25", "its arguments are computed: scheduler.add_job(sync, 'cron', **times)"),
    ]
    return {file.imported.name: file for file in files_of(found.__class__(scheduler="", jobs=found.jobs))}


def test_calls_of_both_versions() -> None:
    """Times, zones, functions, kwargs and policies go along; the defaults of each version are its own."""
    found = jobs()
    assert {name: file.imported.fields for name, file in found.items()} == {
        "poll": {
            "schedule": "0 6-20/2 * * mon,tue,wed,thu,fri", "timezone": "Europe/Berlin", "catchup": "once",
            "grace": "1m30s", "overlap": "skip", "python": "app:poll",
        },
        "sync": {
            "schedule": {"every": "15m"}, "catchup": "all", "grace": "1s", "overlap": "allow",
            "max_active_runs": 3, "python": "shop.jobs:sync",
        },
        "mail": {
            "schedule": "0 9 * * fri#3", "timezone": "Europe/Berlin", "catchup": "once", "grace": "1s",
            "overlap": "skip", "python": "shop.mail:send", "params": {"to": "ops"},
        },
        "close": {
            "schedule": {"at": "2027-05-01T10:00:00"}, "timezone": "Europe/Berlin", "catchup": "once",
            "grace": "1s", "overlap": "skip", "python": "shop.jobs:close",
        },
        "v4": {
            "schedule": "30 2 * * sun", "timezone": "UTC", "catchup": "all", "overlap": "queue", "enabled": False,
            "python": "app:poll",
        },
    }  # fmt: skip
    assert [found[name].verdict for name in ("poll", "mail", "v4")] == ["same"] * 3
    assert "positional" in found["close"].imported.notes[0]


@pytest.mark.parametrize(
    ("written", "meant"),
    [
        ("0", "sun"), ("7", "sun"), ("1-5", "mon,tue,wed,thu,fri"), ("0-2", "sun,mon,tue"), ("5-7", "fri,sat,sun"),
        ("Fri-mon", "fri,sat,sun,mon"), ("1,3", "mon,wed"), ("*/2", "*/2"), ("*", "*"),
    ],
)  # fmt: skip
def test_weekdays_of_version_4_count_from_sunday(written: str, meant: str) -> None:
    """Numbers and spans are what a trigger of version 4.0.0a6 fires on; version 3 counts from Monday."""
    assert name_weekdays(written) == meant
    code = f"s.add_schedule('a:b', CronTrigger(hour=3, day_of_week='{written}'), max_jitter=5)\n"
    found = read({"a.py": code}, ReadOptions("UTC"))
    (file,) = files_of(found)
    assert (file.verdict, file.imported.fields["jitter"]) == ("same", "5s")


@pytest.mark.parametrize("written", ["1-5/2", "8", "x", "", "mon-", "٣"])
def test_weekdays_of_version_4_that_are_refused(written: str) -> None:
    """A step after a span is one that version 4 leaves out."""
    with pytest.raises(InputError, match="its day_of_week"):
        name_weekdays(written)


def component(low: int, high: int) -> st.SearchStrategy[str]:
    number = st.integers(low, high)
    span = st.tuples(number, number).map(lambda two: f"{min(two)}-{max(two)}")
    step = st.tuples(st.one_of(st.just("*"), span), st.integers(1, high - low)).map(
        lambda two: f"{two[0]}/{two[1]}"
    )
    return st.lists(st.one_of(number.map(str), span, step), min_size=1, max_size=2).map(",".join)


FIELDS = st.fixed_dictionaries({}, optional={
    "month": component(1, 12), "day": component(1, 31), "day_of_week": component(0, 6), "hour": component(0, 23),
    "minute": component(0, 59), "second": component(0, 59),
})  # fmt: skip


@settings(max_examples=25)
@given(FIELDS)
def test_times_are_those_of_the_library(fields: dict[str, str]) -> None:
    """Whatever fields are given, its own trigger fires at the same seconds."""
    try:
        rules = trigger_rules(fields, "UTC")
    except ValueError:  # it refuses a step that is longer than its range
        return
    try:
        times = parse(cron_text(all_fields(fields)), "UTC")
    except InputError:
        assert not list(rules.fires(START, START + 90 * 86_400))
        return
    assert not prove(rules, times, START, START + 3 * 86_400).differences, fields
