"""Local ticking: this node finds due slots in its own index instead of asking the store what is due.

Only the question is spared. What is due is planned and committed by the same move, under the same locks and
keys, so any number of nodes may tick the same schedules this way or the other. The index is built anew every
half minute, on news, and when the clock has stepped; a slot that it does not know yet waits for that, and is
then caught up like any other.

It is also what a node falls back on while its claims fail (S5): then the index has every schedule. A turn makes at
least one pass, if only over no job, because that shows whether the store can still commit.
"""

import asyncio
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from ..core.definition import Ticking
from ..core.model import Schedule
from ..core.upcoming import looks
from ..extras import packages_of
from ..log import get_logger
from ..stores.contract import Store
from ..stores.records import MICRO
from .schedules import all_schedules
from .ticker import Ticker

if TYPE_CHECKING:
    from .forecast import Forecast

_STEP = 5 * MICRO  # a clock that is this far from where it should be has been set
_BATCH_SIZE = 200
_SHORTEST = 0.2  # seconds between two builds, however much changes
_log = get_logger()


class LocalTicker:
    """Ticks the schedules that are to be ticked here; all of them, while claims fail."""

    def __init__(
        self,
        store: Store,
        ticker: Ticker,
        monotonic: Callable[[], float],
        *,
        ticking: Ticking,
        poll: float = 1.0,
        rebuild: float = 30.0,
        lookahead: int = 3_600,
    ) -> None:
        self._store = store
        self._ticker = ticker
        self._monotonic = monotonic
        self._ticking = ticking
        self._poll = poll
        self._rebuild = rebuild
        self._lookahead = lookahead
        self.forecast: Forecast | None = None  # as long as nothing has to be ticked here
        self._until = 0  # what is known of the time to come ends here
        self._done_to = 0  # slots up to here have been looked at
        self._built: tuple[float, int] | None = None  # by the machine's steady clock, and the store's time then
        self._stale = True
        self._has_all = False  # the index has every schedule, because claims failed when it was built
        self.fell_back = False  # claims fail, and the last turn committed without them

    def changed(self) -> None:
        """There are news: look at all schedules again."""
        self._stale = True

    async def turn(self) -> float:
        now = await self._store.now()
        second = now // MICRO
        if self._is_old(now):
            await self._build(now)
        jobs = self._due_jobs(self._done_to + 1, second + 1)
        for start in range(0, max(len(jobs), 1 if self._has_all else 0), _BATCH_SIZE):
            ticked = await self._ticker.once(jobs[start : start + _BATCH_SIZE])
            self._stale |= ticked.more  # some could not be decided: they stand in the next index again
        self._done_to = max(self._done_to, second)
        self._note_fallback()
        return self._delay(now)

    def _due_jobs(self, start: int, end: int) -> list[str]:
        forecast = self.forecast
        return sorted({forecast.jobs[run.job_id] for run in forecast.index.query(start, end)}) if forecast else []

    def _note_fallback(self) -> None:
        before, self.fell_back = self.fell_back, self._has_all
        if self.fell_back and not before:
            _log.error("claims fail: due jobs are found in this node's index", why=self._ticker.claims.problem)
        elif before and not self.fell_back:
            _log.warning("claims succeed again: due jobs are claimed as before")

    def _delay(self, now: int) -> float:
        """Until the next is due, or until the index must be built anew."""
        if self._stale:
            return _SHORTEST
        following = self.forecast.index.peek(now // MICRO) if self.forecast else None
        until = self._until if following is None else following.scheduled_at.timestamp()
        return min(self._poll, max(0.0, until - now / MICRO))

    def _is_old(self, now: int) -> bool:
        if self._built is None or now // MICRO >= self._until:
            return True
        if self._has_all != bool(self._ticker.claims.problem):
            return True
        steady, then = self._built
        passed = self._monotonic() - steady
        if self._stale and passed >= _SHORTEST:
            return True
        return passed >= self._rebuild or abs((now - then) - passed * MICRO) > _STEP

    async def _build(self, now: int) -> None:
        self._stale, self._built = False, None  # if it fails, it is still to be done
        self._has_all = bool(self._ticker.claims.problem)
        few = self._ticking is Ticking.STORE and not self._has_all  # only those that say so
        found = await all_schedules(self._store.insights, local=few)
        schedules = [schedule for schedule in found if self._has_all or self._is_ours(schedule)]
        await asyncio.to_thread(self._look_ahead, schedules, now // MICRO)
        self._built = (self._monotonic(), now)
        self._done_to = now // MICRO - 1  # what is pending stands at its first second

    def _look_ahead(self, schedules: Sequence[Schedule], second: int) -> None:
        self._until = second + self._lookahead
        if schedules and self.forecast is None:
            with packages_of("server", "local ticking"):
                from .forecast import Forecast  # noqa: PLC0415  (NumPy: only for those who tick by themselves)

            self.forecast = Forecast(lookahead=self._lookahead, walk=looks)
        if self.forecast:
            self.forecast.rebuild(schedules, second)
            self._until = self.forecast.until

    def _is_ours(self, schedule: Schedule) -> bool:
        return (schedule.ticking or schedule.definition.policy.ticking or self._ticking) is Ticking.LOCAL
