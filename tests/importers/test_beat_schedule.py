"""An entry of Celery's `beat_schedule` names the same times in Tickwise; what cannot be named is refused."""

from datetime import UTC, datetime, timedelta
from typing import Any
from zoneinfo import ZoneInfo

import pytest
from celery import Celery
from celery.beat import ScheduleEntry
from celery.schedules import crontab, crontab_parser, schedule, solar
from hypothesis import given
from hypothesis import strategies as st

from tickwise.core.cron import parse
from tickwise.core.errors import InputError
from tickwise.importers.beat_schedule import job_name, read_entries

APP = Celery("proj")


def _times(of: Any, app: Celery = APP) -> Any:
    [(_, times)] = read_entries(app, [ScheduleEntry("entry", "task", schedule=of, app=app)]).values()
    return times


def _field(low: int, high: int) -> st.SearchStrategy[str]:
    """What people write in a field: all, steps, values, ranges, ranges that go around, ranges with steps."""
    value = st.integers(low, high)
    span = st.tuples(value, value).map(lambda ends: f"{ends[0]}-{ends[1]}")
    step = st.integers(1, 12).map(lambda by: f"/{by}")
    item = st.one_of(value.map(str), span, st.tuples(span, step).map("".join), step.map("*{}".format))
    return st.one_of(st.just("*"), st.lists(item, min_size=1, max_size=3).map(",".join))


_DAYS = st.one_of(_field(0, 6), st.sampled_from(["mon-fri", "sat,sun", "fri-mon", "tuesday"]))


@given(
    _field(0, 59),
    _field(0, 23),
    _DAYS,
    _field(1, 28),
    _field(1, 12),
    st.integers(1_577_836_800, 2_208_988_800).map(lambda second: datetime.fromtimestamp(second, UTC)),
)
def test_a_crontab_names_the_times_that_celery_finds(
    minute: str, hour: str, weekday: str, day: str, month: str, now: datetime
) -> None:
    """S37: Celery itself is the oracle; both day fields must match there."""
    theirs = crontab(minute, hour, weekday, day, month, nowfun=lambda: now, app=APP)
    plain = crontab(minute, hour, weekday, day, month, app=APP)
    text = _times(plain)["cron"]
    expected = now + theirs.remaining_estimate(now)
    assert parse(text).after(int(now.timestamp())) == int(expected.timestamp()), text
    assert theirs.is_due(now)[0] is False
    assert crontab_parser(60).parse(minute) == plain.minute


@pytest.mark.parametrize(
    ("every", "text"), [(30.0, "30s"), (timedelta(minutes=90), "1h30m"), (schedule(86_400), "1d")]
)
def test_an_interval_is_aligned_to_the_epoch(every: Any, text: str) -> None:
    """S37: so all beats agree on its slots, whenever each was started."""
    assert _times(every) == {"every": text}


def test_the_zone_is_that_of_the_app_or_of_nowfun() -> None:
    """S40: `nowfun` is how entries of Celery get a zone of their own."""
    app = Celery("proj")
    app.conf.timezone = "Europe/Berlin"
    own = crontab(hour=8, minute=0, nowfun=lambda: datetime.now(ZoneInfo("Asia/Tokyo")))
    assert _times(crontab(hour=8, minute=0), app) == {"cron": "0 8 * * *", "timezone": "Europe/Berlin"}
    assert _times(own, app) == {"cron": "0 8 * * *", "timezone": "Asia/Tokyo"}


def _solar() -> solar:
    """One that needs no library of the stars: only its class counts."""
    made = object.__new__(solar)
    made.nowfun = made._app = None
    return made


class _Odd(schedule):  # type: ignore[misc]
    """A schedule that decides by itself."""


@pytest.mark.parametrize(
    ("times", "reason"),
    [
        (0.5, "whole seconds"),
        (schedule(timedelta(seconds=90.5)), "whole seconds"),
        (_solar(), "solar"),
        (crontab(nowfun=lambda: datetime(2020, 1, 1, tzinfo=UTC)), "does not tell the time"),
        (crontab(nowfun=lambda: datetime.now(UTC).astimezone()), "has no name"),
        (_Odd(60), "_Odd says itself when it is due"),
    ],
)
def test_what_is_not_of_the_clock_is_refused(times: Any, reason: str) -> None:
    """S38: the error names the entry and says what to write."""
    with pytest.raises(InputError, match=reason) as refused:
        _times(times)
    assert "entry: " in str(refused.value)


def test_all_refused_entries_are_named_at_once() -> None:
    """S38: nobody starts a beat three times to find three errors."""
    entries = [ScheduleEntry(name, "task", schedule=0.5, app=APP) for name in ("first", "second")]
    with pytest.raises(InputError, match=r"(?s)first: .*second: "):
        read_entries(APP, entries)


def test_any_name_of_an_entry_becomes_a_name_of_a_job() -> None:
    """S26: names that differ only in what a job's name cannot hold stay different."""
    odd = ["proj.tasks.add(16, 16)", "proj.tasks.add(16; 16)", "тест", "x" * 200, "add every 30 s"]
    names = [job_name(entry) for entry in odd]
    assert len(set(names)) == len(odd)
    assert job_name("celery.backend_cleanup") == "celery.backend_cleanup"
    assert all(len(name) <= 100 for name in names)
    assert names[0].startswith("proj.tasks.add-16-16-")
