"""A bounded set of days as a bit set: what a calendar was expanded to. Days count from 1970-01-01."""

import re
from base64 import b64decode, b64encode
from binascii import Error
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from datetime import date
from itertools import groupby

from ..errors import InputError
from .expression import highest, lowest

_EPOCH = date(1970, 1, 1).toordinal()
_TEXT = re.compile(r"(?P<since>\d{4}-\d\d-\d\d)\+(?P<size>\d{1,5}):(?P<bits>[A-Za-z0-9+/=]*)", re.ASCII)
_MAX_SIZE = 20_000  # days that a set may know of: over 50 years


def day_number(day: date) -> int:
    return day.toordinal() - _EPOCH


def day_date(number: int) -> date:
    return date.fromordinal(number + _EPOCH)


@dataclass(frozen=True, slots=True)
class DaySet:
    """Of `size` days from `since` on, those whose bit is set. Nothing is known of other days."""

    since: int
    size: int
    bits: int

    @classmethod
    def of(cls, days: Iterable[int], since: int, size: int) -> "DaySet":
        """The days that lie in the range."""
        return cls(since, size, sum(1 << day - since for day in {*days} if since <= day < since + size))

    @classmethod
    def read(cls, text: str) -> "DaySet":
        """As `str` writes it."""
        found = _TEXT.fullmatch(text)
        try:
            since = day_number(date.fromisoformat(found["since"])) if found else 0
            bits = int.from_bytes(b64decode(found["bits"], validate=True), "little") if found else 0
        except (ValueError, Error):
            found, since, bits = None, 0, 0
        if found is None or int(found["size"]) > _MAX_SIZE or bits >> int(found["size"]):
            raise InputError(f"{text[:40]!r} is no set of days")
        return cls(since, int(found["size"]), bits)

    def __str__(self) -> str:
        data = self.bits.to_bytes(-(-self.size // 8), "little")
        return f"{day_date(self.since)}+{self.size}:{b64encode(data).decode()}"

    @property
    def end(self) -> int:
        """The day after the last one that it knows of."""
        return self.since + self.size

    def knows(self, day: int) -> bool:
        return self.since <= day < self.end

    def __contains__(self, day: int) -> bool:
        return self.knows(day) and bool(self.bits >> day - self.since & 1)

    def __iter__(self) -> Iterator[int]:
        day = self.on_or_after(self.since)
        while day is not None:
            yield day
            day = self.on_or_after(day + 1)

    def on_or_after(self, day: int) -> int | None:
        left = self.bits >> max(0, day - self.since)
        return max(day, self.since) + lowest(left) if left else None

    def on_or_before(self, day: int) -> int | None:
        left = self.bits & (1 << max(0, day - self.since + 1)) - 1
        return self.since + highest(left) if left else None

    def count(self, start: int, end: int) -> int:
        """How many lie from `start` to before `end`."""
        first, stop = max(0, start - self.since), max(0, end - self.since)
        return (self.bits >> first & (1 << max(0, stop - first)) - 1).bit_count()

    def others(self) -> "DaySet":
        """The days that it knows of and does not hold."""
        return DaySet(self.since, self.size, self.bits ^ (1 << self.size) - 1)

    def nth_of_month(self, places: Iterable[int]) -> "DaySet":
        """Of each month those at these places: 1 is its first, -1 its last."""
        kept: list[int] = []
        for _, group in groupby(self, lambda day: (day_date(day).year, day_date(day).month)):
            days = list(group)
            wanted = {place - 1 if place > 0 else len(days) + place for place in places}
            kept += [day for place, day in enumerate(days) if place in wanted]
        return DaySet.of(kept, self.since, self.size)


NO_DAYS = DaySet(0, 0, 0)
