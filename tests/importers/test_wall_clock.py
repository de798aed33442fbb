"""The rules of other schedulers, against a literal simulation of cron's minute loop."""

from collections.abc import Iterator
from datetime import UTC, datetime, tzinfo

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from tickwise.core.cron.zone import zone
from tickwise.core.errors import InputError
from tickwise.importers.wall_clock import DEBIAN, KUBERNETES, CronFields, DebianRules, WallRules, read_fields

DAY = 86_400
CHANGES = {  # a day before a change of the clock
    "Europe/Berlin": (datetime(2027, 3, 27, tzinfo=UTC), datetime(2027, 10, 30, tzinfo=UTC)),
    "America/New_York": (datetime(2027, 3, 13, tzinfo=UTC), datetime(2027, 11, 6, tzinfo=UTC)),
    "Australia/Lord_Howe": (datetime(2027, 4, 2, tzinfo=UTC), datetime(2027, 10, 1, tzinfo=UTC)),  # half an hour
    "Pacific/Apia": (datetime(2011, 12, 29, tzinfo=UTC),),  # a whole day is left out
    "UTC": (datetime(2027, 1, 1, tzinfo=UTC),),
}
NUMBERS = {"minute": (0, 59), "hour": (0, 23), "day": (1, 31), "month": (1, 12), "weekday": (0, 7)}


@st.composite
def fields(draw: st.DrawFn, name: str) -> str:
    """A field of a crontab, more often a wide one."""
    low, high = NUMBERS[name]
    first = draw(st.integers(low, high))
    last = draw(st.integers(first, high))
    step = draw(st.integers(1, 8))
    return draw(
        st.sampled_from(["*", "*", f"*/{step}", f"{first}", f"{first}-{last}", f"{first}-{last}/{step},{first}"])
    )


entries = st.tuples(*(fields(name) for name in NUMBERS))
days = st.sampled_from([(name, day) for name, found in CHANGES.items() for day in found])


def simulate(named: CronFields, where: tzinfo, start: int, end: int) -> Iterator[int]:
    """Debian's cron, minute by minute: a virtual clock, and what happens when the wall is not one ahead of it."""

    def wall(minute: int) -> int:
        shown = datetime.fromtimestamp(60 * minute, where)
        return int(shown.replace(tzinfo=UTC).timestamp()) // 60

    named_minutes = frozenset(named.minutes_between(wall(start // 60) - 1_440, wall(end // 60) + 1_440))
    virtual = wall(start // 60 - 1)
    for minute in range(start // 60, end // 60):
        shown = wall(minute)
        behind = shown - virtual
        if behind == 1 or not -180 < behind <= 180:
            virtual = shown
            if shown in named_minutes:
                yield 60 * minute
        elif named.wildcard:
            virtual = max(virtual, shown)
            if shown in named_minutes:
                yield 60 * minute
        elif behind > 0:
            while virtual < shown:
                virtual += 1
                if virtual in named_minutes:
                    yield 60 * minute


@settings(max_examples=60)
@given(entries, days)
@example(("*/15", "2", "*", "*", "*"), ("Europe/Berlin", CHANGES["Europe/Berlin"][0]))
@example(("0,30", "2", "*", "*", "*"), ("Europe/Berlin", CHANGES["Europe/Berlin"][1]))
def test_debian_rules_are_its_minute_loop(entry: tuple[str, ...], when: tuple[str, datetime]) -> None:
    """Over each change of the clock, the closed form fires as often, and when, as cron's loop does."""
    start = int(when[1].timestamp())
    named, where = read_fields(entry, DEBIAN), zone(when[0]).tzinfo
    expected = list(simulate(named, where, start, start + 3 * DAY))
    assert list(DebianRules(named, where).fires(start, start + 3 * DAY)) == expected


def test_wall_rules_lose_what_is_leapt_over_and_repeat_what_comes_twice() -> None:
    """02:30 in Berlin does not fire on the day of the gap, and fires twice on that of the fold."""
    berlin = zone("Europe/Berlin").tzinfo
    rules = WallRules(read_fields("30 2 * * *".split(), KUBERNETES), berlin)
    gap, fold = (int(day.timestamp()) for day in CHANGES["Europe/Berlin"])
    assert list(rules.fires(gap + DAY - 3_600, gap + 2 * DAY - 3_600)) == []
    assert len(list(rules.fires(fold + DAY - 7_200, fold + 2 * DAY - 3_600))) == 2


@pytest.mark.parametrize(
    ("text", "wrong"),
    [
        ("60 * * * *", "between 0 and 59"),
        ("30/5 * * * *", "no range"),
        ("*/0 * * * *", "no step"),
        ("* 5-1 * * *", "backwards"),
        ("* * * * 8", "between 0 and 7"),
        ("* * * * sunday", "between 0 and 7"),
        ("1,,2 * * * *", "between 0 and 59"),
        ("* * * *", "five fields"),
    ],
)
def test_what_cron_refuses_is_refused(text: str, wrong: str) -> None:
    """These are refused by Debian's crontab, or never fire as they look."""
    with pytest.raises(InputError, match=wrong):
        read_fields(text.split(), DEBIAN)


def test_dialects_differ_where_they_do() -> None:
    """Kubernetes reads 5/20 as a range to the end, takes no 7, and does not count */2 as a star of days."""
    assert read_fields("5/20 * * * *".split(), KUBERNETES).minutes == {5, 25, 45}
    with pytest.raises(InputError):
        read_fields("* * * * 7".split(), KUBERNETES)
    assert read_fields("0 0 */2 * 1".split(), DEBIAN).both_days
    assert not read_fields("0 0 */2 * 1".split(), KUBERNETES).both_days
