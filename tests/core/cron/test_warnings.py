"""Warnings of clock changes: what they say, when there are none, and that they agree with the wall clock."""

import re
from datetime import UTC, date, datetime, timedelta
from functools import cache

import pytest

from tickwise.core.cron import Cron, parse
from tickwise.core.cron.warnings import clock_changes
from tickwise.core.cron.zone import Span, Zone

QUARTER = timedelta(minutes=15)

WARNINGS = {
    ("30 2 * * *", "Europe/Berlin", 2026): (
        "02:30 does not exist on 2026-03-29 (fires at 03:00 instead) "
        "and comes twice on 2026-10-25 (fires at the first)"
    ),
    ("15 30 2 * * *", "Europe/Berlin", 2026): (
        "02:30:15 does not exist on 2026-03-29 (fires at 03:00 instead) "
        "and comes twice on 2026-10-25 (fires at the first)"
    ),
    ("*/5 2 * * *", "Europe/Berlin", 2026): (
        "times from 02:00 to 02:55 do not exist on 2026-03-29 (fire once, at 03:00) "
        "and come twice on 2026-10-25 (each fires at its first)"
    ),
    ("30 2 29 3 *", "Europe/Berlin", 2026): (
        "02:30 does not exist on 2026-03-29 and 2037-03-29 (fires at 03:00 instead)"
    ),
    ("30 2 * * *", "America/New_York", 2026): (
        "02:30 does not exist on 2026-03-08 and 2027-03-14 (fires at 03:00 instead)"
    ),
    (
        "30 1 * * *",
        "America/New_York",
        2026,
    ): "01:30 comes twice on 2026-11-01 and 2027-11-07 (fires at the first)",
    ("30 1,2 * * *", "America/New_York", 2026): (
        "02:30 does not exist on 2026-03-08 (fires at 03:00 instead) "
        "and 01:30 comes twice on 2026-11-01 (fires at the first)"
    ),
    # midnight itself is missing
    ("0 0 * * *", "America/Sao_Paulo", 2018): "00:00 does not exist on 2018-11-04 (fires at 01:00 instead)",
    ("30 23 * * *", "America/Sao_Paulo", 2018): (
        "23:30 comes twice on 2018-02-17 and 2019-02-16 (fires at the first)"
    ),
    # half an hour
    ("15 2 * * *", "Australia/Lord_Howe", 2026): (
        "02:15 does not exist on 2026-10-04 and 2027-10-03 (fires at 02:30 instead)"
    ),
    ("45 1 * * *", "Australia/Lord_Howe", 2026): (
        "01:45 comes twice on 2026-04-05 and 2027-04-04 (fires at the first)"
    ),
    # the date it is named for is not the date it fires on
    ("30 23 * * *", "America/Nuuk", 2026): (
        "23:30 does not exist on 2026-03-28 (fires at 2026-03-29 00:00 instead) "
        "and comes twice on 2026-10-24 (fires at the first)"
    ),
    ("0 10 * * *", "Pacific/Apia", 2011): (
        "10:00 does not exist on 2011-12-30 (fires at 2011-12-31 00:00 instead)"
    ),
    # one change that hits two dates: Alaska came to America and had a day twice, from one afternoon to the next
    ("0 10,20 * * *", "America/Juneau", 1867): (
        "20:00 comes twice on 1867-10-18 (fires at the first) "
        "and 10:00 comes twice on 1867-10-19 (fires at the first)"
    ),
}

NONE = [
    ("30 * * * *", "Europe/Berlin"),  # of every hour: keeps its pace
    ("* * * * *", "Australia/Lord_Howe"),
    ("0 3 * * *", "Europe/Berlin"),  # the first instant after the gap, and after the fold
    ("0 1 * * *", "Europe/Berlin"),
    ("30 2 * 6 *", "Europe/Berlin"),  # in no month in which clocks change
    ("30 2 * * 1", "Europe/Berlin"),  # on no such weekday
    ("30 2 * * *", "UTC"),
    ("30 2 * * *", "Asia/Tokyo"),
    ("0 0 * * *", "America/Sao_Paulo"),  # no longer changes its clocks
]


