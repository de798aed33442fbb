"""Walking a schedule: laws that hold for every text, zone and instant, and the examples people ask about."""

import pickle
from dataclasses import FrozenInstanceError
from datetime import UTC, datetime, timedelta
from itertools import islice
from random import Random

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from tickwise.core.cron import CronError, Recurrence, parse
from tickwise.core.cron.walk import Periodic
from tickwise.core.errors import InputError

from .oracle import generate, packaged_zone

law = settings(derandomize=True, deadline=None, database=None, max_examples=500)
SECOND = timedelta(seconds=1)
ZONES = (
    "UTC",
    "America/New_York",
    "America/Sao_Paulo",
    "Australia/Lord_Howe",
    "Pacific/Apia",
    "Africa/Casablanca",
)


@st.composite
def schedules(draw: st.DrawFn) -> Recurrence:
    """Any schedule that ever fires: a generated text of five or six fields, or an interval, in some zone."""
    where = draw(st.sampled_from(ZONES))
    every = draw(st.integers(2, 100_000))
    text, _ = generate(Random(draw(st.integers(0, 2**32))), seconds=draw(st.booleans()))
    text = draw(st.sampled_from((text, text, text, f"@every {every}s", f"@every {every}s offset {every // 2}s")))
    try:
        return parse(text, timezone=where)
    except CronError as error:
        assume("never fires" not in str(error))
        raise


instants = st.datetimes(datetime(1971, 1, 1), datetime(2120, 1, 1), timezones=st.just(UTC))  # noqa: DTZ001


@law
@given(schedules(), instants)
def test_next_and_prev_are_strict_and_undo_each_other(cron: Recurrence, at: datetime) -> None:
    """Next is later, previous earlier, and between an instant and its neighbours nothing fires."""
    later, earlier = cron.next(at), cron.prev(at)
    assert later
    assert earlier
    assert earlier < at < later
    back, forth = cron.prev(later), cron.next(earlier)
    assert back
    assert forth
    assert back <= at <= forth
    assert (back == at) == (forth == at) == cron.matches(at)
    assert cron.next(back) == later
    assert cron.prev(forth) == earlier


@law
@given(schedules(), instants, st.timedeltas(timedelta(0), timedelta(hours=30)))
def test_between_is_next_again_and_again(cron: Recurrence, start: datetime, length: timedelta) -> None:
    """All times from the start, which counts, to the end, which does not."""
    start, end = start.replace(second=0, microsecond=0), start + length
    walked: list[datetime] = []
    found = cron.next(start - SECOND)
    while found and found < end and len(walked) < 300:
        assert found > (walked[-1] if walked else start - SECOND)
        walked.append(found)
        found = cron.next(found)
    assert cron.between(start, found or end) == walked
    assert all(cron.matches(time) for time in walked)
    assert cron.between(end, start - SECOND) == []
    if found:
        first, beyond = int(start.timestamp()), int(found.timestamp())
        assert cron.count(first - 1, beyond - 1) == len(walked)
        assert isinstance(cron, Periodic)
        assert cron.bits(first, beyond) == sum(1 << int(time.timestamp()) - first for time in walked)


@law
@given(schedules(), instants, st.timedeltas(timedelta(0), timedelta(days=400)))
def test_later_questions_have_later_answers(cron: Recurrence, at: datetime, wait: timedelta) -> None:
    """Neither next nor previous ever goes back when time goes on."""
    first, second = cron.next(at), cron.next(at + wait)
    assert first
    assert second
    assert first <= second
    first, second = cron.prev(at), cron.prev(at + wait)
    assert first
    assert second
    assert first <= second


@law
@given(schedules(), instants, st.integers(1, 999_999))
def test_fractions_of_a_second(cron: Recurrence, at: datetime, microsecond: int) -> None:
    """Schedules fire on whole seconds, and an instant within a second is after its beginning."""
    fire = cron.next(at)
    assert fire
    assert fire.microsecond == 0
    within = fire.astimezone(UTC).replace(microsecond=microsecond)
    assert cron.prev(within) == fire
    assert cron.next(within) == cron.next(fire)
    assert not cron.matches(within)
    assert cron.between(within, within + SECOND) == cron.between(fire + SECOND, fire + 2 * SECOND)


@law
@given(schedules(), instants, st.sampled_from(ZONES))
def test_the_zone_of_the_question_does_not_matter(cron: Recurrence, at: datetime, asked_in: str) -> None:
    """Answers are real times in the schedule's own zone, whatever zone the question comes in."""
    found = cron.next(at)
    assert found
    assert found.tzinfo is cron.zone.tzinfo
    assert found.astimezone(UTC).astimezone(cron.zone.tzinfo).replace(tzinfo=None) == found.replace(tzinfo=None)
    elsewhere = cron.next(at.astimezone(packaged_zone(asked_in)))
    assert elsewhere
    assert elsewhere.timestamp() == found.timestamp() == cron.after(int(at.timestamp()))


