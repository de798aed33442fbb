"""How many runs a second one call enqueues, beside a queue on the same server."""

from collections.abc import Mapping
from contextlib import AbstractAsyncContextManager
from importlib import import_module

from tickwise.core.definition import JobDefinition
from tickwise.stores.records import Enqueue

from ..measure import Figures, Progress
from ..postgres import connection, database, vacuum
from .contender import Contender, in_turns
from .end_to_end import installed, sqlite_file
from .prepared_store import open_sql_store
from .size import StoresSize

_JOB, _PARAMS = "job", {"customer": 4711, "file": "report.pdf"}


def name(size: StoresSize) -> str:
    return f"enqueue {size.many:,} in one call, PostgreSQL"


def figures(server: str, size: StoresSize, progress: Progress) -> Figures:
    ours = [
        EnqueueContender(database(server), size.many),
        EnqueueContender(database(server), size.many, _PARAMS),
        EnqueueContender(sqlite_file(), size.many),
    ]
    peers = installed([PgqueuerEnqueue(server, size.many)], progress)
    bare, with_params, on_sqlite, *theirs = in_turns(size.turns, [*ours, *peers])
    what = name(size)
    yield what, bare.best, "runs/s", None
    for peer, turns in zip(peers, theirs, strict=True):
        yield f"{what}, {peer.name}", bare.best, "runs/s", (peer.name, turns.best)
    yield f"{what}, with params", with_params.best, "runs/s", None
    yield f"enqueue {size.many:,} in one call, SQLite", on_sqlite.best, "runs/s", None


class EnqueueContender(Contender):
    """One call for all runs of a job."""

    name = "enqueue"

    def __init__(
        self,
        new_database: AbstractAsyncContextManager[str],
        due: int,
        params: Mapping[str, object] | None = None,
    ) -> None:
        super().__init__(due)
        self._new_database = new_database
        self._asked = [Enqueue(_JOB, params=params) for _ in range(due)]
        self._made: set[str] = set()

    async def open(self) -> None:
        self._url = await self.stack.enter_async_context(self._new_database)
        self._store = open_sql_store(self._url)
        self.stack.push_async_callback(self._store.close)
        await self._store.schema.upgrade()
        await self._store.define(JobDefinition(_JOB), "bench")

    async def prepare(self) -> None:
        """The runs of the turns before stay queued."""
        await vacuum(self._url)

    async def work(self) -> None:
        self._made = {one.id for one in await self._store.enqueue(self._asked) if one.new}

    async def done(self) -> int:
        return len(self._made)


class PgqueuerEnqueue(Contender):
    """The same by pgqueuer's own call for many."""

    name = "pgqueuer"

    def __init__(self, server: str, due: int) -> None:
        super().__init__(due)
        self._server = server

    async def open(self) -> None:
        queries = import_module("pgqueuer.queries").Queries
        self._url = await self.stack.enter_async_context(database(self._server))
        self._connection = await self.stack.enter_async_context(connection(self._url))
        self._queries = queries.from_asyncpg_connection(self._connection)
        await self._queries.install()

    async def prepare(self) -> None:
        await self._connection.execute("TRUNCATE pgqueuer, pgqueuer_log")
        await vacuum(self._url)

    async def work(self) -> None:
        await self._queries.enqueue(["nothing"] * self.due, [None] * self.due, [0] * self.due)

    async def done(self) -> int:
        return int(await self._connection.fetchval("SELECT count(*) FROM pgqueuer"))
