"""Explanations: what each phrase reads like, that they are short, and that they say what the value means."""

import re
from collections.abc import Callable, Iterator
from itertools import product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tickwise.core.cron import Cron, CronError, parse
from tickwise.core.cron.explain import LONGEST, explain, list_numbers, long_duration
from tickwise.core.cron.expression import Days, members
from tickwise.core.cron.zone import zone_names

PHRASES = {
    # an even pace around the clock
    "* * * * * *": "Every second",
    "*/10 * * * * *": "Every 10 seconds",
    "* * * * *": "Every minute",
    "*/5 * * * *": "Every 5 minutes",
    "0,30 * * * *": "Every 30 minutes",
    "0 * * * *": "Every hour",
    # not from the full hour or minute on, or not even
    "30 * * * *": "At minute 30 of every hour",
    "15,45 * * * *": "At minutes 15 and 45 of every hour",
    "5/20 * * * *": "At minutes 5, 25 and 45 of every hour",
    "2-59/5 * * * *": "At minutes 2, 7, 12 … 57 of every hour",
    "*/7 * * * *": "At minutes 0, 7, 14 … 56 of every hour",
    "*/33 * * * *": "At minutes 0 and 33 of every hour",
    "0-2,10,11 * * * *": "At minutes 0 to 2, 10 and 11 of every hour",
    "30 * * * * *": "At second 30 of every minute",
    "5 0 * * * *": "At second 5 of minute 0 of every hour",
    "10,30 */5 * * * *": "At seconds 10 and 30 of minutes 0, 5, 10 … 55 of every hour",
    "* 3,9 * * * *": "Every second of minutes 3 and 9 of every hour",
    # a few times
    "0 3 * * *": "At 03:00, every day",
    "0 9,12,18 * * *": "At 09:00, 12:00 and 18:00, every day",
    "0 */4 * * *": "At 00:00, 04:00, 08:00, 12:00, 16:00 and 20:00, every day",
    "15 30 2 * * *": "At 02:30:15, every day",
    "0,30 30 2 * * *": "At 02:30:00 and 02:30:30, every day",
    # a pace within a day
    "0 */2 * * *": "Every 2 hours from 00:00 to 22:00, every day",
    "30 1-23/2 * * *": "Every 2 hours from 01:30 to 23:30, every day",
    "0 9-17 * * MON-FRI": "Every hour from 09:00 to 17:00, Monday to Friday",
    "*/15 9-17 * * *": "Every 15 minutes from 09:00 to 17:45, every day",
    "5-59/15 9-17 * * *": "Every 15 minutes from 09:05 to 17:50, every day",
    "* 9 * * *": "Every minute from 09:00 to 09:59, every day",
    "*/20 * 9-10 * * *": "Every 20 seconds from 09:00:00 to 10:59:40, every day",
    # hours that are no range
    "0 1-5,9,13-17 * * *": "At minute 0 of hours 1 to 5, 9 and 13 to 17, every day",
    "*/5 */2 * * *": "Every 5 minutes of hours 0, 2, 4 … 22, every day",
    "7,13,29,41,53 1-5,9,13-17 * * *": (
        "At minutes 7, 13, 29, 41 and 53 of hours 1 to 5, 9 and 13 to 17, every day"
    ),
    "1-3,5,8,13,21 4 * * *": "At minutes 1 to 3, 5, 8, 13 and 21 of hour 4, every day",
    "10,40 * 1,3,7 * * *": "At seconds 10 and 40 of every minute of hours 1, 3 and 7, every day",
    "*/10 * 1,3,7 * * *": "Every 10 seconds of hours 1, 3 and 7, every day",
    # days of the month
    "0 0 1 * *": "At 00:00, on the 1st of the month",
    "0 0 2,3,11-13,21-23,31 * *": "At 00:00, on the 2nd, 3rd, 11th to 13th, 21st to 23rd and 31st of the month",
    "0 0 */2 * *": "At 00:00, on the 1st, 3rd, 5th … 31st of the month",
    "0 0 L * *": "At 00:00, on the last day of the month",
    "0 0 L-1 * *": "At 00:00, on the day before the last of the month",
    "0 0 L-3 * *": "At 00:00, on the day 3 days before the last of the month",
    "0 0 LW * *": "At 00:00, on the last weekday of the month",
    "0 0 15W * *": "At 00:00, on the weekday nearest the 15th of the month",
    "0 0 1,15,L,22W * *": "At 00:00, on the 1st, 15th, the last day and the weekday nearest the 22nd of the month",
    # days of the week
    "0 0 * * 1": "At 00:00, every Monday",
    "0 0 * * 0,6": "At 00:00, every Saturday and Sunday",
    "0 0 * * 1-3,6": "At 00:00, Monday to Wednesday and Saturday",
    "0 0 * * 5#3": "At 00:00, on the 3rd Friday of the month",
    "0 0 * * 5L": "At 00:00, on the last Friday of the month",
    "0 0 * * 1#1,1#3,1L,5L": "At 00:00, on the 1st, 3rd and last Monday and the last Friday of the month",
    "0 0 * * 1,5#3": "At 00:00, every Monday and the 3rd Friday of the month",
    "0 0 * * 1-3,5L": "At 00:00, Monday to Wednesday and the last Friday of the month",
    "0 0 * * 1,1#2,1L": "At 00:00, every Monday",
    # both and either
    "0 0 */2 * 1": "At 00:00, every Monday, but only on the 1st, 3rd, 5th … 31st of the month",
    "0 0 1-7 * */6": "At 00:00, every Saturday and Sunday, but only on the 1st to 7th of the month",
    "0 0 1 * 1": "At 00:00, on the 1st of the month and also every Monday",
    "0 0 1,15 * 1-5": "At 00:00, on the 1st and 15th of the month and also Monday to Friday",
    "0 0 1 * 0-6": "At 00:00, every day",
    "0 0 1-31 * 1": "At 00:00, every day",
    "0 * 1 * 0-6": "Every hour",
    # n-th weekdays of a range, weekdays before the last day, both days, years
    "0 0 * * MON-WED#1": "At 00:00, on the 1st Monday, the 1st Tuesday and the 1st Wednesday of the month",
    "0 0 L-2W * *": "At 00:00, on the weekday nearest the day 2 days before the last of the month",
    "0 0 25-L * *": "At 00:00, on the 25th to 31st of the month",
    "0 9 1-7 * MON&": "At 09:00, every Monday, but only on the 1st to 7th of the month",
    "0 0 9 1 1 ? 2027,2029": "At 09:00, on the 1st of January, in 2027 and 2029",
    "0 0 9 ? * * 2027-2029": "At 09:00, every day, from 2027 to 2029",
    "0 0 9 L * ? 2027": "At 09:00, on the last day of the month, in 2027",
    # months
    "0 0 * 1 *": "At 00:00, every day, in January",
    "* * * 1,2,12 *": "Every minute, in January, February and December",
    "* * * 6-8 *": "Every minute, from June to August",
    "0 0 1 1 *": "At 00:00, on the 1st of January",
    "0 0 L */3 *": "At 00:00, on the last day of January, April, July and October",
    "0 0 * 11 4#4": "At 00:00, on the 4th Thursday of November",
    "0 0 1 6-8 *": "At 00:00, on the 1st of the month, from June to August",
    "0 0 * 6 1,5L": "At 00:00, every Monday and the last Friday of the month, in June",
    "0 0 1 6 1": "At 00:00, on the 1st of the month and also every Monday, in June",
}


