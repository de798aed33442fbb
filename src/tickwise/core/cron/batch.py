"""Thousands of recurrences at once, as NumPy columns: equal to the scalar walk on every input.

`expand` works in UTC hours. In an hour without a clock change, a cron text names the minutes of its minute mask if
it names the hour and the day, else none; and in each of these minutes the same seconds. So all pairs of a second
and a schedule are listed once, in order. The minute masks of these pairs, unpacked, are a matrix of minutes ×
pairs; the positions of its ones, row by row, are the runs in (time, schedule) order, without sorting.
What does not fit (intervals, the hour of a clock change) is listed separately and merged by a sort.

`next_many` searches all expressions at once on the wall of the span that holds `now`. The few whose next time lies
beyond that span are searched one by one.
"""

from collections.abc import Iterator, Sequence
from datetime import datetime
from typing import TypeAlias, cast

import numpy as np
from numpy.typing import NDArray

from ..timeparse import FIRST, LAST, ceil_second, floor_second
from .expression import DAY
from .walk import Cron, Every, Recurrence
from .zone import ALWAYS, Zone

NEVER: int = np.iinfo(np.int64).max  # in an array of next times: later than any bound, so never due

Times: TypeAlias = NDArray[np.int64]
Positions: TypeAlias = NDArray[np.int32]
_Runs: TypeAlias = tuple[Times, Positions]
_Masks: TypeAlias = NDArray[np.uint64]

_Rows: TypeAlias = slice | NDArray[np.intp]

_HOUR = 3_600
_ONE = np.uint64(1)
_SIXTY = np.uint64((1 << 60) - 1)
_KEY_BITS, _NARROW_KEY_BITS = 63, 32  # of an int64 without its sign, and of a uint32


def next_many(recurrences: Sequence[Recurrence], now: datetime | int) -> Times:
    """For each recurrence its first second strictly after `now`, or NEVER."""
    second = now if isinstance(now, int) else floor_second(now)
    found = np.full(len(recurrences), NEVER, np.int64)
    table = _Table(recurrences)
    alone = [table.others]
    for zone, rows in table.zones:
        span = zone.span(second)
        wall = second + span.offset + 1
        walls = table.first_walls(rows, wall)
        found[table.positions[rows]] = walls - span.offset
        known = (walls < span.end) & (walls - span.offset < LAST) & (span.owned <= wall) & (second >= FIRST)
        alone.append(table.positions[rows][~known])
    for i in np.concatenate(alone).tolist():
        after = recurrences[i].after(second)
        found[i] = NEVER if after is None else after
    return found


def expand(recurrences: Sequence[Recurrence], start: datetime | int, end: datetime | int) -> _Runs:
    """Every run with start <= time < end: times and positions in `recurrences`, in (time, position) order."""
    first = max(FIRST, start if isinstance(start, int) else ceil_second(start))
    stop = min(LAST, end if isinstance(end, int) else ceil_second(end))
    table = _Table(recurrences)
    in_turn: list[_Runs] = []
    apart: list[_Runs] = list(_walked(recurrences, table.others, first, stop))
    for hour in range(first - first % _HOUR, stop, _HOUR):
        masks, irregular = table.minutes_of_hour(hour)
        in_turn.append(_of_hour(hour, masks, table))
        apart += _walked(recurrences, irregular, max(first, hour), min(stop, hour + _HOUR))
    times, positions = _joined(in_turn)
    if any(len(runs[0]) for runs in apart):
        times, positions = in_order(*_joined([(times, positions), *apart]), len(recurrences))
    low, high = np.searchsorted(times, (first, stop)).tolist()
    return (times, positions) if high - low == len(times) else (times[low:high].copy(), positions[low:high].copy())


def in_order(times: Times, positions: Positions, count: int) -> _Runs:
    """New columns, ordered by time and then by position, which is below `count`.

    Both are sorted as one key, `time << bits | position`, and taken apart again; a key that is too wide for
    that is sorted as two columns, which is slower.
    """
    if not len(times):
        return times.copy(), positions.copy()
    earliest = int(times.min())
    bits = (count - 1).bit_length()
    width = (int(times.max()) - earliest).bit_length() + bits
    if width > _KEY_BITS:
        order = np.lexsort((positions, times))
        return times[order], positions[order]
    keys = times - earliest
    keys <<= bits
    keys |= positions
    if width <= _NARROW_KEY_BITS:  # half as wide, sorted in half the time
        keys = keys.astype(np.uint32)
    keys.sort()
    ordered = (keys & ((1 << bits) - 1)).astype(np.int32)
    keys >>= bits
    return keys.astype(np.int64, copy=False) + earliest, ordered


