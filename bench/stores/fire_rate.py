"""How many slots a second one ticker decides, in SQL stores of several sizes."""

from collections.abc import Generator, Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory

from tickwise.core.errors import InputError
from tickwise.runtime.ticker import Ticker

from ..measure import Figure, Figures, Progress
from ..mysql import mysql
from ..postgres import vacuum
from .backends import new_database
from .contender import Contender, Turns, in_turns
from .node import NODE
from .prepared_store import PreparedStore
from .size import FULL, StoresSize

MARIADB, SQLITE = "MariaDB", "SQLite"


def name(size: StoresSize, stored: int, where: str = "") -> str:
    """The row of a store, of PostgreSQL if none is named."""
    left_out = size is not FULL and stored == size.most
    return (
        f"fire, {stored:,} stored" + (f", {where}" if where else "")
        + (f" ({FULL.most:,}: --full)" if left_out else "")
    )  # fmt: skip


def figures(server: str, size: StoresSize, progress: Progress) -> Figures:
    """PostgreSQL, then SQLite and MariaDB."""
    small = yield from _grown(server, size, "")
    yield from _rotating(server, size, small)
    for where, start in ((SQLITE, _sqlite), (MARIADB, mysql)):
        progress(f"measuring {where} of several sizes")
        try:
            with start() as url:
                yield from _grown(url, size, where)
        except InputError as error:
            progress(f"note: {where} is left out: {error}")


@contextmanager
def _sqlite() -> Iterator[str]:
    with TemporaryDirectory(prefix="tickwise-bench-") as folder:
        yield f"sqlite:///{Path(folder, 'bench.db')}"


def _grown(url: str, size: StoresSize, where: str) -> Generator[Figure, None, Turns]:
    contenders = [TickerContender(url, stored, size.due) for stored in size.stored]
    small, *larger = in_turns(size.rounds, contenders)
    smallest = f"{size.stored[0]:,} stored"
    yield name(size, size.stored[0], where), small.best, "fires/s", None
    for stored, turns in zip(size.stored[1:], larger, strict=True):
        yield name(size, stored, where), turns.best, "fires/s", (smallest, small.best)
    return small


def _rotating(server: str, size: StoresSize, small: Turns) -> Figures:
    smallest = f"{size.stored[0]:,} stored"
    what, turns = f"fire, {size.most:,} stored, others each turn", _measure_rotating(server, size)
    yield what, turns.best, "fires/s", (smallest, small.best)
    yield f"{what}, median turn", turns.median, "fires/s", (smallest, small.median)


def _measure_rotating(server: str, size: StoresSize) -> Turns:
    """Only the second half counts: in the first, the node has to read the definitions."""
    rounds = min(size.rounds, size.most // size.due)
    [turns] = in_turns(2 * rounds, [RotatingTickerContender(server, size.most, size.due, rounds)])
    return Turns(turns.rates[rounds:])


class TickerContender(Contender):
    """A ticker without workers; its runs stay queued."""

    def __init__(self, server: str, stored: int, due: int) -> None:
        super().__init__(due)
        self.name = f"the ticker over {stored:,} schedules"
        self._server = server
        self._stored = stored

    async def open(self) -> None:
        self._url = await new_database(self._server, self.stack)
        self._prepared = await PreparedStore.create(self._url, stored=self._stored, due=self.due)
        self.stack.push_async_callback(self._prepared.store.close)
        self._ticker = Ticker(self._prepared.store, NODE)

    async def prepare(self) -> None:
        await self._prepared.make_due()
        await vacuum(self._url)

    async def work(self) -> None:
        await self._ticker.turn()

    async def done(self) -> int:
        return await self._prepared.count_runs(finished=False)


class RotatingTickerContender(TickerContender):
    """Each turn decides other schedules than the turn before, whose rows were not written since all were made due.

    After `rounds` turns all are made due again.
    """

    def __init__(self, server: str, stored: int, due: int, rounds: int) -> None:
        super().__init__(server, stored, due)
        self._rounds = rounds
        self._turn = 0

    async def prepare(self) -> None:
        if self._turn % self._rounds:
            await self._prepared.advance_minute()
        else:
            await self._prepared.make_all_due()
        self._turn += 1
        await vacuum(self._url)