def cron(text: str, timezone: str = "UTC") -> Cron:
    found = parse(text, timezone)
    assert isinstance(found, Cron)
    return found


@pytest.mark.parametrize(("text", "words"), PHRASES.items())
def test_phrases(text: str, words: str) -> None:
    """Every kind of set has its phrase, and the zone ends the sentence (S37)."""
    assert parse(text).explain() == f"{words}, UTC"


def test_zone_is_named() -> None:
    """The zone of the expression is part of what it means (S40)."""
    assert parse("0 3 * * MON-FRI", "Europe/Berlin").explain() == "At 03:00, Monday to Friday, Europe/Berlin"


def test_intervals() -> None:
    """An interval is said in its largest whole unit, and one of a unit without a number (S37)."""
    said = {
        90: "90 seconds",
        60: "minute",
        7_200: "2 hours",
        86_400: "day",
        172_800: "2 days",
        5_400: "90 minutes",
    }
    assert {seconds: long_duration(seconds) for seconds in said} == said


def test_lists_of_numbers() -> None:
    """A warning lists all numbers, with commas and one `and` (S38)."""
    assert [list_numbers(numbers) for numbers in ([0], (0, 33), range(0, 60, 20))] == [
        "0",
        "0 and 33",
        "0, 20 and 40",
    ]


# --- short ---------------------------------------------------------------------------------------------------


