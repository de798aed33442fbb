"""Cron text → value, with errors that point at the character. The one grammar (S37, S38).

    text    := [("CRON_TZ=" | "TZ=") zone] (fields | nickname | "@every" duration ["offset" duration])
    fields  := [second] minute hour day-of-month month day-of-week
    field   := item ("," item)*
    item    := span ["/" step]
             | day-of-month: "L" | "L-" number | "LW" | number "W"
             | day-of-week:  value "#" number | value "L"
    span    := "*" | "?" (days only) | "H" | "H(" number "-" number ")" | value | value "-" value

Nothing here loops longer than the text, whose length is bounded.
"""

import re
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import lru_cache
from hashlib import blake2b
from typing import NamedTuple, NoReturn

from ..errors import CronError, InputError, did_you_mean, nearest_word
from ..timeparse import parse_duration
from .explain import list_numbers
from .expression import EVERY_MONTH_DAY, EVERY_WEEKDAY, Days, Expression
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
_MONTHS = "JAN FEB MAR APR MAY JUN JUL AUG SEP OCT NOV DEC".split()
_WEEKDAYS = "SUN MON TUE WED THU FRI SAT".split()

_ZONE_PREFIX = re.compile(r"\s*(?:CRON_)?TZ=(\S*)")
_WORD = re.compile(r"\S+")


@dataclass(frozen=True, slots=True)
class _Kind:
    """One of the six fields: its name, its range, and the words that stand for numbers."""

    name: str
    low: int
    high: int
    words: tuple[str, ...] = ()
    first_word: int = 0


_MONTH_DAY = _Kind("day-of-month", 1, 31)
_WEEKDAY = _Kind("day-of-week", 0, 6, tuple(_WEEKDAYS))
_KINDS = (
    _Kind("second", 0, 59),
    _Kind("minute", 0, 59),
    _Kind("hour", 0, 23),
    _MONTH_DAY,
    _Kind("month", 1, 12, tuple(_MONTHS), 1),
    _WEEKDAY,
)
_FIELDS = ", ".join(kind.name for kind in _KINDS[1:])


