"""The fleet's limits on a queue hold across processes, by the timestamps that the store has kept."""

from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest

from tickwise.stores.records import MICRO, Enqueue, QueueLimit

from ..support.accounting import busiest
from ..support.deployment import SUCCEEDED, Deployment, second
from ..support.races.file_clock import SharedClock
from ..support.store_reads import nothing_active, succeeded, told
from ..support.tickwise_processes import Nest

RUNS, LIMIT = 1_000, 3
QUEUE = "narrow"


@pytest.fixture
def real(nest: Nest, url: str, tmp_path: Path) -> Iterator[Deployment]:
    with Deployment(nest, tmp_path, url, queues=[QUEUE]) as place:
        yield place


def test_never_more_at_once_than_the_queue_allows(real: Deployment) -> None:
    """Two workers, a limit of three, a thousand runs of which some are tried again: never four at once."""
    real.on_store(lambda store: store.limit(QueueLimit(QUEUE, concurrency=LIMIT)))
    workers = [real.start("worker", "tests.support.apps.chores:app").up() for _ in range(2)]
    real.on_store(lambda store: store.enqueue([Enqueue("flaky")] * RUNS))
    real.eventually(nothing_active)
    runs = real.on_store(told)
    attempts = [attempt for one in runs for attempt in one.attempts]
    assert {one.run.state for one in runs} == {SUCCEEDED}
    assert len(attempts) == RUNS + RUNS // 5
    assert len({attempt.node for attempt in attempts}) == len(workers)
    assert busiest(attempts) == LIMIT


@pytest.fixture
def place(nest: Nest, url: str, tmp_path: Path, clock: SharedClock) -> Iterator[Deployment]:
    with Deployment(nest, tmp_path, url, clock, queues=[QUEUE]) as place:
        yield place


def test_no_more_starts_in_a_second_than_the_queue_allows(place: Deployment, clock: SharedClock) -> None:
    """Of twelve runs that wait, four start in each second, in the whole fleet, however free its workers are."""
    place.write("job", f"queue: {QUEUE}", 'command: "true"')
    for _ in range(2):
        place.start("worker").up()
    place.on_store(lambda store: store.limit(QueueLimit(QUEUE, starts_per_second=4)))
    place.on_store(lambda store: store.enqueue([Enqueue("job")] * 12))
    for number in (4, 8, 12):
        place.eventually(succeeded, number)
        clock.advance(1)
    starts = Counter((run.started_at or 0) // MICRO - second("00:00") for run in place.runs())
    assert starts == {0: 4, 1: 4, 2: 4}
