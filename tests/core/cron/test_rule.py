"""S64: every n days, weeks, months or years of the local calendar, with python-dateutil as oracle."""

import pickle
import warnings
from datetime import UTC, datetime, timedelta
from itertools import islice, pairwise

import numpy as np
import pytest
from dateutil.rrule import rrulestr
from hypothesis import given, settings
from hypothesis import strategies as st

from tickwise.core.cron import Every, Recurrence, parse
from tickwise.core.cron.batch import expand, next_many
from tickwise.core.cron.recurrences import AnyOf
from tickwise.core.cron.rule import Rule, _days, calendar_rule
from tickwise.core.cron.zone import zone
from tickwise.core.errors import InputError
from tickwise.core.timeparse import FIRST, LAST

EPOCH = datetime(1970, 1, 1)  # noqa: DTZ001  (a wall, as the oracle has it)
YEARS = 5


def second(wall: datetime) -> int:
    return (wall - EPOCH) // timedelta(seconds=1)


def utc(text: str) -> int:
    return int(datetime.fromisoformat(text).replace(tzinfo=UTC).timestamp())


def walked(times: Recurrence, start: int, most: int = 40, end: int = LAST) -> list[int]:
    found: list[int] = []
    at = times.after(start - 1)
    while at is not None and at < end and len(found) < most:
        found.append(at)
        at = times.after(at)
    return found


def rule(text: str, start: str, place: str = "UTC") -> Rule:
    where = zone(place)
    return Rule(text, where, where.instant(second(datetime.fromisoformat(start))))


def some(values: str, most: int = 3) -> st.SearchStrategy[str]:
    return st.lists(st.sampled_from(values.split()), min_size=1, max_size=most, unique=True).map(",".join)


DAYS = some("MO TU WE TH FR SA SU")
PARTS = {
    "INTERVAL": st.sampled_from("1 2 3 5".split()),
    "BYMONTH": some("1 2 3 6 9 12"),
    "BYHOUR": some("0 2 3 9 23", 2),
    "BYMINUTE": some("0 30 59", 2),
    "WKST": st.sampled_from("SU MO WE".split()),
    "COUNT": st.sampled_from("1 7 30".split()),
}
OF_MONTHS = {
    **PARTS,
    "BYDAY": DAYS | some("1MO 2TU -1FR -2SU 5WE"),
    "BYMONTHDAY": some("1 15 29 31 -1 -3"),
    "BYSETPOS": some("1 2 -1 -2", 2),
}


def rules(frequency: str, parts: dict[str, st.SearchStrategy[str]]) -> st.SearchStrategy[str]:
    return st.fixed_dictionaries({}, optional=parts).map(
        lambda given: ";".join([f"FREQ={frequency}", *(f"{name}={value}" for name, value in given.items())])
    )


TEXTS = st.one_of(
    rules("DAILY", {**PARTS, "BYDAY": DAYS}),
    rules("WEEKLY", {**PARTS, "BYDAY": DAYS}),
    rules("MONTHLY", OF_MONTHS),
    rules("YEARLY", {**OF_MONTHS, "BYDAY": DAYS | some("1MO 20TU -1FR -2SU")}),
).filter(lambda text: "BYSETPOS" not in text or "BYDAY" in text or "BYMONTHDAY" in text)


@settings(max_examples=150, derandomize=True, database=None, deadline=None)
@given(TEXTS, st.integers(0, 364), st.integers(0, 1439))
def test_a_rule_names_what_dateutil_says(text: str, day: int, minute: int) -> None:
    """Forward, backward and counted, for rules of all four frequencies."""
    start = datetime(2026, 1, 1) + timedelta(days=day, minutes=minute)  # noqa: DTZ001
    end = start.replace(year=start.year + YEARS, day=1)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # COUNT and UNTIL together: only so is the oracle bounded
        try:
            expected = [second(t) for t in islice(rrulestr(text, dtstart=start).replace(until=end), 40)]
        except IndexError:  # the oracle's own, for the 53rd of some weekdays
            return
    try:
        times: Rule | None = Rule(text, zone("UTC"), second(start))
    except InputError:
        times = None
    if times is None:
        assert expected == []
        return
    found = walked(times, FIRST, 40, second(end) + 1)
    assert found == expected
    if found:
        back = [found[-1]]
        while (before := times.before(back[-1])) is not None:
            back.append(before)
        assert back[::-1] == found
        assert times.count(FIRST, found[-1]) == len(found)


