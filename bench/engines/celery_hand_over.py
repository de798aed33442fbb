"""Tickwise as a contender: runs are enqueued in one call, and a server hands them over to Celery's workers."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory

from tickwise.core.definition import EngineUse, JobDefinition
from tickwise.core.states import RunState
from tickwise.stores.pages import all_pages
from tickwise.stores.records import MICRO, Enqueue, RunFilter, RunRow

from ..postgres import database, free_port
from ..runtime.server_process import run_server
from ..stores.contender import Contender, WrongResultError
from ..stores.prepared_store import open_sql_store
from .celery_app import TASK
from .celery_worker import CeleryWorker

_LOOK_EVERY = 0.05  # seconds
_JOB = JobDefinition("job", engine=EngineUse("celery", {"task": TASK}))
_SETTINGS = """
api_url = "http://127.0.0.1:{port}"

[engines.celery]
kind = "celery"
broker = "{worker.broker}"
queue = "{worker.queue}"
"""


class HandOverContender(Contender):
    """A server over PostgreSQL, its API, and a worker of Celery."""

    name = "Tickwise"

    def __init__(self, server: str, broker: str, due: int) -> None:
        super().__init__(due)
        self._server = server
        self._broker = broker
        self.begun: list[float] = []  # runs a second until the last has begun, turn by turn

    async def open(self) -> None:
        url = await self.stack.enter_async_context(database(self._server))
        self._store = open_sql_store(url)
        self.stack.push_async_callback(self._store.close)
        await self._store.schema.upgrade()
        await self._store.define(_JOB, "bench")
        self._worker = self.stack.enter_context(CeleryWorker(self._broker).running())
        self.stack.enter_context(_serving(url, self._worker))
        await self._hand_over(1)  # the server and the worker open their connections

    async def prepare(self) -> None:
        self._worker.reset()

    async def work(self) -> None:
        self._runs = await self._hand_over(self.due)

    async def _hand_over(self, number: int) -> list[RunRow]:
        """Enqueue runs, and wait until the end of each is stored."""
        made = await self._store.enqueue([Enqueue(_JOB.name) for _ in range(number)])
        while (await self._store.insights.counts()).runs.get(RunState.SUCCEEDED, 0) < int(made[-1].id):
            await self._store.wait(_LOOK_EVERY)
        newest = RunFilter(job=_JOB.name)
        rows = await all_pages(lambda after: self._store.insights.runs(newest, after=after, limit=1_000))
        return rows[:number]

    async def done(self) -> int:
        """Each run began once, by the gate."""
        begun = [row.hand_over.begun_at for row in self._runs if row.attempt == 1 and row.hand_over]
        if len(begun) != self._worker.executed:
            raise WrongResultError(
                f"{len(begun):,} runs have begun, and {self._worker.executed:,} tasks were executed"
            )
        first = min(row.created_at for row in self._runs)
        self.begun.append(self.due / (max(at or 0 for at in begun) - first) * MICRO)
        return len(begun)


@contextmanager
def _serving(store: str, worker: CeleryWorker) -> Iterator[None]:
    """A server that hands over to the worker's queue, until the block ends."""
    port = free_port()
    with TemporaryDirectory(prefix="tickwise-bench-") as folder:
        settings = Path(folder, "tickwise.toml")
        settings.write_text(_SETTINGS.format(port=port, worker=worker), "utf-8")
        with run_server(store, "--config", str(settings), port=port):
            yield
