"""The context of a request: its identity, and reads that show only what that identity may see."""

from collections.abc import Awaitable, Callable
from contextlib import suppress
from typing import Annotated, Any, NamedTuple, TypeVar

from fastapi import Depends, Request

from ..app import AsyncTickwise
from ..app.records import AuditEntry, JobRow, Page, RunRow, ScheduleFilter, ScheduleRow
from ..app.stores import Store
from ..app.upcoming import ForecastCache
from ..core.errors import InputError
from ..core.mask import masked
from .events import EventBroadcaster
from .identity import Identity
from .problems import Refusal, unknown_name

T = TypeVar("T")
_MAX_NAMES = 1_000  # that are compared to find the nearest; of more, those that begin alike
_PREFIX_LENGTH = 4
_MAX_READS = 20  # pages that are read to fill one page of what the identity sees


class RequestContext(NamedTuple):
    """What routes work with. What the identity does not see does not exist for it (404)."""

    tickwise: AsyncTickwise
    store: Store
    identity: Identity
    events: EventBroadcaster
    forecasts: ForecastCache

    async def schedule(self, name: str) -> ScheduleRow:
        row = await self.store.insights.schedule(name)
        if row is None or not self.identity.sees(row.schedule.job):
            page = await self.store.insights.schedules(limit=_MAX_NAMES)
            if page.after is not None:
                page = await self.store.insights.schedules(
                    ScheduleFilter(text=name[:_PREFIX_LENGTH]), limit=_MAX_NAMES
                )
            seen = [one.schedule.name for one in page.items if self.identity.sees(one.schedule.job)]
            raise unknown_name(404, "schedule", name, seen)
        return row

    async def job(self, name: str, status: int = 404) -> JobRow:
        row = await self.store.insights.job(name)
        if row is None or not self.identity.sees(name):
            page = await self.store.insights.jobs(limit=_MAX_NAMES)
            seen = [one.definition.name for one in page.items if self.identity.sees(one.definition.name)]
            raise unknown_name(status, "job", name, seen, field="job" if status == 422 else None)
        return row

    async def run(self, run: str) -> RunRow:
        with suppress(InputError):  # it cannot be an id of this store
            row = await self.store.insights.run(run)
            if row is not None and self.identity.sees(row.job):
                return row
        raise Refusal(404, f"there is no run {run!r}: it was never made, or is not kept any longer")

    async def page(
        self, read: Callable[[str | None, int], Awaitable[Page[T]]], keeps: Callable[[T], bool],
        after: str | None, limit: int,
    ) -> Page[T]:  # fmt: skip
        """A page of the items that `keeps` accepts; it may be short, but only the last one has no `after`."""
        found: list[T] = []
        for _ in range(_MAX_READS):
            page = await read(after, limit - len(found))
            found += [item for item in page.items if keeps(item)]
            after = page.after
            if after is None or len(found) >= limit:
                break
        return Page(tuple(found), after)

    async def audit(self, action: str, subject: str, before: Any = None, after: Any = None) -> None:
        """Record an action in the audit, without secrets."""
        entry = AuditEntry(self.identity.name, action, subject, masked(before), masked(after))
        await self.store.access.record([entry])


async def _request_context(request: Request) -> RequestContext:  # a plain function would be called in a thread
    found: RequestContext = request.state.context
    return found


Context = Annotated[RequestContext, Depends(_request_context)]
