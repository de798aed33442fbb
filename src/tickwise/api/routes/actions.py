"""`/schedules/{name}:action`: a person's word on one schedule."""

from collections.abc import Mapping
from typing import Any

from ...app.values import RunInfo
from ...core.errors import nearest
from ...stores.records import AccessRole, JobRow, ScheduleRow
from ..context import Context, RequestContext
from ..definitions import about
from ..problems import Refusal
from ..routing import Router
from ..schemas.common import NamePath
from ..schemas.runs import RunResponse, run_response
from ..schemas.schedules import PauseRequest, RescheduleRequest, ResumeRequest, ScheduleResponse, TriggerRequest
from .schedules import body_of

doors = Router("schedules")
_OPERATOR = AccessRole.OPERATOR
_PAUSE, _RESUME, _TRIGGER = PauseRequest(), ResumeRequest(), TriggerRequest()


@doors.post("/schedules/{name:name}:pause", _OPERATOR, response_model=ScheduleResponse)
async def pause_schedule(name: NamePath, visit: Context, body: PauseRequest = _PAUSE) -> ScheduleResponse:
    """Decide no slot of it until it is resumed (S29)."""
    return await paused(visit, await visit.schedule(name), body)


@doors.post("/schedules/{name:name}:resume", _OPERATOR, response_model=ScheduleResponse)
async def resume_schedule(name: NamePath, visit: Context, body: ResumeRequest = _RESUME) -> ScheduleResponse:
    """Go on (S29)."""
    return await resumed(visit, await visit.schedule(name), body)


@doors.post("/schedules/{name:name}:trigger", _OPERATOR, once=True, status_code=201, response_model=RunResponse)
async def trigger_schedule(name: NamePath, visit: Context, body: TriggerRequest = _TRIGGER) -> RunResponse:
    """Run its job now, by hand (S30)."""
    return run_response(await triggered(visit, await visit.schedule(name), body))


@doors.post("/schedules/{name:name}:reschedule", _OPERATOR, response_model=ScheduleResponse)
async def reschedule(name: NamePath, body: RescheduleRequest, visit: Context) -> ScheduleResponse:
    """Move the next fire, once (S31)."""
    before = await visit.schedule(name)
    with about("to"):
        await visit.tickwise.schedules.reschedule(name, body.to)
    return await _told(visit, before, "schedule.reschedule", {"to": body.to})


@doors.post("/schedules/{name:name}:reset", _OPERATOR, response_model=ScheduleResponse)
async def reset_schedule(name: NamePath, visit: Context) -> ScheduleResponse:
    """Drop the backlog: go on from now (S4)."""
    before = await visit.schedule(name)
    await visit.tickwise.schedules.reset(name)
    return await _told(visit, before, "schedule.reset", None)


async def paused(visit: RequestContext, row: ScheduleRow, asked: PauseRequest) -> ScheduleResponse:
    await visit.tickwise.schedules.pause(row.schedule.name, reason=asked.reason, by=visit.who.name)
    return await _told(visit, row, "schedule.pause", {"reason": asked.reason})


async def resumed(visit: RequestContext, row: ScheduleRow, asked: ResumeRequest) -> ScheduleResponse:
    await visit.tickwise.schedules.resume(row.schedule.name, run_missed=asked.run_missed)
    return await _told(visit, row, "schedule.resume", {"run_missed": asked.run_missed})


async def triggered(visit: RequestContext, row: ScheduleRow, asked: TriggerRequest) -> RunInfo:
    name = row.schedule.name
    check_params(visit, await visit.job(row.schedule.job), asked.params)
    by = visit.who.name
    run = await visit.tickwise.schedules.trigger(name, asked.params, allow_overlap=asked.allow_overlap, by=by)
    await visit.audit("schedule.trigger", name, None, {"run": run.id, "params": asked.params or {}})
    return run


def check_params(visit: RequestContext, job: JobRow, params: Mapping[str, Any] | None) -> None:
    """Who may not change what a job executes may set only params that it has."""
    known = job.definition.params
    unknown = [name for name in params or {} if name not in known]
    if unknown and job.definition.steps and not visit.who.may(AccessRole.ADMIN):
        hint = nearest(unknown[0], list(known))
        text = f"the job {job.definition.name} has no param {unknown[0][:60]!r}{hint}"
        raise Refusal(422, text, field=f"params.{unknown[0][:60]}")


async def _told(visit: RequestContext, before: ScheduleRow, action: str, after: Any) -> ScheduleResponse:
    name, pause = before.schedule.name, before.schedule.paused
    was = {"next_slot": before.next_slot, "paused": pause is not None}
    await visit.audit(action, name, was, after)
    return body_of(await visit.schedule(name))
