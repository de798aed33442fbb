"""The times a schedule names: a recurrence answers which second comes after, and which before, another.

One walk serves both directions and both sides of S39. It searches the wall of one span of the zone and goes on
to the neighbour when the wall runs out:

- A *fixed* expression looks at the wall that a span owns (see `zone`): each wall time once, one inside a gap at
  the first instant after it, one that comes twice at the first. As owned walls tile, it may leap over the spans
  in between; offsets of one zone never differ by more than a day.
- One of every hour or finer looks at the wall that a span shows: it skips what does not exist and fires again
  in what is shown again, which is its real pace.
"""

from abc import ABC, abstractmethod
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import datetime
from struct import Struct

from ..errors import InputError
from ..timeparse import FIRST, LAST, ceil_second, floor_second, format_duration, to_datetime
from .explain import explain, long_duration
from .expression import DAY, Expression
from .warnings import clock_changes
from .zone import Span, Zone, released

ROW = Struct("=5Q")  # seconds, minutes, hours; the identities of the days and the zone


class Recurrence(ABC):
    """A set of whole UTC seconds that can be walked. Frozen and hashable; `str()` reads back as an equal one."""

    __slots__ = ()
    zone: Zone
    row: bytes = bytes(ROW.size)  # what `batch` reads of a cron text; empty for other kinds

    @abstractmethod
    def after(self, second: int) -> int | None:
        """The first of its seconds strictly after this one."""

    @abstractmethod
    def before(self, second: int) -> int | None:
        """The last of its seconds strictly before this one."""

    @abstractmethod
    def count(self, after: int, until: int) -> int:
        """How many of its seconds lie after the one and not after the other; computed, however many."""

    @abstractmethod
    def explain(self) -> str:
        """In plain words, with the zone."""

    def next(self, after: datetime) -> datetime | None:
        """The first time strictly after, in the recurrence's zone; none if there is none."""
        found = self.after(self.zone.floor_second(after))
        return None if found is None else datetime.fromtimestamp(found, self.zone.tzinfo)

    def iterate(self, after: datetime) -> Iterator[datetime]:
        """All times strictly after, one by one, in the recurrence's zone. Faster than `next` of each answer."""
        tzinfo, found = self.zone.tzinfo, self.after(self.zone.floor_second(after))
        while found is not None:
            yield datetime.fromtimestamp(found, tzinfo)
            found = self.after(found)

    def prev(self, before: datetime) -> datetime | None:
        """The last time strictly before, in the recurrence's zone; none if there is none."""
        found = self.before(ceil_second(before))
        return None if found is None else datetime.fromtimestamp(found, self.zone.tzinfo)

    def between(self, start: datetime, end: datetime) -> list[datetime]:
        """All times from `start` to before `end`."""
        found = []
        stop = ceil_second(end)
        second = self.after(ceil_second(start) - 1)
        while second is not None and second < stop:
            found.append(to_datetime(second, self.zone.tzinfo))
            second = self.after(second)
        return found

    def matches(self, instant: datetime) -> bool:
        second = floor_second(instant)
        return second == ceil_second(instant) and self.after(second - 1) == second

    @property
    def warnings(self) -> tuple[str, ...]:
        """What a person who wrote this may not have meant, as seen from the day the zone data was released."""
        return self.warnings_after(released())

    def warnings_after(self, second: int) -> tuple[str, ...]:
        """As `warnings`; the clock changes it tells of are the next two after this second."""
        del second
        return ()


class Periodic(Recurrence):
    """A recurrence without an end, which can be laid over others."""

    __slots__ = ()

    @abstractmethod
    def bits(self, start: int, end: int) -> int:
        """Bit n says whether `start + n` is one of its seconds; up to `end`, which is about a day later."""

    @abstractmethod
    def rhythm(self, start: int, end: int) -> int | None:
        """A number that whole years have in common if its seconds lie alike in them; none if that is not known.

        The years are UTC's, begin with the same weekday and are equally long.
        """