def parse(text: str, timezone: str = "UTC", key: str = "") -> Recurrence:
    """Understand a cron text.

    A zone in the text goes before `timezone`. `key` (a schedule's name) is what `H` is hashed from.
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
        return _nickname(source, words, where)
    if len(words) not in (5, 6):
        source.refuse(
            f"a cron expression has five fields ({_FIELDS}), or six with seconds first; this one has {len(words)}",
            words[6] if len(words) > 6 else None,
        )
    return _cron(source, words, where, key)


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
    if name.text == "@every":
        return _interval(source, rest, where)
    if name.text == "@reboot":
        source.refuse("@reboot names no time: slots must not depend on when a process starts", name)
    if name.text not in _NICKNAMES:
        near = nearest_word(name.text, [*_NICKNAMES, "@every"])
        source.refuse(f"unknown nickname {name.text[:30]!r}{did_you_mean(near)}", name, nearest=near)
    if rest:
        source.refuse(f"nothing may follow {name.text}", rest[0])
    meaning = [_Word(m.group(), m.start()) for m in _WORD.finditer(_NICKNAMES[name.text])]
    return replace(_cron(source, meaning, where, ""), text=name.text)


def _interval(source: _Source, rest: list[_Word], where: Zone) -> Every:
    if len(rest) not in (1, 3) or (len(rest) == 3 and rest[1].text != "offset"):
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


def _cron(source: _Source, words: list[_Word], where: Zone, key: str) -> Cron:
    kinds = _KINDS[6 - len(words) :]
    *clock, month_day, month, weekday = fields = [
        _read_field(source, kind, word, key) for kind, word in zip(kinds, words, strict=True)
    ]
    days = _days(
        months=month.values,
        month_days=month_day.values,
        from_end=month_day.from_end,
        near=month_day.near,
        weekdays=weekday.values,
        nth_weekdays=weekday.nth,
        last_weekdays=weekday.last,
        both=month_day.starred or weekday.starred,
    )
    if not days.ever():
        also = f" that is also {words[-1].text!r}" if weekday.values != EVERY_WEEKDAY else ""
        problem = f"never fires: month {words[-2].text!r} never has a day {words[-3].text!r}{also}"
        source.refuse(problem, words[-3], _MONTH_DAY.name)
    seconds = clock[0].values if len(words) == 6 else 1
    notes = [note for field in fields for note in field.notes]
    if days.both and month_day.values != EVERY_MONTH_DAY and weekday.values != EVERY_WEEKDAY:
        notes.append(
            f"day-of-month {words[-3].text!r} and day-of-week {words[-1].text!r} must both match, because one of "
            "them begins with *; without it either would do"
        )
    expression = Expression(seconds, clock[-2].values, clock[-1].values, days)
    return Cron(expression, where, " ".join(field.resolved for field in fields), tuple(notes))


_days = lru_cache(maxsize=8192)(Days)  # most schedules share a few; equal ones are one object with one table


class _Field(NamedTuple):
    """What one field says: its sets (see `Days`), whether it starts with *, its text without H, its warnings."""

    values: int
    from_end: int
    near: int
    nth: int
    last: int
    starred: bool
    resolved: str
    notes: tuple[str, ...]


class _Refused(Exception):  # noqa: N818  (it never leaves this module)
    """What is wrong with a piece of a field, and where in the field it stands."""

    def __init__(self, problem: str, text: str, start: int, nearest: str | None = None) -> None:
        super().__init__(problem)
        self.word = _Word(text, start)
        self.nearest = nearest


def _read_field(source: _Source, kind: _Kind, word: _Word, key: str) -> _Field:
    try:
        return _field(kind, word.text, key if "H" in word.text.upper() else "")
    except _Refused as refused:
        text, start = refused.word
        place = _Word(text, word.position + start)
        source.refuse(f"{kind.name}: {refused}", place, kind.name, refused.nearest)


@lru_cache(maxsize=8192)
def _field(kind: _Kind, text: str, key: str) -> _Field:
    masks = dict.fromkeys(("values", "from_end", "near", "nth", "last"), 0)
    resolved, notes = [], []
    start = 0
    for item in text.split(","):
        if not item:
            raise _Refused("an empty place in the list: remove the extra comma", ",", min(start, len(text) - 1))
        read = _item(kind, text, start, start + len(item), key)
        masks[read.target] |= read.mask
        resolved.append(read.text)
        notes += [read.note] if read.note else []
        start += len(item) + 1
    return _Field(**masks, starred=text[0] in "*?", resolved=",".join(resolved), notes=tuple(notes))


class _Item(NamedTuple):
    """What one item of a list adds: to which set, which bits; its text without H; a warning or none."""

    target: str
    mask: int
    text: str
    note: str = ""


def _item(kind: _Kind, text: str, start: int, end: int, key: str) -> _Item:
    for pattern, kinds, read in _SHAPES:
        if kind in kinds and (found := pattern.fullmatch(text, start, end)):
            return read(kind, found, key)
    raise _unreadable(kind, text[start:end], start)


def _unreadable(kind: _Kind, text: str, start: int) -> _Refused:
    near = nearest_word(text, kind.words)
    return _Refused(f"cannot read {text[:30]!r}{did_you_mean(near)}", text, start, near)


def _read_span(kind: _Kind, found: re.Match[str], key: str) -> _Item:
    step = _number(found, "step", 1, 9_999) if found["step"] else 0
    low, high = _bounds(kind, found)
    text = found.group()
    if found["hash"]:
        low, high, text = _hashed(kind, low, high, step, key, within=found["to"] is not None)
    elif step and found["low"] and found["high"] is None:
        high = kind.high
    values = range(low, high + 1, step or 1)
    mask = 0
    for value in values:
        mask |= 1 << (value % 7 if kind is _WEEKDAY else value)
    around = kind.high - kind.low + 1 if found["high"] is None and found["to"] is None else 0
    if step and (around % step if around else (high - low) % step and (high - low + 1) % step):
        note = (
            f"{kind.name} {found.group()!r}: the step does not divide its range; it means {list_numbers(values)}"
        )
        return _Item("values", mask, text, note)
    return _Item("values", mask, text)


def _bounds(kind: _Kind, found: re.Match[str]) -> tuple[int, int]:
    if found["low"]:
        low = _value(kind, found, "low")
        if found["high"] is None:
            low = low % 7 if kind is _WEEKDAY else low
            return low, low
        high = _value(kind, found, "high")
        if kind is _WEEKDAY and found["high"].upper() == "SUN" and low > 0:
            high = 7
    elif found["from"]:
        low, high = (_number(found, group, kind.low, kind.high) for group in ("from", "to"))
    else:
        return kind.low, kind.high
    if high < low:
        to_end = "" if low > kind.high else f"{low}," if low == kind.high else f"{low}-{kind.high},"
        split = f"{to_end}{kind.low}-{high}" if high > kind.low else f"{to_end}{high}"
        raise _Refused(f"the range {found.group()!r} runs backwards: write {split}", found.group(), found.start())
    return low, high


def _value(kind: _Kind, found: re.Match[str], group: str | int) -> int:
    """A number or a name of this field. On weekdays 7 stays 7, so that ranges may end with it."""
    text = found[group]
    if text.upper() in kind.words:
        return kind.words.index(text.upper()) + kind.first_word
    if not text.isdigit():
        raise _unreadable(kind, text, found.start(group))
    return _number(found, group, kind.low, 7 if kind is _WEEKDAY else kind.high)


def _number(found: re.Match[str], group: str | int, low: int, high: int) -> int:
    text = found[group]
    if len(text) > 9 or not low <= int(text) <= high:
        raise _Refused(f"{text[:20]} is out of range {low}-{high}", text, found.start(group))
    return int(text)


def _hashed(kind: _Kind, low: int, high: int, step: int, key: str, *, within: bool) -> tuple[int, int, str]:
    """What H stands for, as a range and as text. A plain H of days keeps to 1-28, which every month has."""
    if kind is _MONTH_DAY and not step and not within:
        high = 28
    digest = blake2b(f"{key}\0{kind.name}".encode("utf-8", "surrogatepass"), digest_size=8).digest()
    size = high - low + 1
    first = low + int.from_bytes(digest, "big") % (min(step, size) if step else size)
    if not step:
        return first, first, str(first)
    return first, high, f"{first}/{step}" if high == kind.high else f"{first}-{high}/{step}"


def _read_any(kind: _Kind, found: re.Match[str], _key: str) -> _Item:
    return _Item("values", (2 << kind.high) - (1 << kind.low), found.group())


def _read_from_end(_kind: _Kind, found: re.Match[str], _key: str) -> _Item:
    return _Item("from_end", 1 << (_number(found, 1, 1, 30) if found[1] else 0), found.group())


def _read_near(_kind: _Kind, found: re.Match[str], _key: str) -> _Item:
    return _Item("near", 1 << (_number(found, 1, 1, 31) if found[1] else 0), found.group())


def _read_nth(kind: _Kind, found: re.Match[str], _key: str) -> _Item:
    return _Item("nth", 1 << 7 * (_number(found, 2, 1, 5) - 1) + _value(kind, found, 1) % 7, found.group())


def _read_last(kind: _Kind, found: re.Match[str], _key: str) -> _Item:
    return _Item("last", 1 << _value(kind, found, 1) % 7, found.group())


def _shape(pattern: str) -> re.Pattern[str]:
    return re.compile(pattern, re.ASCII | re.IGNORECASE)


_Reader = Callable[[_Kind, re.Match[str], str], _Item]
_SHAPES: tuple[tuple[re.Pattern[str], tuple[_Kind, ...], _Reader], ...] = (
    (_shape(r"L(?:-(\d+))?"), (_MONTH_DAY,), _read_from_end),
    (_shape(r"(?:L|(\d+))W"), (_MONTH_DAY,), _read_near),
    (_shape(r"(\w+)#(\d+)"), (_WEEKDAY,), _read_nth),
    (_shape(r"(\d+|[A-Z]{3})L"), (_WEEKDAY,), _read_last),
    (
        _shape(
            r"(?:(?P<star>\*)"
            r"|(?P<hash>H)(?:\((?P<from>\d+)-(?P<to>\d+)\))?"
            r"|(?P<low>\w+)(?:-(?P<high>\w+))?)"
            r"(?:/(?P<step>\d+))?"
        ),
        _KINDS,
        _read_span,
    ),
    (_shape(r"\?"), (_MONTH_DAY, _WEEKDAY), _read_any),
)