@pytest.mark.parametrize(
    "text", ["FREQ=WEEKLY;INTERVAL=2;BYDAY=MO,FR", "FREQ=MONTHLY;BYDAY=MO;BYSETPOS=-1,2;BYHOUR=8,20"]
)
def test_batches_expand_rules_as_they_are_walked(text: str) -> None:
    """S64: beside cron texts, alone and in a list of times, and counted over many years."""
    times = rule(text, "2026-01-05T09:00", "Europe/Berlin")
    both = AnyOf((times, parse("0 * * * *")))
    start, end = utc("2026-03-20T00:00"), utc("2026-05-01T00:00")
    seconds, positions = expand([times, parse("30 4 * * *"), both], start, end)
    for place, each in enumerate((times, parse("30 4 * * *"), both)):
        assert seconds[positions == place].tolist() == walked(each, start, 10_000, end)
    assert next_many([times], start).tolist() == [times.after(start)]
    assert np.all(np.diff(seconds) >= 0)
    assert both.count(start, end) == len(walked(both, start + 1, 10_000, end + 1))
    steps = range(start, utc("2031-01-01T00:00"), 30 * 86_400)
    assert both.count(start, steps[-1]) == sum(both.count(a, b) for a, b in pairwise(steps))
    assert both.count(utc("1971-01-01T00:00"), start) > 24 * 365 * 50


@pytest.mark.parametrize(
    ("start", "expected"),
    [
        ("2026-03-28T02:30", ["2026-03-28T01:30", "2026-03-29T01:00", "2026-03-30T00:30"]),
        ("2026-10-24T02:30", ["2026-10-24T00:30", "2026-10-25T00:30", "2026-10-26T01:30"]),
    ],
)
def test_rules_follow_the_local_clock(start: str, expected: list[str]) -> None:
    """S39, S64: a time that does not exist is the first instant after the gap, one that comes twice its first."""
    times = rule("FREQ=DAILY", start, "Europe/Berlin")
    assert walked(times, times.anchor, 3) == [utc(text) for text in expected]


def test_weeks_begin_where_they_are_said_to() -> None:
    """RFC 5545's own example of WKST: with weeks from Monday or Sunday, other days are in the same week."""
    text = "FREQ=WEEKLY;INTERVAL=2;COUNT=4;BYDAY=TU,SU;WKST="
    found = {
        wkst: [t // 86_400 % 365 for t in walked(rule(text + wkst, "1997-08-05T09:00"), FIRST)]
        for wkst in ("MO", "SU")
    }
    assert found["MO"] != found["SU"]
    first = utc("1997-08-05T09:00")
    days = [0, 5, 14, 19], [0, 12, 14, 26]
    assert walked(rule(text + "MO", "1997-08-05T09:00"), FIRST) == [first + day * 86_400 for day in days[0]]
    assert walked(rule(text + "SU", "1997-08-05T09:00"), FIRST) == [first + day * 86_400 for day in days[1]]


@pytest.mark.parametrize(
    ("until", "last"),
    [
        ("20260103", "2026-01-03T08:00"),
        ("20260103T090000", "2026-01-03T08:00"),
        ("20260103T075959Z", "2026-01-02T08:00"),
    ],
)
def test_the_end_of_a_rule_is_inclusive(until: str, last: str) -> None:
    """A day counts as a whole, in the rule's zone; an instant may be local or in UTC."""
    times = rule(f"RRULE:freq=daily;until={until}", "2026-01-01T09:00", "Europe/Berlin")
    assert times.before(LAST) == utc(last)
    assert times.after(utc(last)) is None


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("INTERVAL=2", "FREQ is one of DAILY, WEEKLY, MONTHLY, YEARLY; for finer times write cron"),
        ("FREQ=HOURLY", "FREQ is one of"),
        ("FREQ=DAILY;BYDY=MO", r"no part 'BYDY' \(did you mean BYDAY\?\)"),
        ("FREQ=DAILY;X", "there are FREQ, INTERVAL"),
        ("FREQ=DAILY;FREQ=DAILY", "FREQ must be given once"),
        ("FREQ=DAILY;COUNT=2;UNTIL=20270101", "give one of them"),
        ("FREQ=DAILY;INTERVAL=0", "INTERVAL=0: give numbers from 1 to 10000$"),
        ("FREQ=DAILY;BYSETPOS=0", "from -366 to 366 but 0"),
        ("FREQ=DAILY;BYHOUR=x", "BYHOUR=X: give numbers from 0 to 23"),
        ("FREQ=DAILY;BYDAY=2MO", "a number goes with FREQ=MONTHLY or YEARLY"),
        ("FREQ=MONTHLY;BYDAY=MON", "'MON' is no weekday"),
        ("FREQ=MONTHLY;BYDAY=54MO", "'54MO' is no weekday"),
        ("FREQ=WEEKLY;BYMONTHDAY=1", "does not go with FREQ=WEEKLY"),
        ("FREQ=WEEKLY;WKST=XX", "WKST=XX: give one of SU, MO"),
        ("FREQ=DAILY;UNTIL=tomorrow", "write 20271231"),
        ("FREQ=DAILY;UNTIL=20201231", "no day at all"),
        ("FREQ=YEARLY;BYMONTH=2;BYMONTHDAY=30", "no day at all"),
        ("FREQ=DAILY;INTERVAL=7;BYDAY=MO", "no day at all"),
        ("FREQ=MONTHLY;BYDAY=MO;BYSETPOS=6", "no day at all"),
    ],
)
def test_a_bad_rule_is_refused(text: str, problem: str) -> None:
    """S64: what, where, and how to write it; what can never fire, too."""
    with pytest.raises(InputError, match=problem):
        rule(text, "2026-01-01T09:00")


