"""The law, done the slow way: look at the clock on the wall at every tick and see whether it names the time.

Nothing here is shared with the engine. A `Meaning` is plain sets and questions about a date; `generate` makes a
text together with its meaning; a `Clock` is what a wall clock shows at each tick of real time, from `zoneinfo`
over the `tzdata` package; `fires` is the two sentences of S39.
"""

from bisect import bisect_left
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta, tzinfo
from functools import cache
from importlib.resources import files
from random import Random
from zoneinfo import ZoneInfo

import numpy as np
import numpy.typing as npt

DayRule = Callable[[date], bool]
Numbers = npt.NDArray[np.int64]

EPOCH = date(1970, 1, 1)
ONE_DAY = timedelta(days=1)
MONTHS = "January February March April May June July August September October November December".split()
WEEKDAYS = "Sunday Monday Tuesday Wednesday Thursday Friday Saturday".split()


# --- what a text means ---------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Meaning:
    """The values of each field; days as questions, of which one must be answered with yes."""

    seconds: frozenset[int]
    minutes: frozenset[int]
    hours: frozenset[int]
    months: frozenset[int]
    month_days: tuple[DayRule, ...]
    weekdays: tuple[DayRule, ...]
    both: bool  # Debian's rule: a day field that starts with a star (or ?) makes it "and"; so does an &
    years: frozenset[int] | None = None  # none: every year

    def names_day(self, day: date) -> bool:
        if self.years is not None and day.year not in self.years:
            return False
        by_date = any(rule(day) for rule in self.month_days)
        by_weekday = any(rule(day) for rule in self.weekdays)
        return day.month in self.months and (by_date and by_weekday if self.both else by_date or by_weekday)

    @property
    def keeps_pace(self) -> bool:
        return len(self.hours) == 24 or len(self.minutes) == 60


def weekday_of(day: date) -> int:
    return day.isoweekday() % 7


def days_of_month(day: date) -> list[date]:
    first = day.replace(day=1)
    return [d for d in (first + n * ONE_DAY for n in range(31)) if d.month == day.month]


def is_day(number: int) -> DayRule:
    return lambda day: day.day == number


def is_weekday(number: int) -> DayRule:
    return lambda day: weekday_of(day) == number % 7


def is_before_end(count: int) -> DayRule:
    return lambda day: len(days_of_month(day)) - day.day == count


def is_nearest_weekday(number: int) -> DayRule:
    def rule(day: date) -> bool:
        month = days_of_month(day)
        working = [d.day for d in month if d.isoweekday() <= 5]
        return 1 <= number <= len(month) and day.day == min(working, key=lambda d: abs(d - number))

    return rule


def is_nearest_weekday_before_end(count: int) -> DayRule:
    return lambda day: is_nearest_weekday(len(days_of_month(day)) - count)(day)


def is_last_working_day(day: date) -> bool:
    return day == [d for d in days_of_month(day) if d.isoweekday() <= 5][-1]


def is_nth_weekday(number: int, nth: int) -> DayRule:
    def rule(day: date) -> bool:
        same = [d for d in days_of_month(day) if weekday_of(d) == number % 7]
        return same[nth - 1 : nth] == [day]

    return rule


def is_last_weekday(number: int) -> DayRule:
    return lambda day: weekday_of(day) == number % 7 and (day + 7 * ONE_DAY).month != day.month


# --- texts with their meanings -------------------------------------------------------------------------------


def some_numbers(random: Random, low: int, high: int) -> tuple[str, set[int]]:
    """One item of a list: a number, a range, or either with a step."""
    a, b = sorted((random.randint(low, high), random.randint(low, high)))
    step = random.randint(1, high - low + 2)
    return random.choice(
        [
            (f"{a}", {a}),
            (f"{a}", {a}),
            (f"{a}-{b}", set(range(a, b + 1))),
            (f"{a}-{b}/{step}", set(range(a, b + 1, step))),
            (f"{a}/{step}", set(range(a, high + 1, step))),
        ]
    )


