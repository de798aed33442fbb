"""The query language for runs: what it means, and how it refuses."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tickwise.core.errors import InputError
from tickwise.core.model import Trigger
from tickwise.core.run_query import RunQuery, error_pattern, matches, matches_whole, read_query
from tickwise.core.states import RunState

NOW = 1_767_236_700 * 1_000_000
HOUR = 3_600 * 1_000_000


@pytest.mark.parametrize(
    ("text", "query"),
    [
        ("", RunQuery()),
        ("  ", RunQuery()),
        ("state:failed", RunQuery(states=frozenset({RunState.FAILED}))),
        ("State:FAILED,lost", RunQuery(states=frozenset({RunState.FAILED, RunState.LOST}))),
        ("-state:succeeded", RunQuery(states=frozenset(RunState) - {RunState.SUCCEEDED})),
        ("trigger:manual", RunQuery(triggers=frozenset({Trigger.MANUAL}))),
        ("job:etl-*,report", RunQuery(jobs=("etl-*", "report"))),
        ("schedule:nightly queue:gpu key:tonight", RunQuery(schedules=("nightly",), queue="gpu", key="tonight")),
        ("label:team=billing label:critical", RunQuery(labels=("team=billing", "critical"))),
        ('error:"no such table: *"', RunQuery(error="no such table: *")),
        ("params:orders params:7", RunQuery(params=("orders", "7"))),
        ("last 12h", RunQuery(since=NOW - 12 * HOUR)),
        ("since:2h until:30m", RunQuery(since=NOW - 2 * HOUR, until=NOW - HOUR // 2)),
        ("since:2026-01-01T00:00Z", RunQuery(since=1_767_225_600 * 1_000_000)),
        ("last night", RunQuery(words=("last", "night"))),
        ("last", RunQuery(words=("last",))),
        ('"last" 12h', RunQuery(words=("last", "12h"))),
        ("last last 1h", RunQuery(words=("last",), since=NOW - HOUR)),
        ("etl -x 12:30", RunQuery(words=("etl", "-x", "12:30"))),
        ('"two words" x', RunQuery(words=("two words", "x"))),
    ],
)
def test_what_a_query_means(text: str, query: RunQuery) -> None:
    """Each word is a filter, an exclusion or a text; times count from now."""
    assert read_query(text, NOW) == query


@pytest.mark.parametrize(
    ("text", "position", "nearest", "words"),
    [
        ("stat:failed", 0, "state", "there is no field 'stat'"),
        ("last 1h state:faild", 14, "failed", "'faild' is no state"),
        ("-state:failed,x", 14, None, "'x' is no state"),
        ("job:a state:failed,", 19, None, "'' is no state"),
        ("since:yesterday", 0, None, "since: 'yesterday'"),
        ("a until:2026-13-01", 2, None, "until: "),
        ("state:failed state:lost", 13, None, "given twice"),
        ("a job:", 2, None, "job: has no value"),
        ('a ""', 2, None, "this is empty"),
        ('error:"x', 0, None, "a quote has no end"),
        ("-job:x", 0, None, "only state and trigger can"),
        ("x" * 1_001, 1_000, None, "at most 1000 characters"),
        ("x " * 31, 60, None, "at most 30 words"),
        ("a error:" + "x*" * 11, 2, None, "at most 10 stars"),
    ],
)
def test_what_is_refused(text: str, position: int, nearest: str | None, words: str) -> None:
    """With the place in the query, and the word that was probably meant."""
    with pytest.raises(InputError, match=r"^q: ") as caught:
        read_query(text, NOW)
    assert words in str(caught.value)
    assert (caught.value.field, caught.value.position, caught.value.nearest) == ("q", position, nearest)


@given(st.text(alphabet='stae:failed-" *,last 12hjob\\%_\n', max_size=60))
def test_every_text_is_read_or_refused(text: str) -> None:
    """Whatever somebody types, there is a query or an error at a place in it."""
    positions: list[int | None] = []
    try:
        read_query(text, NOW)
    except InputError as error:
        positions = [error.position]
    assert all(position is not None and 0 <= position <= len(text) for position in positions)


def test_errors_that_differ_in_numbers_only_are_one() -> None:
    """The pattern finds each of them, and the ids and numbers of others do not matter."""
    first, second = 'HTTPError: 502 for "order 8841"\nat x', 'HTTPError: 503 for "order 77"\nat y'
    assert error_pattern(first) == error_pattern(second)
    assert matches(error_pattern(first), second)
    assert error_pattern("id deadbeef01 gone") == "id * gone"
    assert error_pattern("exit code 1\nid 7 gone\nmore") == "id * gone"
    assert error_pattern("ledger face bad") == "ledger face bad"
    assert len(error_pattern("x" * 999)) == 200


def test_patterns() -> None:
    """A pattern is a part of a text in any case; of a name it is the whole."""
    assert matches("Ledger*8841", "x LEDGERMISMATCH:\n8841 y")
    assert not matches("a.c", "abc")
    assert matches_whole(("etl-*", "b"), "etl-load")
    assert not matches_whole(("etl-*", "b"), "my-etl-load")
    assert not matches_whole((), "b")
    assert matches_whole(("a*b*c",), "aXbYc")
    assert not matches_whole(("a*b*c",), "ac")
    assert not matches_whole(("ab*ba",), "aba")
    assert error_pattern("a1 x " * 30).count("*") == 10
