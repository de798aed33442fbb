"""`/schedules`: list, create, get, change, delete, and why."""

from collections.abc import Sequence
from typing import Annotated, Any

from fastapi import Query, Request, Response

from ...app.definitions import API_SOURCE, edit_definition, fields_with, read_new, whole_job, without
from ...app.values import ScheduleInfo, is_due
from ...core.timeparse import ceil_second
from ...stores.records import MICRO, AccessRole, DecisionFilter, ScheduleFilter, ScheduleRow
from ...stores.statistics import Recent
from ..context import Context, RequestContext
from ..definitions import named
from ..etags import check_match, etag, not_modified, only_edit
from ..links import address, page_of
from ..masking import masked, unmasked
from ..problems import Refusal
from ..routing import Router
from ..schemas.common import NamePath, PageResponse
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

doors = Router("schedules")
_VERSIONED: dict[int | str, dict[str, Any]] = {304: {"description": "You have this version already."}}


def body_of(row: ScheduleRow) -> ScheduleResponse:
    return ScheduleResponse.model_validate(ScheduleInfo.of(row))


def _listed(row: ScheduleRow, runs: Sequence[Recent]) -> ScheduleItemResponse:
    late = [(run.started_at - run.due_at) / 1_000 for run in runs if run.started_at is not None]
    states = [str(run.state) for run in runs]
    return ScheduleItemResponse(
        **body_of(row).model_dump(), recent=states, late_ms=max(0, late[-1]) if late else None
    )


@doors.get("/schedules", AccessRole.VIEWER, response_model=PageResponse[ScheduleItemResponse])
async def list_schedules(
    request: Request, response: Response, visit: Context, asked: Annotated[SchedulesQuery, Query()]
) -> PageResponse[ScheduleItemResponse]:
    """In order of their names."""
    due = None if asked.due_before is None else ceil_second(asked.due_before)
    wanted = ScheduleFilter(asked.job, asked.text, asked.paused, due, asked.label, asked.source)
    page = await visit.page(
        lambda key, most: visit.store.insights.schedules(wanted, key, most),
        lambda row: visit.who.sees(row.schedule.job) and (due is None or is_due(row, due)),
        asked.after, asked.limit,
    )  # fmt: skip
    recent = await visit.store.insights.recent([row.schedule.name for row in page.items])
    listed = [_listed(row, recent.get(row.schedule.name, ())) for row in page.items]
    return page_of(request, response, listed, page.after)


@doors.post("/schedules", AccessRole.ADMIN, once=True, status_code=201, response_model=ScheduleDetailResponse)
async def create_schedule(
    body: DefinitionRequest, request: Request, response: Response, visit: Context
) -> ScheduleDetailResponse:
    """Define a job with its schedule, by the fields of a job file; or one more schedule of a `job`."""
    fields = body.root
    name = str(fields.get("name") or "")
    if not name:
        raise Refusal(422, "name: is missing: give the schedule a name", field="name")
    owner = fields.get("job")
    if owner is not None:
        await visit.job(str(owner), 422)
    if not visit.who.sees(str(owner or name)):
        raise Refusal(403, f"{visit.who.name} may define jobs named like {', '.join(visit.who.scopes)} only")
    with named(f"schedule {name[:100]}", fields, hints=not visit.who.scopes):
        new = await read_new(visit.store, fields, visit.tickwise.schedules.defaults())
        await visit.store.define(new.job, API_SOURCE, over=new.over)
    row = await visit.schedule(new.schedule)
    await visit.audit("schedule.create", new.schedule, None, fields)
    response.headers["Location"] = address(request, f"/schedules/{new.schedule}")
    response.headers["ETag"] = await etag(visit.store, row)
    return await _detail(visit, row)


@doors.get(
    "/schedules/{name:name}", AccessRole.VIEWER, response_model=ScheduleDetailResponse, responses=_VERSIONED
)
async def get_schedule(name: NamePath, request: Request, response: Response, visit: Context) -> Any:
    """One schedule, with its definition."""
    row = await visit.schedule(name)
    response.headers["ETag"] = tag = await etag(visit.store, row)
    return not_modified(request, tag) or await _detail(visit, row)


@doors.patch("/schedules/{name:name}", AccessRole.ADMIN, response_model=ScheduleDetailResponse)
async def change_schedule(
    name: NamePath, body: PatchRequest, request: Request, response: Response, visit: Context
) -> ScheduleDetailResponse:
    """Change some of its fields. Changed times give a new next time; what cannot be used changes nothing."""
    row = await visit.schedule(name)
    tag = await etag(visit.store, row)
    check_match(request, tag)
    job = await whole_job(visit.store, row.schedule.job)
    patch = unmasked(body.root, fields_with(job, name))
    with named(f"schedule {name}", patch, hints=not visit.who.scopes):
        edit = await edit_definition(visit.store, name, patch, visit.tickwise.schedules.defaults())
        if edit.changes:
            async with only_edit(visit.store, row, tag):
                await visit.store.define(edit.job, API_SOURCE, over=edit.over)
            await visit.audit("schedule.change", name, edit.before, edit.after)
    row = await visit.schedule(name)
    response.headers["ETag"] = await etag(visit.store, row)
    return await _detail(visit, row)


@doors.delete("/schedules/{name:name}", AccessRole.ADMIN, status_code=204)
async def delete_schedule(name: NamePath, request: Request, visit: Context) -> Response:
    """Delete it, and its job if that has no other. Queued runs are cancelled, running ones go on."""
    row = await visit.schedule(name)
    tag = await etag(visit.store, row)
    check_match(request, tag)
    before = fields_with(await whole_job(visit.store, row.schedule.job), name)
    left = await without(visit.store, name)
    async with only_edit(visit.store, row, tag):
        if left is None:
            await visit.store.remove(row.schedule.job, API_SOURCE)
        else:
            await visit.store.define(left, API_SOURCE)
    await visit.audit("schedule.delete", name, before, None)
    return Response(status_code=204)


@doors.get("/schedules/{name:name}/why", AccessRole.VIEWER, response_model=WhyResponse)
async def why_schedule(name: NamePath, visit: Context, asked: Annotated[SlotQuery, Query()]) -> WhyResponse:
    """Why a slot ran or did not, in words; without one, the newest that is due."""
    await visit.schedule(name)
    return WhyResponse.model_validate(await visit.tickwise.why(name, asked.slot))


@doors.get("/schedules/{name:name}/decisions", AccessRole.VIEWER, response_model=PageResponse[DecisionResponse])
async def decisions_of_schedule(
    name: NamePath, request: Request, response: Response, visit: Context, asked: Annotated[PageQuery, Query()]
) -> PageResponse[DecisionResponse]:
    """What was decided about its slots, the newest first."""
    await visit.schedule(name)
    page = await visit.store.insights.decisions(DecisionFilter(schedule=name), asked.after, asked.limit)
    return page_of(request, response, [DecisionResponse.of(row) for row in page.items], page.after)


async def _detail(visit: RequestContext, row: ScheduleRow) -> ScheduleDetailResponse:
    job = await whole_job(visit.store, row.schedule.job)
    now = await visit.store.now() // MICRO
    return ScheduleDetailResponse(
        **body_of(row).model_dump(), definition=masked(fields_with(job, row.schedule.name)),
        warnings=list(row.schedule.definition.times.warnings_after(now)),
    )  # fmt: skip
