"""`/schedules/NAME/what-if` and `/schedules/NAME/replay`: the past, planned again with another definition."""

from typing import Annotated

from fastapi import Query, Request

from ...app.records import AccessRole
from ...core.timeparse import ceil_second
from ..context import Context
from ..routing import Router
from ..schemas.common import NamePath
from ..schemas.queries import WhatIfQuery
from ..schemas.replay import ReplayRequest, ReplayResponse, WhatIfResponse
from ..simulation_lock import one_at_a_time

router = Router("planning")


@router.get("/schedules/{name:name}/what-if", AccessRole.VIEWER, response_model=WhatIfResponse)
async def what_if_slot(
    name: NamePath, request: Request, context: Context, query: Annotated[WhatIfQuery, Query()]
) -> WhatIfResponse:
    """The smallest changes that would have let a slot run; without one, the newest that is due.

    A process does one such search, replay or simulation at a time; meanwhile others get 429.
    """
    async with one_at_a_time(request):
        return WhatIfResponse.model_validate(await context.view.what_if(name, query.slot), from_attributes=True)


@router.post("/schedules/{name:name}/replay", AccessRole.VIEWER, response_model=ReplayResponse)
async def replay_past(
    name: NamePath, body: ReplayRequest, request: Request, context: Context
) -> ReplayResponse:  # fmt: skip
    """How a past would have gone with other fields of a schedule, beside how it went. Nothing is changed."""
    start, end = ceil_second(body.start), None if body.end is None else ceil_second(body.end)
    defaults = context.tickwise.schedules.defaults()
    async with one_at_a_time(request):
        told = await context.view.replay(name, start, end, body.changes, defaults)
    return ReplayResponse.model_validate(told, from_attributes=True)
