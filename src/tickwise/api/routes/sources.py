"""`/sources`: where definitions come from; what a source has left behind is moved or removed by an admin."""

from ...app.records import AccessRole
from ..context import Context
from ..routing import Router
from ..schemas.sources import (
    JobNamesResponse,
    OrphansRequest,
    SourceMoveRequest,
    SourceRemoveRequest,
    SourceResponse,
    SourcesResponse,
)

router = Router("sources")


@router.get("/sources", AccessRole.VIEWER, whole=True, response_model=SourcesResponse)
async def list_sources(context: Context) -> SourcesResponse:
    """In order of their names, with the live nodes that have them and the jobs that their code has dropped."""
    found = await context.tickwise.sources.list()
    return SourcesResponse(items=[SourceResponse.model_validate(one) for one in found])


@router.post("/sources:move", AccessRole.ADMIN, whole=True, response_model=JobNamesResponse)
async def move_source(body: SourceMoveRequest, context: Context) -> JobNamesResponse:
    """Give another source all that a source has written."""
    jobs = await context.tickwise.sources.move(body.source, body.to, dry_run=body.dry_run)
    if not body.dry_run:
        await context.audit("source.move", body.source, {"source": body.source}, {"source": body.to, "jobs": jobs})
    return JobNamesResponse(jobs=list(jobs), dry_run=body.dry_run)


@router.post("/sources:remove", AccessRole.ADMIN, whole=True, response_model=JobNamesResponse)
async def remove_source(body: SourceRemoveRequest, context: Context) -> JobNamesResponse:
    """Delete all that a source has written; 409 while a live node has the source."""
    jobs = await context.tickwise.sources.remove(body.source, dry_run=body.dry_run)
    if not body.dry_run:
        await context.audit("source.remove", body.source, {"jobs": jobs}, None)
    return JobNamesResponse(jobs=list(jobs), dry_run=body.dry_run)


@router.post("/jobs:remove-orphaned", AccessRole.ADMIN, whole=True, response_model=JobNamesResponse)
async def remove_orphans(body: OrphansRequest, context: Context) -> JobNamesResponse:
    """Delete jobs that the code of their app does not declare any more: these, or all."""
    sources = context.tickwise.sources
    if body.dry_run:
        return JobNamesResponse(jobs=list(await sources.orphans()), dry_run=True)
    jobs = list(await sources.remove_orphans(body.names))
    for name in jobs:
        await context.audit("job.remove_orphaned", name)
    return JobNamesResponse(jobs=jobs, dry_run=False)
