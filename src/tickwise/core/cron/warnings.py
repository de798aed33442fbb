"""Warnings about what the author of a cron text may not have meant (S38), besides the grammar's about spelling."""

from collections.abc import Iterator
from itertools import groupby, islice
from typing import NamedTuple

from ..timeparse import to_datetime
from .expression import DAY, LAST_DAY, Expression
from .zone import Zone

_AHEAD = 28 * 366 * DAY  # after 28 years the pairs of date and weekday repeat
_SHOWN = 2
_FATES = {  # whether the clock skips, and whether several times of the day are hit
    (True, False): ("does not exist", "fires at {} instead"),
    (True, True): ("do not exist", "fire once, at {}"),
    (False, False): ("comes twice", "fires at the first"),
    (False, True): ("come twice", "each fires at its first"),
}


class _Caution(NamedTuple):
    """What a clock change does to the times of one date."""

    times: str
    fate: str
    outcome: str
    date: str


def clock_changes(expression: Expression, zone: Zone, now: int) -> tuple[str, ...]:
    """The next two dates on which a fixed time does not exist or comes twice, in one warning; or no warning.

    Schedules of every hour or finer keep their real pace through clock changes (S39): none of them is at risk.
    """
    found = [] if expression.keeps_pace else list(islice(_cautions(expression, zone, now), _SHOWN))
    return (f"{' and '.join(_clauses(found))} in {zone.name}",) if found else ()


def _clauses(cautions: list[_Caution]) -> Iterator[str]:
    """Equal fates share one clause, equal times are named once."""
    named = ""
    for (times, fate, outcome), alike in groupby(cautions, key=lambda caution: caution[:3]):
        subject = "" if times == named else f"{times} "
        yield f"{subject}{fate} on {' and '.join(caution.date for caution in alike)} ({outcome})"
        named = times


def _cautions(expression: Expression, zone: Zone, now: int) -> Iterator[_Caution]:
    """Date by date, what the changes after `now` do: the wall from `left` to `right` is missing or doubled."""
    span = zone.span(now)
    while span.hi < min(now + _AHEAD, LAST_DAY * DAY):
        span = zone.span(span.hi)
        shown = span.lo + span.offset
        left, right = sorted((span.owned, shown))
        while (first := expression.on_or_after(left)) is not None and first < right:
            left = first - first % DAY + DAY
            last = expression.on_or_before(min(left, right) - 1) or first  # some time, as `first` is one
            yield _caution(first, last, shown, skips=span.owned < shown)


def _caution(first: int, last: int, shown: int, *, skips: bool) -> _Caution:
    fate, outcome = _FATES[skips, first < last]
    times = _clock(first) if first == last else f"times from {_clock(first)} to {_clock(last)}"
    instead = _clock(shown) if shown // DAY == first // DAY else f"{_date(shown)} {_clock(shown)}"
    return _Caution(times, fate, outcome.format(instead), _date(first))


def _date(wall: int) -> str:
    return f"{to_datetime(wall):%Y-%m-%d}"


def _clock(wall: int) -> str:
    return f"{to_datetime(wall):%H:%M:%S}".removesuffix(":00")
