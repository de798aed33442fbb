"""The index of planned runs: which fall in a window, and which comes first.

A run is twelve bytes: its UTC second in an int64 array and, in an int32 array beside it, the rank of its job
id among the sorted ids. Both stand in (time, rank) order, which is (time, id) order. So a window is two
binary searches and a slice, and a run is made only when somebody reads it.

Readers take no lock: all that an index holds is one immutable `_Content` behind one attribute. `swap` makes
the new one first and then sets that attribute, so that a reader sees the old or the new, never some of each.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from datetime import UTC, datetime
from operator import attrgetter, itemgetter
from reprlib import repr as shortened
from typing import Any, NamedTuple, Self, TypeAlias, overload

import numpy as np
from numpy.typing import NDArray

from .cron.batch import expand, in_order
from .cron.walk import Recurrence
from .errors import InputError
from .timeparse import ceil_second, floor_second, to_datetime

Moment: TypeAlias = datetime | int  # aware, or whole seconds since the epoch

_FIRST = floor_second(datetime.min.replace(tzinfo=UTC))
_LAST = floor_second(datetime.max.replace(tzinfo=UTC))
_HEAD, _TAIL = itemgetter(0), itemgetter(1)
_ZONE, _MICROSECOND = attrgetter("tzinfo"), attrgetter("microsecond")
_INTEGERS = (int, np.integer)
_NOT_COUNTS = (bool, np.timedelta64)  # integers by descent only


class ScheduledRun(NamedTuple):
    """One run of one job, due at one whole UTC second."""

    job_id: str
    scheduled_at: datetime


Run: TypeAlias = tuple[Moment, str] | ScheduledRun


class RunView(Sequence[ScheduledRun]):
    """Runs in (time, job id) order: a window on the arrays of an index that makes each run as it is read."""

    __slots__ = ("_ids", "_ordinals", "_times")

    def __init__(self, times: NDArray[np.int64], ordinals: NDArray[np.int32], ids: Sequence[str]) -> None:
        self._times = times
        self._ordinals = ordinals
        self._ids = ids

    @property
    def times(self) -> NDArray[np.int64]:
        """The epoch seconds of these runs: the memory of the index itself, read-only."""
        return self._times

    def numbers(self, of: Callable[[str], int]) -> NDArray[np.int64]:
        """For each run the number that belongs to its job id."""
        return np.array([of(each) for each in self._ids], dtype=np.int64)[self._ordinals]

    @property
    def nbytes(self) -> int:
        return self._times.nbytes + self._ordinals.nbytes

    def __len__(self) -> int:
        return len(self._times)

    @overload
    def __getitem__(self, at: int) -> ScheduledRun: ...
    @overload
    def __getitem__(self, at: slice) -> "RunView": ...
    def __getitem__(self, at: int | slice) -> "ScheduledRun | RunView":
        if isinstance(at, slice):
            return RunView(self._times[at], self._ordinals[at], self._ids)
        return ScheduledRun(self._ids[self._ordinals.item(at)], to_datetime(self._times.item(at)))

    def __iter__(self) -> Iterator[ScheduledRun]:
        for second, ordinal in zip(self._times.data, self._ordinals.data, strict=True):
            yield ScheduledRun(self._ids[ordinal], to_datetime(second))


class _Content(NamedTuple):
    runs: RunView
    first: ScheduledRun | None


class RunIndex:
    """Planned runs, to be asked by time. Any number of threads may read while another swaps."""

    __slots__ = ("_content",)
    _content: _Content

    def __init__(self, runs: "RunIndex | Iterable[Run]" = ()) -> None:
        self.swap(runs)

    @classmethod
    def build(cls, crons: Mapping[str, Recurrence], start: Moment, end: Moment) -> Self:
        """Every run of these recurrences, by job id, from `start` to before `end`."""
        ids, _ = _ranked(crons, "crons")
        if not all(issubclass(kind, Recurrence) for kind in set(map(type, crons.values()))):
            wrong = next(job_id for job_id in ids if not isinstance(crons[job_id], Recurrence))
            raise InputError(f"crons[{wrong!r}] is {shortened(crons[wrong])}: parse the text first")
        bounds = _bound(start, ceil_second), _bound(end, ceil_second)
        return cls._holding(_sealed(*expand([crons[job_id] for job_id in ids], *bounds), ids))

    @classmethod
    def from_arrays(
        cls, times: Iterable[Moment], jobs: Iterable[Any], *, ids: Iterable[str] | None = None
    ) -> Self:
        """Times and the job id of each or, much faster, integers that say where in `ids` the id stands."""
        return cls._holding(_arranged(times, jobs, ids))

    @classmethod
    def _holding(cls, content: _Content) -> Self:
        made = cls.__new__(cls)
        made._content = content  # noqa: SLF001 - its own class
        return made

    def swap(self, runs: "RunIndex | Iterable[Run]") -> None:
        """Hold these runs from now on. Views taken before keep showing what they showed."""
        if isinstance(runs, RunIndex):
            self._content = runs._content  # noqa: SLF001 - its own class
        else:
            self._content = _arranged(*_columns(runs))

    def query(self, start: Moment, end: Moment) -> RunView:
        """The runs from `start` to before `end`; none if `end` is the earlier."""
        runs = self._content.runs
        low, high = runs.times.searchsorted((_bound(start, ceil_second), _bound(end, ceil_second)))
        return runs[low:high]

    def peek(self, after: Moment | None = None) -> ScheduledRun | None:
        """The first run of all, or the first strictly after a moment."""
        if after is None:
            return self._content.first
        runs = self._content.runs
        at = int(runs.times.searchsorted(_bound(after, floor_second), side="right"))
        return runs[at] if at < len(runs) else None

    def __len__(self) -> int:
        return len(self._content.runs)

    @property
    def nbytes(self) -> int:
        return self._content.runs.nbytes


def _sealed(times: NDArray[np.int64], ordinals: NDArray[np.int32], ids: Sequence[str]) -> _Content:
    times.flags.writeable = ordinals.flags.writeable = False
    runs = RunView(times, ordinals, ids)
    return _Content(runs, runs[0] if runs else None)


def _arranged(times: Iterable[Moment], jobs: Iterable[Any], ids: Iterable[str] | None = None) -> _Content:
    slots = _slots(times)
    if ids is None:
        sorted_ids, ordinals = _ranked(jobs, "jobs")
    else:
        sorted_ids, ranks = _ranked(ids, "ids")
        ordinals = ranks[_places(jobs, len(ranks))]
    if len(slots) != len(ordinals):
        raise InputError(f"{len(slots)} times stand beside {len(ordinals)} jobs: give one job for each time")
    return _sealed(*in_order(slots, ordinals, len(sorted_ids)), sorted_ids)


def _columns(runs: Iterable[Run]) -> tuple[list[Moment], list[str]]:
    """Times and job ids. Columns of runs that are all alike are taken out by one call each."""
    given = runs if isinstance(runs, list) else list(runs)
    kinds = set(map(type, given))
    if kinds == {ScheduledRun}:
        return list(map(_TAIL, given)), list(map(_HEAD, given))
    if kinds == {tuple} and set(map(len, given)) == {2}:
        return list(map(_HEAD, given)), list(map(_TAIL, given))
    times: list[Moment] = []
    jobs: list[str] = []
    for run in given:
        try:
            time, job_id = run[::-1] if isinstance(run, ScheduledRun) else run
        except (TypeError, ValueError):
            raise InputError(f"runs[{len(times)}] is {shortened(run)}: give (time, job id)") from None
        times.append(time)
        jobs.append(job_id)
    return times, jobs


def _ranked(names: Iterable[Any], what: str) -> tuple[tuple[str, ...], NDArray[np.int32]]:
    """The distinct ids, sorted, and the rank among them of each name given."""
    given = names.tolist() if isinstance(names, np.ndarray) else names if isinstance(names, list) else list(names)
    distinct = _distinct_ids(given, what)
    ids = sorted(distinct)
    rank = dict(zip(ids, range(len(ids)), strict=True))
    ranks = itemgetter(*given)(rank) if len(given) > 1 else [rank[name] for name in given]
    return tuple(ids), np.fromiter(ranks, np.int32, len(given))


def _distinct_ids(given: Sequence[Any], what: str) -> set[str]:
    try:
        distinct = set(given)
        if all(issubclass(kind, str) for kind in set(map(type, distinct))):
            return distinct
    except TypeError:  # an unhashable value is no string either
        pass
    at, wrong = next((at, name) for at, name in enumerate(given) if not isinstance(name, str))
    raise InputError(f"{what}[{at}] is {shortened(wrong)}: a job id is a string")


def _places(jobs: Iterable[Any], id_count: int) -> NDArray[np.intp]:
    places = np.asarray(jobs)
    if places.ndim != 1 or (places.size and places.dtype.kind not in "iu"):
        raise InputError(f"jobs is {shortened(jobs)}: beside ids, give one integer for each time")
    for at in _outside(places, 0, id_count - 1):
        raise InputError(f"jobs[{at}] is {places[at]}: there are {id_count} ids, and the first is 0")
    return places.astype(np.intp, copy=False)


def _slots(times: Iterable[Any]) -> NDArray[np.int64]:
    given = times if isinstance(times, np.ndarray | list) else list(times)
    column = _seconds_column(given)
    if column is None:
        return np.array([_slot(time, at) for at, time in enumerate(given)], np.int64)
    for at in _outside(column, _FIRST, _LAST):
        _slot(column[at], at)
    return column.astype(np.int64, copy=False)


def _seconds_column(times: NDArray[Any] | list[Any]) -> NDArray[Any] | None:
    """Times that are all integers, or all whole seconds of UTC datetimes, as one column; none if they are not."""
    if isinstance(times, np.ndarray):
        return times if times.ndim == 1 and times.dtype.kind in "iu" else None
    kinds = set(map(type, times))
    if kinds == {int}:
        with suppress(OverflowError):
            return np.fromiter(times, np.int64, len(times))
    elif kinds == {datetime} and set(map(_ZONE, times)) == {UTC} and not any(map(_MICROSECOND, times)):
        return np.fromiter(map(datetime.timestamp, times), np.float64, len(times)).astype(np.int64)
    return None


def _slot(time: Any, at: int) -> int:
    try:
        second = _second(time, floor_second)
    except InputError as error:
        raise InputError(f"times[{at}]: {error}") from None
    if second != _second(time, ceil_second):
        raise InputError(f"times[{at}] is {time}, between two seconds: a run is due at a whole one")
    if not _FIRST <= second <= _LAST:
        raise InputError(f"times[{at}] is {second}, outside the years 1 to 9999: give seconds since the epoch")
    return second


def _outside(numbers: NDArray[Any], low: int, high: int) -> NDArray[np.intp]:
    return np.flatnonzero((numbers < low) | (numbers > high))


def _bound(moment: Any, rounded: Callable[[datetime], int]) -> int:
    """The second of a moment; one beyond all possible runs is moved to just beyond them."""
    return max(_FIRST - 1, min(_second(moment, rounded), _LAST + 1))


def _second(moment: Any, rounded: Callable[[datetime], int]) -> int:
    if isinstance(moment, datetime):
        return rounded(moment)
    if isinstance(moment, _INTEGERS) and not isinstance(moment, _NOT_COUNTS):
        return int(moment)
    raise InputError(f"{shortened(moment)} is not a time: give an aware datetime or whole epoch seconds")
