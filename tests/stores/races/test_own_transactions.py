"""Enqueue inside a transaction of the user's own: the runs exist exactly if, and as soon as, the user commits."""

import pytest

from tickwise.core.states import RunState
from tickwise.stores.records import Enqueue

from ...support.races.processes import Child, Crew
from ...support.races.race import Race, job
from ...support.races.server import wait_until_somebody_waits

PLAIN = [
    *((driver, "postgres") for driver in ("asyncpg", "psycopg", "psycopg async")),
    *((driver, "mysql") for driver in ("asyncmy", "aiomysql", "pymysql")),
    ("sqlite3", "sqlite"),
]
WITH_DICT_ROWS = [
    *((driver, "postgres") for driver in ("psycopg with dict rows", "psycopg async with dict rows")),
    *((driver, "mysql") for driver in ("asyncmy with dict rows", "pymysql with dict rows")),
    ("sqlite3 with dict rows", "sqlite"),
]


@pytest.mark.parametrize(("driver", "place"), [*PLAIN, *WITH_DICT_ROWS], indirect=["place"])
def test_a_rollback_leaves_nothing(place: Race, crew: Crew, driver: str) -> None:
    """A run that was enqueued in a transaction goes with it."""
    place.install(job("a"))
    user = begun(place, crew, driver)
    run, new = user.hear()
    assert new
    user.say("rollback")
    user.heard_last()
    assert place.runs() == []
    assert place.do(lambda store: store.insights.run(run)) is None


@pytest.mark.parametrize(("driver", "place"), PLAIN, indirect=["place"])
def test_a_late_commit_is_found(place: Race, crew: Crew, driver: str) -> None:
    """A worker that has meanwhile finished runs with later ids finds one that was committed late."""
    place.install(job("a"))
    worker = crew.one("worker.keep_working", **place.address, node="w", **_patience(place))
    assert worker.hear() == "ready"
    user = begun(place, crew, driver)
    run, _ = user.hear()
    others = []
    if place.has_sessions:  # a SQLite file has one writer at a time: nobody gets a later id before the commit
        others = [one.id for one in place.do(lambda store: store.enqueue([Enqueue("a")] * 3))]
        assert _finished(worker) == 3
        assert min(map(int, others)) > int(run)
    user.say("commit")
    user.heard_last()
    assert _finished(worker) == 1
    worker.say("enough")
    worked = [one[0] for one in worker.heard_last()]
    assert (set(worked[:-1]), worked[-1]) == (set(others), run)
    assert {row.state for row in place.runs()} == {RunState.SUCCEEDED}


def _finished(worker: Child) -> int:
    """How many runs it finishes before it has nothing left to do."""
    done = 0
    while more := worker.hear():
        done += more
    return done


@pytest.mark.parametrize("end", ["commit", "rollback"])
@pytest.mark.parametrize(("driver", "place"), [PLAIN[0], *PLAIN[3:]], indirect=["place"])
def test_two_transactions_want_one_key(place: Race, crew: Crew, driver: str, end: str) -> None:
    """The second waits for the first: if that commits, it gets the same run, else one of its own (S48)."""
    place.install(job("a"))
    first = begun(place, crew, driver, key="k")
    run, new = first.hear()
    assert new
    second = crew.one("users.enqueue_inside", **place.address, node="second", driver=driver, key="k")
    if place.has_sessions:
        assert second.hear() == "begun"
        wait_until_somebody_waits(place.url)
    first.say(end)
    first.heard_last()
    if not place.has_sessions:
        assert second.hear() == "begun"
    found, new = second.hear()
    second.say("commit")
    second.heard_last()
    maker = "user" if end == "commit" else "second"
    assert (new, new or found == run) == (maker == "second", True)
    assert [(row.id, row.key, row.params) for row in place.runs()] == [(found, "k", {"by": maker})]


def begun(place: Race, crew: Crew, driver: str, key: str | None = None) -> Child:
    user = crew.one("users.enqueue_inside", **place.address, node="user", driver=driver, key=key)
    assert user.hear() == "begun"
    return user


def _patience(place: Race) -> dict[str, float]:
    """On a server the notifications alone wake the worker; a SQLite file has none for other processes."""
    return {} if place.has_sessions else {"poll": 0.01}