def cron(text: str, timezone: str) -> Cron:
    found = parse(text, timezone)
    assert isinstance(found, Cron)
    return found


def new_year(year: int) -> int:
    return int(datetime(year, 1, 1, tzinfo=UTC).timestamp())


def warnings_of(text: str, timezone: str, now: int) -> tuple[str, ...]:
    found = cron(text, timezone)
    return clock_changes(found.expression, found.zone, now)


@pytest.mark.parametrize(("case", "words"), WARNINGS.items())
def test_warnings(case: tuple[str, str, int], words: str) -> None:
    """One warning names times, dates, what happens instead and the zone (S38, S39)."""
    text, timezone, year = case
    assert warnings_of(text, timezone, new_year(year)) == (f"{words} in {timezone}",)


@pytest.mark.parametrize(("text", "timezone"), NONE)
def test_nothing_to_warn_of(text: str, timezone: str) -> None:
    """A schedule that no clock change can hit has no warning (S38, S39)."""
    assert warnings_of(text, timezone, new_year(2026)) == ()


def test_only_changes_to_come() -> None:
    """A change is told of up to the second before it, and no longer from then on (S38)."""
    change = int(datetime(2026, 3, 29, 1, tzinfo=UTC).timestamp())
    (before,), (after,) = (warnings_of("30 2 * * *", "Europe/Berlin", now) for now in (change - 1, change))
    assert re.findall(r"\d{4}-\d\d-\d\d", before) == ["2026-03-29", "2026-10-25"]
    assert re.findall(r"\d{4}-\d\d-\d\d", after) == ["2026-10-25", "2027-03-28"]


def test_ends_of_the_calendar() -> None:
    """Before the first and after the last change that a date can be given for, nothing breaks (S38)."""
    assert warnings_of("30 2 * * *", "Europe/Berlin", new_year(1)) == ()
    (last,) = warnings_of("30 2 * * *", "Europe/Berlin", new_year(9999))
    assert re.findall(r"\d{4}-\d\d-\d\d", last) == ["9999-03-28", "9999-10-31"]
    assert warnings_of("30 2 * * *", "Europe/Berlin", new_year(9999) + 364 * 86_400) == ()


class WatchedZone(Zone):
    """Counts how often it is asked."""

    asked = 0

    def span(self, t: int) -> Span:
        self.asked += 1
        return super().span(t)


def test_looks_ahead_a_bounded_time() -> None:
    """A time that no change ever hits costs one look at each change of 28 years, not at all of them (S38)."""
    zone = WatchedZone("Europe/Berlin")
    assert clock_changes(cron("30 2 29 2 *", "Europe/Berlin").expression, zone, new_year(2026)) == ()
    assert zone.asked <= 2 * 29


# --- the clock on the wall -----------------------------------------------------------------------------------


def instant(wall: datetime, *, fold: int = 0) -> datetime:
    return wall.replace(fold=fold).astimezone(UTC)


def fate(wall: datetime) -> str:
    """What `zoneinfo` knows of a wall time: shown never, once, or twice."""
    if instant(wall).astimezone(wall.tzinfo).replace(tzinfo=None) != wall.replace(tzinfo=None):
        return "does not exist"
    return "comes twice" if instant(wall) != instant(wall, fold=1) else ""


def first_shown_after(wall: datetime) -> datetime:
    """The first quarter of an hour at which the wall shows a later time than one it skips."""
    found = instant(wall)
    while (found - QUARTER).astimezone(wall.tzinfo).replace(tzinfo=None) > wall.replace(tzinfo=None):
        found -= QUARTER
    return found.astimezone(wall.tzinfo)


def outcome(wall: datetime, what: str) -> str:
    if what == "comes twice":
        return "fires at the first"
    instead = first_shown_after(wall)
    return f"fires at {instead:{'%H:%M' if instead.date() == wall.date() else '%Y-%m-%d %H:%M'}} instead"


@cache
def met(timezone: str, year: int) -> dict[str, list[tuple[str, str, str]]]:
    """For each quarter of the day, the first two dates in two years on which it is not shown just once."""
    found: dict[str, list[tuple[str, str, str]]] = {}
    tzinfo = cron("* * * * *", timezone).zone.tzinfo
    first = datetime(year, 1, 1, tzinfo=tzinfo)
    for n in range(96 * 730):
        wall = first + n * QUARTER
        if what := fate(wall):
            found.setdefault(f"{wall:%H:%M}", []).append((what, f"{wall:%Y-%m-%d}", outcome(wall, what)))
    return {clock: cautions[:2] for clock, cautions in found.items()}


