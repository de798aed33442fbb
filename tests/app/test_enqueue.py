"""`enqueue`: runs that code asks for."""

import sqlite3
from collections.abc import Iterator
from contextlib import closing
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from tickwise import InputError, Tickwise

from ..support.app import Clock, at


@pytest.fixture
def sent(tw: Tickwise) -> list[int]:
    """What the job `send` has sent."""
    sent: list[int] = []

    @tw.job()
    async def send(order: int) -> int:
        if order < 0:
            raise ValueError("no such order")
        sent.append(order)
        return order

    return sent


def test_once_and_now(tw: Tickwise, sent: list[int]) -> None:
    """A run without a time is queued at once, runs once, and is kept with what it was given and returned."""
    run = tw.enqueue("send", {"order": 7})
    assert (run.state, run.trigger, run.slot, run.attempt) == ("queued", "enqueue", None, 0)
    assert (tw.drain(), tw.drain(), sent) == (1, 0, [7])
    run = tw.runs.get(run.id)
    assert (run.state, run.params, run.result, run.attempt) == ("succeeded", {"order": 7}, 7, 1)


@pytest.mark.parametrize(
    "when", [at("00:10"), timedelta(minutes=10), "10m", "2026-01-01T00:10", "2026-01-01T01:10:00+01:00"]
)
def test_later(tw: Tickwise, sent: list[int], clock: Clock, when: Any) -> None:
    """`at` is an aware datetime, a length from now, or either as text; the run waits for it."""
    run = tw.enqueue("send", {"order": 1}, at=when)
    assert run.due_at == at("00:10")
    clock.set(at("00:09:59"))
    assert (tw.drain(), sent) == (0, [])
    clock.set(at("00:10"))
    assert (tw.drain(), sent) == (1, [1])


def test_in_the_past(tw: Tickwise, sent: list[int]) -> None:
    """A time that has passed means now (S33)."""
    tw.enqueue("send", {"order": 1}, at=at("00:00") - timedelta(days=1))
    tw.drain()
    assert sent == [1]


@pytest.mark.parametrize("when", [at("00:10").replace(tzinfo=None), "soon", "2026-02-30T00:00", 10, "-5m"])
def test_what_is_no_time(tw: Tickwise, sent: list[int], when: Any) -> None:
    """A time without a zone, a word, a day that does not exist and a bare number are refused."""
    with pytest.raises(InputError):
        tw.enqueue("send", {"order": 1}, at=when)
    assert (tw.runs.list(), sent) == ([], [])


def test_a_key_is_unique(tw: Tickwise, sent: list[int]) -> None:
    """A repeat returns the run that is there, unchanged, also when it has succeeded (S48)."""
    first = tw.enqueue("send", {"order": 1}, key="order-1")
    again = tw.enqueue("send", {"order": 2}, key="order-1")
    assert (again.id, again.params, again.key) == (first.id, {"order": 1}, "order-1")
    tw.drain()
    after = tw.enqueue("send", {"order": 3}, key="order-1")
    assert (after.id, after.state, tw.drain(), sent) == (first.id, "succeeded", 0, [1])


def test_a_failure_frees_the_key(tw: Tickwise, sent: list[int]) -> None:
    """After a failure the key can be used again (S48)."""
    failed = tw.enqueue("send", {"order": -1}, key="order")
    tw.drain()
    again = tw.enqueue("send", {"order": 1}, key="order")
    tw.drain()
    assert (tw.runs.get(failed.id).state, tw.runs.get(again.id).state, sent) == ("failed", "succeeded", [1])


def test_a_key_that_is_free_again(tw: Tickwise, sent: list[int], clock: Clock) -> None:
    """With `key_ttl` a success keeps the key only so long (A25, S48)."""
    first = tw.enqueue("send", {"order": 1}, key="hourly", key_ttl="1h")
    tw.drain()
    clock.advance(3_599)
    assert tw.enqueue("send", {"order": 2}, key="hourly").id == first.id
    clock.advance(1)
    tw.enqueue("send", {"order": 3}, key="hourly", key_ttl=timedelta(minutes=5))
    tw.drain()
    assert sent == [1, 3]


def test_queue_and_priority_of_one_run(tw: Tickwise, sent: list[int]) -> None:
    """They go before those of the job (A25)."""
    tw.enqueue("send", {"order": 1})
    tw.enqueue("send", {"order": 2}, priority=5)
    run = tw.enqueue("send", {"order": 3}, queue="elsewhere", priority=-5)
    assert (run.queue, run.priority) == ("elsewhere", -5)
    tw.drain()
    assert (sorted(sent), sent.index(2) < sent.index(1)) == ([1, 2, 3], True)


