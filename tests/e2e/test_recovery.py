"""A worker that dies with default settings: its run begins again soon."""

from collections.abc import Iterator
from pathlib import Path
from time import time_ns

import pytest

from tickwise.config import Settings
from tickwise.core.states import Event, RunState
from tickwise.stores.contract import Store
from tickwise.stores.records import MICRO, RunRow

from ..support.deployment import SUCCEEDED, Deployment
from ..support.store_reads import in_state, runs_of
from ..support.tickwise_processes import Nest

DEFAULTS = Settings()
WITHIN = 10  # seconds
JOB = ('schedule: "* * * * * *"', "overlap: skip", "max_runs: 1",
       'command: [sh, -c, "while [ $TICKWISE_ATTEMPT = 1 ] && kill -0 $PPID; do sleep 0.1; done"]')  # fmt: skip


@pytest.fixture
def place(nest: Nest, url: str, tmp_path: Path) -> Iterator[Deployment]:
    """In real time, with the leases that everybody has."""
    with Deployment(nest, tmp_path, url, lease=DEFAULTS.lease, renew=DEFAULTS.renew, poll=DEFAULTS.poll) as place:
        yield place


async def _running(store: Store) -> RunRow | None:
    runs = await runs_of(store, None)
    return await in_state(store, runs[0].id, RunState.RUNNING) if runs else None


def test_a_killed_worker_by_default(place: Deployment) -> None:
    """What it held begins again within ten seconds of its death (E2, S42)."""
    place.write("endless", *JOB)
    place.start("ticker", "jobs").up()
    workers = {worker.pid: worker for worker in (place.start("worker", "jobs").up() for _ in range(2))}
    run = place.eventually(_running)
    died_at = time_ns() // 1_000
    workers[int((run.node or "").split("-")[-2])].kill()
    again = place.eventually(in_state, run.id, SUCCEEDED)
    (lost,) = place.on_store(lambda store: store.insights.attempts(run.id))
    assert (lost.event, again.attempt, again.losses) == (Event.LEASE_EXPIRED, 2, 1)
    assert (again.started_at or 0) - died_at <= WITHIN * MICRO
