"""How many slots a second one ticker decides on each kind of store, through the store contract only."""

import asyncio
from contextlib import AsyncExitStack, ExitStack
from pathlib import Path
from tempfile import TemporaryDirectory
from uuid import uuid4

from tickwise.core.cron import parse
from tickwise.core.definition import JobDefinition, ScheduleDefinition
from tickwise.core.errors import InputError
from tickwise.core.requirements import Offers
from tickwise.core.settle import Succeeded
from tickwise.runtime.ticker import Ticker
from tickwise.stores.records import MICRO, Finish, LeaseRequest, Node, Role, TickResult
from tickwise.stores.url import open_store

from ..measure import Figures, Progress
from ..mongodb import mongodb, own_database
from ..mysql import mysql, own_mysql_database
from ..postgres import database, vacuum
from ..redis import own_store, redis
from .bare_writes import BareWrites
from .contender import Contender, in_turns
from .node import NODE
from .size import StoresSize

POSTGRES, MONGODB = "PostgreSQL", "MongoDB"
BARE = "bare writes"
_TEXT, _MINUTE = "* * * * *", 60
_START = 1_767_225_600  # the first second of 2026
_BATCH_SIZE, _CONCURRENT_DEFINES = 200, 50


def figures(server: str, size: StoresSize, progress: Progress) -> Figures:
    """Measure memory, SQLite, PostgreSQL, MariaDB, MongoDB and Redis, each beside PostgreSQL."""
    with TemporaryDirectory(prefix="tickwise-bench-") as folder, ExitStack() as servers:
        urls = {"memory": "memory://", "SQLite": f"sqlite:///{Path(folder, 'bench.db')}", POSTGRES: server}
        for store, start in (("MariaDB", mysql), (MONGODB, mongodb), ("Redis", redis)):
            try:
                urls[store] = servers.enter_context(start())
            except InputError as error:
                progress(f"note: {store} is left out: {error}")
        yield from _compare(urls, size)


def name(size: StoresSize, store: str) -> str:
    return f"fire, {size.due:,} due, {store}"


def at_least(size: StoresSize) -> str:
    """The row of MongoDB that has a bound instead of a peer."""
    return f"{name(size, MONGODB)}, at least"


def _compare(urls: dict[str, str], size: StoresSize) -> Figures:
    contenders: dict[str, Contender] = {store: _BackendTicker(url, size.due) for store, url in urls.items()}
    if MONGODB in urls:
        contenders[BARE] = BareWrites(urls[MONGODB], size.due)
    rates = dict(zip(contenders, in_turns(size.turns, [*contenders.values()]), strict=True))
    bare = rates.pop(BARE, None)
    for store, turns in rates.items():
        peer = None if store == POSTGRES else (POSTGRES, rates[POSTGRES].best)
        yield name(size, store), turns.best, "fires/s", peer
        if store == MONGODB:
            yield at_least(size), turns.best, "fires/s", None
            if bare:
                yield f"{name(size, MONGODB)}, {BARE}", turns.best, "fires/s", (BARE, bare.best)


class _BackendTicker(Contender):
    """A ticker without workers, on a clock that advances to the next slot before each turn."""

    def __init__(self, url: str, due: int) -> None:
        super().__init__(due)
        self.name = f"the ticker on {url.partition(':')[0]}"
        self._url = url
        self._now = _START * MICRO
        self._made = self._fired = 0

    async def open(self) -> None:
        self._url = await new_database(self._url, self.stack)
        self._store = open_store(self._url, clock=lambda: self._now)
        self.stack.push_async_callback(self._store.close)
        self._ticker = Ticker(self._store, NODE, on_pass=self._passed)
        await self._store.schema.upgrade()
        await self._store.beat(Node(NODE, (Role.WORKER,), queues=("default",), seconds=10**6))
        jobs = [_job(f"job-{number}") for number in range(self.due)]
        for first in range(0, self.due, _CONCURRENT_DEFINES):
            await asyncio.gather(
                *(self._store.define(job, "bench") for job in jobs[first : first + _CONCURRENT_DEFINES])
            )

    async def prepare(self) -> None:
        """Finish the runs of the turn before, and advance the clock by a minute."""
        all_runs = LeaseRequest(NODE, _BATCH_SIZE, offers=Offers.of(f"job-{n}" for n in range(self.due)))
        while leases := await self._store.lease(all_runs):
            await self._store.finish([Finish(lease.id, lease.token, Succeeded()) for lease in leases])
        await self._fire()
        await vacuum(self._url)
        self._now += _MINUTE * MICRO

    async def work(self) -> None:
        self._made = await self._fire()

    async def _fire(self) -> int:
        before = self._fired
        await self._ticker.turn()
        return self._fired - before

    def _passed(self, ticked: TickResult) -> None:
        self._fired += ticked.runs

    async def done(self) -> int:
        return self._made


async def new_database(url: str, stack: AsyncExitStack) -> str:
    """The URL of an empty database on the server."""
    if url.startswith("postgresql"):
        return await stack.enter_async_context(database(url))
    if url.startswith("redis"):
        return stack.enter_context(own_store(url))
    if url.startswith("mysql"):
        return stack.enter_context(own_mysql_database(url))
    if url.startswith("mongodb"):
        return stack.enter_context(own_database(url))
    return f"{url}-{uuid4().hex}" if url.startswith("sqlite") else url


def _job(key: str) -> JobDefinition:
    schedule = ScheduleDefinition(key, key, parse(_TEXT), _TEXT)
    return JobDefinition(key, schedules=(schedule,))
