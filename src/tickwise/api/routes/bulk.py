"""`/schedules:action`: the same word on many schedules, with an answer for each."""

import json
from collections.abc import Awaitable, Callable

from fastapi import Response

from ...core.errors import TickwiseError
from ...stores.records import AccessRole, ScheduleRow
from ..context import Context, RequestContext
from ..problems import problem_text
from ..routing import Router
from ..schemas.schedules import (
    BulkItemResponse,
    BulkPauseRequest,
    BulkResponse,
    BulkResumeRequest,
    BulkTriggerRequest,
)
from .actions import paused, resumed, triggered

doors = Router("schedules")
_OPERATOR = AccessRole.OPERATOR


@doors.post("/schedules:pause", _OPERATOR, response_model=BulkResponse)
async def pause_many(body: BulkPauseRequest, visit: Context) -> BulkResponse:
    """Pause each; those that cannot be paused do not hold up the others."""
    return await _each(visit, body.names, lambda row: _quietly(paused(visit, row, body)))


@doors.post("/schedules:resume", _OPERATOR, response_model=BulkResponse)
async def resume_many(body: BulkResumeRequest, visit: Context) -> BulkResponse:
    """Resume each."""
    return await _each(visit, body.names, lambda row: _quietly(resumed(visit, row, body)))


@doors.post("/schedules:trigger", _OPERATOR, once=True, response_model=BulkResponse)
async def trigger_many(body: BulkTriggerRequest, visit: Context) -> BulkResponse:
    """Run the job of each now."""

    async def trigger(row: ScheduleRow) -> str | None:
        return (await triggered(visit, row, body)).id

    return await _each(visit, body.names, trigger)


async def _quietly(action: Awaitable[object]) -> None:
    await action


async def _each(
    visit: RequestContext, names: list[str], act: Callable[[ScheduleRow], Awaitable[str | None]]
) -> BulkResponse:
    answers = []
    for name in dict.fromkeys(names):
        try:
            run = await act(await visit.schedule(name))
            answers.append(BulkItemResponse(name=name, done=True, run=run))
        except TickwiseError as error:
            answers.append(BulkItemResponse(name=name, done=False, problem=_content(problem_text(error))))
    return BulkResponse(items=answers)


def _content(response: Response) -> dict[str, object]:
    found: dict[str, object] = json.loads(bytes(response.body))
    return found
