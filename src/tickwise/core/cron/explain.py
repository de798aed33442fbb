"""A cron value in plain words, from its sets alone: two spellings of one meaning give the same sentence.

A sentence is first a pattern with a gap for each list (`At minutes {} of hours {}`) and the lists. It is exact,
so that different meanings give different sentences. Only a sentence that would be too long has its lists cut to as
many entries as fit, and says `and more`.
"""

from collections.abc import Callable, Iterable, Sequence
from itertools import pairwise, product
from math import prod
from typing import NamedTuple

from .expression import EVERY_HOUR, EVERY_MONTH, EVERY_MONTH_DAY, EVERY_WEEKDAY, Days, Expression, members

LONGEST = 300

MONTHS = ("", *"January February March April May June July August September October November December".split())
WEEKDAYS = "Monday Tuesday Wednesday Thursday Friday Saturday Sunday".split()  # a week as people write it
_FEW = 6  # as many are listed one by one, even if a shorter way exists
_DATED = "on {} of the month"


class _Said(NamedTuple):
    """A pattern with a gap for each of its lists."""

    pattern: str
    lists: tuple[Sequence[str], ...] = ()

    def text(self, most: int) -> str:
        return self.pattern.format(*(_listed(words, most) for words in self.lists))


def explain(expression: Expression, zone_name: str) -> str:
    """One sentence of at most `LONGEST` characters: the times of a day, the days, and the zone."""
    said = _time(expression), *_days(expression.days, hourly=expression.hours == EVERY_HOUR)
    pattern = ", ".join(part.pattern for part in said) + f", {zone_name}"
    whole = _Said(pattern, tuple(words for part in said for words in part.lists))
    most = max(map(len, whole.lists), default=1)
    while len(text := whole.text(most)) > LONGEST:
        most -= 1
    return text


def list_numbers(numbers: Iterable[int]) -> str:
    """`0, 20 and 40`."""
    words = [str(n) for n in numbers]
    return _listed(words, len(words))


