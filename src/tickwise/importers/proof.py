"""Compares when the old scheduler fires, by its own rules, with when Tickwise will, and gives reasons."""

from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import date
from itertools import islice
from typing import NamedTuple

from ..core.cron import Recurrence
from ..core.cron.zone import Zone, clock_change
from ..core.timeparse import to_datetime
from .model import OriginRules, RulesUnavailableError

_LISTED_TIMES = 3


class Difference(NamedTuple):
    """A local day on which the two do not fire alike."""

    day: date
    change: str  # the reason: what the clock does on this day, mostly; empty if none is known
    theirs: tuple[int, ...]  # the seconds at which only the old scheduler fires
    ours: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Proof:
    """The comparison over [start, end)."""

    start: int
    end: int  # earlier than asked for if the old scheduler fires too often to be asked about all of it
    theirs: int  # how often each of them fires
    ours: int
    starts: Sequence[int] = ()  # the seconds at which Tickwise fires
    differences: Sequence[Difference] = ()
    unavailable: str = ""  # why the old scheduler's rules could not be asked
    is_cut: bool = False


def prove(rules: OriginRules, times: Recurrence, start: int, end: int, until: int | None = None) -> Proof:
    """Expand both from start to end; Tickwise fires last at `until`."""
    try:
        theirs = list(islice(rules.fires(start, end), rules.max_fires + 1))
    except RulesUnavailableError as error:
        last = end - 1 if until is None else max(start - 1, min(end - 1, until))
        return Proof(start, end, 0, times.count(start - 1, last), unavailable=str(error))
    is_cut = len(theirs) > rules.max_fires
    if is_cut:
        end = theirs.pop()
    ours = _expand(times, start, end if until is None else min(end, until + 1))
    found = () if theirs == ours else tuple(_differences(theirs, ours, times.zone))
    return Proof(start, end, len(theirs), len(ours), ours, found, is_cut=is_cut)


def _expand(times: Recurrence, start: int, end: int) -> list[int]:
    found, second = [], times.after(start - 1)
    while second is not None and second < end:
        found.append(second)
        second = times.after(second)
    return found


def _differences(theirs: Iterable[int], ours: Iterable[int], zone: Zone) -> Iterable[Difference]:
    a, b = Counter(theirs), Counter(ours)
    days: dict[date, tuple[list[int], list[int]]] = defaultdict(lambda: ([], []))
    for side, extra in enumerate((a - b, b - a)):
        for second in extra.elements():
            days[to_datetime(second, zone.tzinfo).date()][side].append(second)
    for day, (only_theirs, only_ours) in sorted(days.items()):
        change = clock_change(zone, (only_theirs or only_ours)[0])
        if not change and not only_ours and all(second in b for second in only_theirs):
            change = "two entries name one second, which is one slot"
        yield Difference(day, change, tuple(sorted(only_theirs)), tuple(sorted(only_ours)))


def describe(difference: Difference, scheduler: str, zone: Zone) -> str:
    """A difference in words: `the clock skips 02:00 to 03:00; Tickwise also fires at 03:00`."""
    said = [difference.change or "no change of the clock explains this"]
    for who, seconds in ((scheduler, difference.theirs), ("Tickwise", difference.ours)):
        if seconds:
            said.append(f"{who} fires {_times(len(seconds))} more, at {_list_times(seconds, zone)}")
    return "; ".join(said)


def _times(number: int) -> str:
    return "once" if number == 1 else f"{number} times"


def _list_times(seconds: Sequence[int], zone: Zone) -> str:
    shown = list(dict.fromkeys(f"{to_datetime(second, zone.tzinfo):%H:%M:%S %Z}" for second in seconds))
    texts = [text.replace(":00 ", " ", 1) if text[5:8] == ":00" else text for text in shown]
    if len(texts) > _LISTED_TIMES:
        return f"{texts[0]} to {texts[-1]}"
    return ", ".join(texts)
