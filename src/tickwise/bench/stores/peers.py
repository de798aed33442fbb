"""The peers, each used as its own documentation shows.

APScheduler fires and runs, and keeps no record of how a run ended. procrastinate and pgqueuer are queues that fire
periodic tasks one by one: what they run is queued for them in bulk, off the clock.
"""

import asyncio
import pickle
from contextlib import AbstractAsyncContextManager, AsyncExitStack
from datetime import UTC, datetime, timedelta
from importlib import import_module
from typing import Any

from .contender import Contender
from .databases import connection, database, tidy
from .ours import nothing


class Apscheduler(Contender):
    """APScheduler 3 on the loop, with SQLAlchemyJobStore in a place that a URL names."""

    name = "APScheduler"

    def __init__(self, place: AbstractAsyncContextManager[str], due: int) -> None:
        super().__init__(due)
        self._place = place
        self._left = 0
        self._all_ran = asyncio.Event()

    async def open(self) -> None:
        url = await self.stack.enter_async_context(self._place)
        self._url = url
        store = import_module("apscheduler.jobstores.sqlalchemy").SQLAlchemyJobStore
        self._store = store(url=url.replace("postgresql://", "postgresql+psycopg://"))
        self.stack.callback(self._store.shutdown)
        self._scheduler = import_module("apscheduler.schedulers.asyncio").AsyncIOScheduler(
            jobstores={"default": self._store}, job_defaults={"misfire_grace_time": None}, timezone=UTC
        )
        self._scheduler.start(paused=True)
        self.stack.push_async_callback(self._shut_down)
        self._scheduler.add_listener(self._ran, import_module("apscheduler.events").EVENT_JOB_EXECUTED)

    async def _shut_down(self) -> None:
        self._scheduler.shutdown()
        await asyncio.sleep(0)  # it does so in the next pass of the loop

    async def prepare(self) -> None:
        """Copies of one job, put into the table at once: to add them one by one takes longer than to run them."""
        self._scheduler.remove_all_jobs()
        past = datetime.now(UTC) - timedelta(seconds=1)
        job = self._scheduler.add_job(nothing, "interval", days=1, id="job", next_run_time=past)
        state = job.__getstate__()
        self._scheduler.remove_all_jobs()
        rows = [
            {"id": name, "next_run_time": past.timestamp(), "job_state": pickle.dumps({**state, "id": name})}
            for name in (f"job-{n}" for n in range(self.due))
        ]
        with self._store.engine.begin() as connected:
            connected.execute(self._store.jobs_t.insert(), rows)
        await tidy(self._url)
        self._left = self.due
        self._all_ran.clear()

    async def work(self) -> None:
        self._scheduler.resume()
        await self._all_ran.wait()

    def _ran(self, _event: Any) -> None:
        self._left -= 1
        if not self._left:
            self._all_ran.set()

    async def done(self) -> int:
        self._scheduler.pause()
        now = datetime.now(UTC)
        return sum(job.next_run_time > now for job in self._scheduler.get_jobs())


class Procrastinate(Contender):
    """A worker of procrastinate, with as many connections as serve it well."""

    name = "procrastinate"
    _CONCURRENCY, _CONNECTIONS = 50, 10

    def __init__(self, server: str, due: int) -> None:
        super().__init__(due)
        self._server = server

    async def open(self) -> None:
        procrastinate = import_module("procrastinate")
        self._url = await self.stack.enter_async_context(database(self._server))
        pool = procrastinate.PsycopgConnector(
            conninfo=self._url, min_size=self._CONNECTIONS, max_size=self._CONNECTIONS
        )
        self._app = procrastinate.App(connector=pool)
        self._task = self._app.task(nothing, name="nothing")
        await self.stack.enter_async_context(self._app.open_async())
        await self._app.schema_manager.apply_schema_async()

    async def prepare(self) -> None:
        async with connection(self._url) as asked:
            await asked.execute("TRUNCATE procrastinate_jobs CASCADE")
        await self._task.batch_defer_async(*({} for _ in range(self.due)))
        await tidy(self._url)

    async def work(self) -> None:
        await self._app.run_worker_async(
            concurrency=self._CONCURRENCY, wait=False, listen_notify=False, install_signal_handlers=False
        )

    async def done(self) -> int:
        async with connection(self._url) as asked:
            return int(await asked.fetchval("SELECT count(*) FROM procrastinate_jobs WHERE status = 'succeeded'"))


class Pgqueuer(Contender):
    """Managers of pgqueuer in one process, with batches that serve it well, on the loop that it prefers."""

    name = "pgqueuer"
    _MANAGERS, _BATCH = 2, 200

    def __init__(self, server: str, due: int) -> None:
        super().__init__(due)
        self._server = server
        self._turn = AsyncExitStack()
        self._managers: list[Any] = []
        self.new_loop = getattr(_imported("uvloop"), "new_event_loop", None)

    async def open(self) -> None:
        self._queries = import_module("pgqueuer.queries").Queries
        self._url = await self.stack.enter_async_context(database(self._server))
        async with connection(self._url) as asked:
            await self._queries.from_asyncpg_connection(asked).install()

    async def prepare(self) -> None:
        async with connection(self._url) as asked:
            await asked.execute("TRUNCATE pgqueuer, pgqueuer_log")
            await self._queries.from_asyncpg_connection(asked).enqueue(
                ["nothing"] * self.due, [None] * self.due, [0] * self.due
            )
        await tidy(self._url)
        self._managers = [await self._manager() for _ in range(self._MANAGERS)]

    async def _manager(self) -> Any:
        own = await self._turn.enter_async_context(connection(self._url))
        manager = import_module("pgqueuer.qm").QueueManager(self._queries.from_asyncpg_connection(own))

        async def run(_job: Any) -> None:
            await nothing()

        manager.entrypoint("nothing")(run)
        return manager

    async def work(self) -> None:
        drain = import_module("pgqueuer.types").QueueExecutionMode.drain
        await asyncio.gather(*(manager.run(batch_size=self._BATCH, mode=drain) for manager in self._managers))

    async def done(self) -> int:
        await self._turn.aclose()
        async with connection(self._url) as asked:
            return int(await asked.fetchval("SELECT count(*) FROM pgqueuer_log WHERE status = 'successful'"))


def _imported(name: str) -> Any:
    try:
        return import_module(name)
    except ImportError:
        return None
