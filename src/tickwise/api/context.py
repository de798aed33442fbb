"""One request as the routes see it: who asks, and what they may see."""

from collections.abc import Awaitable, Callable
from contextlib import suppress
from typing import Annotated, Any, NamedTuple, TypeVar

from fastapi import Depends, Request

from ..app import AsyncTickwise
from ..app.explain import check_readable
from ..app.records import AuditEntry, JobRow, Page, RunRow, ScheduleFilter, ScheduleRow
from ..app.stores import Store
from ..app.upcoming import ForecastCache
from ..core.errors import InputError
from .auth import Identity
from .events import EventBroadcaster
from .masking import masked
from .problems import Refusal, unknown_name

T = TypeVar("T")
_HINTS, _ALIKE = 1_000, 4  # names that are looked through for the nearest; where there are more, those alike
_READS = 20  # pages that are looked through for one page of what somebody may see


class RequestContext(NamedTuple):
    """What is not theirs to see does not exist for them."""

    tickwise: AsyncTickwise
    store: Store
    identity: Identity
    events: EventBroadcaster
    forecasts: ForecastCache

    async def schedule(self, name: str) -> ScheduleRow:
        row = await self.store.insights.schedule(name)
        if row is None or not self.identity.sees(row.schedule.job):
            if not self.identity.scopes:
                await check_readable(self.store, name)
            page = await self.store.insights.schedules(limit=_HINTS)
            if page.after is not None:
                page = await self.store.insights.schedules(ScheduleFilter(text=name[:_ALIKE]), limit=_HINTS)
            seen = [one.schedule.name for one in page.items if self.identity.sees(one.schedule.job)]
            raise unknown_name(404, "schedule", name, seen)
        return row

    async def job(self, name: str, status: int = 404) -> JobRow:
        row = await self.store.insights.job(name)
        if row is None or not self.identity.sees(name):
            page = await self.store.insights.jobs(limit=_HINTS)
            seen = [one.definition.name for one in page.items if self.identity.sees(one.definition.name)]
            raise unknown_name(status, "job", name, seen, field="job" if status == 422 else None)
        return row

    async def run(self, run: str) -> RunRow:
        with suppress(InputError):  # no id of this store looks like that
            row = await self.store.insights.run(run)
            if row is not None and self.identity.sees(row.job):
                return row
        raise Refusal(404, f"there is no run {run!r}: it was never made, or is not kept any longer")

    async def page(
        self, read: Callable[[str | None, int], Awaitable[Page[T]]], is_wanted: Callable[[T], bool],
        after: str | None, limit: int,
    ) -> Page[T]:  # fmt: skip
        """A page of what is filters and theirs to see; it may be short, but only the last one has no `after`."""
        found: list[T] = []
        for _ in range(_READS):
            page = await read(after, limit - len(found))
            found += [item for item in page.items if is_wanted(item)]
            after = page.after
            if after is None or len(found) >= limit:
                break
        return Page(tuple(found), after)

    async def audit(self, action: str, subject: str, before: Any = None, after: Any = None) -> None:
        """Keep who did what; secrets are not kept."""
        entry = AuditEntry(self.identity.name, action, subject, masked(before), masked(after))
        await self.store.access.record([entry])


async def _request_context(request: Request) -> RequestContext:  # a plain function would be called in a thread
    found: RequestContext = request.state.context
    return found


Context = Annotated[RequestContext, Depends(_request_context)]
