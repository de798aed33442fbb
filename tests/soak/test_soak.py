"""Millions of runs with retention on leave a server and its store as they were: `make soak RUNS=50000` is shorter.

The clock is the test's: an hour passes as soon as all runs of the hour before have ended. Two million runs are
eight hours of seventy a second; here they are eleven months of 250 hourly jobs, each of which keeps a day.
"""

import os
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from time import monotonic
from typing import Any

import pytest

from tickwise.core.reasons import Verdict
from tickwise.stores.contract import Store
from tickwise.stores.records import DecisionFilter, Node, Role, ScheduleFilter

from ..support.deployment import Deployment
from ..support.races.file_clock import SharedClock
from ..support.races.processes import tell
from ..support.servers import postgres
from ..support.store_reads import nothing_active
from ..support.tickwise_processes import Nest, Process
from .plot import render_svg
from .samples import Sample, drifts, process_needs, size_reader
from .size import JOBS, LEDGER

APP = "tests.support.apps.hourly:app"
RUNS = int(os.environ.get("TICKWISE_TEST_SOAK", "2000000"))
PLOTS = os.environ.get("TICKWISE_TEST_PLOTS")  # a folder
HOUR = 3_600
WARM_UP = max(80 * JOBS, RUNS // 4)  # runs: retention looks every fifteen seconds of real time
LOOKS = 200
_WORKER = Node("anybody", (Role.WORKER,), queues=("default",), seconds=10**9)


class Soak:
    """A server that works off one hour after the other, and what it needed meanwhile."""

    def __init__(self, place: Deployment, server: Process, url: str) -> None:
        self._place, self._server = place, server
        self._read_size = size_reader(url)
        self._late: list[float] = []
        self._busy = 0.0
        self.runs = 0
        self.samples: list[Sample] = []

    def hour(self) -> None:
        """The next one: all its runs end."""
        clock = self._place.clock
        assert clock
        slot = clock.second // HOUR * HOUR + HOUR
        begun = monotonic()
        self._place.on_store(_stay_alive)
        clock.set(slot)
        self._place.eventually(_is_done, slot)
        self._late.append(monotonic() - begun)
        self.runs += JOBS

    def look(self) -> None:
        """At what the server and the store need now."""
        needs, quickest = process_needs(self._server.pid), min(self._late)
        for_a_run = (needs.processor - self._busy) * 1_000 / (JOBS * len(self._late))
        self._late, self._busy = [], needs.processor
        size = self._read_size()
        self.samples.append(Sample(self.runs, needs.memory, needs.descriptors, *size, for_a_run, quickest))


async def _stay_alive(store: Store) -> None:
    """So that no slot is held because its worker was last seen an hour ago."""
    await store.beat(_WORKER)


async def _is_done(store: Store, slot: int) -> bool:
    behind = await store.insights.schedules(ScheduleFilter(due_before=slot + 1), limit=1)
    return not behind.items and await nothing_active(store)


@pytest.fixture(params=["sqlite", "postgres"])
def url(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[str]:
    if request.param == "sqlite":
        yield f"sqlite:///{tmp_path / 'tickwise.db'}"
        return
    with postgres.server() as server:
        yield server.url


@pytest.fixture
def soak(tmp_path: Path, url: str) -> Iterator[Soak]:
    settings: dict[str, Any] = {"poll": 0.1, "renew": 0.5, "concurrency": 50}
    with ExitStack() as stack:
        clock = SharedClock(tmp_path / "clock")
        stack.callback(clock.close)
        nest = stack.enter_context(Nest())
        place = stack.enter_context(Deployment(nest, tmp_path, url, clock, **settings))
        server = place.serve(APP)
        place.known(f"hourly-{JOBS - 1}")
        yield Soak(place, server, url)
        server.stop()


def test_a_long_time_leaves_everything_as_it_was(soak: Soak, url: str, tmp_path: Path) -> None:
    """Of no figure is the second half above the first by more than its metric allows."""
    hours = max(RUNS, 2 * WARM_UP) // JOBS
    for number in range(1, hours + 1):
        soak.hour()
        if number % max(hours // LOOKS, 1) == 0:
            soak.look()
    assert (tmp_path / LEDGER).stat().st_size == soak.runs, "a run was done twice, or not at all"
    assert soak._place.on_store(_without_run) == 0
    found = drifts(soak.samples, WARM_UP)
    store = url.partition(":")[0]
    for drift in found:
        tell(f"{store}, {soak.runs:,} runs, {drift}")
    if PLOTS:
        title = f"{soak.runs:,} runs on {store}"
        Path(PLOTS, f"soak-{store}.svg").write_text(render_svg(title, soak.samples, found, WARM_UP))
    assert all(drift.is_flat for drift in found)


async def _without_run(store: Store) -> int:
    rows = (await store.insights.decisions(DecisionFilter(), limit=1_000)).items
    return sum(row.reason.verdict is not Verdict.DEFERRED for row in rows)