@law
@given(schedules(), instants)
def test_iterating_is_next_again_and_again(cron: Recurrence, at: datetime) -> None:
    """The same times in the same zone, whether one is asked for after another or all are walked."""
    walked = [at]
    for found in islice(cron.iterate(at), 5):
        assert (found, found.tzinfo) == (cron.next(walked[-1]), cron.zone.tzinfo)
        assert found.timestamp() == cron.after(int(walked[-1].timestamp()))
        walked.append(found)
    assert len(walked) == 6


@pytest.mark.parametrize("zone", ZONES)
@pytest.mark.parametrize("text", ["*/20 * * * *", "30 1,2 * * *"])
def test_an_answer_within_a_clock_change(zone: str, text: str) -> None:
    """A year is iterated as it is walked by `next`: in a repeated hour an answer says which of the two it is."""
    cron = parse(text, timezone=zone)
    year, end = datetime(2011, 1, 1, tzinfo=UTC), datetime(2012, 1, 1, tzinfo=UTC)
    walked = [year]
    while walked[-1] < end:
        walked.append(cron.next(walked[-1]) or end)
    seconds = [int(time.timestamp()) for time in walked]
    assert seconds[1:] == [int(time.timestamp()) for time in islice(cron.iterate(year), len(walked) - 1)]
    assert len({*seconds}) == len(seconds) == 1 + cron.count(seconds[0], seconds[-1])


@law
@given(schedules())
def test_text_and_pickle_come_back_equal(cron: Recurrence) -> None:
    """A schedule's text and its pickle are read back as an equal value with an equal hash."""
    for twin in (parse(str(cron)), parse(str(cron), timezone="Asia/Tokyo") if "TZ=" in str(cron) else cron):
        assert twin == cron
        assert hash(twin) == hash(cron)
        assert str(twin) == str(cron)
    assert pickle.loads(pickle.dumps(cron)) == cron  # noqa: S301


@pytest.mark.parametrize(
    "spellings",
    [
        ("0 0 * * 0", "0 0 * * 7", "0 0 * * SUN", "00 00 * * sun", "  0\t0 *  * 0 ", "@weekly", "0 0 0 * * 0"),
        ("*/15 * * * *", "0,15,30,45 0-23 * * *", "0/15 */1 * * *", "45,30,15,0,0 * * * *"),
        ("0 0 * * 6,0", "0 0 * * SAT-SUN", "0 0 * * 6-7", "0 0 * * sat,sun", "0 0 * * 7,6"),
        ("0 0 * * *", "@daily", "@midnight", "0 0 ? * ?", "0 0 ? * *", "0 0 * 1-12 *", "0 0 */1 * *"),
        ("0 0 1 1 *", "@yearly", "@annually", "0 0 1 jan ?"),
        ("0 0 1 * *", "@monthly", "0 0 01 * *"),
        ("0 * * * *", "@hourly", "0 0-23 * * *"),
        ("0 0 * * FRI#3", "0 0 * * 5#3", "0 0 ? * fri#3"),
        ("0 0 * * FRIL", "0 0 * * 5L", "0 0 * * 5l"),
        ("0 0 L * *", "0 0 l * ?"),
        ("@every 90s", "@every 1m30s"),
        ("5 0 * * *", "5-5/3 0 * * *", "5-5 0-0 * * *"),
        ("0 0 * * 0", "0 0 * * 7-7/2", "0 0 * * SUN-SUN", "0 0 * * 7-SUN"),
    ],
)
def test_equal_meanings_are_equal(spellings: tuple[str, ...]) -> None:
    """However a set is spelled, it is the same value (S37)."""
    assert len({parse(text) for text in spellings}) == 1
    assert parse(spellings[0], timezone="Europe/Berlin") != parse(spellings[0])


