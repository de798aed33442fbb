"""S61: times on the days of a calendar, with a day-by-day oracle over zones whose clocks change."""

import pickle
from datetime import date
from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tickwise.core.cron import Cron, Every, Recurrence, parse
from tickwise.core.cron.batch import NEVER, expand, next_many
from tickwise.core.cron.calendar_days import OnCalendar, Roll
from tickwise.core.cron.day_set import NO_DAYS, DaySet, day_date, day_number
from tickwise.core.cron.expression import DAY
from tickwise.core.cron.recurrences import AnyOf, At, Window
from tickwise.core.cron.rule import Rule
from tickwise.core.cron.zone import zone
from tickwise.core.errors import InputError
from tickwise.core.timeparse import FIRST, LAST

UNKNOWN = (
    "the calendar office does not say whether Mon 2027-04-05 fits: it was expanded from 2026-02-15 to 2026-04-30"
)
SINCE, SIZE = day_number(date(2026, 2, 15)), 75  # clocks change in most of the zones
ZONES = st.sampled_from(
    ["UTC", "Europe/Berlin", "America/New_York", "Australia/Lord_Howe", "Asia/Kathmandu", "America/Santiago"]
)  # the clock of the last changes at midnight
FIXED = "30 2 * * *", "0 0 * * *", "15 0,23 1,15 * *", "0 9 * * MON-FRI", "45 1-3 L * *"
FINE = "*/40 * * * *", "0 * * * SAT", "* 23 * * *", "@every 97m", "@every 30h"


def calendars() -> st.SearchStrategy[DaySet]:
    """Working days without a few, or any days at all."""
    working = sum(1 << place for place in range(SIZE) if (SINCE + place + 3) % 7 < 5)
    some = st.integers(0, (1 << SIZE) - 1)
    bits = (
        some
        | st.builds(lambda gone: working & ~gone, st.lists(st.integers(0, SIZE - 1)).map(bits_of))
        | st.just(1)
    )
    return bits.map(lambda found: DaySet(SINCE, SIZE, found))


def bits_of(places: list[int]) -> int:
    return sum(1 << place for place in {*places})


def local_day(times: Recurrence, second: int) -> int:
    return (second + times.zone.span(second).offset) // DAY


def walked(times: Recurrence, start: int = (SINCE - 3) * DAY, end: int = (SINCE + SIZE + 3) * DAY) -> list[int]:
    found: list[int] = []
    second = times.after(start - 1)
    while second is not None and second < end:
        found.append(second)
        second = times.after(second)
    return found


def nth_days(fits: set[int], nth: tuple[int, ...]) -> set[int]:
    """Those at these places of their months, looked for one by one."""
    if not nth:
        return fits
    months = {day_date(day).replace(day=1) for day in fits}
    grouped = [sorted(day for day in fits if day_date(day).replace(day=1) == month) for month in months]
    return {
        day for group in grouped for n in nth for day in group[n - 1 if n > 0 else n :][:1] if -n <= len(group)
    }


def fitting(days: DaySet, *, excluded: bool, nth: tuple[int, ...]) -> set[int]:
    known = range(SINCE, SINCE + SIZE)
    return nth_days({day for day in known if (day in days) is not excluded}, nth)