def test_too_long_is_cut() -> None:
    """What would be too long to read has its longest lists cut, and says that there is more."""
    twenty = "1,4,6,9,11,14,16,19,23,27,31,32,36,38,41,44,47,51,53,59"
    assert parse(f"{twenty} {twenty} 1,4,6 L-3,L-5,L-7,L-9,15W,13W,11W 1,7 5#3,6#2,1L").explain() == (
        "At seconds 1, 4, 6 and more of minutes 1, 4, 6 and more of hours 1, 4 and 6, on the day 3 days before "
        "the last, the day 5 days before the last, the day 7 days before the last and more of the month and also "
        "on the last Monday, the 3rd Friday and the 2nd Saturday of the month, in January and July, UTC"
    )


def test_the_longest_is_short_enough() -> None:
    """Even every list cut to its longest first entry leaves a sentence that fits (S37)."""
    crowded = ",".join(f"{n}-{n + 2}" for n in range(10, 57, 4))
    weekdays = ",".join(f"{w}#{n}" for w in (3, 4, 6) for n in (1, 2, 4, 5)) + ",3L,4L,6L"
    nearest = ",".join(f"L-{n}" for n in range(10, 31, 2)) + "," + ",".join(f"{n}W" for n in range(10, 31))
    longest_zone = max(zone_names(), key=len)
    text = parse(f"{crowded} {crowded} 10-12,14-16,18-20 {nearest} 9,11,12 {weekdays}", longest_zone).explain()
    assert 250 < len(text) <= LONGEST
    assert text.count("and more") == 6


# --- any expression ------------------------------------------------------------------------------------------

Numbers = frozenset[int]


def numbers(low: int, high: int) -> st.SearchStrategy[Numbers]:
    whole = frozenset(range(low, high + 1))
    return st.just(whole) | st.frozensets(st.integers(low, high), min_size=1)


def one_by_one(values: Numbers) -> str:
    return ",".join(map(str, sorted(values, reverse=True)))


def in_ranges(values: Numbers) -> str:
    starts = sorted(n for n in values if n - 1 not in values)
    ends = sorted(n for n in values if n + 1 not in values)
    return ",".join(f"{a}-{b}" if a < b else f"{a}/99" for a, b in zip(starts, ends, strict=True))


@st.composite
def two_spellings(draw: st.DrawFn) -> tuple[str, str]:
    """One meaning written twice: as numbers and as ranges, special days in two orders, stars in front."""
    bounds = ((0, 59), (0, 59), (0, 23), (1, 31), (1, 12), (0, 6))
    special = {
        3: draw(st.lists(st.sampled_from(["L", "L-3", "L-30", "LW", "1W", "15W", "31W"]), max_size=3)),
        5: draw(st.lists(st.sampled_from(["1#1", "5#3", "0#5", "6#2", "5L", "0L"]), max_size=3)),
    }
    first: list[str] = []
    second: list[str] = []
    for place, (low, high) in enumerate(bounds):
        values, star = (
            draw(numbers(low, high)),
            draw(st.sampled_from(["", "*/2", "*", "?"])) if place in special else "",
        )
        more = special.get(place, [])
        for spelling, spelled, rest in ((first, one_by_one, more), (second, in_ranges, more[::-1])):
            spelling.append(",".join(filter(None, [star, spelled(values), *rest])))
    return " ".join(first), " ".join(second)


@given(two_spellings(), st.sampled_from(sorted(zone_names())))
def test_any_expression(spellings: tuple[str, str], timezone: str) -> None:
    """Of any sets the sentence is one short line that ends with the zone, however they are spelled (S37)."""
    first, second = (parsed(text, timezone) for text in spellings)
    assert first == second
    for found in filter(None, (first, second)):
        text = found.explain()
        assert len(text) <= LONGEST
        assert text.isprintable()
        assert text.endswith(f", {timezone}")
    assert not (first and second) or first.explain() == second.explain()


def parsed(text: str, timezone: str = "UTC") -> Cron | None:
    """The value, or none of a text that is refused because it names no day of any month."""
    try:
        return cron(text, timezone)
    except CronError as error:
        if "never fires" in str(error):
            return None
        raise


# --- faithful ------------------------------------------------------------------------------------------------

SECONDS = "0 * 30 0,30 */10 5/10 */7 0-4 1,2,5 0-29".split()
MINUTES = "0 * 30 0,30 15,45 */5 2/5 */7 0-4 0-56/2 1/2 1,2,5,9,20,21,40 0-29 30-59".split()
HOURS = "* 0 3 23 */2 1/2 */4 */5 0-5 9-17 1-5,9,13-17 0,12 1,2,3,7,9,11,20 0-22 1-23".split()
MONTH_DAYS = (
    "* 1 15 31 1,15 1-7 8-14 */2 2/2 */5 1-31 L L-1 L-3 LW 15W 1W 1,L 15,15W */2,L *,L L,LW 1,L-3,15W,20W "
    "*/10,LW 1-15,L 1,3,4,6,9,11,14,17,20,22,25,28"
).split()
MONTHS = "* 1 2 6,12 1-3 */2 */3 1-11 2-12".split()
WEEKDAYS = (
    "* 1 0 1-5 0,6 1,3,5 0-6 */2 */3 5#3 5L 1#1,1#3 5#3,5L 1,5#3 1-3,5L *,5#3 */6,1L 1,1L 0#1,1#1,2#1 "
    "2#2,2#4,2L,4#1 6-7 2-7"
).split()


