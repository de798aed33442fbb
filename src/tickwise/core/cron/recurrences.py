"""Recurrences made of others: the union of a list (S49), a part of one (S63); and one-off instants (S33)."""

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import date
from functools import reduce
from operator import or_
from typing import cast

from ..errors import InputError
from ..timeparse import FIRST, LAST, iso, to_datetime
from .expression import DAY
from .walk import Periodic, Recurrence
from .zone import Zone

_EPOCH = date(1970, 1, 1).toordinal()


def _years(start: int, end: int) -> Iterator[tuple[int, int, bool]]:
    """The pieces of UTC's years in [start, end), and whether each is a whole year."""
    while start < end:
        year = date.fromordinal(start // DAY + _EPOCH).year
        first, last = (date(year, *day).toordinal() - _EPOCH for day in ((1, 1), (12, 31)))
        stop = min(end, (last + 1) * DAY)
        yield start, stop, stop - start == (last + 1 - first) * DAY
        start = stop


@dataclass(frozen=True, slots=True)
class AnyOf(Periodic):
    """Every second that any of its parts names, once."""

    parts: tuple[Recurrence, ...]  # all of them periodic

    def __post_init__(self) -> None:
        if len(self.parts) < 2 or not all(isinstance(part, Periodic) for part in self.parts):
            raise InputError(
                "a list of times holds two or more recurring entries; one-offs stand in a list of their own"
            )

    @property
    def zone(self) -> Zone:  # type: ignore[override]
        return self.parts[0].zone

    def after(self, second: int) -> int | None:
        return min((t for part in self.parts if (t := part.after(second)) is not None), default=None)

    def before(self, second: int) -> int | None:
        return max((t for part in self.parts if (t := part.before(second)) is not None), default=None)

    def count(self, after: int, until: int) -> int:
        """Times named by several parts count once, so the seconds of each day are laid over each other.

        Years in which all parts have the same rhythm are counted once: a damaged cursor may be far away.
        """
        found, known = 0, dict[tuple[int | None, ...], int]()
        for start, end, whole in _years(max(after + 1, FIRST), min(until + 1, LAST)):
            kind = (start // DAY % 7, end - start, *(part.rhythm(start, end) for part in self._periods))
            count = known.get(kind) if whole else None
            if count is None:
                count = self._count_days(start, end)
                if whole and None not in kind:
                    known[kind] = count
            found += count
        return found

    def _count_days(self, start: int, end: int) -> int:
        days = range(start, end, DAY)
        return sum(self.bits(day, min(day + DAY, end)).bit_count() for day in days)

    def bits(self, start: int, end: int) -> int:
        return reduce(or_, (part.bits(start, end) for part in self._periods))

    def rhythm(self, start: int, end: int) -> int | None:
        kinds = tuple(part.rhythm(start, end) for part in self._periods)
        return None if None in kinds else hash(kinds)

    @property
    def _periods(self) -> tuple[Periodic, ...]:
        return cast("tuple[Periodic, ...]", self.parts)

    def explain(self) -> str:
        return "; ".join(part.explain() for part in self.parts)

    def warnings_after(self, second: int) -> tuple[str, ...]:
        return tuple(warning for part in self.parts for warning in part.warnings_after(second))

    def __str__(self) -> str:
        return "; ".join(map(str, self.parts))


@dataclass(frozen=True, slots=True)
class Window(Periodic):
    """The seconds of another recurrence from the one second on (S63), and up to the other."""

    times: Recurrence  # periodic
    first: int = FIRST
    last: int = LAST

    def __post_init__(self) -> None:
        if not isinstance(self.times, Periodic):
            raise InputError("only recurring times have a first second from which they count")

    @property
    def zone(self) -> Zone:  # type: ignore[override]
        return self.times.zone

    def after(self, second: int) -> int | None:
        found = self.times.after(max(second, self.first - 1))
        return found if found is not None and found <= self.last else None

    def before(self, second: int) -> int | None:
        found = self.times.before(min(second, self.last + 1))
        return found if found is not None and found >= self.first else None

    def count(self, after: int, until: int) -> int:
        return self.times.count(max(after, self.first - 1), min(until, self.last))

    def bits(self, start: int, end: int) -> int:
        first, stop = max(start, self.first), min(end, self.last + 1)
        return cast("Periodic", self.times).bits(first, stop) << first - start if first < stop else 0

    def rhythm(self, start: int, end: int) -> int | None:
        if end <= self.first or start > self.last:
            return -1  # of no seconds at all
        is_whole = self.first <= start and end <= self.last + 1
        return cast("Periodic", self.times).rhythm(start, end) if is_whole else None

    def explain(self) -> str:
        since = f", from {self._local(self.first)} on" if self.first > FIRST else ""
        until = f", up to {self._local(self.last)}" if self.last < LAST else ""
        return f"{self.times.explain()}{since}{until}"

    def _local(self, second: int) -> str:
        return f"{to_datetime(second, self.zone.tzinfo):%Y-%m-%d %H:%M:%S}"

    def warnings_after(self, second: int) -> tuple[str, ...]:
        return self.times.warnings_after(max(second, self.first))

    def __str__(self) -> str:
        since = f" from {iso(self.first)}" if self.first > FIRST else ""
        return f"{self.times}{since}{f' until {iso(self.last)}' if self.last < LAST else ''}"


@dataclass(frozen=True, slots=True)
class At(Recurrence):
    """Single instants, in order: one-offs."""

    seconds: tuple[int, ...]
    zone: Zone

    def __post_init__(self) -> None:
        if not self.seconds or list(self.seconds) != sorted(set(self.seconds)):
            raise InputError("one-off times must be given once each and in order")

    def after(self, second: int) -> int | None:
        return next((t for t in self.seconds if t > second), None)

    def before(self, second: int) -> int | None:
        return next((t for t in reversed(self.seconds) if t < second), None)

    def count(self, after: int, until: int) -> int:
        return sum(after < t <= until for t in self.seconds)

    def explain(self) -> str:
        times = (to_datetime(t, self.zone.tzinfo) for t in self.seconds)
        return f"Once, at {' and '.join(f'{t:%Y-%m-%d %H:%M:%S}' for t in times)}, {self.zone.name}"

    def __str__(self) -> str:
        return "@at " + ",".join(f"{to_datetime(t):%Y-%m-%dT%H:%M:%SZ}" for t in self.seconds)
