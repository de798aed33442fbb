"""One field of a cron text: its items read into sets, with errors that point at the character (S37, S38).

field   := item ("," item)*
item    := span ["/" step]
| day-of-month: "L" | "L-" number | "LW" | "L-" number "W" | number "W" | number "-L" ["/" step]
| day-of-week:  value ["-" value] "#" number | value "L"
span    := "*" | "?" (days only) | "H" | "H(" number "-" number ")" | value | value "-" value
value   := number | name of a month or weekday, by its first three letters or more
"""

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import lru_cache
from hashlib import blake2b
from typing import NamedTuple

from ..errors import did_you_mean, nearest_word
from .explain import MONTHS, WEEKDAYS, list_numbers


@dataclass(frozen=True, slots=True)
class FieldKind:
    """One of the seven fields: its name, its range, and the words that stand for numbers."""

    name: str
    low: int
    high: int
    words: tuple[str, ...] = ()
    first_word: int = 0


MONTH_DAY = FieldKind("day-of-month", 1, 31)
WEEKDAY = FieldKind("day-of-week", 0, 6, tuple(WEEKDAYS[i - 1].upper() for i in range(7)))
YEAR = FieldKind("year", 1970, 2099)
KINDS = (
    FieldKind("second", 0, 59),
    FieldKind("minute", 0, 59),
    FieldKind("hour", 0, 23),
    MONTH_DAY,
    FieldKind("month", 1, 12, tuple(name.upper() for name in MONTHS[1:]), 1),
    WEEKDAY,
    YEAR,
)


class Field(NamedTuple):
    """What one field says: its sets (see `Days`), whether it starts with *, its text without H, its warnings."""

    values: int
    from_end: int
    near: int
    near_end: int
    nth: int
    last: int
    starred: bool
    resolved: str
    notes: tuple[str, ...]


class FieldError(Exception):
    """What is wrong with a piece of a field, and where in the field it stands."""

    def __init__(self, problem: str, text: str, start: int, nearest: str | None = None) -> None:
        super().__init__(problem)
        self.text, self.start = text, start
        self.nearest = nearest


def read_field(kind: FieldKind, text: str, key: str) -> Field:
    """The sets that a field names. `key` is what `H` is hashed from."""
    return _read_field(kind, text, key if "H" in text.upper() else "")


@lru_cache(maxsize=8192)
def _read_field(kind: FieldKind, text: str, key: str) -> Field:
    masks = dict.fromkeys(("values", "from_end", "near", "near_end", "nth", "last"), 0)
    resolved, notes = [], []
    start = 0
    for item in text.split(","):
        if not item:
            raise FieldError("an empty place in the list: remove the extra comma", ",", min(start, len(text) - 1))
        read = _item(kind, text, start, start + len(item), key)
        masks[read.target] |= read.mask
        resolved.append(read.text)
        notes += [read.note] if read.note else []
        start += len(item) + 1
    return Field(**masks, starred=text[0] in "*?", resolved=",".join(resolved), notes=tuple(notes))


class _Item(NamedTuple):
    """What one item of a list adds: to which set, which bits; its text without H; a warning or none."""

    target: str
    mask: int
    text: str
    note: str = ""


def _item(kind: FieldKind, text: str, start: int, end: int, key: str) -> _Item:
    for pattern, kinds, read in _SHAPES:
        if kind in kinds and (found := pattern.fullmatch(text, start, end)):
            return read(kind, found, key)
    raise _unreadable(kind, text[start:end], start)


def _unreadable(kind: FieldKind, text: str, start: int) -> FieldError:
    near = nearest_word(text, [*(word[:3] for word in kind.words), *kind.words])
    return FieldError(f"cannot read {text[:30]!r}{did_you_mean(near)}", text, start, near)


def _read_span(kind: FieldKind, found: re.Match[str], key: str) -> _Item:
    step = _number(found, "step", 1, 9_999) if found["step"] else 0
    low, high = _bounds(kind, found, step)
    text = found.group()
    if found["hash"]:
        low, high, text = _hashed(kind, low, high, step, key, within=found["to"] is not None)
    elif step and found["low"] and found["high"] is None:
        high = kind.high
    values = range(low, high + 1, step or 1)
    around = kind.high - kind.low + 1 if found["high"] is None and found["to"] is None else 0
    uneven = around % step if around and step else step and (high - low) % step and (high - low + 1) % step
    if uneven and kind is not YEAR:
        note = (
            f"{kind.name} {found.group()!r}: the step does not divide its range; it means {list_numbers(values)}"
        )
        return _Item("values", _mask(kind, values), text, note)
    return _Item("values", _mask(kind, values), text)


def _mask(kind: FieldKind, values: range) -> int:
    mask = 0
    for value in values:
        mask |= 1 << (value % 7 if kind is WEEKDAY else value)
    return mask


def _bounds(kind: FieldKind, found: re.Match[str], step: int) -> tuple[int, int]:
    if found["low"]:
        return _range(kind, found, step)
    if found["from"]:
        if kind is YEAR:
            raise _unreadable(kind, found.group(), found.start())
        last = 7 if kind is WEEKDAY else kind.high
        low, high = (_number(found, group, kind.low, last) for group in ("from", "to"))
        if high < low:
            problem = f"the range {found.group()!r} runs backwards: H chooses from a range that does not go around"
            raise FieldError(problem, found.group(), found.start())
        return low, min(high, low + 6) if kind is WEEKDAY else high
    if found["hash"] and kind is YEAR:
        raise _unreadable(kind, found.group(), found.start())
    return kind.low, kind.high


