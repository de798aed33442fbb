"""Real processes of Celery, and what is in its queues. Nothing here sleeps: to wait is to read from the broker."""

import json
import os
import subprocess
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

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


class Broker:
    """A queue of a broker that speaks Redis, as its workers see it."""

    def __init__(self, url: str, queue: str) -> None:
        self.url, self.queue = url, queue
        self._client: Redis = Redis.from_url(url, socket_timeout=None)

    def next(self) -> Message:
        """The next message, as soon as there is one."""
        found: Any = self._client.blpop([self.queue], int(PATIENCE))
        assert found, f"no message came in {PATIENCE:g} s"
        raw = json.loads(found[1])
        headers, body = raw["headers"], json.loads(_decoded(raw))
        return Message(headers["id"], headers["task"], headers.get("tickwise_slot"), body[0], headers)

    def __len__(self) -> int:
        return int(self._client.llen(self.queue))

    def close(self) -> None:
        self._client.delete(self.queue)
        self._client.close()


def _decoded(raw: Mapping[str, Any]) -> bytes:
    from base64 import b64decode  # noqa: PLC0415

    return b64decode(raw["body"])


@contextmanager
def celery(broker: Broker, folder: Path, *words: str, **settings: str) -> Iterator[subprocess.Popen[bytes]]:
    """A process of Celery until the block ends; settings are variables of Tickwise, such as `lease`."""
    variables = {f"TICKWISE_{name.upper()}": value for name, value in settings.items()}
    environment = os.environ | variables | {"PROJECT_BROKER": broker.url, "PROJECT_QUEUE": broker.queue}
    command = [sys.executable, "-m", "celery", "-A", f"{_PROJECT}:app", *words]
    with (
        (folder / "celery.log").open("ab") as log,
        subprocess.Popen(command, cwd=_ROOT, env=environment, stdout=log, stderr=subprocess.STDOUT) as process,
    ):
        try:
            yield process
        finally:
            process.kill()


def beat(
    broker: Broker, folder: Path, scheduler: str = "tickwise.engines.celery:Scheduler", **settings: str
) -> Any:
    """A `celery beat` on a store in this folder, whose leases last for one second."""
    store = f"sqlite:///{folder / 'tickwise.db'}"
    return celery(broker, folder, "beat", "-S", scheduler, "-l", "info", store=store, lease="1s", **settings)