def pool() -> Iterator[str]:
    """All times of the day on all days, all days at one time, and a seeded choice of everything."""
    for time in product(SECONDS, MINUTES, HOURS):
        yield f"{' '.join(time)} * * *"
    for days in product(MONTH_DAYS, MONTHS, WEEKDAYS):
        yield f"0 3 {' '.join(days)}"
    lists = (SECONDS, MINUTES, HOURS, MONTH_DAYS, MONTHS, WEEKDAYS)
    random = np.random.default_rng(38)
    for places in random.integers(0, [len(items) for items in lists], (20_000, 6)).tolist():
        yield " ".join(items[place] for items, place in zip(lists, places, strict=True))


def days_of_months(days: Days) -> tuple[int, tuple[int, ...]]:
    """The months, and the days of each kind of month they can be."""
    lengths = {length for month in members(days.months) for length in lengths_of(month)}
    return days.months, tuple(days._of_month(first, length) for length in sorted(lengths) for first in range(7))


def lengths_of(month: int) -> tuple[int, ...]:
    return (28, 29) if month == 2 else (30,) if month in (4, 6, 9, 11) else (31,)


def test_different_meanings_read_differently() -> None:
    """Of some 28,000 expressions no two that differ in meaning read the same; one in 500 at most is cut (S37)."""
    meanings: dict[str, object] = {}
    cut = 0
    for found in filter(None, map(parsed, pool())):
        value, text = found.expression, found.explain()
        meaning = value.seconds, value.minutes, value.hours, days_of_months(value.days)
        cut += "and more" in text
        assert meanings.setdefault(text, meaning) == meaning, text
    assert len(meanings) > 20_000
    assert cut * 500 < len(meanings)


# --- read back -----------------------------------------------------------------------------------------------
# A reader who knows English and the calendar, but not the value.

CLOCK = r"\d\d:\d\d(?::\d\d)?"
LIST = r"\d+(?:(?:, | and | to | … )\d+)*"
PACE = re.compile(rf"Every (\d+ )?(second|minute|hour)s?(?: from ({CLOCK}) to ({CLOCK}))?")
UNITS = {"second": 1, "minute": 60, "hour": 3_600}
MONTH_NAMES = "_ January February March April May June July August September October November December".split()
WEEKDAY_NAMES = "Sunday Monday Tuesday Wednesday Thursday Friday Saturday".split()
MONTH_LIST = rf"(?:{'|'.join(MONTH_NAMES)})(?:(?:, | and | to )(?:{'|'.join(MONTH_NAMES)}))*"
DAYS = re.compile(rf"(?P<days>.*?)(?:(?:^|, )(?:in|from) (?P<months>{MONTH_LIST}))?")


def read_list(text: str, number: Callable[[str], int] = int) -> list[int]:
    found: list[int] = []
    for entry in re.split(", | and ", text):
        low, _, high = entry.partition(" to ")
        first, _, last = entry.partition(" … ")
        step = number(first) - found[-1] if last else 1
        found += range(number(first if last else low), number(last or high or low) + 1, step)
    return found


def read_clock(text: str) -> int:
    hours, minutes, seconds = map(int, f"{text}:00".split(":")[:3])
    return hours * 3_600 + minutes * 60 + seconds


def read_field(fields: list[str], unit: str) -> list[int]:
    """`minutes 5 and 7`, `5 minutes` (after every), `every minute`, or not said, which is every one too."""
    said = next((field for field in fields if unit in field), "")
    if listed := re.fullmatch(rf"{unit}s? ({LIST})", said):
        return read_list(listed[1])
    stepped = re.match(r"\d+", said)
    return list(range(0, 24 if unit == "hour" else 60, int(stepped[0]) if stepped else 1))