def _range(kind: FieldKind, found: re.Match[str], step: int, after: str = "") -> tuple[int, int]:
    """The groups `low` and `high`. `after` is what follows the range in the text, for the advice."""
    low = _value(kind, found, "low")
    if found["high"] is None:
        low = low % 7 if kind is WEEKDAY else low
        return low, low
    if kind is MONTH_DAY and found["high"].upper() == "L":
        return low, kind.high
    high = _value(kind, found, "high")
    if kind is WEEKDAY and high == 0 and low > 0 and not found["high"].isdigit():
        high = 7
    if high < low:
        advice = ",".join(f"{part}{after}" for part in _forwards(kind, low, high, step))
        problem = f"the range {found.group()!r} runs backwards"
        raise FieldError(f"{problem}: write {advice}" if advice else problem, found.group(), found.start())
    return low, high


def _forwards(kind: FieldKind, low: int, high: int, step: int) -> Iterator[str]:
    """What a range that goes around its end may be written as, where there is only one way to read it.

    Years do not go around. A step may go on over the end (of days, that depends on the month), or begin again
    behind it: there is advice if that is the same.
    """
    if kind is YEAR or (kind is MONTH_DAY and step):
        return
    parts = [part for part in (range(low, kind.high + 1), range(kind.low, high + 1)) if part]
    if step:
        size = kind.high - kind.low + 1
        going_on = [(value - kind.low) % size + kind.low for value in range(low, high + size + 1, step)]
        if going_on == [value for part in parts for value in part[::step]]:
            yield from map(str, going_on)
        return
    for part in parts:
        yield str(part[0]) if len(part) == 1 else f"{part[0]}-{part[-1]}"


def _value(kind: FieldKind, found: re.Match[str], group: str) -> int:
    """A number or a name of this field. On weekdays 7 stays 7, so that ranges may end with it."""
    text = found[group].upper()
    if text.isdigit():
        return _number(found, group, kind.low, 7 if kind is WEEKDAY else kind.high)
    if len(text) >= 3:
        for place, word in enumerate(kind.words, kind.first_word):
            if word.startswith(text):
                return place
    raise _unreadable(kind, found[group], found.start(group))


def _number(found: re.Match[str], group: str | int, low: int, high: int) -> int:
    text = found[group]
    if len(text) > 9 or not low <= int(text) <= high:
        raise FieldError(f"{text[:20]} is out of range {low}-{high}", text, found.start(group))
    return int(text)


def _hashed(kind: FieldKind, low: int, high: int, step: int, key: str, *, within: bool) -> tuple[int, int, str]:
    """What H stands for, as a range and as text. A plain H of days keeps to 1-28, which every month has."""
    if kind is MONTH_DAY and not step and not within:
        high = 28
    digest = blake2b(f"{key}\0{kind.name}".encode("utf-8", "surrogatepass"), digest_size=8).digest()
    size = high - low + 1
    first = low + int.from_bytes(digest, "big") % (min(step, size) if step else size)
    if not step:
        return first, first, str(first)
    return first, high, f"{first}/{step}" if high == kind.high else f"{first}-{high}/{step}"


def _read_any(kind: FieldKind, found: re.Match[str], _key: str) -> _Item:
    return _Item("values", (2 << kind.high) - (1 << kind.low), found.group())


def _read_from_end(_kind: FieldKind, found: re.Match[str], _key: str) -> _Item:
    days = _number(found, 1, 0, 30) if found[1] else 0
    return _Item("near_end" if found[2] else "from_end", 1 << days, found.group())


def _read_near(_kind: FieldKind, found: re.Match[str], _key: str) -> _Item:
    return _Item("near", 1 << _number(found, 1, 1, 31), found.group())


def _read_nth(kind: FieldKind, found: re.Match[str], _key: str) -> _Item:
    nth = _number(found, "nth", 1, 5)
    low, high = _range(kind, found, 0, f"#{nth}")
    return _Item("nth", _mask(kind, range(low, high + 1)) << 7 * (nth - 1), found.group())


def _read_last(kind: FieldKind, found: re.Match[str], _key: str) -> _Item:
    return _Item("last", 1 << _value(kind, found, "day") % 7, found.group())


def _shape(pattern: str) -> re.Pattern[str]:
    return re.compile(pattern, re.ASCII | re.IGNORECASE)


_Reader = Callable[[FieldKind, re.Match[str], str], _Item]
_SHAPES: tuple[tuple[re.Pattern[str], tuple[FieldKind, ...], _Reader], ...] = (
    (_shape(r"L(?:-(\d+))?(W)?"), (MONTH_DAY,), _read_from_end),
    (_shape(r"(\d+)W"), (MONTH_DAY,), _read_near),
    (_shape(r"(?P<low>\w+)(?:-(?P<high>\w+))?#(?P<nth>\d+)"), (WEEKDAY,), _read_nth),
    (_shape(r"(?P<day>\d+|[A-Z]{3,})L"), (WEEKDAY,), _read_last),
    (
        _shape(
            r"(?:(?P<star>\*)"
            r"|(?P<hash>H)(?:\((?P<from>\d+)-(?P<to>\d+)\))?"
            r"|(?P<low>\w+)(?:-(?P<high>\w+))?)"
            r"(?:/(?P<step>\d+))?"
        ),
        KINDS,
        _read_span,
    ),
    (_shape(r"\?"), (MONTH_DAY, WEEKDAY, YEAR), _read_any),
)
