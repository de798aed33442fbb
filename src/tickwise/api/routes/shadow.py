"""`/shadow`, `:seen` and `/schedules/NAME/shadow`: compare with another scheduler, and take over from it (S80)."""

from typing import Annotated

from fastapi import Query

from ...app.records import AccessRole
from ..context import Context
from ..routing import Router
from ..schemas.common import NamePath
from ..schemas.shadow import (
    SeenRequest,
    SeenResponse,
    ShadowAdoptionResponse,
    ShadowAdoptRequest,
    ShadowListResponse,
    ShadowQuery,
    ShadowReportResponse,
    ShadowStatusResponse,
)

router = Router("shadow")
_SEEN, _ADOPT = SeenRequest(), ShadowAdoptRequest()


@router.get("/shadow", AccessRole.VIEWER, response_model=ShadowListResponse)
async def list_shadows(context: Context) -> ShadowListResponse:
    """Schedules that are, or were, in shadow, by name; compared by their newest fires."""
    items = [
        ShadowStatusResponse.model_validate(one)
        for one in await context.tickwise.shadow.list()
        if context.identity.sees(one.job)
    ]
    return ShadowListResponse(items=items)


@router.get("/schedules/{name:name}/shadow", AccessRole.VIEWER, response_model=ShadowReportResponse)
async def shadow_report(
    name: NamePath, context: Context, query: Annotated[ShadowQuery, Query()]
) -> ShadowReportResponse:
    """Its slots and the fires of the other scheduler, one by one."""
    await context.view.schedule(name)
    report = await context.tickwise.shadow.report(
        name, since=query.since, until=query.until, tolerance=query.tolerance
    )
    return ShadowReportResponse.model_validate(report)


@router.post("/schedules/{name:name}:seen", AccessRole.OPERATOR, response_model=SeenResponse)
async def see_fire(name: NamePath, context: Context, body: SeenRequest = _SEEN) -> SeenResponse:
    """Note that another scheduler has started the job, once per key."""
    await context.view.schedule(name)
    heard = await context.tickwise.shadow.seen(
        name, age=body.age, at=body.at, key=body.key, unless_adopted=body.unless_adopted
    )
    return SeenResponse.model_validate(heard)


@router.post("/schedules/{name:name}/shadow:adopt", AccessRole.OPERATOR, response_model=ShadowAdoptionResponse)
async def adopt_from_shadow(
    name: NamePath, context: Context, body: ShadowAdoptRequest = _ADOPT
) -> ShadowAdoptionResponse:
    """Take over from the other scheduler after its last fire; refused while a fire may be on its way."""
    await context.view.schedule(name)
    adoption = await context.tickwise.shadow.adopt(
        name, stopped=body.stopped, by=context.identity.name, dry_run=body.dry_run
    )
    if not body.dry_run:
        await context.audit("schedule.adopt_from_shadow", name, None, {"cursor": adoption.cursor.isoformat()})
    return ShadowAdoptionResponse.model_validate(adoption)


@router.post("/schedules/{name:name}/shadow:resume", AccessRole.OPERATOR, response_model=ShadowStatusResponse)
async def resume_shadow(name: NamePath, context: Context) -> ShadowStatusResponse:
    """Take an adoption back: the other scheduler starts the job again."""
    await context.view.schedule(name)
    status = await context.tickwise.shadow.resume(name)
    await context.audit("schedule.resume_shadow", name)
    return ShadowStatusResponse.model_validate(status)
