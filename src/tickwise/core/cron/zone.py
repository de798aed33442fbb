"""Zones: the only module that knows that a wall clock can skip an hour or show it twice.

A zone is a sequence of spans of constant offset from UTC, read from the `tzdata` package and never from the
machine, so that all nodes agree (S40). A span is `[lo, hi)` in UTC seconds; on the wall it shows
`[lo + offset, hi + offset)`. Where offsets differ, the walls of neighbours leave a gap or overlap.

Every wall time has one owner all the same: a span owns the wall from where its predecessor's ends. These owned
walls tile the wall clock. A wall time that does not exist is owned by the span after the gap (whose first
instant stands for it), one that exists twice by the earlier of the two. (That needs spans longer than the fold
before them; since 1970 the shortest lasted a week.)

After its last written transition a zone follows a yearly rule. The Gregorian calendar repeats every 400
years, weekdays included, so 400 years of the rule answer for all time.
"""

import re
import struct
from array import array
from bisect import bisect_right
from collections.abc import Callable, Iterator
from datetime import UTC, date, datetime, tzinfo
from functools import lru_cache
from importlib.resources import files
from itertools import pairwise
from typing import NamedTuple
from zoneinfo import ZoneInfo

import tzdata

from ..errors import InputError, did_you_mean, nearest_word
from ..timeparse import floor_second, to_datetime

ALWAYS = 1 << 60
_DAY = 86_400
_EPOCH = date(1970, 1, 1).toordinal()
_CYCLE = 146_097 * _DAY


class Span(NamedTuple):
    """A stretch of one offset: `lo` and `hi` are UTC seconds, `owned` and `end` wall seconds."""

    lo: int
    hi: int
    offset: int
    owned: int  # the wall that ends the span before: later than lo + offset after a fold, earlier after a gap
    end: int


class _PackagedZone(ZoneInfo):
    """A ZoneInfo of the `tzdata` package that can be pickled: by its name."""

    def __reduce__(self) -> tuple[Callable[[str], tzinfo], tuple[str]]:
        return _tzinfo, (self.key,)


def _tzinfo(name: str) -> tzinfo:
    return zone(name).tzinfo