class _Table:
    """The cron texts among some recurrences as columns, one row each; `positions` are their original indexes."""

    def __init__(self, recurrences: Sequence[Recurrence]) -> None:
        rows = np.frombuffer(b"".join([r.row for r in recurrences]), np.uint64).reshape(-1, 5)
        self.positions: Positions = np.flatnonzero(rows[:, 0]).astype(np.int32)
        self.others: Positions = np.flatnonzero(rows[:, 0] == 0).astype(np.int32)
        self.seconds, self.minutes, self.hours, days, zones = rows[self.positions].T.copy()
        self.pair_seconds, self.pair_rows = _second_pairs(self.seconds)
        first_days, self._day_codes = _distinct(days)
        crons = cast(Sequence[Cron], recurrences)
        self._days = [crons[i].expression.days for i in self.positions[first_days].tolist()]
        first_zones, codes = _distinct(zones)
        self.zones: list[tuple[Zone, _Rows]] = [
            (crons[i].zone, np.flatnonzero(codes == code) if len(first_zones) > 1 else slice(None))
            for code, i in enumerate(self.positions[first_zones].tolist())
        ]
        self._named_days: dict[int, NDArray[np.bool_]] = {}

    def first_walls(self, rows: _Rows, wall: int) -> Times:
        """For each row the first wall second from `wall` on; past every span if there is none."""
        day, time = divmod(wall, DAY)
        hour, minute, second = (np.uint64(n) for n in (time // _HOUR, time // 60 % 60, time % 60))
        today, tomorrow = (
            np.array([_or_never(days.on_or_after(d)) for days in self._days], np.int64)[self._day_codes[rows]]
            for d in (day, day + 1)
        )
        seconds, minutes, hours = self.seconds[rows], self.minutes[rows], self.hours[rows]
        seconds_left, minutes_left, hours_left = seconds >> second, minutes >> minute + _ONE, hours >> hour + _ONE
        is_today = today == day
        in_hour = is_today & ((hours >> hour & _ONE) == _ONE)
        in_minute = in_hour & ((minutes >> minute & _ONE) == _ONE) & (seconds_left != 0)
        of_minute = _lowest(seconds)
        of_hour = 60 * _lowest(minutes) + of_minute
        of_day = _HOUR * _lowest(hours) + of_hour
        return np.select(
            [in_minute, in_hour & (minutes_left != 0), is_today & (hours_left != 0)],
            [
                wall + _lowest(seconds_left),
                wall - time % 60 + 60 * (1 + _lowest(minutes_left)) + of_minute,
                wall - time % _HOUR + _HOUR * (1 + _lowest(hours_left)) + of_hour,
            ],
            np.where(is_today, tomorrow, today) * DAY + of_day,
        )

    def minutes_of_hour(self, hour: int) -> tuple[_Masks, Positions]:
        """The minutes each row names in a UTC hour, and the rows for which a clock change is near."""
        masks = np.zeros(len(self.positions), np.uint64)
        irregular = [self.others[:0]]
        for zone, rows in self.zones:
            span = zone.span(hour)
            wall = hour + span.offset
            if span.lo < hour and hour + _HOUR <= span.hi and span.owned <= wall and span.offset % 60 == 0:
                passed = wall % _HOUR // 60
                masks[rows] = self._minutes_of_wall_hour(rows, wall) >> np.uint64(passed)
                if passed:
                    following = self._minutes_of_wall_hour(rows, wall + _HOUR)
                    masks[rows] |= following << np.uint64(60 - passed) & _SIXTY
            else:
                irregular.append(self.positions[rows])
        return masks, np.concatenate(irregular)

    def _minutes_of_wall_hour(self, rows: _Rows, wall: int) -> _Masks:
        day, time = divmod(wall, DAY)
        named_day = self._named_days.get(day)
        if named_day is None:
            named_day = np.array([days.on_or_after(day) == day for days in self._days])
            self._named_days[day] = named_day
        named = named_day[self._day_codes[rows]] & ((self.hours[rows] >> np.uint64(time // _HOUR) & _ONE) == _ONE)
        return np.where(named, self.minutes[rows], np.uint64(0))


def _distinct(identities: NDArray[np.uint64]) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """The first index of each distinct object, and for each given object the number of its distinct one."""
    distinct, first = np.unique(identities, return_index=True)
    return first, np.searchsorted(distinct, identities)


def _or_never(day: int | None) -> int:
    return ALWAYS // DAY if day is None else day


def _lowest(masks: _Masks) -> Times:
    below: NDArray[np.uint64] = (masks & -masks) - _ONE
    return np.bitwise_count(below).astype(np.int64)


def _ones(masks: _Masks) -> NDArray[np.uint8]:
    """A matrix of 60 rows with one column for each mask."""
    bits = np.unpackbits(masks.view(np.uint8).reshape(-1, 8), axis=1, count=60, bitorder="little")
    return np.ascontiguousarray(bits.T)


def _second_pairs(seconds: _Masks) -> tuple[Times | None, NDArray[np.intp] | slice]:
    """Seconds within a minute and the rows that name them, in order; without seconds if all name the first."""
    if (seconds == _ONE).all():
        return None, slice(None)
    second, row = np.nonzero(_ones(seconds))
    return second, row


def _of_hour(hour: int, masks: _Masks, table: _Table) -> _Runs:
    """The runs of an hour without a clock change, in order."""
    of_pairs = masks[table.pair_rows]
    active = np.flatnonzero(of_pairs)
    minute, column = np.nonzero(_ones(of_pairs[active]))
    times, positions = hour + 60 * minute, table.positions[table.pair_rows][active][column]
    if table.pair_seconds is not None:
        times += table.pair_seconds[active][column]
    return times, positions


def _walked(recurrences: Sequence[Recurrence], positions: Positions, first: int, stop: int) -> Iterator[_Runs]:
    for position in positions.tolist():
        times = _times_between(recurrences[position], first, stop)
        yield times, np.full(len(times), position, np.int32)


def _times_between(recurrence: Recurrence, first: int, stop: int) -> Times:
    if isinstance(recurrence, Every):
        beginning = recurrence.after(first - 1)
        return np.arange(stop if beginning is None else beginning, stop, recurrence.seconds, dtype=np.int64)
    found = []
    second = recurrence.after(first - 1)
    while second is not None and second < stop:
        found.append(second)
        second = recurrence.after(second)
    return np.array(found, np.int64)


def _joined(runs: Sequence[_Runs]) -> _Runs:
    if not runs:
        return np.empty(0, np.int64), np.empty(0, np.int32)
    return np.concatenate([times for times, _ in runs]), np.concatenate([positions for _, positions in runs])
