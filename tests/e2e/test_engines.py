"""Work on an engine outlives those who watch it: real nodes, a real API, programs that an engine has started."""

import os
import signal
import socket
from collections.abc import Iterator
from pathlib import Path

import pytest

from tickwise.core.states import Event, HandOverState, RunState
from tickwise.stores.contract import Store
from tickwise.stores.records import RunRow

from ..support.deployment import Deployment
from ..support.store_reads import in_state
from ..support.tickwise_processes import Nest, Process

APP = "tests.support.apps.far_work:app"
ENGINE = """
[engines.box]
kind = "tests.support.engines.detached:DetachedEngine"
folder = {folder!r}
"""


@pytest.fixture
def place(nest: Nest, url: str, tmp_path: Path) -> Iterator[Deployment]:
    """In real time, with an API of its own and an engine on this machine."""
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    work = tmp_path / "work"
    work.mkdir()
    settings = {"lease": 2, "renew": 0.5, "poll": 0.2, "port": port, "api_url": f"http://127.0.0.1:{port}"}
    with Deployment(nest, tmp_path, url, **settings) as place:
        with (tmp_path / "tickwise.toml").open("a") as file:
            file.write(ENGINE.format(folder=str(work)))
        nest.start(tmp_path, "api").up()
        yield place


def watcher(place: Deployment) -> Process:
    process = place.start("worker", APP, "--port", "0")
    process.says("Tickwise is running")
    return process


async def in_hand_over(store: Store, run: str, state: HandOverState, node: str = "") -> RunRow | None:
    row = await store.insights.run(run)
    record = row.hand_over if row else None
    return row if row and record and record.state is state and node in (row.node or "") else None


def enqueue(place: Deployment) -> str:
    return place.do(place.tickwise.enqueue("far", {"folder": str(place.folder)})).id


def begins(place: Deployment) -> list[list[str]]:
    """Runs, attempts and processes that have begun."""
    return [line.split()[1:] for line in (place.folder / "ledger").read_text().splitlines()]


def test_a_watcher_is_killed(place: Deployment) -> None:
    """S54: another adopts the run; the work began once and reports by itself, with its log and its result."""
    first = watcher(place)
    run = enqueue(place)
    place.eventually(in_hand_over, run, HandOverState.BEGUN)
    second = watcher(place)
    first.kill()
    place.eventually(in_hand_over, run, HandOverState.BEGUN, f"-{second.pid}-")
    (place.folder / "end").touch()
    row = place.eventually(in_state, run, RunState.SUCCEEDED)
    log = place.on_store(lambda store: store.insights.log(run))
    assert (row.attempt, row.losses, row.result) == (1, 0, "done")
    assert "the end is near" in "".join(part.text for part in log.items)
    assert [entry[:2] for entry in begins(place)] == [[run, "1"]]
    place.eventually(_is_empty, place.folder / "work")


async def _is_empty(_store: Store, folder: Path) -> bool:
    return not _names(folder)


def _names(folder: Path) -> list[Path]:
    return list(folder.iterdir())


def test_the_work_is_killed(place: Deployment) -> None:
    """The engine says that it is over, nobody reported how: a failed attempt, and the next one begins (S44)."""
    watcher(place)
    run = enqueue(place)
    place.eventually(in_hand_over, run, HandOverState.BEGUN)
    place.eventually(_has_begun, place, 1)
    os.kill(int(begins(place)[0][2]), signal.SIGKILL)
    place.eventually(_has_begun, place, 2)
    (place.folder / "end").touch()
    row = place.eventually(in_state, run, RunState.SUCCEEDED)
    (lost,) = place.on_store(lambda store: store.insights.attempts(run))
    assert (row.attempt, row.failures, lost.event) == (2, 1, Event.RETRY)
    assert "did not report how on box: exit code 137" in lost.error
    assert [entry[:2] for entry in begins(place)] == [[run, "1"], [run, "2"]]


async def _has_begun(_store: Store, place: Deployment, number: int) -> bool:
    return (place.folder / "ledger").exists() and len(begins(place)) == number


def test_a_run_is_cancelled(place: Deployment) -> None:
    """S56: the work hears of it, and the run is cancelled when it has ended."""
    watcher(place)
    run = enqueue(place)
    place.eventually(in_hand_over, run, HandOverState.BEGUN)
    place.on_store(lambda store: store.cancel(run))
    row = place.eventually(in_state, run, RunState.CANCELLED)
    assert (row.attempt, row.error.splitlines()[0]) == (1, "it was asked to end")
