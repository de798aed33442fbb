"""Stores the ends of runs, in batches.

The ends that come while one batch is being written make the next. An end is kept until the store has answered.
"""

import asyncio
from collections.abc import Callable, Sequence
from typing import TypeAlias

from ..core.errors import InputError
from ..core.settle import Failed, Settled
from ..log import get_logger
from ..stores.contract import StatementError, Store
from ..stores.records import Finish
from .loop import together
from .run_executor import RunExecutor

OnStored: TypeAlias = Callable[[Sequence[Finish], Sequence[Settled | None]], None]
_log = get_logger()
_BATCH_SIZE = 400  # the room of a batch is free when the store has answered, so it is not too large
_CONCURRENT_BATCHES = 2
_UNSTORED = "how it ended could not be stored"


class CompletionWriter:
    """Calls `on_stored` with each batch and what the store made of it; none for an end whose token is old."""

    def __init__(self, store: Store, execution: RunExecutor, on_stored: OnStored, poll: float) -> None:
        self._store = store
        self._execution = execution
        self._on_stored = on_stored
        self._poll = poll
        self._ended: list[Finish] = []
        self.wake_event = asyncio.Event()  # runs have ended
        self.busy = False  # a batch is being written

    def add(self, finish: Finish) -> None:
        self._ended.append(finish)
        self.wake_event.set()

    async def turn(self) -> float:
        """Store the ends that have come since the last turn, up to two batches at a time."""
        if not self._ended:
            return self._poll
        self.busy = True
        try:
            await together(self._write_batch() for _ in range(_CONCURRENT_BATCHES))
        finally:
            self.busy = False
        return 0.0 if self._ended else self._poll

    async def _write_batch(self) -> None:
        """Store one batch. If the store fails, its ends are kept for the next turn."""
        batch, self._ended = self._ended[:_BATCH_SIZE], self._ended[_BATCH_SIZE:]
        if not batch:
            return
        try:
            await self._execution.flush(batch)
            settled = await self._finish(batch)
        except BaseException:
            self._ended = batch + self._ended
            raise
        self._on_stored(batch, settled)

    async def _finish(self, batch: Sequence[Finish]) -> Sequence[Settled | None]:
        """Finish the runs. An end whose value the store refuses becomes a failure, and does not affect the others.

        Any other error says nothing about the ends: they are kept, and offered again.
        """
        try:
            return await self._store.finish(batch)
        except (InputError, StatementError) as error:
            if len(batch) > 1:
                return [settled for finish in batch for settled in await self._finish([finish])]
            (refused,) = batch
            _log.warning("end refused", run=refused.run, error=str(error))
            if refused.error.startswith(_UNSTORED):
                return [None]
            failure = Finish(refused.run, refused.token, Failed(), error=f"{_UNSTORED}: {error}")
            return await self._finish([failure])
