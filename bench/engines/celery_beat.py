"""Celery beat as a contender: its scheduler is called as the command calls it, and a worker executes the tasks."""

import asyncio
from datetime import UTC, datetime, timedelta
from pathlib import Path
from tempfile import TemporaryDirectory
from time import perf_counter

from celery import Celery
from celery.beat import PersistentScheduler

from ..stores.contender import Contender
from .celery_app import TASK
from .celery_worker import CeleryWorker

_DAY = timedelta(days=1)


class BeatContender(Contender):
    """Publishes entries that are all due."""

    name = "Celery beat"

    def __init__(self, broker: str, due: int) -> None:
        super().__init__(due)
        self._broker = broker
        self.published: list[float] = []  # messages a second, turn by turn

    async def open(self) -> None:
        self._worker = self.stack.enter_context(CeleryWorker(self._broker).running())
        self._folder = Path(self.stack.enter_context(TemporaryDirectory(prefix="tickwise-bench-")))

    async def prepare(self) -> None:
        """Make a new schedule. On its first tick, beat reads all entries and writes its file."""
        for file in self._folder.iterdir():
            file.unlink()
        self._worker.reset()
        app = Celery("beat", broker=self._broker, set_as_current=False)
        app.conf.task_default_queue = self._worker.queue
        due_since = datetime.now(UTC) - 2 * _DAY
        app.conf.beat_schedule = {
            f"entry-{number}": {"task": TASK, "schedule": _DAY, "last_run_at": due_since}
            for number in range(self.due + 1)
        }
        self._scheduler = PersistentScheduler(app, schedule_filename=str(self._folder / "schedule"))
        self._scheduler.tick()
        await self._worker.wait_until_executed(1)
        self._worker.reset()

    async def work(self) -> None:
        await asyncio.to_thread(self._publish)
        await self._worker.wait_until_executed(self.due)

    def _publish(self) -> None:
        begun = perf_counter()
        while self._scheduler.tick() == 0:
            pass
        self.published.append(self.due / (perf_counter() - begun))

    async def done(self) -> int:
        self._scheduler.close()
        return self._worker.executed
