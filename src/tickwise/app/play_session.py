"""A session in which tests play an app's schedules: a memory store of its own, and a clock that tests move."""

from collections.abc import Awaitable, Callable

from ..core.states import RunState
from ..core.timeparse import to_datetime
from ..stores.contract import Store
from ..stores.pages import all_pages
from ..stores.records import MICRO, RunFilter, RunRow
from ..testing.clock import FakeClock
from .options import When
from .values import RunInfo, as_second

_PAGE_SIZE = 1_000


class PlaySession:
    """Plays what an app has scheduled."""

    def __init__(self, clock: FakeClock, store: Store, drain: Callable[[], Awaitable[int]]) -> None:
        self.clock = clock
        self._store = store
        self._drain = drain
        self._returned: set[str] = set()

    async def play(self, until: When) -> list[RunInfo]:
        """Do all that is due now, and at each instant until then, with the clock there; nothing waits.

        Returns the runs that ended, in order. `until` is an instant, or how long from now.
        """
        end = as_second(until, self.clock.second)
        await self._drain()
        while (due := await self._next_due()) is not None and due <= end:
            self.clock.set(to_datetime(due))
            await self._drain()
        self.clock.set(to_datetime(max(end, self.clock.second)))
        ended = [row for row in await self._runs(RunFilter()) if row.finished_at and row.id not in self._returned]
        self._returned |= {row.id for row in ended}
        return [RunInfo.of(row) for row in sorted(ended, key=lambda row: (row.finished_at, int(row.id)))]

    async def _next_due(self) -> int | None:
        """The next second at which a job is to be looked at, or a queued run may start."""
        now, looked_at = self.clock.second, await self._store.insights.next_due()
        queued = await self._runs(RunFilter(states=frozenset({RunState.QUEUED})))
        starts = [-(-row.due_at // MICRO) for row in queued]
        later = [] if looked_at is None else [max(looked_at, now + 1)]
        return min([*later, *(start for start in starts if start > now)], default=None)

    async def _runs(self, filters: RunFilter) -> list[RunRow]:
        return await all_pages(lambda after: self._store.insights.runs(filters, after=after, limit=_PAGE_SIZE))