@pytest.mark.parametrize(
    ("options", "problem"),
    [
        ({"name": "x"}, r"enqueue has no option name: params are given together, as enqueue\(job, {'name': …}\)"),
        ({"order": 1}, "enqueue has no option order"),
        ({"prority": 1}, r"enqueue has no option prority \(did you mean priority\?\)"),
        ({"priority": 1_001}, "the priority is 1001: it is from -1,000 to 1,000"),
        ({"priority": "high"}, "the priority is 'high'"),
        ({"queue": "no spaces"}, "cannot be the name of a queue"),
        ({"key_ttl": "1h"}, "key_ttl: there is no key"),
        ({"key": "k", "key_ttl": 60}, "key_ttl: 60 is no duration"),
        ({"key": "k", "key_ttl": timedelta(0)}, "key_ttl: 0 is no time of 1 second"),
        ({"key": "k", "key_ttl": "soon"}, "soon"),
    ],
)
def test_wrong_options(tw: Tickwise, sent: list[int], options: dict[str, Any], problem: str) -> None:
    """A param in the place of an option, and a value that cannot be, are told as that (A25)."""
    with pytest.raises(InputError, match=problem):
        tw.enqueue("send", {"order": 1}, **options)
    assert (tw.runs.list(), sent) == ([], [])


def test_keys_are_of_one_job(tw: Tickwise, sent: list[int]) -> None:
    """Two jobs may use the same key (S48)."""

    @tw.job()
    def other() -> None: ...

    assert tw.enqueue("send", {"order": 1}, key="x").id != tw.enqueue(other, key="x").id
    assert (tw.drain(), sent) == (2, [1])


def test_auto_remove(tw: Tickwise, sent: list[int]) -> None:
    """A run that asks for it is forgotten once it has succeeded; a failure is kept."""
    good, bad = (tw.enqueue("send", {"order": order}, auto_remove=True) for order in (1, -1))
    tw.drain()
    assert ([run.id for run in tw.runs.list()], sent) == ([bad.id], [1])
    with pytest.raises(InputError, match="is not kept any longer"):
        tw.runs.get(good.id)


@pytest.fixture
def shop(tmp_path: Path, tw: Tickwise) -> Iterator[sqlite3.Connection]:
    """A connection of the user's own to the file of the store, which is open."""
    if tw.settings.store == "memory://":
        pytest.fail("a memory store has no connections")
    tw.jobs.list()
    with closing(sqlite3.connect(tmp_path / "tickwise.db")) as connection:
        connection.execute("CREATE TABLE orders (id INTEGER PRIMARY KEY)")
        yield connection


@pytest.mark.parametrize("url", ["sqlite"], indirect=True)
def test_in_a_transaction_of_the_users_own(tw: Tickwise, sent: list[int], shop: sqlite3.Connection) -> None:
    """The run exists exactly if the transaction is committed."""
    with shop:
        shop.execute("INSERT INTO orders VALUES (1)")
        kept = tw.enqueue("send", {"order": 1}, connection=shop)
        assert tw.runs.list() == [], "nobody sees it before the commit"
    shop.execute("INSERT INTO orders VALUES (2)")
    tw.enqueue("send", {"order": 2}, connection=shop)
    shop.rollback()
    tw.drain()
    assert ([run.id for run in tw.runs.list()], sent) == ([kept], [1])
    assert shop.execute("SELECT id FROM orders").fetchall() == [(1,)]


@pytest.mark.parametrize("url", ["sqlite"], indirect=True)
def test_params_are_checked_in_a_transaction_too(tw: Tickwise, sent: list[int], shop: sqlite3.Connection) -> None:
    """A mistake is refused before anything is written; the transaction goes on."""
    with shop:
        shop.execute("INSERT INTO orders VALUES (1)")
        with pytest.raises(InputError, match="did you mean order"):
            tw.enqueue("send", {"ordr": 1}, connection=shop)
    assert (tw.runs.list(), sent) == ([], [])
    assert shop.execute("SELECT id FROM orders").fetchall() == [(1,)]


@pytest.mark.parametrize("url", ["sqlite"], indirect=True)
@pytest.mark.parametrize("other", [":memory:", "other.db"])
def test_a_connection_to_another_file(tw: Tickwise, sent: list[int], tmp_path: Path, other: str) -> None:
    """The run would exist elsewhere, and nobody would run it."""
    where = other if other == ":memory:" else str(tmp_path / other)
    with closing(sqlite3.connect(where)) as elsewhere, pytest.raises(InputError, match="to the same file"):
        tw.enqueue("send", {"order": 1}, connection=elsewhere)
    assert (tw.runs.list(), sent) == ([], [])


def test_a_connection_that_cannot_be_used(tw: Tickwise, sent: list[int]) -> None:
    """A connection that would have to be awaited is refused, and so is every one to a memory store."""

    class Awaited:
        async def execute(self) -> None: ...

    with pytest.raises(InputError, match="Awaited is a connection that is awaited: use AsyncTickwise"):
        tw.enqueue("send", {"order": 1}, connection=Awaited())
    if tw.settings.store == "memory://":
        with closing(sqlite3.connect(":memory:")) as elsewhere, pytest.raises(InputError):
            tw.enqueue("send", {"order": 1}, connection=elsewhere)
    assert (tw.runs.list(), sent) == ([], [])
