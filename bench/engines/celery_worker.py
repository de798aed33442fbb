"""A `celery worker` with two processes, and how much it has executed."""

import asyncio
import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from uuid import uuid4

from celery import Celery
from redis import Redis

from tickwise.core.errors import TickwiseError

from .celery_app import BROKER, QUEUE, counter_of

PROCESSES = 2
_ROOT = Path(__file__).parents[2]  # where `bench` can be imported
_LOOK_EVERY = 0.01  # seconds
_TIMEOUT = 60.0  # seconds to start, and to end


class CeleryWorker:
    """A queue, and the worker that serves it."""

    def __init__(self, broker: str) -> None:
        self.broker = broker
        self.queue = f"bench-{uuid4().hex[:8]}"
        self._client: Redis = Redis.from_url(broker)

    @contextmanager
    def running(self) -> Iterator["CeleryWorker"]:
        """Start it, wait until it answers, and stop it when the block ends."""
        name = f"{self.queue}@localhost"
        words = ["worker", "-n", name, "-c", str(PROCESSES), "--without-gossip", "--without-mingle"]
        command = [sys.executable, "-m", "celery", "-A", "bench.engines.celery_app:app", *words]
        environment = {**os.environ, BROKER: self.broker, QUEUE: self.queue}
        with subprocess.Popen(  # noqa: S603  (our own)
            command, env=environment, cwd=_ROOT, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
        ) as process:
            try:
                self._wait_until_ready(process, name)
                yield self
            finally:
                process.terminate()
                process.wait(_TIMEOUT)
                self._client.delete(self.queue, counter_of(self.queue))
                self._client.close()

    def _wait_until_ready(self, process: "subprocess.Popen[bytes]", name: str) -> None:
        with Celery(broker=self.broker, set_as_current=False) as app:
            for _ in range(int(_TIMEOUT)):
                if process.poll() is not None:
                    raise TickwiseError(f"celery worker ended with {process.returncode} before it was up")
                if app.control.inspect([name], timeout=1.0, limit=1).ping():
                    return
        raise TickwiseError("celery worker did not answer")

    @property
    def executed(self) -> int:
        return int(self._client.get(counter_of(self.queue)) or 0)

    def reset(self) -> None:
        self._client.delete(counter_of(self.queue))

    async def wait_until_executed(self, number: int) -> None:
        while self.executed < number:  # noqa: ASYNC110  (Redis is asked; it tells nobody)
            await asyncio.sleep(_LOOK_EVERY)
