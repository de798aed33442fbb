"""The API of `serve` lives in a process of its own: neither takes the other along, and neither is left behind."""

import signal
from collections.abc import Iterator
from pathlib import Path

import psutil
import pytest

from tickwise.core.states import RunState

from ..support.deployment import Deployment
from ..support.fork_server import PATIENCE
from ..support.store_reads import in_state
from ..support.tickwise_processes import Nest, Process


@pytest.fixture
def place(nest: Nest, tmp_path: Path) -> Iterator[Deployment]:
    with Deployment(nest, tmp_path, f"sqlite:///{tmp_path / 'tickwise.db'}") as place:
        yield place


def test_an_api_that_dies_comes_back(place: Deployment) -> None:
    """Runs go on meanwhile, and the same address answers again."""
    server = place.serve("tests.support.apps.chores:app")
    dead = _api_of(server)
    dead.kill()
    dead.wait(PATIENCE)
    run = place.do(place.tickwise.enqueue("nothing", {"number": 1}))
    place.eventually(in_state, run.id, RunState.SUCCEEDED)
    server.answers("readyz", 200)
    assert _api_of(server).pid != dead.pid
    server.stop()


def test_an_api_does_not_outlive_its_node(place: Deployment) -> None:
    """A node that is killed can tell nobody, and yet its API ends."""
    server = place.serve("tests.support.apps.chores:app")
    api = _api_of(server)
    server.kill()
    api.wait(PATIENCE)


def test_the_api_tells_that_its_node_hangs(place: Deployment) -> None:
    """`/readyz` answers 503 while no passes come, and 200 when they come again."""
    server = place.serve("tests.support.apps.chores:app")
    server.signal(signal.SIGSTOP)
    server.answers("readyz", 503)
    assert server.asked("healthz") == 200
    server.signal(signal.SIGCONT)
    server.answers("readyz", 200)
    server.stop()


def _api_of(server: Process) -> psutil.Process:
    [api] = [one for one in psutil.Process(server.pid).children() if "spawn_main" in " ".join(one.cmdline())]
    return api