@dataclass(frozen=True, slots=True)
class Cron(Periodic):
    """A cron text, understood. Equal if the same seconds are named by the same sets in the same zone."""

    expression: Expression
    zone: Zone
    text: str = field(compare=False)  # as written, but for H, which stands as what it came to
    notes: tuple[str, ...] = field(compare=False, default=())  # warnings about the spelling
    row: bytes = field(init=False, compare=False, repr=False)

    def __post_init__(self) -> None:
        named = self.expression
        row = ROW.pack(named.seconds, named.minutes, named.hours, id(named.days), id(self.zone))
        object.__setattr__(self, "row", row)

    def __reduce__(self) -> tuple[type["Cron"], tuple[Expression, Zone, str, tuple[str, ...]]]:
        return Cron, (self.expression, self.zone, self.text, self.notes)

    def after(self, second: int) -> int | None:
        if second < FIRST:
            second = FIRST - 1
        expression, zone = self.expression, self.zone
        lo, hi, offset, owned, end = zone.last
        if not lo <= second < hi:
            lo, hi, offset, owned, end = zone.span(second)
        start = second + offset + 1
        if start < owned and not expression.keeps_pace:
            start = owned
        wall = expression.on_or_after(start)
        while wall is not None and wall >= end:
            lo, hi, offset, owned, end = zone.span(hi if expression.keeps_pace else max(hi, wall - offset - DAY))
            begin = lo + offset if expression.keeps_pace else owned
            if not start <= begin <= wall:
                start, wall = begin, expression.on_or_after(begin)
        if wall is None or wall - offset >= LAST:
            return None
        return wall - offset if wall - offset > lo else lo  # noqa: FURB136  (max() costs a tenth of the walk)

    def before(self, second: int) -> int | None:
        second = max(FIRST, min(second, LAST))
        expression, zone = self.expression, self.zone
        lo, _, offset, owned, end = zone.span(second - 1)
        start = second - 1 + offset
        wall = expression.on_or_before(start)
        while wall is not None and wall < (lo + offset if expression.keeps_pace else owned):
            lo, _, offset, owned, end = zone.span(
                lo - 1 if expression.keeps_pace else min(lo - 1, wall - offset + DAY)
            )
            if not wall < end <= start + 1:
                start, wall = end - 1, expression.on_or_before(end - 1)
        return None if wall is None or wall - offset < FIRST else max(lo, wall - offset)

    def count(self, after: int, until: int) -> int:
        after, until = max(after, FIRST - 1), min(until, LAST - 1)
        found = 0
        while after < until:
            span = self.zone.span(after + 1)
            stop = min(span.hi - 1, until)
            found += self._count_in(span, after, stop)
            after = stop
        return found

    def _count_in(self, span: Span, after: int, until: int) -> int:
        expression, shown = self.expression, span.lo + span.offset
        start, end = after + 1 + span.offset, until + 1 + span.offset
        if expression.keeps_pace or span.owned == shown:
            return expression.count(start, end)
        found = expression.count(max(start, span.owned), end)
        if after + 1 == span.lo and expression.count(span.owned, shown):  # a gap, whose times are one
            found += 1 - expression.count(shown, shown + 1)
        return found

    def bits(self, start: int, end: int) -> int:
        found, second = 0, start
        while second < end:
            span = self.zone.span(second)
            stop = min(span.hi, end)
            found |= self._bits_in(span, second, stop) << second - start
            second = stop
        return found

    def rhythm(self, start: int, end: int) -> int | None:
        span = self.zone.span(start)
        is_steady = span.lo < start and end <= span.hi and span.owned <= start + span.offset
        return span.offset if is_steady and self.expression.days.is_cyclic else None

    def _bits_in(self, span: Span, start: int, end: int) -> int:
        expression, shown = self.expression, span.lo + span.offset
        wall = start + span.offset
        if expression.keeps_pace:
            return expression.bits(wall, end + span.offset)
        owned = max(wall, span.owned)
        found = expression.bits(owned, end + span.offset) << owned - wall
        return found | 1 if start == span.lo and expression.count(span.owned, shown) else found

    def explain(self) -> str:
        return explain(self.expression, self.zone.name)

    def warnings_after(self, second: int) -> tuple[str, ...]:
        over = ("all its years have passed: it never fires again",) if self.after(second) is None else ()
        return self.notes + over + clock_changes(self.expression, self.zone, second)

    def __str__(self) -> str:
        return self.text if self.zone.name == "UTC" else f"CRON_TZ={self.zone.name} {self.text}"


@dataclass(frozen=True, slots=True)
class Every(Periodic):
    """Every so many seconds since 1970, shifted by an offset: the same on all nodes and in every preview."""

    seconds: int
    zone: Zone  # only shown, never counted in
    offset: int = 0

    def __post_init__(self) -> None:
        if self.seconds < 1 or not 0 <= self.offset < self.seconds:
            raise InputError(
                f"an interval of {self.seconds} s with an offset of {self.offset} s is not possible: "
                "the interval must be positive and the offset shorter than it"
            )

    def after(self, second: int) -> int | None:
        second = max(second, FIRST - 1)
        found = second - (second - self.offset) % self.seconds + self.seconds
        return found if found < LAST else None

    def before(self, second: int) -> int | None:
        second = min(second, LAST)
        found = second - 1 - (second - 1 - self.offset) % self.seconds
        return found if found >= FIRST else None

    def count(self, after: int, until: int) -> int:
        after, until = max(after, FIRST - 1), min(until, LAST - 1)
        return max(0, (until - self.offset) // self.seconds - (after - self.offset) // self.seconds)

    def bits(self, start: int, end: int) -> int:
        number = self.count(start - 1, end - 1)
        first, found, known = self.after(start - 1), 1, 1
        if first is None or not number:
            return 0
        while known < number:
            found |= found << known * self.seconds
            known *= 2
        return (found << first - start) & (1 << end - start) - 1

    def rhythm(self, start: int, end: int) -> int | None:
        del end
        return (start - self.offset) % self.seconds

    def warnings_after(self, second: int) -> tuple[str, ...]:
        """Whole days look like days of the calendar, and are not (S64)."""
        del second
        if self.seconds % DAY:
            return ()
        return ("its days are counted from 1970 in UTC: to follow the local calendar, give at and from as well",)

    def explain(self) -> str:
        shift = f", shifted by {format_duration(self.offset)}" if self.offset else ""
        return f"Every {long_duration(self.seconds)}{shift}"

    def __str__(self) -> str:
        prefix = "" if self.zone.name == "UTC" else f"CRON_TZ={self.zone.name} "
        shift = f" offset {format_duration(self.offset)}" if self.offset else ""
        return f"{prefix}@every {format_duration(self.seconds)}{shift}"