@pytest.mark.parametrize(
    ("every", "on", "text"),
    [
        ("2w", ("MON", "THU"), "FREQ=WEEKLY;INTERVAL=2;BYDAY=MO,TH;BYHOUR=9;BYMINUTE=0"),
        ("3 months", ("1", "-1"), "FREQ=MONTHLY;INTERVAL=3;BYMONTHDAY=1,-1;BYHOUR=9;BYMINUTE=0"),
        ("1mo", ("2TUE",), "FREQ=MONTHLY;INTERVAL=1;BYDAY=2TU;BYHOUR=9;BYMINUTE=0"),
        ("1y", (), "FREQ=YEARLY;INTERVAL=1;BYHOUR=9;BYMINUTE=0"),
    ],
)
def test_the_short_form_is_a_rule(every: str, on: tuple[str, ...], text: str) -> None:
    """S64: `{every: 2w, on: [MON], at: "09:00"}`."""
    assert calendar_rule(every, on, "09:00") == text


@pytest.mark.parametrize(
    ("every", "on", "at", "problem"),
    [
        ("2x", (), "09:00", "no interval of the calendar"),
        ("0w", (), "09:00", "no interval of the calendar"),
        ("2w", ("1",), "09:00", "days of the month go with months"),
        ("2mo", ("1", "MON"), "09:00", "days of the month go with months"),
        ("2w", (), "24:00", "no time of day"),
    ],
)
def test_a_bad_short_form_is_refused(every: str, on: tuple[str, ...], at: str, problem: str) -> None:
    """S64: with what could be written instead."""
    with pytest.raises(InputError, match=problem):
        calendar_rule(every, on, at)


def test_a_rule_explains_itself() -> None:
    """S64: in words with its zone and its beginning; equal if written alike, and it can be pickled."""
    times = rule(
        "freq=monthly;interval=2;byday=2TU,-1FR,MO;bysetpos=1,-1;count=9", "2026-01-05T09:00", "Asia/Tokyo"
    )
    assert times.explain() == (
        "Every 2 months, on Tuesday number 2, the last Friday and Monday, of these only number 1 and -1, "
        "at 09:00, Asia/Tokyo, from 2026-01-05 09:00 on, 9 times"
    )
    yearly = rule("FREQ=YEARLY;BYMONTH=3;BYMONTHDAY=1;UNTIL=20300101", "2026-01-05T09:00")
    assert yearly.explain() == (
        "Every year, on the days 1, in the months 3, at 09:00, UTC, from 2026-01-05 09:00 on, until 20300101"
    )
    assert str(yearly) == "RRULE:FREQ=YEARLY;BYMONTH=3;BYMONTHDAY=1;UNTIL=20300101 from 2026-01-05 09:00 UTC"
    assert pickle.loads(pickle.dumps(times)) == times  # noqa: S301
    assert times.first == times.anchor


def test_whole_days_of_an_interval_say_that_they_are_no_calendar_days() -> None:
    """S64: `every: 1d` stays what it was, and warns; half a day does not."""
    assert "follow the local calendar" in Every(86_400, zone("UTC")).warnings_after(0)[0]
    assert Every(43_200, zone("UTC")).warnings_after(0) == ()


@pytest.mark.parametrize("text", ["FREQ=YEARLY;BYDAY=MO;BYSETPOS=1", "FREQ=MONTHLY;BYMONTHDAY=31"])
def test_the_calendar_ends(text: str) -> None:
    """S8: at its end and before its beginning there is no next time, and not a date far away."""
    times = rule(text, "9998-01-01T00:00")
    assert times.after(LAST - 1) is None
    assert times.after(LAST - 400 * 86_400) is not None
    assert Rule("FREQ=YEARLY;BYMONTH=12", zone("UTC"), FIRST).before(FIRST + 100 * 86_400) is None


def test_a_place_that_no_period_has_is_not_looked_for_without_end() -> None:
    """S8: days of which none can be chosen are looked for in so many periods, both ways."""
    days = _days({"FREQ": "MONTHLY", "BYMONTHDAY": "1"}, 0, (5,))
    assert (days.on_or_after(0), days.on_or_before(2_000_000)) == (None, None)