def long_duration(seconds: int) -> str:
    """`90 seconds`, `6 hours`, `minute`: in the largest unit that divides it, as said after `every`."""
    units = {86_400: "day", 3_600: "hour", 60: "minute", 1: "second"}
    size = next(size for size in units if seconds % size == 0)
    return _several(seconds // size, units[size])


def _several(n: int, unit: str) -> str:
    return unit if n == 1 else f"{n} {unit}s"


def _listed(words: Sequence[str], most: int) -> str:
    *head, tail = words if len(words) <= most else [*words[:most], "more"]
    return f"{', '.join(head)} and {tail}" if head else tail


def _spans(numbers: Sequence[int], name: Callable[[int], str] = str) -> list[str]:
    """Entries of a list: `9 to 17` for three or more in a row, `0, 7, 14 … 56` for many with one step."""
    gaps = {b - a for a, b in pairwise(numbers)}
    if len(numbers) > _FEW and len(gaps) == 1 and gaps != {1}:
        return [f"{', '.join(map(name, numbers[:3]))} … {name(numbers[-1])}"]
    starts = [i for i, n in enumerate(numbers) if i == 0 or numbers[i - 1] != n - 1]
    runs = [numbers[a:b] for a, b in pairwise([*starts, len(numbers)])]
    return [
        word
        for run in runs
        for word in ([f"{name(run[0])} to {name(run[-1])}"] if len(run) > 2 else map(name, run))
    ]


def _ordinal(n: int) -> str:
    return f"{n}th" if 10 < n < 14 else f"{n}{ {1: 'st', 2: 'nd', 3: 'rd'}.get(n % 10, 'th') }"


def _time(expression: Expression) -> _Said:
    """A few times as they are, an even pace as a pace, anything else field by field."""
    fields = members(expression.hours), members(expression.minutes), members(expression.seconds)
    _, minutes, seconds = fields
    clock = ("{:02}:{:02}" if seconds == (0,) else "{:02}:{:02}:{:02}").format
    if prod(map(len, fields)) <= _FEW:
        return _Said("At {}", ([clock(*time) for time in product(*fields)],))
    pace = _pace(fields)
    if pace and expression.hours != EVERY_HOUR:
        first, last = clock(*(values[0] for values in fields)), clock(*(values[-1] for values in fields))
        return _Said(f"Every {long_duration(pace)} from {first} to {last}")
    if pace and minutes[0] == seconds[0] == 0:
        return _Said(f"Every {long_duration(pace)}")
    return _field_by_field(fields)


def _pace(fields: Sequence[Sequence[int]]) -> int:
    """The seconds between any two neighbouring times of a day, if they are always the same; else 0.

    What the finer fields name, `count` times `step` apart, must go on evenly into the next coarser value.
    """
    step, count = 0, 1
    for values, unit in zip(reversed(fields), (1, 60, 3_600), strict=True):
        gaps = {(b - a) * unit for a, b in pairwise(values)}
        if gaps and gaps != {step * count or min(gaps)}:
            return 0
        step = step or sum(gaps)
        count *= len(values)
    return step


def _field_by_field(fields: Sequence[Sequence[int]]) -> _Said:
    """`At minutes 5 and 7 of every hour`, the finest field first; `every` is not said twice in a row."""
    hours, minutes, seconds = fields
    coarser = [("second", seconds, 60), ("minute", minutes, 60), ("hour", hours, 24)][seconds == (0,) :]
    unit, values, size = coarser.pop(0)
    step = size // len(values)
    even = len(values) > 1 and values == tuple(range(0, size, step))
    said = [_Said(f"Every {_several(step, unit)}") if even else _named(f"At {unit}", values)]
    for unit, values, size in coarser:
        if len(values) < size:
            said.append(_named(unit, values))
        elif not said[-1].pattern.lower().startswith("every"):
            said.append(_Said(f"every {unit}"))
    return _Said(" of ".join(part.pattern for part in said), sum((part.lists for part in said), ()))


def _named(unit: str, values: Sequence[int]) -> _Said:
    return _Said(f"{unit} {{}}" if len(values) == 1 else f"{unit}s {{}}", (_spans(values),))


def _days(days: Days, *, hourly: bool) -> list[_Said]:
    """The days and months. Where either of two conditions is enough and one always holds, it is every day."""
    months = _months(days.months) + _years(days.years)
    by_date, by_weekday = days.month_days != EVERY_MONTH_DAY, days.weekdays != EVERY_WEEKDAY
    if by_date and by_weekday:
        return [_joined(days), *months]
    if not days.both or not (by_date or by_weekday):
        return months if hourly else [_Said("every day"), *months]
    one = _dates(days) if by_date else _weekdays(days)
    if one.pattern == _DATED and days.months != EVERY_MONTH and months[0].pattern == "in {}":
        return [_Said("on {} of {}", one.lists + months[0].lists), *months[1:]]
    return [one, *months]


def _months(months: int) -> list[_Said]:
    words = _spans(members(months), MONTHS.__getitem__)
    one_range = len(words) == 1 and words[0] not in MONTHS
    return [] if months == EVERY_MONTH else [_Said("from {}" if one_range else "in {}", (words,))]


def _years(years: int) -> list[_Said]:
    words = _spans(members(years))
    return [_Said("from {}" if len(words) == 1 and " to " in words[0] else "in {}", (words,))] if years else []


def _joined(days: Days) -> _Said:
    dates, weekdays = _dates(days), _weekdays(days)
    if days.both:
        return _Said(f"{weekdays.pattern}, but only {dates.pattern}", weekdays.lists + dates.lists)
    return _Said(f"{dates.pattern} and also {weekdays.pattern}", dates.lists + weekdays.lists)


def _dates(days: Days) -> _Said:
    words = _spans(members(days.month_days), _ordinal)
    words[:1] = [f"the {word}" for word in words[:1]]
    words += [_before_last(k) for k in members(days.from_end)]
    words += [f"the weekday nearest the {_ordinal(d)}" for d in members(days.near)]
    words += [
        f"the weekday nearest {_before_last(k)}" if k else "the last weekday" for k in members(days.near_end)
    ]
    return _Said(_DATED, (words,))


def _before_last(days: int) -> str:
    said = {0: "the last day", 1: "the day before the last"}
    return said.get(days, f"the day {days} days before the last")


def _weekdays(days: Days) -> _Said:
    """`Monday to Friday`, `every Monday`, `on the 1st and last Friday of the month`, or several of these."""
    plain = _spans([i for i in range(7) if days.weekdays >> (i + 1) % 7 & 1], WEEKDAYS.__getitem__)
    nth = [f"the {which} {name}" for i, name in enumerate(WEEKDAYS) if (which := _which(days, (i + 1) % 7))]
    if not plain:
        return _Said(_DATED, (nth,))
    every = "{}" if any(" to " in word for word in plain) else "every {}"
    return _Said(f"{every} of the month" if nth else every, (plain + nth,))


def _which(days: Days, weekday: int) -> str:
    """`1st and last`: the weekdays of this name in a month, where not all of them are meant anyway."""
    ordinals = [_ordinal(n) for n in range(1, 6) if days.nth_weekdays >> 7 * (n - 1) + weekday & 1]
    ordinals += ["last"] * (days.last_weekdays >> weekday & 1)
    return _listed(ordinals, 6) if ordinals and not days.weekdays >> weekday & 1 else ""
