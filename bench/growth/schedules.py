"""The rate of one process over more and more stored schedules, of which the same number is due."""

from typing import cast

from tickwise.stores.sql.store import SqlStore

from ..measure import Progress
from ..postgres import database
from ..stores.contender import in_turns
from ..stores.node import TickwiseNode, do_nothing
from ..stores.prepared_store import PreparedStore
from ..stores.worker_process import TimedClaim, TimedStore
from .curve import Curve, CurvePoint
from .size import GrowthSize


def curve(server: str, size: GrowthSize, progress: Progress) -> Curve:
    """In turns, so that a slow minute hits all sizes. The first turn reads definitions and is left out."""
    progress(f"filling stores with up to {size.stored[-1]:,} schedules and working on them in turns")
    contenders = [_NodeOverStored(server, stored, min(stored, size.due)) for stored in size.stored]
    rates = in_turns(size.rounds + 1, contenders)
    title = f"One process over so many schedules, at most {size.due:,} due"
    points = [
        CurvePoint.of(node.stored, max(turns.rates[1:]), [claim for turn in node.turns[1:] for claim in turn])
        for node, turns in zip(contenders, rates, strict=True)
    ]
    return Curve("schedules", title, "runs/s", points)


class _NodeOverStored(TickwiseNode):
    """Fires, runs and finishes some of many schedules, and records each claim."""

    def __init__(self, server: str, stored: int, due: int) -> None:
        super().__init__(database(server), due)
        self.name = f"Tickwise over {stored:,} schedules"
        self.stored = stored
        self.turns: list[list[TimedClaim]] = []
        self._functions = {f"job-{n}": do_nothing for n in range(0, stored, stored // due)}

    async def open(self) -> None:
        self._url = await self.stack.enter_async_context(self._new_database)
        self._prepared = await PreparedStore.create(self._url, stored=self.stored, due=self.due)
        self.stack.push_async_callback(self._prepared.store.close)
        self._timed = TimedStore(self._prepared.store)
        self._prepared.store = cast(SqlStore, self._timed)

    async def done(self) -> int:
        done = await super().done()
        self.turns.append(self._timed.take_claims())
        return done
