"""How one process fares over more and more stored schedules, of which as many as ever are due."""

from typing import cast

from ...stores.sql.store import SqlStore
from ..measure import Progress
from ..stores.bed import Bed
from ..stores.contender import in_turns
from ..stores.databases import database
from ..stores.member import Claim, Timed
from ..stores.ours import Ours, nothing
from .curve import Curve, Point
from .load import Size


def curve(server: str, size: Size, progress: Progress) -> Curve:
    """In turns, so that a slow minute hits all sizes; the first, in which definitions are read, does not count."""
    progress(f"filling stores with up to {size.stored[-1]:,} schedules and working on them in turns")
    contenders = [_Grown(server, stored, min(stored, size.due)) for stored in size.stored]
    rates = in_turns(size.rounds + 1, contenders)
    title = f"One process over so many schedules, at most {size.due:,} due"
    points = [
        Point.of(each.stored, max(turns.rates[1:]), [claim for turn in each.turns[1:] for claim in turn])
        for each, turns in zip(contenders, rates, strict=True)
    ]
    return Curve("schedules", title, "runs/s", points)


class _Grown(Ours):
    """Fire, run and finish some of many, and note each claim."""

    def __init__(self, server: str, stored: int, due: int) -> None:
        super().__init__(database(server), due)
        self.name = f"Tickwise over {stored:,} schedules"
        self.stored = stored
        self.turns: list[list[Claim]] = []
        self._functions = {f"job-{n}": nothing for n in range(0, stored, stored // due)}

    async def open(self) -> None:
        self._url = await self.stack.enter_async_context(self._place)
        self._bed = await Bed.laid(self._url, stored=self.stored, due=self.due)
        self.stack.push_async_callback(self._bed.store.close)
        self._timed = Timed(self._bed.store)
        self._bed.store = cast(SqlStore, self._timed)

    async def done(self) -> int:
        done = await super().done()
        self.turns.append(self._timed.told())
        return done
