"""Real processes of Celery, and what is in its queues. Nothing here sleeps: to wait is to read from the broker."""

import json
import os
import signal
import subprocess
import sys
import time
from base64 import b64decode
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, NamedTuple
from uuid import uuid4

from celery import Celery
from redis import Redis

from .fork_server import PATIENCE

_ROOT = Path(__file__).parents[2]
_PROJECT = "tests.support.apps.celery_project"


class Message(NamedTuple):
    """A task in a queue."""

    id: str
    task: str
    slot: str | None
    args: Any
    headers: Mapping[str, Any]


class CeleryQueue(NamedTuple):
    """A queue as its workers see it."""

    url: str  # of the broker
    queue: str
    backend: str


class Broker:
    """A queue of a broker that speaks Redis, which keeps results, too."""

    def __init__(self, url: str, queue: str) -> None:
        self.url, self.queue, self.backend = url, queue, url
        self._client: Redis = Redis.from_url(url, socket_timeout=None)

    def next(self) -> Message:
        """The next message, as soon as there is one."""
        found: Any = self._client.blpop([self.queue], int(PATIENCE))
        assert found, f"no message came in {PATIENCE:g} s"
        raw = json.loads(found[1])
        headers, body = raw["headers"], json.loads(b64decode(raw["body"]))
        return Message(headers["id"], headers["task"], headers.get("tickwise_slot"), body[0], headers)

    def __len__(self) -> int:
        return int(self._client.llen(self.queue))

    def close(self) -> None:
        self._client.delete(self.queue)
        self._client.close()


@contextmanager
def celery(
    broker: Broker | CeleryQueue, folder: Path, *words: str, **settings: str
) -> Iterator[subprocess.Popen[bytes]]:
    """A process of Celery until the block ends; settings are variables of Tickwise, such as `lease`."""
    variables = {f"TICKWISE_{name.upper()}": value for name, value in settings.items()}
    project = {"BROKER": broker.url, "BACKEND": broker.backend, "QUEUE": broker.queue}
    environment = os.environ | variables | {f"PROJECT_{name}": value for name, value in project.items()}
    command = [sys.executable, "-m", "celery", "-A", f"{_PROJECT}:app", *words]
    with (
        (folder / "celery.log").open("ab") as log,
        subprocess.Popen(
            command, cwd=_ROOT, env=environment, stdout=log, stderr=subprocess.STDOUT, start_new_session=True
        ) as process,
    ):
        try:
            yield process
        finally:
            kill(process)


def kill(process: subprocess.Popen[bytes]) -> None:
    """End it with the processes of its pool, in the middle of whatever they do."""
    with suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)
    process.wait(PATIENCE)


def beat(
    broker: Broker, folder: Path, scheduler: str = "tickwise.engines.celery:Scheduler", **settings: str
) -> Any:
    """A `celery beat` on a store in this folder, whose leases last for one second."""
    store = f"sqlite:///{folder / 'tickwise.db'}"
    return celery(broker, folder, "beat", "-S", scheduler, "-l", "info", store=store, lease="1s", **settings)


@contextmanager
def worker(
    broker: Broker | CeleryQueue, folder: Path, *words: str, **variables: str
) -> Iterator[subprocess.Popen[bytes]]:
    """A `celery worker` that takes messages when the block begins."""
    name = f"w{uuid4().hex[:8]}@localhost"
    with celery(broker, folder, "worker", "-n", name, *words, **variables) as process:
        app = Celery(broker=broker.url, set_as_current=False)
        until = time.monotonic() + PATIENCE
        while not app.control.inspect([name], timeout=1.0, limit=1).ping():  # each ping waits for an answer
            assert process.poll() is None, (folder / "celery.log").read_text("utf-8", "replace")
            assert time.monotonic() < until, "the worker does not answer"
        app.close()
        yield process
