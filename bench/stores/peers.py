"""The peers, each used as its own documentation shows.

APScheduler fires and runs, and keeps no record of how a run ended. procrastinate and pgqueuer are queues that fire
periodic tasks one by one; their tasks are enqueued in bulk, off the clock.
"""

import asyncio
import pickle
from contextlib import AbstractAsyncContextManager, AsyncExitStack
from datetime import UTC, datetime, timedelta
from importlib import import_module
from typing import Any

from ..postgres import connection, database, vacuum
from .contender import Contender
from .node import do_nothing


class Apscheduler(Contender):
    """APScheduler 3 on the event loop, with SQLAlchemyJobStore over a database URL."""

    name = "APScheduler"

    def __init__(self, new_database: AbstractAsyncContextManager[str], due: int) -> None:
        super().__init__(due)
        self._new_database = new_database
        self._unfinished = 0
        self._all_ran = asyncio.Event()

    async def open(self) -> None:
        url = await self.stack.enter_async_context(self._new_database)
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
        await asyncio.sleep(0)  # it shuts down in the next iteration of the loop

    async def prepare(self) -> None:
        """Insert copies of one job at once: adding them one by one takes longer than running them."""
        self._scheduler.remove_all_jobs()
        past = datetime.now(UTC) - timedelta(seconds=1)
        job = self._scheduler.add_job(do_nothing, "interval", days=1, id="job", next_run_time=past)
        state = job.__getstate__()
        self._scheduler.remove_all_jobs()
        rows = [
            {"id": name, "next_run_time": past.timestamp(), "job_state": pickle.dumps({**state, "id": name})}
            for name in (f"job-{n}" for n in range(self.due))
        ]
        with self._store.engine.begin() as connected:
            connected.execute(self._store.jobs_t.insert(), rows)
        await vacuum(self._url)
        self._unfinished = self.due
        self._all_ran.clear()

    async def work(self) -> None:
        self._scheduler.resume()
        await self._all_ran.wait()

    def _ran(self, _event: Any) -> None:
        self._unfinished -= 1
        if not self._unfinished:
            self._all_ran.set()

    async def done(self) -> int:
        self._scheduler.pause()
        now = datetime.now(UTC)
        return sum(job.next_run_time > now for job in self._scheduler.get_jobs())


class Procrastinate(Contender):
    """A worker of procrastinate, with a number of connections that suits it."""

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
        self._task = self._app.task(do_nothing, name="nothing")
        await self.stack.enter_async_context(self._app.open_async())
        await self._app.schema_manager.apply_schema_async()

    async def prepare(self) -> None:
        async with connection(self._url) as connected:
            await connected.execute("TRUNCATE procrastinate_jobs CASCADE")
        await self._task.batch_defer_async(*({} for _ in range(self.due)))
        await vacuum(self._url)

    async def work(self) -> None:
        await self._app.run_worker_async(
            concurrency=self._CONCURRENCY, wait=False, listen_notify=False, install_signal_handlers=False
        )

    async def done(self) -> int:
        async with connection(self._url) as connected:
            return int(
                await connected.fetchval("SELECT count(*) FROM procrastinate_jobs WHERE status = 'succeeded'")
            )


class Pgqueuer(Contender):
    """Managers of pgqueuer in one process, with a batch size that suits it, on the event loop that it prefers."""

    name = "pgqueuer"
    _MANAGERS, _BATCH = 2, 200

    def __init__(self, server: str, due: int) -> None:
        super().__init__(due)
        self._server = server
        self._turn = AsyncExitStack()
        self._managers: list[Any] = []
        self.new_loop = getattr(_import_optional("uvloop"), "new_event_loop", None)

    async def open(self) -> None:
        self._queries = import_module("pgqueuer.queries").Queries
        self._url = await self.stack.enter_async_context(database(self._server))
        async with connection(self._url) as connected:
            await self._queries.from_asyncpg_connection(connected).install()

    async def prepare(self) -> None:
        async with connection(self._url) as connected:
            await connected.execute("TRUNCATE pgqueuer, pgqueuer_log")
            await self._queries.from_asyncpg_connection(connected).enqueue(
                ["nothing"] * self.due, [None] * self.due, [0] * self.due
            )
        await vacuum(self._url)
        self._managers = [await self._manager() for _ in range(self._MANAGERS)]

    async def _manager(self) -> Any:
        connected = await self._turn.enter_async_context(connection(self._url))
        manager = import_module("pgqueuer.qm").QueueManager(self._queries.from_asyncpg_connection(connected))

        async def run(_job: Any) -> None:
            await do_nothing()

        manager.entrypoint("nothing")(run)
        return manager

    async def work(self) -> None:
        drain = import_module("pgqueuer.types").QueueExecutionMode.drain
        await asyncio.gather(*(manager.run(batch_size=self._BATCH, mode=drain) for manager in self._managers))

    async def done(self) -> int:
        await self._turn.aclose()
        async with connection(self._url) as connected:
            return int(await connected.fetchval("SELECT count(*) FROM pgqueuer_log WHERE status = 'successful'"))


def _import_optional(name: str) -> Any:
    try:
        return import_module(name)
    except ImportError:
        return None