def agrees(times: Recurrence, expected: list[int]) -> None:
    """All that a recurrence can be asked says the same."""
    assert walked(times) == expected
    back, second = [], times.before(LAST)
    while second is not None:
        back.append(second)
        second = times.before(second)
    assert back == expected[::-1]
    assert times.after(FIRST - 1) == (expected[0] if expected else None)
    step = 1 + len(expected) // 9
    marks = [FIRST, *expected[::step], *(second + 1 for second in expected[3 :: step + 2]), LAST]
    for after, until in pairwise(sorted(marks)):
        assert times.count(after, until) == sum(after < second <= until for second in expected)
    for start in (*expected[:: 1 + len(expected) // 5], SINCE * DAY, (SINCE + SIZE) * DAY - 7):
        bits = times.bits(start, start + DAY)  # type: ignore[attr-defined]
        assert [start + n for n in range(DAY) if bits >> n & 1] == [
            t for t in expected if start <= t < start + DAY
        ]


NTH = st.sampled_from([(), (1,), (-1,), (2, -1), (25,)])


@settings(max_examples=20)
@given(st.sampled_from(FIXED + FINE), ZONES, calendars(), st.booleans(), NTH)
def test_a_second_whose_local_day_does_not_fit_is_no_slot(
    text: str, place: str, days: DaySet, excluded: bool, nth: tuple[int, ...]
) -> None:
    """S61: after, before, count and bits agree with a filter over each second's local day."""
    times = parse(text, place)
    fits = fitting(days, excluded=excluded, nth=nth)
    own = OnCalendar(times, "office", excluded, nth, None, "1", days)
    agrees(own, [t for t in walked(times) if local_day(times, t) in fits])


@settings(max_examples=20)
@given(st.sampled_from(FIXED), ZONES, calendars(), st.booleans(), NTH, st.sampled_from(Roll))
def test_roll_moves_to_the_nearest_fitting_day_at_the_same_wall_time(
    text: str, place: str, days: DaySet, excluded: bool, nth: tuple[int, ...], roll: Roll
) -> None:
    """S39, S61: two that fall on one day are one slot, and clock changes are decided on the day moved to."""
    times = parse(text, place)
    assert isinstance(times, Cron)
    fits = fitting(days, excluded=excluded, nth=nth)
    found = set()
    for day in range(SINCE, SINCE + SIZE):
        for clock in range(0, DAY, 60):
            if times.expression.on_or_after(day * DAY + clock) == day * DAY + clock:
                near = [x for x in fits if (x >= day if roll is Roll.FORWARD else x <= day)]
                if near:
                    to = min(near) if roll is Roll.FORWARD else max(near)
                    found.add(times.zone.instant(to * DAY + clock))
    agrees(OnCalendar(times, "office", excluded, nth, roll, "1", days), sorted(found))


def on(times: Recurrence, *days: str, roll: Roll | None = None, nth: tuple[int, ...] = ()) -> OnCalendar:
    numbers = [day_number(date.fromisoformat(day)) for day in days]
    return OnCalendar(times, "office", False, nth, roll, "1", DaySet.of(numbers, SINCE, SIZE))


def local(times: Recurrence) -> list[str]:
    return [f"{times.zone.name == 'UTC' and ''}{iso_minute(times, t)}" for t in walked(times)]


def iso_minute(times: Recurrence, second: int) -> str:
    wall = second + times.zone.span(second).offset
    return f"{day_date(wall // DAY)} {wall % DAY // 3600:02}:{wall % 3600 // 60:02}"


def test_a_union_keeps_or_moves_each_of_its_parts() -> None:
    """S49, S61: a second that two parts name after they were moved is one slot."""
    union = AnyOf((parse("0 9 1 * *"), parse("0 9,12 3 * *")))
    assert local(on(union, "2026-03-03", "2026-04-01")) == [
        "2026-03-03 09:00",
        "2026-03-03 12:00",
        "2026-04-01 09:00",
    ]
    rolled = on(union, "2026-03-03", "2026-03-10", roll=Roll.FORWARD)
    assert local(rolled)[:2] == ["2026-03-03 09:00", "2026-03-03 12:00"]


def test_what_rolls_may_leave_its_window_at_the_end_only() -> None:
    """S61, S63: a slot moved to before `from` is none; the last may be moved to after a rule's end."""
    where = zone("UTC")
    first = day_number(date(2026, 4, 3)) * DAY
    since = Window(parse("0 9 * * *"), first)
    assert local(on(since, "2026-04-01", "2026-04-05", roll=Roll.BACK)) == ["2026-04-05 09:00"]
    assert local(on(since, "2026-04-01", "2026-04-05", roll=Roll.FORWARD)) == ["2026-04-05 09:00"]
    rule = Rule("FREQ=DAILY;COUNT=2;BYHOUR=9;BYMINUTE=0", where, first)
    assert local(on(rule, "2026-04-05", roll=Roll.FORWARD)) == ["2026-04-05 09:00"]
    assert local(on(rule, "2026-04-04", "2026-04-06", roll=Roll.FORWARD)) == ["2026-04-04 09:00"]
    assert local(on(rule, "2026-04-04", "2026-04-06")) == ["2026-04-04 09:00"]
    inner = Window(Window(parse("0 9 * * *"), first), first, first + 2 * DAY)
    assert local(on(inner, "2026-04-08", roll=Roll.FORWARD)) == ["2026-04-08 09:00"]


@pytest.mark.parametrize(
    ("times", "roll", "problem"),
    [
        (Every(3600, zone("UTC")), Roll.BACK, "an interval has none"),
        (At((0,), zone("UTC")), None, "a one-off names its day itself"),
        (on(parse("0 9 * * *"), "2026-04-05"), None, "cannot be put on the days of a calendar"),
    ],
)
def test_times_that_have_no_days_to_choose_are_refused(times: Recurrence, roll: Roll | None, problem: str) -> None:
    """S61: the error says what to do."""
    with pytest.raises(InputError, match=problem):
        OnCalendar(times, "office", roll=roll)


def test_times_are_bound_to_a_version_of_the_calendar() -> None:
    """S60: until then they name nothing; days on which they never fall are refused."""
    loose = OnCalendar(parse("0 9 * * MON"), "office")
    assert (loose.after(0), loose.before(LAST), loose.count(FIRST, LAST), loose.warnings) == (None, None, 0, ())
    monday, tuesday = (DaySet.of([SINCE + place], SINCE, SIZE) for place in (1, 2))
    assert local(loose.bound("v1", monday)) == ["2026-02-16 09:00"]
    with pytest.raises(InputError, match="none of its times is on a day that fits the calendar office"):
        loose.bound("v1", tuesday)


@pytest.mark.parametrize(
    ("times", "second", "why"),
    [
        (on(parse("0 9 * * *"), "2026-04-05"), "2026-04-04 09:00", "Sat 2026-04-04 is not in the calendar office"),
        (
            on(parse("0 9 * * *"), "2026-04-05", roll=Roll.FORWARD), "2026-04-04 09:00",
            "Sat 2026-04-04 is not in the calendar office, so it is moved to Sun 2026-04-05",
        ),
        (
            on(parse("0 9 * * *"), "2026-04-05", roll=Roll.BACK), "2026-04-04 09:00",
            "Sat 2026-04-04 is not in the calendar office",
        ),
        (
            OnCalendar(parse("0 9 * * *"), "free", True, (), None, "1", DaySet.of([SINCE], SINCE, SIZE)),
            "2026-02-15 09:00", "Sun 2026-02-15 is in the calendar free",
        ),
        (
            on(parse("0 9 * * *"), "2026-04-05", "2026-04-06", nth=(-1, 2, -3)), "2026-04-05 09:00",
            "Sun 2026-04-05 is not the last or 2. or 3. last fitting day of its month in the calendar office",
        ),
        (
            on(parse("0 9 * * *"), "2026-04-05"), "2027-04-05 09:00",
            UNKNOWN,
        ),
        (OnCalendar(parse("0 9 * * *"), "office"), "2027-04-05 09:00",
         "the calendar office does not say whether Mon 2027-04-05 fits: it was expanded of no day"),
        (on(parse("0 9 * * *"), "2026-04-05"), "2026-04-05 09:00", ""),
        (on(parse("0 9 * * *"), "2026-04-05"), "2026-04-04 09:01", ""),
    ],
)  # fmt: skip
def test_it_says_why_a_second_was_left_out(times: OnCalendar, second: str, why: str) -> None:
    """S61: naming calendar and day; a second that its times never name is not told."""
    day, clock = second.split()
    hour, minute = map(int, clock.split(":"))
    at = day_number(date.fromisoformat(day)) * DAY + hour * 3600 + minute * 60
    assert times.reason_left_out(at) == why


def test_it_explains_itself() -> None:
    """S61: in words, as text, and with a warning once the calendar has ended."""
    daily = parse("0 9 * * *")
    own = on(daily, "2026-04-05", nth=(1, -1))
    assert own.explain() == f"{daily.explain()}; only on days in the calendar office, the 1. or last of each month"
    assert str(own) == "0 9 * * * in office nth 1,-1"
    rolled = OnCalendar(daily, "free", True, (), Roll.BACK, "1", NO_DAYS)
    assert rolled.explain() == f"{daily.explain()}; moved back to a day not in the calendar free"
    assert str(rolled) == "0 9 * * * not in free roll back"
    assert own.warnings_after(SINCE * DAY) == ()
    assert own.warnings_after((SINCE + SIZE) * DAY) == (
        "the calendar office ends on 2026-04-30: it never fires again",
    )
    hourly = OnCalendar(Every(3600, zone("UTC")), "office", days=DaySet.of([SINCE], SINCE, SIZE))
    assert hourly.moved.explain() == "Every hour"
    assert pickle.loads(pickle.dumps(own)) == own  # noqa: S301


def test_years_without_its_days_have_one_rhythm() -> None:
    """S6, S49: a union counts centuries without the calendar at once."""
    own = on(parse("0 9 * * *"), "2026-04-05")
    assert [own.rhythm(start * DAY, (start + 365) * DAY) for start in (0, SINCE, SINCE + 3650)] == [-1, None, -1]
    every = OnCalendar(Every(3600, zone("UTC")), "office", days=DaySet.of([SINCE], SINCE, SIZE))
    assert every.count(FIRST, LAST) == 24
    assert every.moved.rhythm(0, DAY) is None  # type: ignore[attr-defined]
    mixed = on(AnyOf((parse("0 9 * * *"), parse("@every 12h"))), "2026-04-05")
    assert (mixed.count(FIRST, LAST), walked(mixed)) == (3, sorted(walked(mixed)))


@settings(max_examples=20)
@given(
    st.lists(st.tuples(st.sampled_from(FIXED + FINE), ZONES, calendars()), min_size=1, max_size=5),
    st.integers(SINCE * DAY, (SINCE + SIZE) * DAY), st.integers(0, 3 * DAY),
)  # fmt: skip
def test_batches_equal_the_walk(given_: list[tuple[str, str, DaySet]], start: int, length: int) -> None:
    """S61: next times and the runs of a window, as walking each of them."""
    own = [OnCalendar(parse(text, place), "office", days=days) for text, place, days in given_]
    assert next_many(own, start).tolist() == [NEVER if (t := one.after(start)) is None else t for one in own]
    runs = sorted((t, place) for place, one in enumerate(own) for t in walked(one, start, start + length))
    times, positions = expand(own, start, start + length)
    assert list(zip(times.tolist(), positions.tolist(), strict=True)) == runs


def test_a_set_of_days_is_kept_as_text() -> None:
    """S60: compact, and read back as it was."""
    days = DaySet.of([SINCE, SINCE + 9, SINCE - 1, SINCE + SIZE], SINCE, SIZE)
    assert str(DaySet.of([SINCE, SINCE + 9], SINCE, 10)) == "2026-02-15+10:AQI="
    assert DaySet.read(str(days)) == days
    assert (list(days), days.end, SINCE + SIZE in days, DaySet.read(str(NO_DAYS))) == (
        [SINCE, SINCE + 9], SINCE + SIZE, False, NO_DAYS,
    )  # fmt: skip
    assert (days.count(SINCE - 5, SINCE + 9), days.count(SINCE + 9, SINCE), days.on_or_before(SINCE - 1)) == (
        1,
        0,
        None,
    )


@pytest.mark.parametrize(
    "text",
    ["", "2026-02-30+1:AA==", "2026-01-01+99999:AA==", "2026-01-01+1:Ag==", "2026-01-01+1:A", "2026-01-01+1:é"],
)
def test_no_set_of_days_is_made_of_other_texts(text: str) -> None:
    """S60: damaged text is refused, however it looks."""
    with pytest.raises(InputError, match="is no set of days"):
        DaySet.read(text)