def told(sentence: str, end: date) -> list[tuple[str, str, str]]:
    """Fate, date and outcome of each date before `end` in a warning."""
    clauses = re.findall(r"(does not exist|comes twice) on ([-\d]+)(?: and ([-\d]+))? \((.*?)\)", sentence)
    found = [(what, day, outcome) for what, *days, outcome in clauses for day in days if day]
    return [caution for caution in found if date.fromisoformat(caution[1]) < end]


WATCHED = [
    ("Europe/Berlin", 2026),
    ("America/New_York", 2026),
    ("America/Sao_Paulo", 2018),
    ("America/Nuuk", 2026),
    ("America/Havana", 2026),
    ("Africa/Casablanca", 2026),
    ("Antarctica/Troll", 2026),
    ("Asia/Tokyo", 2026),
    ("Australia/Lord_Howe", 2026),
    ("Pacific/Apia", 2011),
]


@pytest.mark.parametrize(("timezone", "year"), WATCHED)
def test_agrees_with_the_wall(timezone: str, year: int) -> None:
    """Every quarter of every day of two years, looked at one by one, gives the same dates and outcomes (S38)."""
    now, end = new_year(year) - 86_400, date(year, 1, 1) + timedelta(days=730)
    for hour in range(24):
        for minute in range(0, 60, 15):
            said = "".join(warnings_of(f"{minute} {hour} * * *", timezone, now))
            assert told(said, end) == met(timezone, year).get(f"{hour:02}:{minute:02}", []), (hour, minute)


@pytest.mark.parametrize(("timezone", "year"), WATCHED)
def test_fires_as_it_says(timezone: str, year: int) -> None:
    """What a warning says of a time is when the schedule fires: once, and then (S38, S39)."""
    for clock, cautions in met(timezone, year).items():
        found = cron(f"{int(clock[3:])} {int(clock[:2])} * * *", timezone)
        for what, day, _ in cautions:
            wall = datetime.fromisoformat(f"{day} {clock}").replace(tzinfo=found.zone.tzinfo)
            if what == "comes twice":
                assert [found.matches(instant(wall, fold=fold)) for fold in (0, 1)] == [True, False]
            else:
                assert found.matches(first_shown_after(wall))


@pytest.mark.parametrize(
    ("text", "warning"),
    [
        ("* 3 * * *", "fires every minute of the hours it names; did you mean '0 3 * * *'?"),
        ("* 3,15 * * MON", "fires every minute of the hours it names; did you mean '0 3,15 * * MON'?"),
        ("0 * 3 * * *", "fires every minute of the hours it names; did you mean '0 0 3 * * *'?"),
        ("* H * * *", "fires every minute of the hours it names; did you mean '0 H * * *'?"),
        ("* 0 9 * * MON", "fires every second of the times it names; did you mean '0 0 9 * * MON'?"),
        ("* * * * * MON", "fires every second of the times it names; did you mean '0 * * * * MON'?"),
        ("* 30 * * * *", "fires every second of the times it names; did you mean '0 30 * * * *'?"),
        ("0 0 0 1 1 ? 2020-2025", "all its years have passed: it never fires again"),
    ],
)
def test_a_likely_mistake_is_told(text: str, warning: str) -> None:
    """S38: a star where a zero was meant, and years that have passed, are taken with a warning."""
    assert parse(text).warnings_after(int(datetime(2026, 1, 1, tzinfo=UTC).timestamp())) == (warning,)


@pytest.mark.parametrize(
    "text", ["* 9-17 * * *", "* */2 * * *", "* * * * *", "*/5 3 * * *", "* * * * * *", "0 9 1-7 * MON&"]
)
def test_what_is_plainly_meant_is_not_warned_of(text: str) -> None:
    """S38: stars beside ranges, steps and stars, and days that are asked to match both, are no mistakes."""
    assert parse(text).warnings == ()