class Zone:
    """One IANA zone. Made by `zone(name)` only, so that equal names are one object."""

    __slots__ = ("_offsets", "_repeats_from", "_spans", "_starts", "_wall_epoch", "last", "name", "tzinfo")

    def __init__(self, name: str) -> None:
        self.name = name
        path = files("tzdata").joinpath("zoneinfo", *name.split("/"))
        with path.open("rb") as file:
            self.tzinfo: tzinfo = UTC if name == "UTC" else _PackagedZone.from_file(file, key=name)
        self._wall_epoch = datetime(1970, 1, 1, tzinfo=self.tzinfo)
        transitions, rule = _read_tzif(path.read_bytes())
        self._repeats_from = ALWAYS
        if rule:
            first_year = date.fromordinal(transitions[-1][0] // _DAY + _EPOCH).year
            by_rule = rule.transitions(first_year, first_year + 402)
            transitions += [t for t in by_rule if t[0] > transitions[-1][0]]
            self._repeats_from = (date(first_year + 401, 1, 1).toordinal() - _EPOCH) * _DAY
        kept = [transitions[0], *(b for a, b in pairwise(transitions) if a[1] != b[1])]
        self._starts = array("q", [t for t, _ in kept] + [ALWAYS])
        self._offsets = array("q", [kept[0][1]] + [offset for _, offset in kept])
        self._spans: dict[int, Span] = {}  # that were asked for
        self.last = self._find(0)

    def span(self, t: int) -> Span:
        """The span that holds the UTC second `t`. Near the last one asked for, it costs no search."""
        last = self.last
        if last[0] <= t < last[1]:
            return last
        if t >= self._repeats_from:
            shift = ((t - self._repeats_from) // _CYCLE + 1) * _CYCLE
            lo, hi, offset, owned, end = self._find(t - shift)
            found = Span(lo + shift, hi + shift, offset, owned + shift, end + shift)
        else:
            found = self._find(t)
        self.last = found
        return found

    def instant(self, wall: int) -> int:
        """The UTC second at which a wall time fires (S39): the first of two, or the first after the gap."""
        span = self.span(wall - _DAY)
        while wall >= span.end:
            span = self.span(span.hi)
        return max(span.lo, wall - span.offset)

    def floor_second(self, instant: datetime) -> int:
        """As `instant.floor_second`, but faster for a datetime of this zone.

        Datetimes of one zone are subtracted as walls, without asking for offsets. A day away from the nearest
        clock change, the wall leaves no doubt about the span it belongs to.
        """
        if instant.tzinfo is self.tzinfo:
            since = instant - self._wall_epoch
            wall = since.days * _DAY + since.seconds
            lo, hi, offset, _, _ = self.last
            if lo + _DAY <= wall - offset < hi - _DAY:
                return wall - offset
        return floor_second(instant)

    def _find(self, t: int) -> Span:
        i = bisect_right(self._starts, t)
        found = self._spans.get(i)
        if found is None:
            lo, hi, offset = self._starts[i - 1], self._starts[i], self._offsets[i]
            found = self._spans[i] = Span(lo, hi, offset, lo + self._offsets[i - 1], hi + offset)
        return found

    def __repr__(self) -> str:
        return f"zone({self.name!r})"

    def __reduce__(self) -> tuple[Callable[[str], "Zone"], tuple[str]]:
        return zone, (self.name,)


_ZONES: dict[str, Zone] = {}


def clock_change(zone: Zone, second: int) -> str:
    """What the clock does on the local day of this second: `the clock skips 02:00 to 03:00`, or nothing."""
    span, day = zone.span(second), to_datetime(second, zone.tzinfo).date()
    for at in (span.lo, span.hi):
        before, after = zone.span(at - 1).offset, zone.span(at).offset
        if day in (to_datetime(at, zone.tzinfo).date(), to_datetime(at - 1, zone.tzinfo).date()):
            low, high = sorted((to_datetime(at + before), to_datetime(at + after)))
            verb, end = ("skips", "") if after > before else ("shows", " twice")
            return f"the clock {verb} {low:%H:%M} to {high:%H:%M}{end}"
    return ""


@lru_cache(maxsize=1024)
def zone(name: str) -> Zone:
    """The zone of an IANA name. An unknown name is refused with the nearest right one."""
    if name not in zone_names():
        near = nearest_word(name, zone_names())
        raise InputError(f"unknown time zone {name[:60]!r}{did_you_mean(near)}", nearest=near)
    return _ZONES.setdefault(name, Zone(name))  # one for all, also if two threads ask first at once


@lru_cache(maxsize=1)
def zone_names() -> frozenset[str]:
    return frozenset(files("tzdata").joinpath("zones").read_text(encoding="utf-8").split())


@lru_cache(maxsize=1)
def released() -> int:
    """The beginning of the year in which the zone data was released: the latest instant known without a clock."""
    return (date(int(tzdata.IANA_VERSION[:4]), 1, 1).toordinal() - _EPOCH) * _DAY


class _YearlyRule(NamedTuple):
    """The footer of a zone file: standard and summer offset, and when in a year each begins."""

    standard: int
    summer: int
    summer_begins: tuple[int, int, int, int]
    summer_ends: tuple[int, int, int, int]

    def transitions(self, first_year: int, end_year: int) -> list[tuple[int, int]]:
        return sorted(self._of_years(first_year, end_year))

    def _of_years(self, first_year: int, end_year: int) -> Iterator[tuple[int, int]]:
        for year in range(first_year, end_year):
            yield _wall_of_rule(year, *self.summer_begins) - self.standard, self.summer
            yield _wall_of_rule(year, *self.summer_ends) - self.summer, self.standard


def _wall_of_rule(year: int, month: int, week: int, weekday: int, seconds: int) -> int:
    """The wall second of `Mmonth.week.weekday/time`: week 5 is the last; Sunday is 0."""
    first = date(year, month, 1).toordinal()
    day = first + (weekday - first) % 7 + 7 * (week - 1)
    if week == 5:
        following = date(year + month // 12, month % 12 + 1, 1).toordinal()
        day -= 7 * (day >= following)
    return (day - _EPOCH) * _DAY + seconds


_FOOTER = re.compile(
    r"(?:<[^>]+>|[A-Za-z]+)(?P<standard>[-+\d:]+)"
    r"(?:(?:<[^>]+>|[A-Za-z]+)(?P<summer>[-+\d:]*),M(?P<begins>[^,]+),M(?P<ends>[^,]+))?"
)


def _read_tzif(data: bytes) -> tuple[list[tuple[int, int]], _YearlyRule | None]:
    """The transitions of a TZif file (RFC 9636), the first from always on, and its yearly rule if it has one."""
    v1 = struct.unpack_from(">6l", data, 20)
    skipped = _block_size(v1, time_size=4)
    start = 44 + skipped
    v2 = struct.unpack_from(">6l", data, start + 20)
    _, _, _, times, types, _ = v2
    body = start + 44
    instants = struct.unpack_from(f">{times}q", data, body)
    kinds = struct.unpack_from(f">{times}B", data, body + 8 * times)
    offsets = [struct.unpack_from(">l", data, body + 9 * times + 6 * i)[0] for i in range(types)]
    footer = data[body + _block_size(v2, time_size=8) :].strip(b"\n").decode("ascii")
    written = [(t, offsets[kind]) for t, kind in zip(instants, kinds, strict=True)]
    return [(-ALWAYS, offsets[0]), *written], _read_footer(footer)


def _block_size(counts: tuple[int, ...], time_size: int) -> int:
    is_ut, is_std, leaps, times, types, chars = counts
    return times * (time_size + 1) + types * 6 + chars + leaps * (time_size + 4) + is_std + is_ut


def _read_footer(text: str) -> _YearlyRule | None:
    found = _FOOTER.fullmatch(text)
    if found is None or found["begins"] is None:
        return None
    standard = -_clock_seconds(found["standard"])
    summer = -_clock_seconds(found["summer"]) if found["summer"] else standard + 3600
    return _YearlyRule(standard, summer, _read_rule(found["begins"]), _read_rule(found["ends"]))


def _read_rule(text: str) -> tuple[int, int, int, int]:
    when, _, clock = text.partition("/")
    month, week, weekday = map(int, when.split("."))
    return month, week, weekday, _clock_seconds(clock or "2")


def _clock_seconds(text: str) -> int:
    sign = -1 if text.startswith("-") else 1
    hours, minutes, seconds = ([int(part) for part in text.lstrip("+-").split(":")] + [0, 0])[:3]
    return sign * (hours * 3600 + minutes * 60 + seconds)
