"""A person or a schedule ends a run: whatever it does, it has ended within a second."""

from collections.abc import Iterator
from pathlib import Path
from statistics import median

import pytest

from tickwise.core.states import RunState
from tickwise.stores.contract import Store
from tickwise.stores.records import MICRO, RunRow

from ..support.deployment import Deployment
from ..support.races.processes import tell
from ..support.store_reads import in_state, runs_of
from ..support.tickwise_processes import Nest

TIMES = 5


@pytest.fixture
def place(nest: Nest, url: str, tmp_path: Path) -> Iterator[Deployment]:
    """With leases of half a minute, renewed every ten seconds: no renewal comes in time to tell of a cancel."""
    with Deployment(nest, tmp_path, url, poll=1, lease=30, renew=10) as place:
        yield place


@pytest.mark.parametrize("job", ["endless", "command"])
def test_cancelled_within_a_second(place: Deployment, job: str) -> None:
    """From the word until the end is stored it takes less than a second, for functions as for commands (S41)."""
    place.write("command", "command: sleep 3600")
    place.serve("tests.support.apps.chores:app", "jobs")
    took = [_seconds_to_cancel(place, job) for _ in range(TIMES)]
    tell(f"{job}: {', '.join(f'{seconds:.2f}' for seconds in took)} s")
    assert median(took) < 1


def _seconds_to_cancel(place: Deployment, job: str) -> float:
    run = place.do(place.tickwise.enqueue(job))
    place.eventually(in_state, run.id, RunState.RUNNING)
    asked_at = place.on_store(lambda store: store.now())
    place.do(place.tickwise.runs.cancel(run.id))
    ended = place.eventually(in_state, run.id, RunState.CANCELLED)
    return ((ended.finished_at or 0) - asked_at) / MICRO


@pytest.mark.parametrize("overlap", ["replace", "stop"])
def test_schedules_cancel_within_a_second(place: Deployment, overlap: str) -> None:
    """A run that a pass cancels ends as soon as one that a person cancels, long before a renewal (A2, S22)."""
    times = {
        "replace": ('schedule: "*/3 * * * * *"', "overlap: replace"),
        "stop": ('schedule: {start: "*/6 * * * * *", stop: "3/6 * * * * *"}',),
    }
    place.write("endless", *times[overlap], "command: sleep 3600")
    place.serve("jobs")
    ended = place.eventually(_cancelled, TIMES)
    took = [(run.finished_at or 0) / MICRO % 3 for run in ended]
    tell(f"{overlap}: {', '.join(f'{seconds:.2f}' for seconds in took)} s")
    assert median(took) < 1
    assert max((run.finished_at or 0) // MICRO - (run.slot or 0) for run in ended) < 2 * 3


async def _cancelled(store: Store, number: int) -> list[RunRow] | None:
    """The first runs that were cancelled, as soon as there are so many."""
    runs = [run for run in await runs_of(store, "endless") if run.state is RunState.CANCELLED]
    return runs[:number] if len(runs) >= number else None
