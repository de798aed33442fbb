"""`/schedules/{name}:action`: pause, resume, trigger, reschedule, skip a slot of and reset one schedule."""

from typing import Any

from ...app.records import AccessRole, ScheduleRow
from ...app.values import RunInfo
from ..context import Context, RequestContext
from ..problems import about_field
from ..routing import Router
from ..schemas.common import NamePath
from ..schemas.runs import RunResponse, run_response
from ..schemas.schedules import (
    PauseRequest,
    RescheduleRequest,
    ResumeRequest,
    ScheduleResponse,
    SkipRequest,
    TriggerRequest,
)
from .schedules import schedule_response

router = Router("schedules")
_OPERATOR = AccessRole.OPERATOR
_PAUSE, _RESUME, _TRIGGER = PauseRequest(), ResumeRequest(), TriggerRequest()


@router.post("/schedules/{name:name}:pause", _OPERATOR, response_model=ScheduleResponse)
async def pause_schedule(name: NamePath, context: Context, body: PauseRequest = _PAUSE) -> ScheduleResponse:
    """Decide no slot of it until it is resumed (S29)."""
    return await pause_and_audit(context, await context.view.schedule(name), body)


@router.post("/schedules/{name:name}:resume", _OPERATOR, response_model=ScheduleResponse)
async def resume_schedule(name: NamePath, context: Context, body: ResumeRequest = _RESUME) -> ScheduleResponse:
    """Go on (S29)."""
    return await resume_and_audit(context, await context.view.schedule(name), body)


@router.post("/schedules/{name:name}:trigger", _OPERATOR, once=True, status_code=201, response_model=RunResponse)
async def trigger_schedule(name: NamePath, context: Context, body: TriggerRequest = _TRIGGER) -> RunResponse:
    """Run its job now, by hand (S30)."""
    return run_response(await trigger_and_audit(context, await context.view.schedule(name), body))


@router.post("/schedules/{name:name}:reschedule", _OPERATOR, response_model=ScheduleResponse)
async def reschedule(name: NamePath, body: RescheduleRequest, context: Context) -> ScheduleResponse:
    """Move the next fire, once (S31)."""
    before = await context.view.schedule(name)
    with about_field("to"):
        await context.tickwise.schedules.reschedule(name, body.to)
    return await _audit_change(context, before, "schedule.reschedule", {"to": body.to})


@router.post("/schedules/{name:name}:skip", _OPERATOR, response_model=ScheduleResponse)
async def skip_slot(name: NamePath, body: SkipRequest, context: Context) -> ScheduleResponse:
    """Mark a slot to come, which is not to run; or take that back (S66)."""
    before = await context.view.schedule(name)
    schedules, by = context.tickwise.schedules, context.identity.name
    with about_field("slot"):
        if body.undo:
            await schedules.take_skip_back(name, body.slot)
        else:
            await schedules.skip(name, body.slot, reason=body.reason, by=by)
    action = "schedule.unskip" if body.undo else "schedule.skip"
    return await _audit_change(context, before, action, {"slot": body.slot, "reason": body.reason})


@router.post("/schedules/{name:name}:reset", _OPERATOR, response_model=ScheduleResponse)
async def reset_schedule(name: NamePath, context: Context) -> ScheduleResponse:
    """Drop the backlog: go on from now (S4)."""
    before = await context.view.schedule(name)
    await context.tickwise.schedules.reset(name)
    return await _audit_change(context, before, "schedule.reset", None)


async def pause_and_audit(context: RequestContext, row: ScheduleRow, body: PauseRequest) -> ScheduleResponse:
    schedules, by = context.tickwise.schedules, context.identity.name
    with about_field("until"):
        await schedules.pause(row.schedule.name, until=body.until, reason=body.reason, by=by)
    end = {} if body.until is None else {"until": body.until}
    return await _audit_change(context, row, "schedule.pause", {"reason": body.reason, **end})


async def resume_and_audit(context: RequestContext, row: ScheduleRow, body: ResumeRequest) -> ScheduleResponse:
    await context.tickwise.schedules.resume(row.schedule.name, run_missed=body.run_missed)
    return await _audit_change(context, row, "schedule.resume", {"run_missed": body.run_missed})


async def trigger_and_audit(context: RequestContext, row: ScheduleRow, body: TriggerRequest) -> RunInfo:
    name = row.schedule.name
    run = await context.tickwise.schedules.trigger(
        name, body.params, allow_overlap=body.allow_overlap, in_blackout=body.in_blackout,
        by=context.identity.name,
    )  # fmt: skip
    await context.audit("schedule.trigger", name, None, {"run": run.id, "params": body.params or {}})
    return run


async def _audit_change(context: RequestContext, before: ScheduleRow, action: str, after: Any) -> ScheduleResponse:
    name, pause = before.schedule.name, before.schedule.paused
    was = {"next_slot": before.next_slot, "paused": pause is not None}
    await context.audit(action, name, was, after)
    return schedule_response(await context.view.schedule(name))
