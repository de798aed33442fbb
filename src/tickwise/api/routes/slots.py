"""`/slots` and `/schedules/NAME/slots`: what became of every slot."""

from math import ceil
from typing import Annotated

from fastapi import Query, Request, Response

from ...app.records import MICRO, AccessRole, ScheduleFilter
from ...core.errors import InputError
from ...core.slot_history import Bins
from ...core.timeparse import ceil_second
from ..context import Context
from ..problems import Refusal
from ..routing import Router
from ..schemas.common import NamePath, PageResponse, page_of
from ..schemas.queries import RibbonsQuery, SlotsQuery
from ..schemas.slots import RibbonsResponse, SlotRecordResponse, ribbons_response

router = Router("slots")
_HOUR, _MAX_SPAN = 3_600, 31 * 86_400


@router.get("/slots", AccessRole.VIEWER, response_model=RibbonsResponse)
async def list_ribbons(context: Context, query: Annotated[RibbonsQuery, Query()]) -> RibbonsResponse:
    """The slots of schedules in bins of equal length, the worst schedules first."""
    bins = _bins(query, await context.view.now() // MICRO)
    filters = ScheduleFilter(job=query.job, text=query.text, label=query.label)
    return ribbons_response(await context.view.ribbons(filters, bins, query.after, query.limit), bins)


def _bins(query: RibbonsQuery, now: int) -> Bins:
    """Bins that reach from the beginning to the end, or a little further."""
    until = now + 1 if query.until is None else ceil_second(query.until)
    since = until - _HOUR if query.since is None else ceil_second(query.since)
    if not _HOUR <= until - since <= _MAX_SPAN:
        raise Refusal(422, "since: give a time from an hour to 31 days before `until`", field="since")
    step = ceil((until - since) / query.bins)
    return Bins(since, step, ceil((until - since) / step))


@router.get("/schedules/{name:name}/slots", AccessRole.VIEWER, response_model=PageResponse[SlotRecordResponse])
async def slots_of_schedule(
    name: NamePath, request: Request, response: Response, context: Context, query: Annotated[SlotsQuery, Query()]
) -> PageResponse[SlotRecordResponse]:
    """What became of its slots, the newest first."""
    since = 0 if query.since is None else ceil_second(query.since)
    before = None if query.until is None else ceil_second(query.until)
    page = await context.view.slots(name, since, _before(query.after) or before, query.limit)
    items = [SlotRecordResponse.model_validate(one, from_attributes=True) for one in page.items]
    return page_of(request, response, items, page.after)


def _before(after: str | None) -> int | None:
    """Where the page before ended."""
    if after is None:
        return None
    if not (after.isascii() and after.isdigit() and len(after) < 13):
        raise InputError("after: this is not the `next` of a page of slots")
    return int(after)
