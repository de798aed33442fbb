"""Recurrence rules of RFC 5545, and `every: 2w`: text in, times out, on the local calendar from an anchor (S64).

A rule becomes cron times whose days are those of the rule (`rule_days`), so that clock changes are decided where
they are for all others (S39). Supported are FREQ from DAILY to YEARLY and the parts in `_PARTS`.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date
from functools import partial

from ..errors import InputError, did_you_mean, nearest_word
from ..timeparse import LAST, instant, last_instant, read_moment, to_datetime
from .explain import WEEKDAYS, list_numbers
from .expression import DAY, EVERY_MONTH, EVERY_MONTH_DAY, EVERY_WEEKDAY, Expression
from .recurrences import AnyOf, Window
from .rule_days import Frequency, RuleDays
from .walk import Cron, Periodic, Recurrence
from .zone import Zone

_EPOCH = date(1970, 1, 1).toordinal()
_PARTS = "FREQ INTERVAL BYDAY BYMONTHDAY BYMONTH BYSETPOS BYHOUR BYMINUTE COUNT UNTIL WKST".split()
_WEEKDAYS = {"SU": 0, "MO": 1, "TU": 2, "WE": 3, "TH": 4, "FR": 5, "SA": 6}
_BY_DAY = re.compile(r"([+-]?\d{1,2})?(SU|MO|TU|WE|TH|FR|SA)")
_UNTIL = re.compile(r"(\d{4})(\d\d)(\d\d)(?:T(\d\d)(\d\d)(\d\d)(Z?))?")
_NUMBER = re.compile(r"[+-]?\d{1,5}")
_MOST_COUNT = 10_000
_UNITS = {
    "d": Frequency.DAILY, "day": Frequency.DAILY, "days": Frequency.DAILY,
    "w": Frequency.WEEKLY, "week": Frequency.WEEKLY, "weeks": Frequency.WEEKLY,
    "mo": Frequency.MONTHLY, "month": Frequency.MONTHLY, "months": Frequency.MONTHLY,
    "y": Frequency.YEARLY, "year": Frequency.YEARLY, "years": Frequency.YEARLY,
}  # fmt: skip
_PERIODS = {
    Frequency.DAILY: "day", Frequency.WEEKLY: "week", Frequency.MONTHLY: "month", Frequency.YEARLY: "year",
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class Rule(Periodic):
    """A recurrence rule with its anchor, the first second that it may name. Equal if it is written alike."""

    text: str
    zone: Zone
    anchor: int
    times: Recurrence = field(init=False, compare=False, repr=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "text", _plain(self.text))
        object.__setattr__(self, "times", _times_of(read_parts(self.text), self.zone, self.anchor))

    def __reduce__(self) -> tuple[type["Rule"], tuple[str, Zone, int]]:
        return Rule, (self.text, self.zone, self.anchor)

    @property
    def first(self) -> int:
        """No slot before it (S63)."""
        return self.anchor

    def after(self, second: int) -> int | None:
        return self.times.after(second)

    def before(self, second: int) -> int | None:
        return self.times.before(second)

    def count(self, after: int, until: int) -> int:
        return self.times.count(after, until)

    def bits(self, start: int, end: int) -> int:
        return self._periodic.bits(start, end)

    def rhythm(self, start: int, end: int) -> int | None:
        return self._periodic.rhythm(start, end)

    @property
    def _periodic(self) -> Periodic:
        assert isinstance(self.times, Periodic)  # noqa: S101  (a window)
        return self.times

    def explain(self) -> str:
        return _explain(read_parts(self.text), self)

    def __str__(self) -> str:
        return f"RRULE:{self.text} from {_local(self, self.anchor)} {self.zone.name}"


def _plain(text: str) -> str:
    return text.strip().upper().removeprefix("RRULE:")


def calendar_rule(every: str, on: Sequence[str], at: str) -> str:
    """`every: 2w, on: [MON], at: "09:00"` as the text of a rule."""
    number, frequency = read_interval(every)
    hour, minute = read_clock(at)
    numbers = [day for day in on if day.lstrip("-").isdigit()]
    if numbers and (len(numbers) < len(on) or frequency is not Frequency.MONTHLY):
        raise InputError("days of the month go with months, and not with weekdays")
    days = f";BYMONTHDAY={','.join(numbers)}" if numbers else f";BYDAY={','.join(day[:-1] for day in on)}"
    by = days if on else ""
    return f"FREQ={frequency};INTERVAL={number}{by};BYHOUR={hour};BYMINUTE={minute}"


def read_interval(text: str) -> tuple[int, Frequency]:
    """`2w` or `3 months`: how many, and of what."""
    found = re.fullmatch(r"\s*([1-9]\d{0,3})\s*([a-z]+)\s*", text.lower())
    if found is None or found[2] not in _UNITS:
        raise InputError(f"{text[:40]!r} is no interval of the calendar: write 2d, 2w, 3 months or 1y")
    return int(found[1]), _UNITS[found[2]]


def read_clock(text: str) -> tuple[int, int]:
    """`09:00`: hour and minute."""
    found = re.fullmatch(r"([01]?\d|2[0-3]):([0-5]\d)", text.strip())
    if found is None:
        raise InputError(f"{text[:40]!r} is no time of day: write 09:00")
    return int(found[1]), int(found[2])


def read_parts(text: str) -> dict[str, str]:
    """The parts of a rule by their names; each value is checked where it is used."""
    parts: dict[str, str] = {}
    for piece in _plain(text).strip(";").split(";"):
        name, equals, value = piece.partition("=")
        if name not in _PARTS:
            near = nearest_word(name, _PARTS)
            known = did_you_mean(near) if near else f": there are {', '.join(_PARTS)}"
            raise InputError(f"a rule has no part {name[:40]!r}{known}", nearest=near)
        if not equals or not value or name in parts:
            raise InputError(f"{name} must be given once, as {name}=…")
        parts[name] = value
    if parts.get("FREQ") not in set(Frequency):
        raise InputError(f"FREQ is one of {', '.join(Frequency)}; for finer times write cron")
    if "COUNT" in parts and "UNTIL" in parts:
        raise InputError("COUNT and UNTIL both say when it ends: give one of them")
    return parts


def _numbers(parts: Mapping[str, str], name: str, least: int, most: int) -> list[int]:
    if name not in parts:
        return []
    words = parts[name].split(",")
    numbers = [int(word) if _NUMBER.fullmatch(word) else least - 1 for word in words]
    if not all(least <= number <= most and (number or least == 0) for number in numbers):
        but = " but 0" if least < 0 else ""
        raise InputError(f"{name}={parts[name][:40]}: give numbers from {least} to {most}{but}")
    return numbers


def _times_of(parts: Mapping[str, str], zone: Zone, anchor: int) -> Recurrence:
    wall = anchor + zone.span(anchor).offset
    hours = sorted({*_numbers(parts, "BYHOUR", 0, 23)}) or [wall % DAY // 3_600]
    minutes = sorted({*_numbers(parts, "BYMINUTE", 0, 59)}) or [wall % 3_600 // 60]
    positions = _numbers(parts, "BYSETPOS", -366, 366)
    named = partial(_days, parts, wall // DAY)
    cron = partial(_cron, zone, wall % 60)
    times: Recurrence
    if positions and len(hours) * len(minutes) > 1:
        clock = [(hour, minute) for hour in hours for minute in minutes]
        placed = {place: _of_time(positions, place, len(clock)) for place in range(len(clock))}
        each = [
            cron([clock[place][0]], [clock[place][1]], named(tuple(own))) for place, own in placed.items() if own
        ]
        times = AnyOf(tuple(each)) if len(each) > 1 else each[0]
    else:
        times = cron(hours, minutes, named(tuple(positions)))
    whole = Window(times, anchor, _until(parts, zone))
    first = whole.after(anchor - 1)
    if first is None:
        raise InputError("it names no day at all from its beginning on")
    return Window(times, anchor, _last_of(whole, parts)) if "COUNT" in parts else whole


def _of_time(positions: list[int], place: int, number: int) -> list[int]:
    """Positions among days and times of day, as positions among the days of one of the times."""
    from_start = [(p - 1) // number + 1 for p in positions if p > 0 and (p - 1) % number == place]
    from_end = [-((-p - 1) // number) - 1 for p in positions if p < 0 and number - 1 - (-p - 1) % number == place]
    return from_start + from_end


def _cron(zone: Zone, second: int, hours: list[int], minutes: list[int], days: RuleDays) -> Cron:
    expression = Expression(1 << second, sum(1 << m for m in minutes), sum(1 << h for h in hours), days)
    return Cron(expression, zone, "")


def _days(parts: Mapping[str, str], day: int, positions: tuple[int, ...]) -> RuleDays:
    frequency = Frequency(parts["FREQ"])
    weekdays = _weekdays(parts, frequency)
    months = sum({1 << m for m in _numbers(parts, "BYMONTH", 1, 12)})
    numbers = _numbers(parts, "BYMONTHDAY", -31, 31)
    if numbers and frequency is Frequency.WEEKLY:
        raise InputError("BYMONTHDAY does not go with FREQ=WEEKLY")
    if not weekdays and not numbers:
        here = date.fromordinal(day + _EPOCH)
        if frequency is Frequency.WEEKLY:
            weekdays = {(0, (day + 4) % 7)}
        elif frequency in (Frequency.MONTHLY, Frequency.YEARLY):
            numbers = [here.day]
        if frequency is Frequency.YEARLY and not months:
            months = 1 << here.month
    start = parts.get("WKST", "MO")
    if start not in _WEEKDAYS:
        raise InputError(f"WKST={start[:10]}: give one of {', '.join(_WEEKDAYS)}")
    (interval,) = _numbers(parts, "INTERVAL", 1, 10_000)[:1] or [1]
    return RuleDays(
        months=months or EVERY_MONTH,
        month_days=sum({1 << n for n in numbers if n > 0}) if numbers else EVERY_MONTH_DAY,
        from_end=sum({1 << -n - 1 for n in numbers if n < 0}), near=0, near_end=0,
        weekdays=sum({1 << w for _, w in weekdays}) or EVERY_WEEKDAY, nth_weekdays=0, last_weekdays=0, both=True,
        frequency=frequency, interval=interval, anchor=day, week_start=_WEEKDAYS[start],
        nth=frozenset(weekdays) if any(n for n, _ in weekdays) else frozenset(),
        nth_of_year=frequency is Frequency.YEARLY and "BYMONTH" not in parts, positions=positions,
    )  # fmt: skip


def _weekdays(parts: Mapping[str, str], frequency: Frequency) -> set[tuple[int, int]]:
    found = set[tuple[int, int]]()
    for word in parts["BYDAY"].split(",") if "BYDAY" in parts else ():
        read = _BY_DAY.fullmatch(word)
        number = int(read[1] or 0) if read else 0
        if read is None or (read[1] and not 1 <= abs(number) <= 53):
            raise InputError(f"BYDAY: {word[:20]!r} is no weekday: write MO, 2TU or -1FR")
        if number and frequency not in (Frequency.MONTHLY, Frequency.YEARLY):
            raise InputError(f"BYDAY={word}: a number goes with FREQ=MONTHLY or YEARLY")
        found.add((number, _WEEKDAYS[read[2]]))
    return found


def _until(parts: Mapping[str, str], zone: Zone) -> int:
    if "UNTIL" not in parts:
        return LAST
    found = _UNTIL.fullmatch(parts["UNTIL"])
    if found is None:
        raise InputError(f"UNTIL={parts['UNTIL'][:20]}: write 20271231, 20271231T090000 or 20271231T080000Z")
    year, month, day, hour, minute, second, utc = found.groups()
    text = f"{year}-{month}-{day}" + (f"T{hour}:{minute}:{second}{utc}" if hour else "")
    return last_instant(read_moment(text), zone) if not hour else instant(read_moment(text), zone)


def _last_of(times: Window, parts: Mapping[str, str]) -> int:
    (count,) = _numbers(parts, "COUNT", 1, _MOST_COUNT)[:1]
    last = times.first - 1
    for _ in range(count):
        last = times.after(last) or last
    return last


def _local(rule: Rule, second: int) -> str:
    return f"{to_datetime(second, rule.zone.tzinfo):%Y-%m-%d %H:%M}"


def _explain(parts: Mapping[str, str], rule: Rule) -> str:
    number, period = int(parts.get("INTERVAL", "1")), _PERIODS[Frequency(parts["FREQ"])]
    words = [f"Every {number} {period}s" if number > 1 else f"Every {period}"]
    if "BYDAY" in parts:
        words.append("on " + list_words([_weekday_in_words(word) for word in parts["BYDAY"].split(",")]))
    told = {"BYMONTHDAY": "on the days", "BYMONTH": "in the months", "BYSETPOS": "of these only number"}
    words += [
        f"{said} {list_numbers(_numbers(parts, name, -366, 366))}" for name, said in told.items() if name in parts
    ]
    wall = rule.anchor + rule.zone.span(rule.anchor).offset
    hours = sorted({*_numbers(parts, "BYHOUR", 0, 23)}) or [wall % DAY // 3_600]
    minutes = sorted({*_numbers(parts, "BYMINUTE", 0, 59)}) or [wall % 3_600 // 60]
    words.append("at " + list_words([f"{hour:02}:{minute:02}" for hour in hours for minute in minutes]))
    words += [rule.zone.name, f"from {_local(rule, rule.anchor)} on"]
    words += [f"{parts['COUNT']} times"] if "COUNT" in parts else []
    words += [f"until {parts['UNTIL']}"] if "UNTIL" in parts else []
    return ", ".join(words)


def _weekday_in_words(word: str) -> str:
    name = WEEKDAYS[(_WEEKDAYS[word[-2:]] - 1) % 7]
    number = int(word[:-2] or 0)
    if not number:
        return name
    return f"the last {name}" if number == -1 else f"{name} number {number}"


def list_words(words: list[str]) -> str:
    *head, tail = words
    return f"{', '.join(head)} and {tail}" if head else tail
