"""`/schedules/{name}/backfill`: slots of the past (S32)."""

from ...app.records import AccessRole
from ..context import Context, RequestContext
from ..routing import Router
from ..schemas.common import NamePath
from ..schemas.schedules import BackfillRequest, BackfillResponse, BackfillStatusResponse

router = Router("schedules")
_ACTION = "schedule.backfill"
_MAX_ENTRIES = 100  # entries of the audit


@router.post("/schedules/{name:name}:backfill", AccessRole.OPERATOR, response_model=BackfillResponse)
async def backfill(name: NamePath, body: BackfillRequest, context: Context) -> BackfillResponse:
    """Enqueue the slots of [start, end) that have no run, oldest first; a dry run lists them only."""
    await context.view.schedule(name)
    since = await context.view.now()  # the first runs may be made before the audit entry
    slots = await context.tickwise.schedules.backfill(name, **body.model_dump())
    if not body.dry_run:
        await context.audit(_ACTION, name, None, {**body.model_dump(), "slots": len(slots), "since": since})
    return BackfillResponse(slots=list(slots), dry_run=body.dry_run)


@router.get("/schedules/{name:name}/backfill", AccessRole.VIEWER, response_model=BackfillStatusResponse)
async def backfill_progress(name: NamePath, context: Context) -> BackfillStatusResponse:
    """How far the last one is, in slots."""
    await context.view.schedule(name)
    return BackfillStatusResponse.model_validate(
        await context.operations.backfill_status(name, await _requested_at(context, name))
    )


@router.delete("/schedules/{name:name}/backfill", AccessRole.OPERATOR, response_model=BackfillStatusResponse)
async def cancel_backfill(name: NamePath, context: Context) -> BackfillStatusResponse:
    """Enqueue no more of it; what it has enqueued stays."""
    await context.view.schedule(name)
    since = await _requested_at(context, name)
    before = await context.operations.backfill_status(name, since)
    await context.tickwise.schedules.cancel_backfill(name)
    await context.audit("schedule.backfill.cancel", name, {"made": before.made, "left": before.left}, None)
    return BackfillStatusResponse.model_validate(await context.operations.backfill_status(name, since))


async def _requested_at(context: RequestContext, name: str) -> int:
    """When the last one was requested through the API; 0 if it was not."""
    page = await context.access.audit(name, limit=_MAX_ENTRIES)
    return next((int(row.after.get("since", row.at)) for row in page.items if row.action == _ACTION), 0)
