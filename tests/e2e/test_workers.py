"""Workers of one fleet that may execute different things: each takes its own, and nothing fails or is lost."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tickwise.core.model import Trigger
from tickwise.stores.contract import Store
from tickwise.stores.records import Enqueue

from ..support.deployment import SUCCEEDED, Deployment
from ..support.races.file_clock import SharedClock
from ..support.store_reads import nothing_active
from ..support.tickwise_processes import Nest

RUNS = 40


@pytest.fixture
def real(nest: Nest, postgres_database: str, tmp_path: Path) -> Iterator[Deployment]:
    with Deployment(nest, tmp_path, postgres_database) as place:
        yield place


def test_a_folder_beside_a_worker_without_it(real: Deployment) -> None:
    """The commands of a folder are executed by nodes that have it, and none of their runs fails (A1, S46)."""
    real.write("command", 'command: "true"')
    real.start("worker", "tests.support.apps.chores:app").up()
    real.serve("jobs")
    real.on_store(lambda store: store.enqueue([Enqueue("command"), Enqueue("in_a_thread")] * RUNS))
    real.eventually(nothing_active)
    nodes = {job: {run.node for run in real.runs(job)} for job in ("command", "in_a_thread")}
    assert {run.state for run in real.runs()} == {SUCCEEDED}
    assert [len(names) for names in nodes.values()] == [1, 1]
    assert nodes["command"] != nodes["in_a_thread"]


def test_a_restarted_worker_runs_the_slot_that_was_held(place: Deployment, clock: SharedClock) -> None:
    """A slot without a worker is held, and begins when one comes alive, without waiting for a minute (E8, S47)."""
    place.write("job", 'schedule: "0 * * * *"', "catchup: skip", "grace: 30s", 'command: "true"')
    place.start("ticker").up()
    place.known("job")
    place.passes()
    place.move_to_while_down("01:00")
    place.eventually(_is_held, "job")
    clock.advance(4)
    place.start("worker").up()
    (run,) = place.ended("job")
    assert (run.state, run.trigger) == (SUCCEEDED, Trigger.SCHEDULE)


async def _is_held(store: Store, schedule: str) -> bool:
    row = await store.insights.schedule(schedule)
    return row is not None and row.schedule.held_for_worker
