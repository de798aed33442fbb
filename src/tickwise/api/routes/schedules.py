"""`/schedules`: list, create, get, change, delete, and why."""

from collections.abc import Sequence
from typing import Annotated, Any

from fastapi import Query, Request, Response

from ...app.definitions import (
    StoredJob,
    edit_schedule,
    fields_with,
    read_new,
    remove_schedule,
    stored_job,
    write_new,
)
from ...app.records import MICRO, AccessRole, DecisionFilter, Recent, ScheduleFilter, ScheduleRow
from ...app.values import ScheduleInfo, is_due
from ...app.worker_advice import missing_worker_warnings, worker_required
from ...core.mask import masked
from ...core.timeparse import ceil_second
from ..context import Context, RequestContext
from ..etags import etag, matching_edit, not_modified
from ..problems import Refusal
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


def _item_response(row: ScheduleRow, runs: Sequence[Recent]) -> ScheduleItemResponse:
    late = [(run.started_at - run.due_at) / 1_000 for run in runs if run.started_at is not None]
    states = [str(run.state) for run in runs]
    return ScheduleItemResponse(
        **schedule_response(row).model_dump(), recent=states, late_ms=max(0, late[-1]) if late else None
    )


@router.get("/schedules", AccessRole.VIEWER, response_model=PageResponse[ScheduleItemResponse])
async def list_schedules(
    request: Request, response: Response, context: Context, query: Annotated[SchedulesQuery, Query()]
) -> PageResponse[ScheduleItemResponse]:
    """In order of their names."""
    due = None if query.due_before is None else ceil_second(query.due_before)
    filters = ScheduleFilter(
        job=query.job, text=query.text, paused=query.paused, due_before=due, label=query.label, source=query.source
    )
    page = await context.page(
        lambda key, most: context.store.insights.schedules(filters, key, most),
        lambda row: context.identity.sees(row.schedule.job) and (due is None or is_due(row, due)),
        query.after, query.limit,
    )  # fmt: skip
    recent = await context.store.insights.recent([row.schedule.name for row in page.items])
    listed = [_item_response(row, recent.get(row.schedule.name, ())) for row in page.items]
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
        await context.job(str(owner), 422)
    new = await read_new(context.store, fields, context.tickwise.schedules.defaults())
    await write_new(context.store, new)
    row = await context.schedule(new.schedule)
    await context.audit("schedule.create", new.schedule, None, fields)
    stored = await stored_job(context.store, row.schedule.job)
    response.headers["Location"] = resource_path(request, f"/schedules/{new.schedule}")
    response.headers["ETag"] = etag(stored.version, row)
    missing = await missing_worker_warnings(context.store, new.job, stored.row.source)
    return _detail_response(row, stored.fields(new.schedule), row.updated_at, missing)


@router.get(
    "/schedules/{name:name}", AccessRole.VIEWER, response_model=ScheduleDetailResponse, responses=_NOT_MODIFIED
)
async def get_schedule(name: NamePath, request: Request, response: Response, context: Context) -> Any:
    """One schedule, with its definition."""
    row, stored = await _read_schedule(context, name)
    response.headers["ETag"] = tag = etag(stored.version, row)
    return not_modified(request, tag) or _detail_response(row, stored.fields(name), await context.store.now())


@router.patch("/schedules/{name:name}", AccessRole.ADMIN, response_model=ScheduleDetailResponse)
async def change_schedule(
    name: NamePath, body: PatchRequest, request: Request, response: Response, context: Context
) -> ScheduleDetailResponse:
    """Change some of its fields. Changed times give a new next time; what cannot be used changes nothing."""
    row, stored = await _read_schedule(context, name)
    patch, defaults = unmasked(body.root, stored.fields(name)), context.tickwise.schedules.defaults()
    with matching_edit(request, stored, row):
        edit = await edit_schedule(context.store, stored, name, patch, defaults)
    if not edit.changed:
        response.headers["ETag"] = etag(stored.version, row)
        return _detail_response(row, edit.before, await context.store.now())
    await context.audit("schedule.change", name, edit.before, edit.after)
    row, job = await context.schedule(name), await context.job(row.schedule.job)
    response.headers["ETag"] = etag(job.version, row)
    missing: Sequence[str] = ()
    if worker_required(edit.job) != worker_required(stored.definition):
        missing = await missing_worker_warnings(context.store, edit.job, job.source)
    return _detail_response(row, fields_with(edit.job, name), job.updated_at, missing)


@router.delete("/schedules/{name:name}", AccessRole.ADMIN, status_code=204)
async def delete_schedule(name: NamePath, request: Request, context: Context) -> Response:
    """Delete it, and its job if that has no other. Queued runs are cancelled, running ones go on."""
    row, stored = await _read_schedule(context, name)
    with matching_edit(request, stored, row):
        await remove_schedule(context.store, stored, name)
    await context.audit("schedule.delete", name, stored.fields(name), None)
    return Response(status_code=204)


@router.get("/schedules/{name:name}/why", AccessRole.VIEWER, response_model=WhyResponse)
async def why_schedule(name: NamePath, context: Context, query: Annotated[SlotQuery, Query()]) -> WhyResponse:
    """Why a slot ran or did not, in words; without one, the newest that is due."""
    await context.schedule(name)
    return WhyResponse.model_validate(await context.tickwise.why(name, query.slot))


@router.get("/schedules/{name:name}/decisions", AccessRole.VIEWER, response_model=PageResponse[DecisionResponse])
async def decisions_of_schedule(
    name: NamePath, request: Request, response: Response, context: Context, query: Annotated[PageQuery, Query()]
) -> PageResponse[DecisionResponse]:
    """What was decided about its slots, the newest first."""
    await context.schedule(name)
    page = await context.store.insights.decisions(DecisionFilter(schedule=name), query.after, query.limit)
    return page_of(request, response, [DecisionResponse.of(row) for row in page.items], page.after)


async def _read_schedule(context: RequestContext, name: str) -> tuple[ScheduleRow, StoredJob]:
    """A schedule that the caller sees, and its job: all that an edit reads."""
    row = await context.schedule(name)
    stored = await stored_job(context.store, row.schedule.job)
    return stored.schedule(name) or row, stored


def _detail_response(
    row: ScheduleRow, fields: dict[str, Any], now: int, missing: Sequence[str] = ()
) -> ScheduleDetailResponse:
    """`now` in microseconds: warnings are about what comes after it."""
    return ScheduleDetailResponse(
        **schedule_response(row).model_dump(), definition=masked(fields),
        warnings=[*row.schedule.definition.times.warnings_after(now // MICRO), *missing],
    )  # fmt: skip
