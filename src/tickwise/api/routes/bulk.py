"""`/schedules:action`: the same action on many schedules, with a result for each."""

from collections.abc import Awaitable, Callable

from ...app.records import AccessRole, ScheduleRow
from ...core.errors import TickwiseError
from ..context import Context, RequestContext
from ..problems import problem_content
from ..routing import Router
from ..schemas.schedules import (
    BulkItemResponse,
    BulkPauseRequest,
    BulkResponse,
    BulkResumeRequest,
    BulkTriggerRequest,
)
from .actions import pause_and_audit, resume_and_audit, trigger_and_audit

router = Router("schedules")
_OPERATOR = AccessRole.OPERATOR


@router.post("/schedules:pause", _OPERATOR, response_model=BulkResponse)
async def pause_many(body: BulkPauseRequest, context: Context) -> BulkResponse:
    """Pause each; those that cannot be paused do not hold up the others."""
    return await _for_each(context, body.names, lambda row: _without_run(pause_and_audit(context, row, body)))


@router.post("/schedules:resume", _OPERATOR, response_model=BulkResponse)
async def resume_many(body: BulkResumeRequest, context: Context) -> BulkResponse:
    """Resume each."""
    return await _for_each(context, body.names, lambda row: _without_run(resume_and_audit(context, row, body)))


@router.post("/schedules:trigger", _OPERATOR, once=True, response_model=BulkResponse)
async def trigger_many(body: BulkTriggerRequest, context: Context) -> BulkResponse:
    """Run the job of each now."""

    async def trigger(row: ScheduleRow) -> str | None:
        return (await trigger_and_audit(context, row, body)).id

    return await _for_each(context, body.names, trigger)


async def _without_run(action: Awaitable[object]) -> None:
    await action


async def _for_each(
    context: RequestContext, names: list[str], act: Callable[[ScheduleRow], Awaitable[str | None]]
) -> BulkResponse:
    items = []
    for name in dict.fromkeys(names):
        try:
            run = await act(await context.view.schedule(name))
            items.append(BulkItemResponse(name=name, done=True, run=run))
        except TickwiseError as error:
            items.append(BulkItemResponse(name=name, done=False, problem=problem_content(error)))
    return BulkResponse(items=items)
