"""A worker that is killed leaves no program behind."""

import os
import select
import signal
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import psutil
import pytest

from tickwise.core.states import RunState

from ..support.deployment import Deployment
from ..support.fork_server import PATIENCE
from ..support.store_reads import in_state
from ..support.tickwise_processes import Nest

PROGRAM = ("command:", "  - sh", "  - -c", "  - 'exec 9>\"$ALIVE\"; echo up >&9; sleep 1000 & sleep 1000'")


@pytest.fixture
def place(nest: Nest, tmp_path: Path) -> Iterator[Deployment]:
    with Deployment(nest, tmp_path, f"sqlite:///{tmp_path / 'tickwise.db'}", lease=60) as place:
        yield place


@contextmanager
def pipe_of_the_living(path: Path) -> Iterator[int]:
    """A pipe by name: its end says that nobody who has opened it for writing lives any longer."""
    os.mkfifo(path)
    pipe = os.open(path, os.O_RDONLY | os.O_NONBLOCK)
    try:
        yield pipe
    finally:
        os.close(pipe)


def read(pipe: int) -> bytes:
    assert select.select([pipe], [], [], PATIENCE)[0], "its programs live on"
    return os.read(pipe, 100)


@pytest.mark.parametrize("job", ["program", "function"])
def test_programs_end_with_their_worker(place: Deployment, job: str) -> None:
    """A16, E1: after kill -9 of a worker its command, with all that it has started, and its function die."""
    with pipe_of_the_living(place.folder / "alive") as pipe:
        place.write("program", *PROGRAM, f"env: {{ALIVE: {place.folder / 'alive'}}}")
        worker = place.serve("tests.support.apps.chores:app", "jobs")
        params = {"alive": str(place.folder / "alive")} if job == "function" else {}
        run = place.do(place.tickwise.enqueue(job, params))
        place.eventually(in_state, run.id, RunState.RUNNING)
        assert read(pipe) == b"up\n"
        worker.kill()
        assert read(pipe) == b""


def test_the_guard_is_replaced_when_it_was_killed(place: Deployment) -> None:
    """A16: a program that starts after the guard was killed still ends with its worker, and so do older ones."""
    with pipe_of_the_living(place.folder / "alive") as pipe:
        place.write("program", *PROGRAM, f"env: {{ALIVE: {place.folder / 'alive'}}}", "overlap: allow")
        worker = place.serve("tests.support.apps.chores:app", "jobs")
        place.do(place.tickwise.enqueue("program"))
        assert read(pipe) == b"up\n"
        children = psutil.Process(worker.pid).children()
        (guard,) = [each for each in children if "guard_process.py" in " ".join(each.cmdline())]
        guard.send_signal(signal.SIGKILL)
        place.do(place.tickwise.enqueue("program"))
        assert read(pipe) == b"up\n"
        worker.kill()
        assert read(pipe) == b""
