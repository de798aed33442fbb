"""The nodes of a fleet: killed, stopped and started anew, some of them with a clock that is an hour wrong."""

import os
import signal
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from random import Random
from subprocess import check_output
from time import monotonic, time
from typing import NamedTuple, Self

from tickwise.core.states import FINAL, RunState
from tickwise.stores.contract import Store, StoreUnavailableError
from tickwise.stores.records import MICRO, RunFilter

from ..support.deployment import Deployment
from ..support.tickwise_processes import Nest, Process
from .spans import Freeze
from .verdict import check_side_by_side

ROLES = ("ticker", "serve", "worker", "worker")
RIGHT, AHEAD, BEHIND = 0, 1, -1  # hours by which a clock is wrong
_APP = "tests.chaos.deeds:app"
_UP = "Tickwise is running"
_LIBRARY = os.environ.get("TICKWISE_TEST_FAKETIME", "/usr/$LIB/faketime/libfaketime.so.1")  # where Debian has it
_HALF_AN_HOUR = 1_800
_UNFINISHED = RunFilter(states=frozenset(RunState) - FINAL)
_HINT = (
    "clocks are turned by libfaketime: install the Debian package libfaketime (apt-get install libfaketime), or "
    "name the library in TICKWISE_TEST_FAKETIME"
)


def clock(hours: int) -> dict[str, str]:
    """The variables under which programs see the time so many hours off; the steady clock stays as it is."""
    turned = {"LD_PRELOAD": _LIBRARY, "FAKETIME": f"{hours:+}h", "FAKETIME_DONT_FAKE_MONOTONIC": "1"}
    seen = check_output([sys.executable, "-c", "import time; print(time.time())"], env={**os.environ, **turned})
    assert abs(float(seen) - time()) > _HALF_AN_HOUR, _HINT
    return turned


class Node(NamedTuple):
    role: str
    process: Process


class Fleet:
    """Whoever ends is replaced, until the block ends."""

    def __init__(self, nests: Mapping[int, Nest], place: Deployment, url: str) -> None:
        self._nests = nests
        self._place = place
        self._url = url
        self.freezes: list[Freeze] = []
        self.chance = Random(url.partition(":")[0])
        self._nodes = [self._started(role) for role in ROLES]

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        for nest in self._nests.values():
            nest.end_all()

    def _started(self, role: str, hours: int = RIGHT) -> Node:
        process = self._nests[hours].start(self._place.folder, role, "--store", self._url, _APP, "jobs")
        return Node(role, process)

    @property
    def processes(self) -> Sequence[Process]:
        return [node.process for node in self._nodes]

    def any(self) -> Process:
        return self.chance.choice(self.processes)

    def kill(self, hours: int = RIGHT) -> None:
        """End one in the middle of whatever it does; another takes its place, with such a clock."""
        place = self.chance.randrange(len(self._nodes))
        self._nodes[place].process.kill()
        self._nodes[place] = self._started(self._nodes[place].role, hours)

    @contextmanager
    def stopped(self) -> Iterator[None]:
        """One of them stands still, and goes on after the block as if no time had passed."""
        process, begun = self.any(), monotonic()
        process.signal(signal.SIGSTOP)
        yield
        self.freezes.append(Freeze(process.pid, begun, monotonic()))
        process.signal(signal.SIGCONT)

    def lives_for(self, seconds: float) -> None:
        """So much time passes."""
        self.any().lives_for(seconds)
        self.tend()

    def tend(self) -> None:
        """Start anew what could not start, as a supervisor would; what was up must not end."""
        for place, (role, process) in enumerate(self._nodes):
            if not process.lives_for(0):
                assert _UP not in process.output, f"{role} ended with {process.code} by itself:\n{process.output}"
                self._nodes[place] = self._started(role)

    def recovered(self) -> float:
        """The seconds until every schedule has decided a slot that comes after this moment."""
        begun = monotonic()
        self._place.eventually(self._decided_after, self._place.eventually(self._decided_after) // MICRO)
        return monotonic() - begun

    async def _decided_after(self, store: Store, second: int = 0) -> int | None:
        self.tend()
        try:
            rows = (await store.insights.schedules()).items
            check_side_by_side((await store.insights.runs(_UNFINISHED)).items)
            return await store.now() if all(row.schedule.cursor > second for row in rows) else None
        except StoreUnavailableError:
            return None