def read_times(text: str) -> set[int]:
    """The seconds of a day that the first part of a sentence names."""
    if re.match(f"At {CLOCK}", text):
        return {read_clock(clock) for clock in re.findall(CLOCK, text)}
    if found := PACE.fullmatch(text):
        first, last = (read_clock(found[3]), read_clock(found[4])) if found[3] else (0, 86_399)
        return set(range(first, last + 1, int(found[1] or 1) * UNITS[found[2]]))
    fields = text.removeprefix("At ").removeprefix("Every ").split(" of ")
    seconds = read_field(fields, "second") if "second" in text else [0]
    minutes, hours = read_field(fields, "minute"), read_field(fields, "hour")
    return {h * 3_600 + m * 60 + s for h in hours for m in minutes for s in seconds}


def read_ordinal(text: str) -> int:
    found = re.fullmatch(r"(\d+)(?:st|nd|rd|th)", text)
    assert found is not None, text
    return int(found[1])


def named_dates(text: str, first: int, length: int) -> set[int]:
    """The days of a month for `the 1st, 15th and the last day`."""
    working = [day for day in range(1, length + 1) if (first + day - 1) % 7 not in (0, 6)]
    plain, special = [], set()
    for entry in re.split(", | and ", text):
        word = entry.removeprefix("the ")
        if nearest := re.fullmatch(r"weekday nearest the (\w+)", word):
            day = read_ordinal(nearest[1])
            special |= {min(working, key=lambda other: abs(other - day))} if day <= length else set()
        elif before := re.fullmatch(r"day (?:(\d+) days )?before the last", word):
            special.add(length - int(before[1] or 1))
        elif word in ("last day", "last weekday"):
            special.add(length if word == "last day" else working[-1])
        else:
            plain.append(word)
    return special | set(read_list(", ".join(plain), read_ordinal) if plain else ())


def named_weekdays(text: str, first: int, length: int) -> set[int]:
    """The days of a month for `Monday to Friday`, or `Monday and the 1st and last Friday`."""
    found: set[int] = set()
    which: list[str] = []
    for entry in re.split(", | and ", text):
        *ordinal, name = entry.removeprefix("the ").split(" ") if " to " not in entry else [entry]
        if name not in WEEKDAY_NAMES and " to " not in name:
            which.append(name)
            continue
        monday_first = read_list(name, lambda day: (WEEKDAY_NAMES.index(day) - 1) % 7)
        days = [day for day in range(1, length + 1) if (first + day - 2) % 7 in monday_first]
        nth = which + ordinal
        found |= {day for day in days if not nth or f"{(day + 6) // 7}" in {w[0] for w in nth}}
        found |= {days[-1]} if "last" in nth else set()
        which = []
    return found


def named_days(clause: str, first: int, length: int) -> set[int]:
    """The days of a month that a clause about dates or about weekdays names."""
    if " and also " in clause:
        return set().union(*(named_days(part, first, length) for part in clause.split(" and also ")))
    if ", but only " in clause:
        return set.intersection(*(named_days(part, first, length) for part in clause.split(", but only ")))
    if clause in ("", "every day"):
        return set(range(1, length + 1))
    dated = re.fullmatch(r"(?:on |every )?(.*?)(?: of the month)?", clause)
    assert dated is not None
    return (named_weekdays if re.search(r"[A-Z]", clause) else named_dates)(dated[1], first, length)


def read_days(text: str) -> tuple[list[int], str]:
    """The months, and the clause about their days."""
    if of_months := re.fullmatch(rf"(on .*) of ({MONTH_LIST})", text):
        return read_list(of_months[2], MONTH_NAMES.index), f"{of_months[1]} of the month"
    found = DAYS.fullmatch(text)
    assert found is not None
    return read_list(found["months"] or "January to December", MONTH_NAMES.index), found["days"]


@pytest.mark.parametrize("part", range(4))
def test_what_is_read_is_what_is_meant(part: int) -> None:
    """A reader who takes the sentence at its word names the same times on the same days as the value (S37)."""
    for found in filter(None, map(parsed, list(pool())[part::40])):
        value, text = found.expression, found.explain()
        if "and more" in text:
            continue
        time, *rest = re.split(r", (?=[a-zA-Z])", text.removesuffix(", UTC"), maxsplit=1)
        fields = members(value.hours), members(value.minutes), members(value.seconds)
        assert read_times(time) == {h * 3_600 + m * 60 + s for h, m, s in product(*fields)}, text
        months, clause = read_days("".join(rest))
        assert tuple(months) == members(value.days.months), text
        for first, length in product(range(7), {length for month in months for length in lengths_of(month)}):
            named = named_days(clause, first, length) & set(range(1, length + 1))
            assert named == set(members(value.days._of_month(first, length))), text


def test_explains_any_zone_name() -> None:
    """The zone is said as it is given (S40)."""
    assert explain(cron("* * * * *").expression, "Etc/GMT+5") == "Every minute, Etc/GMT+5"
