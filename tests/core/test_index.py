"""The index of runs against a sorted list, at its edges, under threads and with a million runs."""

import sys
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta, timezone
from typing import Any, cast
from zoneinfo import ZoneInfo

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tickwise.core.cron import parse
from tickwise.core.cron.batch import in_order
from tickwise.core.errors import InputError
from tickwise.core.index import Moment, RunIndex, ScheduledRun

EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
NOON = datetime(2026, 3, 1, 12, tzinfo=UTC)
FIRST_SECOND = -62_135_596_800
LAST_SECOND = 253_402_300_799
ALWAYS = (FIRST_SECOND, LAST_SECOND + 1)
CRONS = {
    "quarters": parse("*/15 * * * *"),
    "berlin": parse("30 2 * * *", "Europe/Berlin"),
    "daily": parse("0 12 * * *"),
    "every": parse("@every 7m"),
}

Pairs = list[tuple[int, str]]

seconds = st.integers(-20, 20) | st.integers(FIRST_SECOND, LAST_SECOND)
ids = st.sampled_from(["", "a", "b", "job-1", "job-10", "job-2", "ä", "😀"]) | st.text(max_size=5)
runs = st.lists(st.tuples(seconds, ids), max_size=40)
zones = st.sampled_from([UTC, timezone(timedelta(hours=-5)), timezone(timedelta(hours=14))])
near_datetimes = st.builds(
    lambda microseconds, zone: (EPOCH + timedelta(microseconds=microseconds)).astimezone(zone),
    st.integers(-20_000_000, 20_000_000),
    zones,
)
any_datetimes = st.datetimes(timezones=zones)
moments = seconds | st.integers(-(2**70), 2**70) | near_datetimes | any_datetimes


def at(second: int) -> datetime:
    return EPOCH + timedelta(seconds=second)


def microsecond(moment: Moment) -> int:
    if isinstance(moment, datetime):
        return (moment - EPOCH) // timedelta(microseconds=1)
    return moment * 1_000_000


