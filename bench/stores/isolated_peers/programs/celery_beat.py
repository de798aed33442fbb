"""Celery beat: its scheduler is called as the command calls it, and each tick sends the entry that is due first.

The broker is Celery's own in memory, so that beat waits for nothing; the schedule is in a file, as by default.
`python -m programs.celery_beat STORED DUE`.
"""

import asyncio
import sys
from datetime import UTC, datetime, timedelta
from importlib import import_module
from pathlib import Path
from tempfile import TemporaryDirectory

from .protocol import serve

_DAY = timedelta(days=1)


class CeleryBeatPeer:
    """Entries of which some are due, and one more that is sent off the clock."""

    def __init__(self, stored: int, due: int, folder: str) -> None:
        self._stored, self._due = stored, due
        self._folder = Path(folder)
        self._app = import_module("celery").Celery(broker="memory://")
        self._app.task(_nothing, name="nothing")

    async def prepare(self) -> None:
        """Make a new schedule. On its first tick, beat reads all entries and writes its file."""
        for file in self._folder.iterdir():
            file.unlink()
        self._app.control.purge()
        now = datetime.now(UTC)
        self._app.conf.beat_schedule = {
            f"entry-{n}": {"task": "nothing", "schedule": _DAY, "last_run_at": now - 2 * _DAY * (n <= self._due)}
            for n in range(self._stored + 1)
        }
        persistent = import_module("celery.beat").PersistentScheduler
        self._scheduler = persistent(self._app, schedule_filename=str(self._folder / "schedule"))
        self._scheduler.tick()

    async def work(self) -> None:
        while self._scheduler.tick() == 0:
            pass

    async def done(self) -> int:
        self._scheduler.close()
        with self._app.connection_for_read() as connected:
            return int(connected.default_channel.queue_declare("celery", passive=True).message_count) - 1


def _nothing() -> None: ...


if __name__ == "__main__":
    with TemporaryDirectory(prefix="tickwise-bench-") as own:
        asyncio.run(serve(CeleryBeatPeer(int(sys.argv[1]), int(sys.argv[2]), own)))
