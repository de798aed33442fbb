"""From a run to Celery and back: a node that watches, an API, a broker, and a worker with its own task."""

import socket
from collections.abc import Iterator
from pathlib import Path

import pytest

from tickwise.core.states import HandOverState, RunState

from ..support.celery_processes import Broker, kill, worker
from ..support.deployment import Deployment
from ..support.store_reads import in_state
from ..support.tickwise_processes import Nest
from .test_engines import in_hand_over

APP = "tests.support.apps.celery_work:app"
ENGINE = """
[engines.celery]
kind = "celery"
broker = {broker.url!r}
queue = {broker.queue!r}
"""


@pytest.fixture
def broker(redis_url: str, tmp_path: Path) -> Iterator[Broker]:
    made = Broker(redis_url, f"queue-{tmp_path.name}")
    yield made
    made.close()


@pytest.fixture
def place(nest: Nest, url: str, tmp_path: Path, broker: Broker) -> Iterator[Deployment]:
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    settings = {"lease": 2, "renew": 0.5, "poll": 0.2, "port": port, "api_url": f"http://127.0.0.1:{port}"}
    with Deployment(nest, tmp_path, url, **settings) as place:
        with (tmp_path / "tickwise.toml").open("a") as file:
            file.write(ENGINE.format(broker=broker))
        nest.start(tmp_path, "api").up()
        place.start("worker", APP, "--port", "0").says("Tickwise is running")
        yield place


def test_a_task_of_the_app_is_called_with_the_params(place: Deployment, broker: Broker, tmp_path: Path) -> None:
    """S52, S53: its result is the run's; a worker that is killed is replaced by the next."""
    run = place.do(place.tickwise.enqueue("double", {"number": 21})).id
    place.eventually(in_hand_over, run, HandOverState.ACCEPTED)
    with worker(broker, tmp_path, "-P", "threads", "-c", "2") as first:
        row = place.eventually(in_state, run, RunState.SUCCEEDED)
        assert (row.attempt, row.result) == (1, 42)
        kill(first)
    again = place.do(place.tickwise.enqueue("double", {"number": 4})).id
    with worker(broker, tmp_path, "-P", "threads", "-c", "2"):
        assert place.eventually(in_state, again, RunState.SUCCEEDED).result == 8
