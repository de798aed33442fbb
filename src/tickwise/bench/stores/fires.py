"""How many slots a second one ticker decides, and that the number of stored schedules does not matter."""

from ...runtime.ticker import Ticker
from ..measure import Figures
from .bed import Bed
from .contender import Contender, Turns, in_turns
from .databases import database, tidy
from .load import FULL, Size
from .ours import NODE


def name(size: Size, stored: int) -> str:
    left_out = size is not FULL and stored == size.most
    return f"fire, {stored:,} stored" + (f" ({FULL.most:,}: --full)" if left_out else "")


def figures(server: str, size: Size) -> Figures:
    contenders = [Fires(server, stored, size.due) for stored in size.stored]
    least, *larger = in_turns(size.rounds, contenders)
    smallest = f"{size.stored[0]:,} stored"
    yield name(size, size.stored[0]), least.best, "fires/s", None
    for stored, turns in zip(size.stored[1:], larger, strict=True):
        yield name(size, stored), turns.best, "fires/s", (smallest, least.best)
    others, met = f"fire, {size.most:,} stored, others each turn", _others(server, size)
    yield others, met.best, "fires/s", (smallest, least.best)
    yield f"{others}, median turn", met.median, "fires/s", (smallest, least.median)


def _others(server: str, size: Size) -> Turns:
    """The second time that they are due: before, the node has to read what they are."""
    rounds = min(size.rounds, size.most // size.due)
    [turns] = in_turns(2 * rounds, [Others(server, size.most, size.due, rounds)])
    return Turns(turns.rates[rounds:])


class Fires(Contender):
    """A ticker alone; the runs that it makes stay queued."""

    def __init__(self, server: str, stored: int, due: int) -> None:
        super().__init__(due)
        self.name = f"the ticker over {stored:,} schedules"
        self._server = server
        self._stored = stored

    async def open(self) -> None:
        self._url = await self.stack.enter_async_context(database(self._server))
        self._bed = await Bed.laid(self._url, stored=self._stored, due=self.due)
        self.stack.push_async_callback(self._bed.store.close)
        self._ticker = Ticker(self._bed.store, NODE)

    async def prepare(self) -> None:
        await self._bed.arm()
        await tidy(self._url)

    async def work(self) -> None:
        await self._ticker.turn()

    async def done(self) -> int:
        return await self._bed.runs(finished=False)


class Others(Fires):
    """Each turn decides others than the turn before, whose rows nobody has touched since all were armed.

    After so many rounds all are armed again.
    """

    def __init__(self, server: str, stored: int, due: int, rounds: int) -> None:
        super().__init__(server, stored, due)
        self._rounds = rounds
        self._turn = 0

    async def prepare(self) -> None:
        if self._turn % self._rounds:
            await self._bed.pass_minute()
        else:
            await self._bed.arm_all()
        self._turn += 1
        await tidy(self._url)