def pairs(view: Sequence[ScheduledRun]) -> Pairs:
    return [((run.scheduled_at - EPOCH) // timedelta(seconds=1), run.job_id) for run in view]


def content(index: RunIndex) -> Pairs:
    return pairs(index.query(*ALWAYS))


def generation(number: int) -> Pairs:
    """Runs that say in their times, ids and count which content they belong to."""
    return [(number * 1000 + n, f"{number}/{n:02}") for n in range(1 + number * 7 % 30)]


class TestAgainstASortedList:
    @given(runs)
    def test_holds_every_run_in_order(self, given_runs: Pairs) -> None:
        """All runs come back, duplicates too, ordered by time and then by job id."""
        assert content(RunIndex(given_runs)) == sorted(given_runs)

    @given(runs)
    def test_all_ways_of_construction_agree(self, given_runs: Pairs) -> None:
        """Pairs, columns of any kind, integers into ids and an index's own runs make the same index."""
        times = [time for time, _ in given_runs]
        jobs = [job for _, job in given_runs]
        distinct = list(dict.fromkeys(jobs))
        places = np.array([distinct.index(job) for job in jobs], np.uint16)
        same = [
            RunIndex.from_arrays(times, jobs),
            RunIndex.from_arrays(np.array(times, np.int64), np.array(jobs, object)),
            RunIndex.from_arrays(np.array(times, object), np.array(jobs, np.dtypes.StringDType())),
            RunIndex.from_arrays([at(time) for time in times], tuple(jobs)),
            RunIndex.from_arrays(times, places, ids=distinct),
            RunIndex.from_arrays(times, places.tolist(), ids=[*distinct, "unused"]),
            RunIndex((at(time), job) for time, job in given_runs),
            RunIndex([ScheduledRun(job, at(time)) for time, job in given_runs]),
            RunIndex([(cast(int, np.int64(time)), job) for time, job in given_runs]),
            RunIndex([ScheduledRun(job, at(time)) if time % 2 else (time, job) for time, job in given_runs]),
            RunIndex(RunIndex(given_runs).query(*ALWAYS)),
            RunIndex(RunIndex(given_runs)),
        ]
        assert [content(index) for index in same] == [sorted(given_runs)] * len(same)

    @given(runs, moments, moments)
    def test_query(self, given_runs: Pairs, start: Moment, end: Moment) -> None:
        """A window holds the runs with start <= time < end, to the microsecond, whatever the bounds."""
        low, high = microsecond(start), microsecond(end)
        expected = [run for run in sorted(given_runs) if low <= run[0] * 1_000_000 < high]
        view = RunIndex(given_runs).query(start, end)
        assert pairs(view) == expected
        assert len(view) == len(expected)
        assert view.times.tolist() == [time for time, _ in expected]

    @given(runs, moments)
    def test_peek(self, given_runs: Pairs, after: Moment) -> None:
        """`peek` is the first of all, and `peek(after)` the first strictly after."""
        ordered = sorted(given_runs)
        later = [run for run in ordered if run[0] * 1_000_000 > microsecond(after)]
        index = RunIndex(given_runs)
        for found, expected in ((index.peek(), ordered), (index.peek(after=after), later)):
            assert pairs([found] if found else []) == expected[:1]

    @given(st.lists(st.tuples(seconds, st.integers(0, 2**31 - 1)), max_size=40))
    def test_keys_too_wide_for_one_word(self, columns: list[tuple[int, int]]) -> None:
        """With so many ids that time and rank may not fit into one key, the order is the same."""
        times = np.array([time for time, _ in columns], np.int64)
        ordinals = np.array([ordinal for _, ordinal in columns], np.int32)
        ordered = in_order(times, ordinals, 2**31)
        assert list(zip(*(column.tolist() for column in ordered), strict=True)) == sorted(columns)

    @given(runs, st.integers(-50, 50), st.slices(40))
    def test_view_is_a_sequence(self, given_runs: Pairs, place: int, part: slice) -> None:
        """Indexing, slicing, membership and reversal answer as a list of the same runs does."""
        view = RunIndex(given_runs).query(*ALWAYS)
        model = list(view)
        assert isinstance(view, Sequence)
        assert list(view[part]) == model[part]
        assert list(reversed(view)) == model[::-1]
        assert all(run in view and view.index(run) == model.index(run) for run in model)
        if -len(model) <= place < len(model):
            assert view[place] == model[place]
        else:
            with pytest.raises(IndexError):
                view[place]


class TestWindows:
    def test_numbers_of_runs(self) -> None:
        """Each run has the number of its job id, also in a part of a view."""
        index = RunIndex([(5, "b"), (1, "a"), (7, "b")])
        assert index.query(0, 9).numbers({"a": 10, "b": 20}.__getitem__).tolist() == [10, 20, 20]
        assert index.query(4, 6).numbers({"a": 10, "b": 20}.__getitem__).tolist() == [20]
        assert RunIndex().query(0, 9).numbers(len).tolist() == []

    def test_empty_index(self) -> None:
        """An empty index has no runs, no bytes and no first run."""
        for index in (
            RunIndex(),
            RunIndex([]),
            RunIndex.from_arrays([], []),
            RunIndex.from_arrays([], [], ids=[]),
        ):
            assert (len(index), index.nbytes, list(index.query(*ALWAYS))) == (0, 0, [])
            assert index.peek() is None
            assert index.peek(after=NOON) is None

    def test_boundaries(self) -> None:
        """The start belongs to a window and the end does not."""
        index = RunIndex([(10, "a"), (20, "b"), (30, "c")])
        assert pairs(index.query(10, 30)) == [(10, "a"), (20, "b")]
        assert pairs(index.query(11, 31)) == [(20, "b"), (30, "c")]

    @pytest.mark.parametrize(("start", "end"), [(0, 10), (31, 99), (11, 20), (20, 20), (30, 10)])
    def test_no_results(self, start: int, end: int) -> None:
        """Windows before, after, between, empty and the wrong way round hold nothing."""
        assert not RunIndex([(10, "a"), (20, "b"), (30, "c")]).query(start, end)

    def test_bounds_beyond_every_possible_run(self) -> None:
        """Bounds may lie farther out than any array could say."""
        index = RunIndex([(FIRST_SECOND, "first"), (LAST_SECOND, "last")])
        assert len(index.query(-(10**30), 10**30)) == 2
        assert index.peek(after=-(10**30)) == ("first", datetime(1, 1, 1, tzinfo=UTC))
        assert index.peek(after=LAST_SECOND - 1) == ("last", datetime(9999, 12, 31, 23, 59, 59, tzinfo=UTC))
        assert index.peek(after=10**30) is None

    def test_fractions_of_a_second(self) -> None:
        """Half past a second, that second's runs are over; just before it, they are still to come."""
        index = RunIndex([(NOON, "a")])
        half = timedelta(seconds=0.5)
        assert not index.query(NOON + half, NOON + 9 * half)
        assert len(index.query(NOON - half, NOON + half)) == 1
        assert not index.query(NOON - 2 * half, NOON - half)
        assert index.peek(after=NOON - half) == ("a", NOON)
        assert index.peek(after=NOON + half) is None

    def test_other_time_zones(self) -> None:
        """Any aware datetime names its instant, and runs come back in UTC; a fold tells repeated hours apart."""
        berlin = ZoneInfo("Europe/Berlin")
        first = datetime(2026, 10, 25, 2, 30, tzinfo=berlin)
        second = first.replace(fold=1)
        index = RunIndex([(second, "late"), (first, "early")])
        assert [run.job_id for run in index.query(first, second)] == ["early"]
        found = index.peek()
        assert found == ScheduledRun("early", datetime(2026, 10, 25, 0, 30, tzinfo=UTC))
        assert found.scheduled_at.tzinfo is UTC

    def test_same_time_is_ordered_by_id(self) -> None:
        """Runs of one second come in the order of their job ids, not in that of `ids`."""
        index = RunIndex.from_arrays([7, 7, 7, 7], np.array([0, 1, 2, 1]), ids=["c", "a", "b"])
        assert [run.job_id for run in index.query(7, 8)] == ["a", "a", "b", "c"]

    def test_one_id_named_twice(self) -> None:
        """Two places in `ids` that hold the same id are one job."""
        index = RunIndex.from_arrays([3, 1, 2], [0, 1, 2], ids=["a", "b", "a"])
        assert content(index) == [(1, "b"), (2, "a"), (3, "a")]

    def test_one_id_at_many_times(self) -> None:
        """A single job needs no bits for its rank."""
        times = np.random.default_rng(1).permutation(10_000)
        index = RunIndex.from_arrays(times, np.zeros(10_000, np.int8), ids=["only"])
        assert content(index) == [(time, "only") for time in range(10_000)]

    def test_very_long_ids(self) -> None:
        """Ids that differ only after a million characters are told apart and cost nothing per run."""
        long = "x" * 1_000_000
        index = RunIndex([(1, long + "b"), (1, long + "a"), (0, long + "b")] * 10)
        assert [run.job_id[-1] for run in index.query(*ALWAYS)] == ["b"] * 10 + ["a"] * 10 + ["b"] * 10
        assert index.nbytes == 30 * 12


class TestMemory:
    def test_bytes_per_run(self) -> None:
        """A run takes twelve bytes, however it came in."""
        for index in (RunIndex([(n, "a") for n in range(1000)]), RunIndex.from_arrays(range(1000), ["b"] * 1000)):
            assert index.nbytes == 12 * len(index) == 12_000

    def test_query_and_peek_copy_nothing(self) -> None:
        """Views and their slices lie on the memory of the index; the first run is made once."""
        index = RunIndex([(n, "a") for n in range(100)])
        everything = index.query(*ALWAYS).times
        assert np.shares_memory(everything, index.query(10, 20)[2:7:2].times)
        assert index.peek() is index.peek()

    def test_times_of_a_view_are_read_only(self) -> None:
        """Nobody can write into an index through a view, nor make a view writable."""
        times = RunIndex([(1, "a")]).query(0, 9).times
        with pytest.raises(ValueError, match="read-only"):
            times[0] = 5
        with pytest.raises(ValueError, match="WRITEABLE"):
            times.flags.writeable = True

    def test_inputs_are_left_untouched(self) -> None:
        """Neither building nor what happens to the inputs afterwards changes the other side."""
        pair_list = [(2, "b"), (1, "a")]
        times, places, names = np.array([2, 1]), np.array([0, 1]), ["b", "a"]
        indexes = [
            RunIndex(pair_list),
            RunIndex.from_arrays(times, names),
            RunIndex.from_arrays(times, places, ids=names),
        ]
        assert (pair_list, names) == ([(2, "b"), (1, "a")], ["b", "a"])
        assert (times.tolist(), places.tolist()) == ([2, 1], [0, 1])
        times[:], places[:] = 99, 0
        pair_list.clear()
        names.clear()
        assert [content(index) for index in indexes] == [[(1, "a"), (2, "b")]] * 3

    def test_a_million_runs(self) -> None:
        """A million unsorted runs stand in order, and windows on them agree with a scan of the input."""
        random = np.random.default_rng(2026)
        start = 1_790_000_000
        times = random.integers(start, start + 200_000, 1_000_000)
        places = random.integers(0, 1000, 1_000_000).astype(np.int32)
        names = [f"job-{n}" for n in range(1000)]
        index = RunIndex.from_arrays(times, places, ids=names)
        assert (len(index), index.nbytes) == (1_000_000, 12_000_000)
        assert np.array_equal(index.query(*ALWAYS).times, np.sort(times))
        for low in random.integers(start, start + 200_000, 20).tolist():
            inside = np.flatnonzero((times >= low) & (times < low + 60))
            expected = sorted((int(times[n]), names[places[n]]) for n in inside)
            assert pairs(index.query(low, low + 60)) == expected


class TestSwap:
    def test_swap_replaces_everything(self) -> None:
        """After a swap only the new runs are there, from another index as from an iterable."""
        index = RunIndex([(1, "old")])
        other = RunIndex([(2, "new")])
        index.swap(other)
        other.swap(iter([(3, "newer")]))
        assert (content(index), content(other)) == ([(2, "new")], [(3, "newer")])
        assert index.peek() == ("new", at(2))
        index.swap([])
        assert (len(index), index.peek()) == (0, None)

    def test_a_view_outlives_the_swap(self) -> None:
        """A view, and a half-read iteration of it, go on showing what was there when it was asked for."""
        index = RunIndex([(n, "old") for n in range(5)])
        view = index.query(0, 5)
        reading = iter(view)
        head = [next(reading)]
        index.swap([(n, "new") for n in range(9)])
        assert pairs(head + list(reading)) == pairs(view) == [(n, "old") for n in range(5)]

    def test_a_failed_swap_changes_nothing(self) -> None:
        """Runs that cannot be used leave the index as it was."""
        index = RunIndex([(1, "a"), (2, "b")])
        bad: Any = [(3, "c"), (4, None)]
        with pytest.raises(InputError):
            index.swap(bad)
        assert content(index) == [(1, "a"), (2, "b")]
        assert index.peek() == ("a", at(1))

    def test_each_read_looks_at_the_content_once(self, monkeypatch: pytest.MonkeyPatch) -> None:
        """Were the index swapped between any two looks at its content, every answer would still be whole."""
        contents = iter([RunIndex(generation(number))._content for number in range(5)])
        monkeypatch.setattr(RunIndex, "_content", property(lambda _: next(contents)))
        index = RunIndex.__new__(RunIndex)
        assert content(index) == generation(0)
        assert index.peek() == ("1/00", at(1000))
        assert index.peek(after=2000) == ("2/01", at(2001))
        assert len(index) == len(generation(3))
        assert index.nbytes == 12 * len(generation(4))

    @pytest.fixture
    def eager_thread_switches(self) -> Iterator[None]:
        before = sys.getswitchinterval()
        sys.setswitchinterval(1e-6)
        yield
        sys.setswitchinterval(before)

    @pytest.mark.usefixtures("eager_thread_switches")
    def test_many_swaps_under_concurrent_readers(self) -> None:
        """A reader never sees runs of two generations in one view, nor a view of the wrong length."""

        def read(times: int) -> int:
            for _ in range(times):
                seen = content(index)
                assert seen == generation(seen[0][0] // 1000)
                for first in (index.peek(), index.peek(after=seen[0][0] - 1)):
                    assert first is not None
                    assert first.job_id.endswith("/00")
            return times

        index = RunIndex(generation(0))
        with ThreadPoolExecutor(4) as threads:
            readers = [threads.submit(read, 300) for _ in range(4)]
            number = 0
            while number < 500 or not all(reader.done() for reader in readers):
                number += 1
                index.swap(RunIndex(generation(number)) if number % 2 else generation(number))
            assert [reader.result() for reader in readers] == [300] * 4


class TestBadInput:
    @pytest.mark.parametrize(
        ("time", "problem"),
        [
            (datetime(2026, 3, 1), "not an aware datetime"),  # noqa: DTZ001 - that is the point
            (NOON.date(), "is not a time"),
            (1.0, "is not a time"),
            (float("nan"), "is not a time"),
            (np.float64(5), "is not a time"),
            (True, "is not a time"),
            (np.True_, "is not a time"),
            (np.datetime64("2026-03-01"), "is not a time"),
            (np.timedelta64(5, "s"), "is not a time"),
            ("2026-03-01", "is not a time"),
            (None, "is not a time"),
        ],
    )
    def test_what_is_no_time(self, time: Any, problem: str) -> None:
        """Only aware datetimes and integers are times; a run names its position."""
        index = RunIndex([(1, "a")])
        with pytest.raises(InputError, match=rf"times\[1\].*{problem}"):
            RunIndex([(1, "a"), (time, "b")])
        with pytest.raises(InputError, match=rf"times\[1\].*{problem}"):
            RunIndex.from_arrays([1, time], ["a", "b"])
        for start, end in ((time, 5), (5, time)):
            with pytest.raises(InputError, match=problem):
                index.query(start, end)
        if time is not None:
            with pytest.raises(InputError, match=problem):
                index.peek(after=time)

    @pytest.mark.parametrize(
        "times",
        [
            np.array([1.0, 2.0]),
            np.array([np.nan, 1.0]),
            np.array([True, False]),
            np.array(["2026-03-01", "2026-03-02"], "datetime64[ns]"),
            np.array([5, 6], "timedelta64[s]"),
            np.array([[1, 2], [3, 4]]),
        ],
    )
    def test_arrays_that_hold_no_times(self, times: Any) -> None:
        """Arrays of floats, booleans, NumPy dates and spans, and tables of integers are refused."""
        with pytest.raises(InputError, match=r"times\[0\].*is not a time"):
            RunIndex.from_arrays(times, ["a", "b"])

    def test_a_run_between_two_seconds(self) -> None:
        """A run is due at a whole second; a fraction is refused instead of rounded."""
        with pytest.raises(
            InputError, match=r"times\[0\] is 2026-03-01 12:00:00\.500000\+00:00, between two seconds"
        ):
            RunIndex([(NOON + timedelta(seconds=0.5), "a")])

    def test_a_microsecond_that_no_float_can_say(self) -> None:
        """However far the year, a microsecond after a whole second is refused."""
        late = datetime(9999, 12, 31, 23, 59, 58, 1, tzinfo=UTC)
        with pytest.raises(InputError, match=r"times\[1\] is .*, between two seconds"):
            RunIndex([ScheduledRun("a", NOON), ScheduledRun("b", late)])

    @pytest.mark.parametrize("outside", [FIRST_SECOND - 1, LAST_SECOND + 1, 1_790_000_000_000, 2**63, -(10**30)])
    def test_runs_outside_the_years_of_a_datetime(self, outside: int) -> None:
        """A second that no datetime can say is refused at once, so that reading cannot fail later."""
        problem = rf"times\[1\] is {outside}, outside the years 1 to 9999"
        with pytest.raises(InputError, match=problem):
            RunIndex([(0, "a"), (outside, "b")])
        with pytest.raises(InputError, match=problem):
            RunIndex.from_arrays(np.array([0, outside], np.uint64 if outside == 2**63 else None), ["a", "b"])

    def test_a_datetime_outside_the_years_of_utc(self) -> None:
        """A local datetime whose UTC second lies before the year 1 is refused, too."""
        local = datetime(1, 1, 1, tzinfo=timezone(timedelta(hours=1)))
        with pytest.raises(InputError, match="outside the years"):
            RunIndex([(local, "a")])

    @pytest.mark.parametrize("job", [None, 5, b"a", ["a"], 1.5])
    def test_ids_that_are_no_strings(self, job: Any) -> None:
        """A job id is a string; another is named by its position, whichever way it comes in."""
        with pytest.raises(InputError, match=r"jobs\[1\] is .*: a job id is a string"):
            RunIndex([(1, "a"), (2, job)])
        with pytest.raises(InputError, match=r"jobs\[0\] is .*: a job id is a string"):
            RunIndex.from_arrays([1], np.array([job]))
        with pytest.raises(InputError, match=r"ids\[1\] is .*: a job id is a string"):
            RunIndex.from_arrays([1], [0], ids=["a", job])

    @pytest.mark.parametrize("run", [5, None, (1,), (1, "a", "b"), "abc"])
    def test_runs_that_are_no_pairs(self, run: Any) -> None:
        """A run is a pair, and the message shows what was given instead."""
        with pytest.raises(InputError, match=r"runs\[1\] is .*: give \(time, job id\)"):
            RunIndex([(1, "a"), run])

    @pytest.mark.parametrize(("times", "jobs"), [([1, 2], ["a"]), ([], ["a"]), ([1], [])])
    def test_columns_of_different_length(self, times: list[int], jobs: list[str]) -> None:
        """There is one job for each time."""
        with pytest.raises(InputError, match=f"{len(times)} times stand beside {len(jobs)} jobs"):
            RunIndex.from_arrays(times, jobs)
        with pytest.raises(InputError, match=f"{len(times)} times stand beside {len(jobs)} jobs"):
            RunIndex.from_arrays(times, [0] * len(jobs), ids=["a"])

    @pytest.mark.parametrize("place", [-1, 2, 2**40])
    def test_integers_that_point_outside_the_ids(self, place: int) -> None:
        """A place before the first id or after the last is refused; none counts from the end."""
        with pytest.raises(InputError, match=rf"jobs\[1\] is {place}: there are 2 ids"):
            RunIndex.from_arrays([1, 2], np.array([0, place]), ids=["a", "b"])

    @pytest.mark.parametrize("jobs", [np.array([0.0]), np.array([True]), ["a"], np.array([[0]]), 0, [None]])
    def test_places_that_are_no_integers(self, jobs: Any) -> None:
        """Beside `ids`, jobs are one row of integers."""
        with pytest.raises(InputError, match="beside ids, give one integer for each time"):
            RunIndex.from_arrays([1], jobs, ids=["a"])


class TestBuild:
    def test_build_holds_what_each_cron_names(self) -> None:
        """The runs are those of every cron in the window, ordered by time and then by job id."""
        start, end = NOON, NOON + timedelta(days=60)
        expected = sorted((when, job) for job, cron in CRONS.items() for when in cron.between(start, end))
        built = RunIndex.build(CRONS, start, end)
        assert [(run.scheduled_at, run.job_id) for run in built.query(*ALWAYS)] == expected
        assert built.nbytes == 12 * len(built)

    def test_order_of_the_mapping_does_not_matter(self) -> None:
        """Jobs due at the same second come in the order of their ids."""
        crons = dict.fromkeys("bca", CRONS["daily"])
        built = RunIndex.build(crons, NOON, NOON + timedelta(seconds=1))
        assert list(built.query(*ALWAYS)) == [ScheduledRun(job, NOON) for job in "abc"]

    def test_bounds_of_build(self) -> None:
        """The start belongs to the window, the end does not; both may be seconds or carry a fraction."""
        crons = {"a": CRONS["daily"]}
        noon, half = int(NOON.timestamp()), timedelta(seconds=0.5)
        assert content(RunIndex.build(crons, noon, noon + 86_400)) == [(noon, "a")]
        assert content(RunIndex.build(crons, NOON - half, NOON + half)) == [(noon, "a")]
        assert len(RunIndex.build(crons, NOON + half, NOON + timedelta(days=1))) == 0

    def test_nothing_to_build(self) -> None:
        """No crons, an empty window and one the wrong way round make an empty index."""
        for crons, start, end in ((({}), 0, 9), (CRONS, NOON, NOON), (CRONS, NOON, EPOCH)):
            assert RunIndex.build(crons, start, end).peek() is None

    def test_what_is_no_cron(self) -> None:
        """Texts are to be parsed first, ids are strings and bounds are times."""
        text: Any = {"a": "* * * * *"}
        number: Any = {5: CRONS["daily"]}
        with pytest.raises(InputError, match=r"crons\['a'\] is '\* \* \* \* \*': parse the text first"):
            RunIndex.build(text, 0, 9)
        with pytest.raises(InputError, match=r"crons\[0\] is 5: a job id is a string"):
            RunIndex.build(number, 0, 9)
        with pytest.raises(InputError, match="not an aware datetime"):
            RunIndex.build(CRONS, NOON.replace(tzinfo=None), NOON)