@pytest.mark.parametrize(
    ("text", "start", "expected"),
    [
        ("0 0 15W * *", "2024-06-01", "06-14 07-15 08-15 09-16"),
        ("0 0 1W * *", "2024-05-31", "06-03 07-01 08-01 09-02"),
        ("0 0 31W * *", "2024-02-01", "03-29 05-31 07-31 08-30"),
        ("0 0 30W 6 *", "2024-01-01", "06-28 06-30 06-30 06-30"),
        ("0 0 LW * *", "2024-05-31", "06-28 07-31 08-30 09-30"),
        ("0 0 L * *", "2023-02-01", "02-28 03-31 04-30 05-31"),
        ("0 0 L-3 * *", "2024-02-01", "02-26 03-28 04-27 05-28"),
        ("0 0 L-30 * *", "2024-02-01", "03-01 05-01 07-01 08-01"),
        ("0 0 * * 5#3", "2024-06-01", "06-21 07-19 08-16 09-20"),
        ("0 0 * * MON#5", "2024-01-01", "01-29 04-29 07-29 09-30"),
        ("0 0 * * FRIL", "2024-06-01", "06-28 07-26 08-30 09-27"),
        ("0 0 1,L * *", "2024-06-01", "06-30 07-01 07-31 08-01"),
        # Debian's rule: either day, unless one starts with a star
        ("0 0 13 * FRI", "2024-06-01", "06-07 06-13 06-14 06-21"),
        ("0 0 */10 * FRI", "2024-06-01", "06-21 10-11 11-01 01-31"),
        ("0 0 13 * */5", "2024-06-01", "09-13 10-13 12-13 04-13"),
        ("0 0 1-7 * *", "2024-06-05", "06-06 06-07 07-01 07-02"),
        ("0 0 ? * 3", "2024-06-01", "06-05 06-12 06-19 06-26"),
        ("0 0 1,*/10 * 1", "2024-06-01", "06-03 06-10 06-11 06-17"),
    ],
)
def test_days(text: str, start: str, expected: str) -> None:
    """The days of W, L, # and of two day fields together, as people read them from a calendar (S37)."""
    cron, found = parse(text), datetime.fromisoformat(start).replace(tzinfo=UTC)
    days = []
    for _ in range(4):
        found = cron.next(found) or found
        days.append(f"{found:%m-%d}")
    assert " ".join(days) == expected


@pytest.mark.parametrize(
    ("text", "before", "after"),
    [
        ("0 0 * 2 1#5", 1988, 2044),
        ("0 0 29 2 *", 2012, 2020),
        ("0 0 29 2 */7", 2004, 2032),
    ],
)
def test_rare_days(text: str, before: int, after: int) -> None:
    """A 29 February on a given weekday is found on both sides, however far."""
    now = datetime(2016, 2, 29, tzinfo=UTC)
    assert [parse(text).prev(now), parse(text).next(now)] == [
        datetime(before, 2, 29, tzinfo=UTC),
        datetime(after, 2, 29, tzinfo=UTC),
    ]


def test_a_century_that_is_no_leap_year() -> None:
    """After 2096 the next 29 February is in 2104."""
    assert parse("0 0 29 2 *").next(datetime(2096, 3, 1, tzinfo=UTC)) == datetime(2104, 2, 29, tzinfo=UTC)


@pytest.mark.parametrize("where", ["UTC", "Pacific/Kiritimati", "Pacific/Pago_Pago", "America/New_York"])
@pytest.mark.parametrize(
    "text", ["* * * * *", "* * * * * *", "0 0 29 2 1#5", "30 2 * * *", "0 20 * * TUE", "@every 7d", "@yearly"]
)
def test_the_ends_of_the_calendar(text: str, where: str) -> None:
    """Where years end there is no next and no previous, instead of an overflow; the other way there is one."""
    cron = parse(text, timezone=where)
    first, last = datetime.min.replace(tzinfo=UTC), datetime.max.replace(tzinfo=UTC)
    assert cron.next(last) is None
    assert list(cron.iterate(last)) == []
    assert cron.prev(first) is None
    end, begin = cron.prev(last), cron.next(first)
    assert end
    assert begin
    assert end.year >= 9990
    assert begin.year <= 30
    assert cron.next(end) is None
    assert cron.between(last, last) == []
    assert cron.after(10**15) is cron.before(-(10**15)) is None
    assert cron.after(1 << 63) is cron.before(-1 << 63) is None
    assert cron.count(10**15, 10**16) == cron.count(-(10**16), -(10**15)) == cron.count(5, 4) == 0


@pytest.mark.parametrize(
    ("text", "first", "second"),
    [
        ("@every 90s", 90, 180),
        ("@every 90s offset 15s", 15, 105),
        ("@every 6h offset 30m", 1800, 23_400),
        ("@every 7d", 604_800, 1_209_600),
    ],
)
def test_intervals_start_at_the_epoch(text: str, first: int, second: int) -> None:
    """`@every` counts from 1970 in UTC, in whatever zone it is shown, and `offset` shifts it (S37)."""
    for where in ZONES:
        cron = parse(text, timezone=where)
        assert (cron.after(0), cron.after(first)) == (first, second)
        assert (cron.before(second), cron.before(first + 1)) == (first, first)


def test_naive_times_are_refused() -> None:
    """A time without a zone names no instant, and every question says so."""
    cron, naive = parse("0 0 * * *"), datetime(2026, 1, 1)  # noqa: DTZ001
    for ask in (cron.next, cron.prev, cron.matches, lambda t: cron.between(t, t)):
        with pytest.raises(InputError, match="aware datetime"):
            ask(naive)


@pytest.mark.parametrize("text", ["0 0 * * *", "@every 5m"])
def test_schedules_cannot_be_changed(text: str) -> None:
    """A schedule is a value: its parts cannot be set."""
    with pytest.raises(FrozenInstanceError):
        parse(text).zone = parse("@daily", timezone="Asia/Tokyo").zone  # type: ignore[misc]
