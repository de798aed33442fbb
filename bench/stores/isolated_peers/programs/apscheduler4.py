"""APScheduler 4, a pre-release: one scheduler on the loop, its data store over asyncpg and its local event broker.

It fires, runs, and keeps no record of how a run ended. `python -m programs.apscheduler4 URL DUE`.
"""

import asyncio
import sys
from datetime import UTC, datetime, timedelta

from apscheduler import AsyncScheduler, JobOutcome, JobReleased
from apscheduler.datastores.sqlalchemy import SQLAlchemyDataStore
from apscheduler.triggers.interval import IntervalTrigger
from sqlalchemy.ext.asyncio import create_async_engine

from .protocol import serve

_TASK = "nothing"


class ApschedulerPeer:
    """Daily schedules that are due once."""

    def __init__(self, scheduler: AsyncScheduler, due: int) -> None:
        self._scheduler = scheduler
        self._due = due
        self._succeeded = 0
        self._all_ended = asyncio.Event()
        scheduler.subscribe(self._ended, {JobReleased})

    async def prepare(self) -> None:
        """By default a task runs once at a time, so the limit is raised."""
        for old in await self._scheduler.get_schedules():
            await self._scheduler.remove_schedule(old.id)
        await self._scheduler.configure_task(_TASK, func=_nothing, max_running_jobs=self._due)
        past = datetime.now(UTC) - timedelta(seconds=1)
        for n in range(self._due):
            await self._scheduler.add_schedule(_TASK, IntervalTrigger(days=1, start_time=past), id=f"schedule-{n}")
        self._succeeded = 0
        self._all_ended.clear()

    async def work(self) -> None:
        await self._scheduler.start_in_background()
        await self._all_ended.wait()

    def _ended(self, event: JobReleased) -> None:
        self._succeeded += int(event.outcome is JobOutcome.success)
        if self._succeeded == self._due:
            self._all_ended.set()

    async def done(self) -> int:
        await self._scheduler.stop()
        await self._scheduler.wait_until_stopped()
        now = datetime.now(UTC)
        fired: int = sum(schedule.next_fire_time > now for schedule in await self._scheduler.get_schedules())
        return min(self._succeeded, fired)


async def _nothing() -> None: ...


async def _main(url: str, due: int) -> None:
    engine = create_async_engine(url.replace("postgresql://", "postgresql+asyncpg://"))
    async with AsyncScheduler(SQLAlchemyDataStore(engine)) as scheduler:
        await serve(ApschedulerPeer(scheduler, due))
    await engine.dispose()


if __name__ == "__main__":
    asyncio.run(_main(sys.argv[1], int(sys.argv[2])))
