"""A process that is stopped longer than its lease and goes on: a suspended laptop, a frozen container, SIGSTOP."""

import signal
import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

import psycopg
import pytest

from tickwise.core.states import Event, RunState
from tickwise.stores.contract import Store

from ..support.apps.ledger import LEDGER
from ..support.apps.patient import CANCELLED, END
from ..support.deployment import Deployment
from ..support.store_reads import in_state
from ..support.tickwise_processes import Nest, Process

APP = "tests.support.apps.patient:app"


@pytest.fixture
def place(nest: Nest, url: str, tmp_path: Path) -> Iterator[Deployment]:
    """In real time, with short leases."""
    with Deployment(nest, tmp_path, url, lease=2, renew=0.5, poll=0.2) as place:
        yield place


@contextmanager
def locked(url: str) -> Iterator[None]:
    """Nobody else writes to the store."""
    if url.startswith("sqlite"):
        with closing(sqlite3.connect(url.removeprefix("sqlite:///"))) as connection:
            connection.execute("BEGIN IMMEDIATE")
            yield
    else:
        with psycopg.connect(url) as connection:
            connection.execute("LOCK TABLE tickwise_runs, tickwise_nodes IN ACCESS EXCLUSIVE MODE")
            yield


async def _written(_store: Store, ledger: Path, *lines: str) -> bool:
    return _lines(ledger) == [*lines]


def _lines(ledger: Path) -> list[str]:
    return ledger.read_text().splitlines() if ledger.exists() else []


def _begin_twice(place: Deployment) -> tuple[str, Process, Process]:
    """A run whose worker was stopped, and which another worker has begun again; the two workers."""
    first = place.serve(APP)
    run = place.do(place.tickwise.enqueue("patient")).id
    place.eventually(_written, place.folder / LEDGER, f"begin {run} 1")
    first.signal(signal.SIGSTOP)
    second = place.serve(APP)
    place.eventually(_written, place.folder / LEDGER, f"begin {run} 1", f"begin {run} 2")
    return run, first, second


def _check_ends(place: Deployment, run: str) -> None:
    """The second attempt is the one that counts, and the first was lost."""
    row = place.eventually(in_state, run, RunState.SUCCEEDED)
    attempts = place.on_store(lambda store: store.insights.attempts(run))
    assert row.attempt == 2
    assert [(each.number, each.event) for each in attempts] == [(1, Event.LEASE_EXPIRED)]


def test_a_worker_that_goes_on_ends_its_run(place: Deployment) -> None:
    """S42, E1: its attempt does no more beside the next one, its end does not count, and it takes new work."""
    run, first, second = _begin_twice(place)
    begun = f"begin {run} 1", f"begin {run} 2"
    first.signal(signal.SIGCONT)
    place.eventually(_written, place.folder / LEDGER, *begun, f"cancelled {run} 1")
    (place.folder / END).touch()
    _check_ends(place, run)
    place.eventually(_written, place.folder / LEDGER, *begun, f"cancelled {run} 1", f"done {run} 2")
    second.stop()
    another = place.do(place.tickwise.enqueue("patient")).id
    assert f"-{first.pid}-" in (place.eventually(in_state, another, RunState.SUCCEEDED).node or "")


def test_it_does_so_before_it_asks_the_store(place: Deployment, url: str) -> None:
    """S42, E1: a store that does not answer when the worker goes on does not keep its run alive."""
    run, first, second = _begin_twice(place)
    (place.folder / END).touch()
    _check_ends(place, run)
    (place.folder / END).unlink()
    second.stop()
    with locked(url):
        first.signal(signal.SIGCONT)
        begun = f"begin {run} 1", f"begin {run} 2"
        place.eventually(_written, place.folder / LEDGER, *begun, f"done {run} 2", f"cancelled {run} 1")
    before, cancelled, _ = first.output.partition(CANCELLED)
    assert cancelled
    assert "cannot renew" not in before
