"""S39 and S40 on all the clock changes there are: every zone, every transition of 1970-2037, and single examples.

Transitions are found by looking at `zoneinfo` and halving, never by asking the engine's own zones.
"""

import os
import pickle
from collections import defaultdict
from collections.abc import Iterator
from datetime import UTC, datetime
from functools import cache, lru_cache
from importlib.resources import files
from itertools import pairwise
from random import Random

import numpy as np
import pytest

from tickwise.core.cron import CronError, Recurrence, parse
from tickwise.core.cron.zone import clock_change, zone, zone_names

from .oracle import Clock, Meaning, epoch, fires, neighbours, offset_at, packaged_zone, transitions

START, END = epoch(1970, 1, 1), epoch(2038, 1, 1)
SLICES = range(12)
WALKED = SLICES if os.environ.get("TICKWISE_PROOF") else SLICES[::4]  # `make proof` walks through all zones
EVERY_HOUR = frozenset(range(24))


@cache
def same_zones() -> list[list[str]]:
    """All names, those with the same data together."""
    by_data = defaultdict(list)
    for name in sorted(zone_names()):
        by_data[files("tzdata").joinpath("zoneinfo", *name.split("/")).read_bytes()].append(name)
    return list(by_data.values())


def changes_of(name: str) -> list[int]:
    return transitions(packaged_zone(name), START, END)


def times_of_day(minutes: set[int], hours: frozenset[int]) -> Meaning:
    def always(_day: object) -> bool:
        return True

    every_month = frozenset(range(1, 13))
    return Meaning(frozenset({0}), frozenset(minutes), hours, every_month, (always,), (always,), both=True)


def around(at: int, before: int, after: int, hours: int) -> Clock:
    """The clock for so many hours on both sides of what a change moves; by seconds if it moves by seconds."""
    step = 60 if at % 60 == before % 60 == after % 60 == 0 else 1
    reach = hours * 3600 + abs(after - before) // 60 * 60
    ticks = np.arange(at - reach, at + reach, step, dtype=np.int64)
    return Clock(ticks, ticks + np.where(ticks < at, before, after), step)


