"""How many slots a second one ticker decides, in stores of several sizes."""

from tickwise.runtime.ticker import Ticker

from ..measure import Figures
from ..postgres import database, vacuum
from .contender import Contender, Turns, in_turns
from .node import NODE
from .prepared_store import PreparedStore
from .size import FULL, StoresSize


def name(size: StoresSize, stored: int) -> str:
    left_out = size is not FULL and stored == size.most
    return f"fire, {stored:,} stored" + (f" ({FULL.most:,}: --full)" if left_out else "")


def figures(server: str, size: StoresSize) -> Figures:
    contenders = [TickerContender(server, stored, size.due) for stored in size.stored]
    small, *larger = in_turns(size.rounds, contenders)
    smallest = f"{size.stored[0]:,} stored"
    yield name(size, size.stored[0]), small.best, "fires/s", None
    for stored, turns in zip(size.stored[1:], larger, strict=True):
        yield name(size, stored), turns.best, "fires/s", (smallest, small.best)
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
        self._url = await self.stack.enter_async_context(database(self._server))
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