def number_field(random: Random, low: int, high: int) -> tuple[str, frozenset[int]]:
    """A whole field without names: a star, a star with a step, or a list of one to three items."""
    step = random.randint(1, (high - low) // 2)
    kind = random.random()
    if kind < 0.2:
        return "*", frozenset(range(low, high + 1))
    if kind < 0.35:
        return f"*/{step}", frozenset(range(low, high + 1, step))
    items = [some_numbers(random, low, high) for _ in range(random.choice((1, 1, 2, 3)))]
    return ",".join(text for text, _ in items), frozenset().union(*(values for _, values in items))


def name(random: Random, whole: str) -> str:
    """A name as people write it: whole or cut, large or small."""
    cut = random.choice((whole[:3], whole[:3], whole[:4], whole))
    return random.choice((cut, cut.upper(), cut.lower()))


def month_field(random: Random) -> tuple[str, frozenset[int]]:
    if random.random() < 0.2:
        a, b = sorted((random.randint(1, 12), random.randint(1, 12)))
        return f"{name(random, MONTHS[a - 1])}-{name(random, MONTHS[b - 1])}", frozenset(range(a, b + 1))
    return ("*", frozenset(range(1, 13))) if random.random() < 0.5 else number_field(random, 1, 12)


def month_day_field(random: Random) -> tuple[str, list[DayRule]]:
    kind, n = random.random(), random.randint(1, 31)
    if kind < 0.35:
        return random.choice("**?"), [lambda _: True]
    if kind < 0.7:
        text, values = number_field(random, 1, 31)
        return text, [is_day(value) for value in values]
    item, rule = random.choice(
        [
            ("L", is_before_end(0)),
            (f"L-{min(n, 30)}", is_before_end(min(n, 30))),
            ("LW", is_last_working_day),
            (f"{n}W", is_nearest_weekday(n)),
            (f"L-{min(n, 30)}W", is_nearest_weekday_before_end(min(n, 30))),
            (f"{n}-L", lambda day: day.day >= n),
            (f"{n}-L/3", lambda day: day.day >= n and (day.day - n) % 3 == 0),
        ]
    )
    other = random.randint(1, 31)
    return (item, [rule]) if kind < 0.9 else (f"{other},{item}", [rule, is_day(other)])


def weekday_field(random: Random) -> tuple[str, list[DayRule]]:
    kind, n, w = random.random(), random.randint(1, 5), random.randint(0, 7)
    if kind < 0.4:
        return random.choice("**?"), [lambda _: True]
    if kind < 0.6:
        text, values = number_field(random, 0, 6)
        return text, [is_weekday(value) for value in values]
    day = random.choice((name(random, WEEKDAYS[w % 7]), str(w)))
    a, b = sorted((random.randint(0, 6), random.randint(0, 6)))
    item, rules = random.choice(
        [
            (day, [is_weekday(w)]),
            (f"{w}-7", [is_weekday(d) for d in range(w, 8)]),
            ("SAT-SUN", [is_weekday(6), is_weekday(0)]),
            ("mon-fri", [is_weekday(d) for d in range(1, 6)]),
            (f"{day}#{n}", [is_nth_weekday(w, n)]),
            (f"{WEEKDAYS[a]}-{b}#{n}", [is_nth_weekday(d, n) for d in range(a, b + 1)]),
            (f"{day}L", [is_last_weekday(w)]),
        ]
    )
    other = random.randint(0, 7)
    return (item, rules) if kind < 0.85 else (f"{item},{other}", [*rules, is_weekday(other)])


def year_field(random: Random, around: int) -> tuple[str, frozenset[int] | None]:
    """The seventh field, of years about one."""
    a, b = around - random.randint(0, 2), around + random.randint(0, 2)
    return random.choice(
        [
            ("*", None),
            (f"{around}", frozenset({around})),
            (f"{a}-{b}", frozenset(range(a, b + 1))),
            (f"{a},{b}", frozenset({a, b})),
            (f"{a}/2", frozenset(range(a, 2100, 2))),
        ]
    )


def generate(random: Random, *, seconds: bool = False, around: int | None = None) -> tuple[str, Meaning]:
    """A text of five fields, or of six, or, about a year, of seven; and what it means."""
    second = number_field(random, 0, 59) if seconds else ("", frozenset({0}))
    minute, hour = number_field(random, 0, 59), number_field(random, 0, 23)
    month_day, month, weekday = month_day_field(random), month_field(random), weekday_field(random)
    text = " ".join((second[0], minute[0], hour[0], month_day[0], month[0], weekday[0])).strip()
    both = month_day[0][0] in "*?" or weekday[0][0] in "*?"
    if random.random() < 0.15:
        text, both = f"{text}&", True
    year = year_field(random, around) if around and seconds else ("", None)
    days = (tuple(month_day[1]), tuple(weekday[1]))
    return f"{text} {year[0]}".strip(), Meaning(second[1], minute[1], hour[1], month[1], *days, both, year[1])


# --- the clock on the wall -----------------------------------------------------------------------------------


@cache
def packaged_zone(name: str) -> tzinfo:
    """A zone as `zoneinfo` understands the file in the `tzdata` package, whatever the machine has."""
    with files("tzdata").joinpath("zoneinfo", *name.split("/")).open("rb") as file:
        return ZoneInfo.from_file(file, key=name)


def offset_at(zone: tzinfo, second: int) -> int:
    offset = datetime.fromtimestamp(second, zone).utcoffset()
    assert offset is not None
    return offset // timedelta(seconds=1)


def transitions(zone: tzinfo, start: int, end: int) -> list[int]:
    """The first second of every new offset: look every fifth day and halve where it changed.

    No two transitions of 1970-2037 are closer; if ever two were, the comparison of spans would miss them here.
    """
    probes = range(start, end + 5 * 86_400, 5 * 86_400)
    offsets = [offset_at(zone, probe) for probe in probes]
    found = [
        probe + bisect_left(range(5 * 86_400), True, key=lambda t: offset_at(zone, probe + t) != before)
        for probe, before, after in zip(probes, offsets, offsets[1:], strict=False)
        if before != after
    ]
    return [at for at in found if at < end]


def epoch(*fields: int, zone: tzinfo = UTC) -> int:
    """The UTC second of a wall time, the first one if there are two."""
    return int(datetime(*fields, tzinfo=zone).timestamp())  # type: ignore[arg-type,misc]


@dataclass(frozen=True)
class Clock:
    """Ticks of real time (UTC seconds) and the wall time each shows (seconds since 1970 on the wall)."""

    ticks: Numbers
    walls: Numbers
    step: int

    @classmethod
    def watch(cls, zone: tzinfo, start: int, end: int, step: int = 60) -> "Clock":
        ticks = np.arange(start, end, step, dtype=np.int64)
        offsets = np.array([offset_at(zone, tick) for tick in ticks.tolist()], dtype=np.int64)
        return cls(ticks, ticks + offsets, step)


def member(values: Iterable[int], of: Numbers, size: int) -> npt.NDArray[np.bool_]:
    table = np.zeros(size, dtype=np.bool_)
    table[list(values)] = True
    return table[of]


def named_walls(meaning: Meaning, start: int, end: int, step: int) -> npt.NDArray[np.bool_]:
    """For every wall time from `start` to before `end`, whether the expression names it."""
    walls = np.arange(start, end, step, dtype=np.int64)
    first, last = start // 86_400, end // 86_400
    days = [day - first for day in range(first, last + 1) if meaning.names_day(EPOCH + day * ONE_DAY)]
    return (
        member(days, walls // 86_400 - first, last - first + 1)
        & member(meaning.hours, walls // 3600 % 24, 24)
        & member(meaning.minutes, walls // 60 % 60, 60)
        & member(meaning.seconds, walls % 60, 60)
    )


def fires(meaning: Meaning, clock: Clock) -> Numbers:
    """The ticks at which the expression fires; the first tick only sets the clock.

    Every hour or finer: whenever the wall shows a named time. Fixed times: whenever the wall reaches, for the
    first time ever, a named time or passes it in a leap.
    """
    low, step = int(clock.walls.min()), clock.step
    named = named_walls(meaning, low, int(clock.walls.max()) + step, step)
    furthest = np.maximum.accumulate(clock.walls)
    reached = np.cumsum(named)[(furthest - low) // step]
    shown = named[(clock.walls - low) // step]
    fired: npt.NDArray[np.bool_] = shown[1:] if meaning.keeps_pace else np.diff(reached) > 0
    return clock.ticks[1:][fired]


def neighbours(fired: Numbers, at: int) -> tuple[int | None, int | None]:
    """The last fire before an instant and the first after it, as far as the clock was watched."""
    earlier, later = fired[fired < at], fired[fired > at]
    return int(earlier[-1]) if len(earlier) else None, int(later[0]) if len(later) else None
