"""How many slots a second one ticker decides on each store, by nothing but the contract."""

import asyncio
from contextlib import AsyncExitStack
from pathlib import Path
from tempfile import TemporaryDirectory

from ...core.cron import parse
from ...core.definition import JobDefinition, ScheduleDefinition
from ...core.errors import InputError
from ...core.planner import plan
from ...core.settle import Succeeded
from ...stores.records import MICRO, Finish, LeaseRequest, Node, Role
from ...stores.url import open_store
from ..measure import Figures, Progress
from ..mongodb import mongodb, own_database
from .contender import Contender, in_turns
from .databases import database, tidy
from .load import Size
from .ours import NODE

POSTGRES = "PostgreSQL"
_TEXT, _MINUTE = "* * * * *", 60
_START = 1_767_225_600  # the first second of 2026
_AT_ONCE, _TOGETHER = 200, 50


def figures(server: str, size: Size, progress: Progress) -> Figures:
    """In memory, on SQLite, PostgreSQL and MongoDB, each beside PostgreSQL."""
    with TemporaryDirectory(prefix="tickwise-bench-") as folder:
        urls = {"memory": "memory://", "SQLite": f"sqlite:///{Path(folder, 'each.db')}", POSTGRES: server}
        try:
            with mongodb() as url:
                yield from _compared({**urls, "MongoDB": url}, size)
        except InputError as error:
            progress(f"note: MongoDB is left out: {error}")
            yield from _compared(urls, size)


def name(size: Size, store: str) -> str:
    return f"fire, {size.due:,} due, {store}"


def _compared(urls: dict[str, str], size: Size) -> Figures:
    rates = dict(zip(urls, in_turns(size.turns, [_Fires(url, size.due) for url in urls.values()]), strict=True))
    for store, turns in rates.items():
        peer = None if store == POSTGRES else (POSTGRES, rates[POSTGRES].best)
        yield name(size, store), turns.best, "fires/s", peer


class _Fires(Contender):
    """A ticker alone, on a clock that is moved to the next slot before each turn."""

    def __init__(self, url: str, due: int) -> None:
        super().__init__(due)
        self.name = f"the ticker on {url.partition(':')[0]}"
        self._url = url
        self._now = _START * MICRO
        self._made = 0

    async def open(self) -> None:
        self._url = await _empty(self._url, self.stack)
        self._store = open_store(self._url, clock=lambda: self._now)
        self.stack.push_async_callback(self._store.close)
        await self._store.schema.upgrade()
        await self._store.beat(Node(NODE, (Role.WORKER,), queues=("default",), seconds=10**6))
        jobs = [_job(f"job-{number}") for number in range(self.due)]
        for first in range(0, self.due, _TOGETHER):
            await asyncio.gather(*(self._store.define(job, "bench") for job in jobs[first : first + _TOGETHER]))

    async def prepare(self) -> None:
        """End what was fired before, and let a minute pass."""
        everything = LeaseRequest(NODE, _AT_ONCE, functions=frozenset(f"job-{n}" for n in range(self.due)))
        while leases := await self._store.lease(everything):
            await self._store.finish([Finish(lease.id, lease.token, Succeeded()) for lease in leases])
        await self._fire()
        await tidy(self._url)
        self._now += _MINUTE * MICRO

    async def work(self) -> None:
        self._made = await self._fire()

    async def _fire(self) -> int:
        made, more = 0, True
        while more:
            ticked = await self._store.tick(plan, NODE, limit=_AT_ONCE)
            made, more = made + ticked.runs, ticked.more
        return made

    async def done(self) -> int:
        return self._made


async def _empty(url: str, stack: AsyncExitStack) -> str:
    """A place on a server that is nobody else's."""
    if url.startswith("postgresql"):
        return await stack.enter_async_context(database(url))
    return stack.enter_context(own_database(url)) if url.startswith("mongodb") else url


def _job(name_: str) -> JobDefinition:
    schedule = ScheduleDefinition(name_, name_, parse(_TEXT), _TEXT)
    return JobDefinition(name_, schedules=(schedule,))
