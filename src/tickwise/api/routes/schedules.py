"""`/schedules`: list, create, get, change, delete, and why."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Annotated, Any

from fastapi import Query, Request, Response

from ...app.definitions import fields_with
from ...app.records import AccessRole, DecisionFilter, ScheduleFilter, ScheduleRow
from ...app.values import ScheduleDetail, ScheduleInfo
from ...app.view import detail_of
from ...app.worker_advice import worker_required
from ...core.mask import masked
from ...core.timeparse import ceil_second
from ..context import Context
from ..etags import etag, matching_edit, not_modified
from ..problems import Refusal, zone_of
from ..routing import Router
from ..schemas.common import NamePath, PageResponse, page_of, resource_path
from ..schemas.decisions import DecisionResponse
from ..schemas.queries import PageQuery, SchedulesQuery, SlotQuery
from ..schemas.schedules import (
    DefinitionRequest,
    PatchRequest,
    ScheduleDetailResponse,
    ScheduleItemResponse,
    ScheduleResponse,
    WhyResponse,
)
from ..unmask import unmasked

router = Router("schedules")
_NOT_MODIFIED: dict[int | str, dict[str, Any]] = {304: {"description": "You have this version already."}}


def schedule_response(row: ScheduleRow) -> ScheduleResponse:
    return ScheduleResponse.model_validate(ScheduleInfo.of(row))


@router.get("/schedules", AccessRole.VIEWER, response_model=PageResponse[ScheduleItemResponse])
async def list_schedules(
    request: Request, response: Response, context: Context, query: Annotated[SchedulesQuery, Query()]
) -> PageResponse[ScheduleItemResponse]:
    """In order of their names."""
    due = None if query.due_before is None else ceil_second(query.due_before)
    filters = ScheduleFilter(
        job=query.job, text=query.text, paused=query.paused, due_before=due, label=query.label, source=query.source
    )
    page = await context.view.schedules(filters, query.after, query.limit)
    listed = [ScheduleItemResponse.model_validate(one) for one in page.items]
    return page_of(request, response, listed, page.after)


@router.post("/schedules", AccessRole.ADMIN, once=True, status_code=201, response_model=ScheduleDetailResponse)
async def create_schedule(
    body: DefinitionRequest, request: Request, response: Response, context: Context
) -> ScheduleDetailResponse:
    """Define a job with its schedule, by the fields of a job file; or one more schedule of any `job`."""
    fields = unmasked(body.root, None)
    name = str(fields.get("name") or "")
    if not name:
        raise Refusal(422, "name: is missing: give the schedule a name", field="name")
    owner = fields.get("job")
    if owner is not None:
        await context.job_of_body(str(owner))
    new = await context.operations.create_schedule(fields)
    await context.audit("schedule.create", new.schedule, None, fields)
    row, stored = await context.view.stored_schedule(new.schedule)
    response.headers["Location"] = resource_path(request, f"/schedules/{new.schedule}")
    response.headers["ETag"] = etag(stored.version, row)
    missing = await context.operations.missing_workers(new.job, stored.row.source)
    return _detail_response(detail_of(row, stored.fields(new.schedule), row.updated_at, missing))


@router.get(
    "/schedules/{name:name}", AccessRole.VIEWER, response_model=ScheduleDetailResponse, responses=_NOT_MODIFIED
)
async def get_schedule(name: NamePath, request: Request, response: Response, context: Context) -> Any:
    """One schedule, with its definition."""
    known = await context.view.stored_schedule(name)
    response.headers["ETag"] = tag = etag(known.job.version, known.row)
    return not_modified(request, tag) or _detail_response(await context.view.schedule_detail(known))


@router.patch("/schedules/{name:name}", AccessRole.ADMIN, response_model=ScheduleDetailResponse)
async def change_schedule(
    name: NamePath, body: PatchRequest, request: Request, response: Response, context: Context
) -> ScheduleDetailResponse:
    """Change some of its fields. Changed times give a new next time; what cannot be used changes nothing."""
    row, stored = await context.view.stored_schedule(name)
    patch = unmasked(body.root, stored.fields(name))
    with matching_edit(request, stored, row):
        edit = await context.operations.edit_schedule(stored, name, patch)
    if not edit.changed:
        response.headers["ETag"] = etag(stored.version, row)
        return _detail_response(detail_of(row, edit.before, await context.view.now()))
    await context.audit("schedule.change", name, edit.before, edit.after)
    row, job = await context.view.schedule(name), await context.view.job(row.schedule.job)
    response.headers["ETag"] = etag(job.version, row)
    missing: Sequence[str] = ()
    if worker_required(edit.job) != worker_required(stored.definition):
        missing = await context.operations.missing_workers(edit.job, job.source)
    return _detail_response(detail_of(row, fields_with(edit.job, name), job.updated_at, missing))


@router.delete("/schedules/{name:name}", AccessRole.ADMIN, status_code=204)
async def delete_schedule(name: NamePath, request: Request, context: Context) -> Response:
    """Delete it, and its job if that has no other. Queued runs are cancelled, running ones go on."""
    row, stored = await context.view.stored_schedule(name)
    with matching_edit(request, stored, row):
        await context.operations.remove_schedule(stored, name)
    await context.audit("schedule.delete", name, stored.fields(name), None)
    return Response(status_code=204)


@router.get("/schedules/{name:name}/why", AccessRole.VIEWER, response_model=WhyResponse)
async def why_schedule(name: NamePath, context: Context, query: Annotated[SlotQuery, Query()]) -> WhyResponse:
    """Why a slot ran or did not, in words; without one, the newest that is due."""
    return WhyResponse.model_validate(await context.view.why(name, query.slot, zone_of(query.zone)))


@router.get("/schedules/{name:name}/decisions", AccessRole.VIEWER, response_model=PageResponse[DecisionResponse])
async def decisions_of_schedule(
    name: NamePath, request: Request, response: Response, context: Context, query: Annotated[PageQuery, Query()]
) -> PageResponse[DecisionResponse]:
    """What was decided about its slots, the newest first."""
    await context.view.schedule(name)
    page = await context.view.decisions(DecisionFilter(schedule=name), query.after, query.limit)
    return page_of(request, response, [DecisionResponse.of(row) for row in page.items], page.after)


def _detail_response(detail: ScheduleDetail) -> ScheduleDetailResponse:
    return ScheduleDetailResponse.model_validate(replace(detail, definition=masked(detail.definition)))
