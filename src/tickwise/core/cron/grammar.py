"""Cron text → value, with errors that point at the character. The one grammar (S37, S38).

    text    := [("CRON_TZ=" | "TZ=") zone] (fields | nickname | "@every" duration ["offset" duration])
    fields  := [second] minute hour day-of-month month day-of-week ["&"], or all six and a year
    field   := see `field`

`&` behind the day-of-week says that day-of-month and day-of-week must both match; nicknames may be in any case.
Nothing here loops longer than the text, whose length is bounded.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import lru_cache
from typing import NamedTuple, NoReturn

from ..errors import CronError, InputError, did_you_mean, nearest_word
from ..timeparse import parse_duration
from .expression import EVERY_HOUR, EVERY_MINUTE, EVERY_MONTH_DAY, EVERY_WEEKDAY, Days, Expression
from .field import KINDS, MONTH_DAY, YEAR, Field, FieldError, FieldKind, read_field
from .walk import Cron, Every, Recurrence
from .zone import Zone, zone

LONGEST = 1_000

_NICKNAMES = {
    "@yearly": "0 0 1 1 *",
    "@annually": "0 0 1 1 *",
    "@monthly": "0 0 1 * *",
    "@weekly": "0 0 * * 0",
    "@daily": "0 0 * * *",
    "@midnight": "0 0 * * *",
    "@hourly": "0 * * * *",
}
_ZONE_PREFIX = re.compile(r"\s*(?:CRON_)?TZ=(\S*)")
_WORD = re.compile(r"\S+")


_FIELDS = ", ".join(kind.name for kind in KINDS[1:6])


def parse(text: str, timezone: str = "UTC", key: str = "", *, both: bool = False) -> Recurrence:
    """Understand a cron text.

    A zone in the text goes before `timezone`. `key` (a schedule's name) is what `H` is hashed from. `both` asks
    that day-of-month and day-of-week match, as `&` in the text does.
    """
    if not isinstance(text, str):
        raise InputError(f"a cron expression is text, not {type(text).__name__}")
    source = _Source(text)
    if len(text) > LONGEST:
        source.refuse(f"a cron expression has at most {LONGEST} characters, this one {len(text)}")
    prefix = _ZONE_PREFIX.match(text)
    where = source.zone(prefix[1], prefix.start(1)) if prefix else source.zone(timezone, None)
    words = [_Word(m.group(), m.start()) for m in _WORD.finditer(text, prefix.end() if prefix else 0)]
    if words and words[0].text.startswith("@"):
        if both:
            source.refuse("`both` goes with five fields or more", words[0])
        return _nickname(source, words, where)
    if len(words) not in (5, 6, 7):
        source.refuse(
            f"a cron expression has five fields ({_FIELDS}), six with seconds first, or seven with a year last; "
            f"this one has {len(words)}",
            words[7] if len(words) > 7 else None,
        )
    return _cron(source, words, where, key, both=both)


class _Word(NamedTuple):
    text: str
    position: int


class _Source(NamedTuple):
    """The whole text, to point into."""

    text: str

    def refuse(
        self, problem: str, at: _Word | None = None, field: str = "expression", nearest: str | None = None
    ) -> NoReturn:
        """Point at a word, or at the end where something is missing."""
        word = at or _Word("", len(self.text.rstrip()))
        raise CronError(
            problem, source=self.text, field=field, position=word.position, text=word.text, nearest=nearest
        )

    def zone(self, name: str, position: int | None) -> Zone:
        try:
            return zone(name)
        except InputError as error:
            word = _Word("", 0) if position is None else _Word(name, position)
            self.refuse(str(error), word, "timezone", error.nearest)


def _nickname(source: _Source, words: list[_Word], where: Zone) -> Recurrence:
    name, *rest = words
    nickname = name.text.lower()
    if nickname == "@every":
        return _interval(source, rest, where)
    if nickname == "@reboot":
        source.refuse("@reboot names no time: slots must not depend on when a process starts", name)
    if nickname not in _NICKNAMES:
        near = nearest_word(nickname, [*_NICKNAMES, "@every"])
        source.refuse(f"unknown nickname {name.text[:30]!r}{did_you_mean(near)}", name, nearest=near)
    if rest:
        source.refuse(f"nothing may follow {name.text}", rest[0])
    meaning = [_Word(m.group(), m.start()) for m in _WORD.finditer(_NICKNAMES[nickname])]
    return replace(_cron(source, meaning, where, ""), text=nickname)


def _interval(source: _Source, rest: list[_Word], where: Zone) -> Every:
    if len(rest) not in (1, 3) or (len(rest) == 3 and rest[1].text.lower() != "offset"):
        source.refuse("write @every 90s, or @every 6h offset 30m", rest[1] if len(rest) > 1 else None)
    seconds = []
    for word in rest[::2]:
        try:
            seconds.append(parse_duration(word.text))
        except InputError as error:
            source.refuse(str(error), word)
    if seconds[1:] and seconds[1] >= seconds[0]:
        source.refuse("the offset must be shorter than the interval", rest[2])
    return Every(seconds[0], where, *seconds[1:])


def _cron(source: _Source, words: Sequence[_Word], where: Zone, key: str, *, both: bool = False) -> Cron:
    year = _read(source, YEAR, words[6], key) if len(words) == 7 else None
    words, ampersand = _without_ampersand(words[:6])
    *clock, month_day, month, weekday = fields = [
        _read(source, kind, word, key) for kind, word in zip(KINDS[6 - len(words) : 6], words, strict=True)
    ]
    starred = month_day.starred or weekday.starred
    asked = (both or ampersand) and not starred
    days = _days(
        months=month.values,
        month_days=month_day.values,
        from_end=month_day.from_end,
        near=month_day.near,
        near_end=month_day.near_end,
        weekdays=weekday.values,
        nth_weekdays=weekday.nth,
        last_weekdays=weekday.last,
        both=starred or asked,
        years=0 if year is None or year.values == _EVERY_YEAR else year.values,
    )
    if not days.ever():
        _refuse_never(source, words, days, year)
    seconds = clock[0].values if len(words) == 6 else 1
    expression = Expression(seconds, clock[-2].values, clock[-1].values, days)
    every = [*fields, year] if year else fields
    notes = [note for field in every for note in field.notes]
    notes += _spelling_notes(expression, words, fields, asked=asked)
    resolved = [field.resolved for field in every]
    resolved[len(words) - 1] += "&" if asked else ""
    return Cron(expression, where, " ".join(resolved), tuple(notes))


_days = lru_cache(maxsize=8192)(Days)  # most schedules share a few; equal ones are one object with one table
_EVERY_YEAR = (2 << YEAR.high) - (1 << YEAR.low)


def _without_ampersand(words: Sequence[_Word]) -> tuple[Sequence[_Word], bool]:
    last = words[-1]
    if last.text.endswith("&") and len(last.text) > 1:
        return (*words[:-1], _Word(last.text[:-1], last.position)), True
    return words, False


def _refuse_never(source: _Source, words: Sequence[_Word], days: Days, year: Field | None) -> NoReturn:
    also = f" that is also {words[-1].text!r}" if days.weekdays != EVERY_WEEKDAY else ""
    when = f" in {year.resolved!r}" if days.years and year else ""
    problem = f"never fires: month {words[-2].text!r} never has a day {words[-3].text!r}{also}{when}"
    source.refuse(problem, words[-3], MONTH_DAY.name)


def _spelling_notes(
    expression: Expression, words: Sequence[_Word], fields: Sequence[Field], *, asked: bool
) -> Iterator[str]:
    """What a person may not have meant by these words (S38)."""
    days, written = expression.days, [word.text for word in words]
    by_date, by_weekday = days.month_days != EVERY_MONTH_DAY, days.weekdays != EVERY_WEEKDAY
    if days.both and by_date and by_weekday and not asked:
        yield (
            f"day-of-month {written[-3]!r} and day-of-week {written[-1]!r} must both match, because one of "
            "them begins with *; without it either would do"
        )
    coarser = expression.minutes != EVERY_MINUTE or expression.hours != EVERY_HOUR or by_weekday
    if len(words) == 6 and written[0] == "*" and coarser:
        yield f"fires every second of the times it names; did you mean {' '.join(['0', *written[1:]])!r}?"
    elif written[-5] == "*" and _ONE_BY_ONE.fullmatch(fields[-4].resolved):
        fixed = ["0" if place == len(words) - 5 else text for place, text in enumerate(written)]
        yield f"fires every minute of the hours it names; did you mean {' '.join(fixed)!r}?"


_ONE_BY_ONE = re.compile(r"[\d,]+")


def _read(source: _Source, kind: FieldKind, word: _Word, key: str) -> Field:
    try:
        return read_field(kind, word.text, key)
    except FieldError as error:
        place = _Word(error.text, word.position + error.start)
        source.refuse(f"{kind.name}: {error}", place, kind.name, error.nearest)
