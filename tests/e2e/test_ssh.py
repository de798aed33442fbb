"""Work on another machine, from the order to its end, while everything between it and its run breaks (S52-S56)."""

import json
import socket
import sys
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from tickwise.core.states import HandOverState, RunState

from ..support.deployment import Deployment
from ..support.servers import sshd
from ..support.servers.process import Server
from ..support.store_reads import in_state
from ..support.tickwise_processes import Nest
from .test_engines import begins, enqueue, in_hand_over, watcher

ROOT = Path(__file__).parents[2]
PROGRAM = Path(sys.executable).parent / "tickwise"


@pytest.fixture(scope="module")
def machine() -> Iterator[Server]:
    with sshd.server() as server:
        yield server


@pytest.fixture
def place(nest: Nest, tmp_path: Path, machine: Server) -> Iterator[Deployment]:
    """In real time, with an API of its own, and sshd before the other machine."""
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    (tmp_path / "there").mkdir()
    command = ["env", f"PYTHONPATH={ROOT}", str(PROGRAM), "exec"]
    engine = {"kind": "ssh", **sshd.settings(machine), "command": command, "folder": str(tmp_path / "there")}
    settings = {"lease": 2, "renew": 0.5, "poll": 0.2, "port": port, "api_url": f"http://127.0.0.1:{port}"}
    with Deployment(nest, tmp_path, f"sqlite:///{tmp_path}/tickwise.db", **settings) as place:
        lines = [f"{name} = {json.dumps(value)}" for name, value in engine.items()]
        with (tmp_path / "tickwise.toml").open("a") as file:
            file.write("\n".join(["", "[engines.box]", *lines, ""]))
        nest.start(tmp_path, "api").up()
        yield place


def test_neither_the_watcher_nor_the_connection_is_needed(place: Deployment, machine: Server) -> None:
    """S54: both are killed, and are back; the work began once, reports by itself, and is forgotten there."""
    first = watcher(place)
    run = enqueue(place)
    place.eventually(in_hand_over, run, HandOverState.BEGUN)
    with ExitStack() as stack:
        sshd.cut(machine)
        first.kill()
        stack.enter_context(sshd.mended(machine))
        second = watcher(place)
        place.eventually(in_hand_over, run, HandOverState.BEGUN, f"-{second.pid}-")
        (place.folder / "end").touch()
        row = place.eventually(in_state, run, RunState.SUCCEEDED)
        assert (row.attempt, row.losses, row.result) == (1, 0, "done")
        assert [entry[:2] for entry in begins(place)] == [[run, "1"]]
        place.eventually(_is_forgotten, place.folder / "there")


async def _is_forgotten(_store: object, folder: Path) -> bool:
    return not _attempts(folder)


def _attempts(folder: Path) -> list[Path]:
    return list((folder / ".tickwise" / "attempts").iterdir())
