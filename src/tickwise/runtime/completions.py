"""The finisher: tells the store how runs ended, in batches.

Whatever has ended while the last batch was under way makes the next. An end is kept until the store has answered.
"""

import asyncio
from collections.abc import Callable, Sequence
from typing import TypeAlias

from ..core.errors import TickwiseError
from ..core.settle import Failed, Settled
from ..log import get_logger
from ..stores.contract import Store, StoreUnavailableError
from ..stores.records import Finish
from .execution import Execution
from .loop import together

OnStored: TypeAlias = Callable[[Sequence[Finish], Sequence[Settled | None]], None]
_log = get_logger()
_AT_ONCE = 400  # ends in a batch: room is free again when the store has answered
_TOGETHER = 2  # batches
_UNSTORED = "how it ended could not be stored"


class CompletionWriter:
    """`on_stored` hears what the store made of a batch of ends: nothing of one whose token was old."""

    def __init__(self, store: Store, execution: Execution, on_stored: OnStored, poll: float) -> None:
        self._store = store
        self._execution = execution
        self._on_stored = on_stored
        self._poll = poll
        self._ended: list[Finish] = []
        self.bell = asyncio.Event()  # runs have ended
        self.busy = False  # the store has been told, and has not answered yet

    def add(self, finish: Finish) -> None:
        self._ended.append(finish)

    async def turn(self) -> float:
        """Store what has ended since the last time, if that is much in two batches at a time."""
        if not self._ended:
            return self._poll
        self.busy = True
        try:
            await together(self._batch() for _ in range(_TOGETHER))
        finally:
            self.busy = False
        return 0.0 if self._ended else self._poll

    async def _batch(self) -> None:
        """What cannot be stored is kept for the next turn."""
        batch, self._ended = self._ended[:_AT_ONCE], self._ended[_AT_ONCE:]
        if not batch:
            return
        try:
            await self._execution.flush(batch)
            settled = await self._stored(batch)
        except BaseException:
            self._ended = batch + self._ended
            raise
        self._on_stored(batch, settled)

    async def _stored(self, batch: Sequence[Finish]) -> Sequence[Settled | None]:
        """What the store makes of them. One that it refuses for what it holds takes no other along, and fails."""
        try:
            return await self._store.finish(batch)
        except StoreUnavailableError:
            raise
        except TickwiseError as error:
            if len(batch) > 1:
                return [move for finish in batch for move in await self._stored([finish])]
            run, token, _, _, said = batch[0]
            _log.warning("end refused", run=run, error=str(error))
            if said.startswith(_UNSTORED):
                return [None]
            return await self._stored([Finish(run, token, Failed(), error=f"{_UNSTORED}: {error}")])
