"""A long day: thousands of runs leave a server as it was. `TICKWISE_SOAK=10000` makes it longer."""

import os
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import pytest

from tickwise.stores.contract import Store
from tickwise.stores.records import Enqueue

from ..support.apps.chores import LEDGER
from ..support.deployment import SUCCEEDED, Deployment
from ..support.races.processes import tell
from ..support.store_reads import nothing_active
from ..support.tickwise_processes import Nest

RUNS = int(os.environ.get("TICKWISE_SOAK", "2000"))
WARM_UP = 500  # runs after which a server has all it needs
AT_ONCE = 500
OTHERS = {"in_a_thread": 10, "in_a_process": 50}  # one in so many


@pytest.fixture
def place(nest: Nest, url: str, tmp_path: Path) -> Iterator[Deployment]:
    """In real time; renewing all the time, so that renewals meet runs in every state."""
    with Deployment(nest, tmp_path, url, concurrency=5, renew=0.05, poll=1) as place:
        yield place


class Needs(NamedTuple):
    """What a process has of the machine."""

    kilobytes: int
    descriptors: int
    threads: int
    children: int


SPARE = Needs(8 * 1_024, 3, 3, 0)  # for what is made only now and then, such as a connection; a leak is more


def needs(pid: int) -> Needs:
    place = Path("/proc", str(pid))
    status = dict(line.split(":", 1) for line in (place / "status").read_text().splitlines())
    children = sum(len(task.read_text().split()) for task in place.glob("task/*/children"))
    kilobytes, threads = int(status["VmRSS"].split()[0]), int(status["Threads"])
    return Needs(kilobytes, len(list((place / "fd").iterdir())), threads, children)


def test_thousands_of_runs_leave_nothing_behind(place: Deployment) -> None:
    """Memory, descriptors, threads and child processes are after the day what they were in the morning."""
    place.write("in_a_process", 'command: "true"')
    server = place.serve("tests.support.apps.chores:app", "jobs")
    work(place, 0, WARM_UP)
    before = needs(server.pid)
    work(place, WARM_UP, RUNS)
    after = needs(server.pid)
    tell(f"{RUNS} runs: {before} -> {after}")
    assert all(now <= then + spare for now, then, spare in zip(after, before, SPARE, strict=True))
    assert {run.state for run in place.runs()} == {SUCCEEDED}
    done = Counter(map(int, (place.folder / LEDGER).read_text().split()))
    assert done == Counter(range(WARM_UP + RUNS)), "a run was done twice, or not at all"
    server.stop()


def work(place: Deployment, first: int, number: int) -> None:
    """So many runs, and one in some of the heavier kinds, as fast as the server can."""
    for start in range(first, first + number, AT_ONCE):
        asked = [Enqueue("nothing", params={"number": n}) for n in range(start, start + AT_ONCE)]
        asked += [Enqueue(job) for job, share in OTHERS.items() for _ in range(AT_ONCE // share)]
        place.on_store(enqueue, asked)
        place.eventually(nothing_active)


async def enqueue(store: Store, asked: list[Enqueue]) -> None:
    await store.enqueue(asked)