def questions(at: int, before: int, after: int) -> Iterator[tuple[str, Meaning]]:
    """Fixed times at both ends and in the middle of what is missing or comes twice, and two paces."""
    low, high = sorted((at + before, at + after))
    walls = {wall // 60 * 60 for wall in (low, (low + high) // 2, high - 1, high)}
    for wall in walls:
        minute, hour = wall // 60 % 60, wall // 3600 % 24
        yield f"{minute} {hour} * * *", times_of_day({minute}, frozenset({hour}))
    hours = frozenset({low // 3600 % 24, 0})
    yield f"*/20 {','.join(map(str, hours))} * * *", times_of_day({0, 20, 40}, hours)
    yield "30 * * * *", times_of_day({30}, EVERY_HOUR)
    yield "*/15 0-23 * * *", times_of_day({0, 15, 30, 45}, EVERY_HOUR)


@lru_cache(maxsize=20_000)
def cached(text: str, name: str) -> Recurrence:
    return parse(text, timezone=name)


def walked(cron: Recurrence, first: int, last: int) -> list[int]:
    """All fires after the first and up to the last second, found forward and checked backward."""
    forward: list[int] = []
    found = cron.after(first)
    while found is not None and found <= last:
        assert found > (forward[-1] if forward else first)
        forward.append(found)
        found = cron.after(found)
    found = cron.before(last + 1)
    for expected in reversed(forward):
        assert found == expected
        found = cron.before(found)
    assert found is None or found <= first
    return forward


@pytest.mark.parametrize("part", WALKED)
def test_every_transition(part: int) -> None:
    """At every clock change fixed times come exactly once and others keep their real pace (S39)."""
    asked = 0
    for name, *_ in same_zones()[part :: len(SLICES)]:
        zone_info = packaged_zone(name)
        for at in changes_of(name):
            offsets = offset_at(zone_info, at - 1), offset_at(zone_info, at)
            days, hours = around(at, *offsets, 25), around(at, *offsets, 4)
            for text, meaning in questions(at, *offsets):
                clock = hours if meaning.keeps_pace else days
                fired = fires(meaning, clock)
                cron, first, last = cached(text, name), int(clock.ticks[0]), int(clock.ticks[-1])
                assert walked(cron, first, last) == fired.tolist(), (name, text, at)
                assert cron.count(first, last) == len(fired), (name, text, at)
                for instant in (at - 1, at, at + abs(offsets[1] - offsets[0]) // 3):
                    answer = cron.before(instant), cron.after(instant)
                    assert answer == neighbours(fired, instant), (name, text, instant)
                asked += 1
    assert asked >= 5_000


@pytest.mark.parametrize("part", SLICES)
def test_spans_are_those_of_zoneinfo(part: int) -> None:
    """Every name has the transitions and offsets that the package's data has, and no others (S40)."""
    for names in same_zones()[part :: len(SLICES)]:
        info = packaged_zone(names[0])
        expected = [(at, offset_at(info, at - 1), offset_at(info, at)) for at in changes_of(names[0])]
        for name in names:
            spans = [zone(name).span(START)]
            while spans[-1].hi < END:
                spans.append(zone(name).span(spans[-1].hi))
            found = [(b.lo, a.offset, b.offset) for a, b in pairwise(spans)]
            assert found == expected, name


def test_offsets_of_all_times() -> None:
    """Before the first transition and after the last, to the end of the calendar, zoneinfo agrees (S40)."""
    random = Random(40)
    instants = [random.randrange(epoch(2, 1, 1), epoch(9999, 1, 1)) for _ in range(40)]
    instants += [random.randrange(epoch(1850, 1, 1), epoch(2500, 1, 1)) for _ in range(80)]
    for name in sorted(zone_names()):
        info, ours = packaged_zone(name), zone(name)
        for instant in instants:
            span = ours.span(instant)
            assert span.lo <= instant < span.hi, name
            assert span.offset == offset_at(info, instant), (name, instant)


def spelled(cron: Recurrence, start: str, end: str) -> str:
    """The fires from one wall time to before another, as day, time and offset."""
    lo, hi = (datetime.fromisoformat(text).replace(tzinfo=cron.zone.tzinfo) for text in (start, end))
    fired = walked(cron, int(lo.timestamp()) - 1, int(hi.timestamp()) - 1)
    return " ".join(f"{datetime.fromtimestamp(second, cron.zone.tzinfo):%d %H:%M%z}" for second in fired)


@pytest.mark.parametrize(
    ("where", "text", "start", "end", "expected"),
    [
        # New York skips 02:00-03:00 and repeats 01:00-02:00
        ("America/New_York", "30 2 * * *", "2024-03-10", "2024-03-12", "10 03:00-0400 11 02:30-0400"),
        ("America/New_York", "15,45 2 * * *", "2024-03-10", "2024-03-11", "10 03:00-0400"),
        ("America/New_York", "0 2,3 * * *", "2024-03-10", "2024-03-11", "10 03:00-0400"),
        ("America/New_York", "30 1 * * *", "2024-11-03", "2024-11-05", "03 01:30-0400 04 01:30-0500"),
        ("America/New_York", "0 * * * *", "2024-03-10T01", "2024-03-10T04", "10 01:00-0500 10 03:00-0400"),
        ("America/New_York", "0 0-23 * * *", "2024-11-03T01", "2024-11-03T03",
         "03 01:00-0400 03 01:00-0500 03 02:00-0500"),
        ("America/New_York", "0 */2 * * *", "2024-03-10", "2024-03-10T05",
         "10 00:00-0500 10 03:00-0400 10 04:00-0400"),
        # Berlin: the same an hour later
        ("Europe/Berlin", "30 2 * * *", "2024-03-31", "2024-04-01", "31 03:00+0200"),
        ("Europe/Berlin", "30 2 * * *", "2024-10-27", "2024-10-28", "27 02:30+0200"),
        # São Paulo skipped midnight itself
        ("America/Sao_Paulo", "0 0 * * *", "2018-11-03T12", "2018-11-05T12", "04 01:00-0200 05 00:00-0200"),
        ("America/Sao_Paulo", "30 0 4 11 *", "2018-11-03", "2018-11-05", "04 01:00-0200"),
        ("America/Sao_Paulo", "0 23 17 2 *", "2018-02-17", "2018-02-19", "17 23:00-0200"),
        # Havana goes from 01:00 back to midnight
        ("America/Havana", "0 0 * * *", "2024-11-02T12", "2024-11-04T12", "03 00:00-0400 04 00:00-0500"),
        ("America/Havana", "0 1 * * *", "2024-11-03", "2024-11-04", "03 01:00-0500"),
        # Lord Howe moves by half an hour
        ("Australia/Lord_Howe", "15 2 * * *", "2024-10-06", "2024-10-07", "06 02:30+1100"),
        ("Australia/Lord_Howe", "*/15 * * * *", "2024-04-07T01:30", "2024-04-07T02:15",
         "07 01:30+1100 07 01:45+1100 07 01:30+1030 07 01:45+1030 07 02:00+1030"),
        # Apia had no 30 December 2011
        ("Pacific/Apia", "0 12 * * *", "2011-12-29", "2012-01-01", "29 12:00-1000 31 00:00+1400 31 12:00+1400"),
        ("Pacific/Apia", "0 12 30 12 *", "2011-12-01", "2012-01-20", "31 00:00+1400"),
        ("Pacific/Apia", "0 0 * * *", "2011-12-30", "2012-01-02", "31 00:00+1400 01 00:00+1400"),
        # the Azores and Scoresbysund change at midnight or before
        ("Atlantic/Azores", "30 0 * * *", "2024-03-31", "2024-04-01", "31 01:00+0000"),
        ("America/Scoresbysund", "30 0 * * *", "2023-03-26", "2023-03-27", "26 01:00+0000"),
        ("America/Scoresbysund", "30 23 * * *", "2024-03-30", "2024-03-31T03", "30 23:30-0100"),
        # Troll jumps two hours
        ("Antarctica/Troll", "0,30 1,2 * * *", "2024-03-31", "2024-04-01", "31 03:00+0200"),
        ("Antarctica/Troll", "30 1,2 * * *", "2024-10-27", "2024-10-28", "27 01:30+0200 27 02:30+0200"),
        # and the rule goes on after the data ends
        ("Europe/Berlin", "30 2 * * *", "2500-03-28", "2500-03-29", "28 03:00+0200"),
        ("America/New_York", "30 1 * * *", "9998-11-01", "9998-11-02", "01 01:30-0400"),
    ],
)  # fmt: skip
def test_named_clock_changes(where: str, text: str, start: str, end: str, expected: str) -> None:
    """A missing time fires at the first instant after the gap, a double one once, and a pace is kept (S39)."""
    assert spelled(parse(text, timezone=where), start, end) == expected


def test_utc_unless_told() -> None:
    """Without a zone it is UTC; a zone in the text goes before the argument (S40)."""
    assert parse("0 0 * * *").zone.name == "UTC"
    assert parse("CRON_TZ=Asia/Tokyo 0 0 * * *", timezone="Europe/Berlin").zone.name == "Asia/Tokyo"
    assert parse("TZ=Asia/Tokyo @daily") == parse("@daily", timezone="Asia/Tokyo")


@pytest.mark.parametrize("name", sorted(zone_names())[::37])
def test_zones_travel(name: str) -> None:
    """A zone and its times can be pickled, and come back as the same zone (S40)."""
    cron = parse("0 0 * * *", timezone=name)
    found = cron.next(datetime.fromisoformat("2026-01-01T00:00:00Z"))
    assert pickle.loads(pickle.dumps(cron)) == cron  # noqa: S301
    assert pickle.loads(pickle.dumps(cron)).zone is cron.zone  # noqa: S301
    assert pickle.loads(pickle.dumps(found)) == found  # noqa: S301


@pytest.mark.parametrize(
    ("name", "hint"),
    [
        ("Europe/Berln", "Europe/Berlin"),
        ("america/new_york", "America/New_York"),
        ("US/Pacifik", "US/Pacific"),
        ("", ""),
        ("local", ""),
        ("../../etc/passwd", ""),
        ("/usr/share/zoneinfo/UTC", ""),
        ("Europe", ""),
        ("UTC\0", ""),
        ("x" * 100_000, ""),
        ("__init__.py", ""),
    ],
)
def test_unknown_zones(name: str, hint: str) -> None:
    """A name that the package does not list is refused, with the nearest that it does (S38, S40)."""
    with pytest.raises(CronError) as caught:
        parse("0 0 * * *", timezone=name)
    assert caught.value.field == "timezone"
    assert "unknown time zone" in str(caught.value)
    assert hint in str(caught.value)


def test_a_wall_time_on_the_day_of_a_clock_change() -> None:
    """S39: noon is noon, although the day before had another offset."""
    noon = 1_774_785_600  # 2026-03-29 12:00, by the wall
    assert zone("Europe/Berlin").instant(noon) == noon - 2 * 3600
    assert zone("Europe/Berlin").instant(noon - 86_400) == noon - 86_400 - 3600


def test_what_the_clock_does_on_a_day() -> None:
    """S39: a day on which the clock changes says from when to when, and any other day says nothing."""
    berlin = zone("Europe/Berlin")
    days = ("2027-03-28T10:00", "2027-10-31T00:30", "2027-11-01T12:00")
    assert [clock_change(berlin, _utc(day)) for day in days] == [
        "the clock skips 02:00 to 03:00", "the clock shows 02:00 to 03:00 twice", "",
    ]  # fmt: skip


def _utc(text: str) -> int:
    return int(datetime.fromisoformat(text).replace(tzinfo=UTC).timestamp())
