"""`/schedules/{name}/backfill`: slots of the past (S32)."""

from ...app.managers import backfill_status
from ...app.records import AccessRole
from ..context import Context, RequestContext
from ..routing import Router
from ..schemas.common import NamePath
from ..schemas.schedules import BackfillRequest, BackfillResponse, BackfillStatusResponse

router = Router("schedules")
_ASKED = "schedule.backfill"
_LOOKED_AT = 100  # entries of the audit


@router.post("/schedules/{name:name}:backfill", AccessRole.OPERATOR, response_model=BackfillResponse)
async def backfill(name: NamePath, body: BackfillRequest, context: Context) -> BackfillResponse:
    """Enqueue the slots of [start, end) that have no run, oldest first; a dry run lists them only."""
    await context.schedule(name)
    since = await context.store.now()  # the first runs may be made before it is recorded that they were asked for
    slots = await context.tickwise.schedules.backfill(name, **body.model_dump())
    if not body.dry_run:
        await context.audit(_ASKED, name, None, {**body.model_dump(), "slots": len(slots), "since": since})
    return BackfillResponse(slots=list(slots), dry_run=body.dry_run)


@router.get("/schedules/{name:name}/backfill", AccessRole.VIEWER, response_model=BackfillStatusResponse)
async def backfill_progress(name: NamePath, context: Context) -> BackfillStatusResponse:
    """How far the last one is, in slots."""
    await context.schedule(name)
    return BackfillStatusResponse.model_validate(
        await backfill_status(context.store, name, await _asked_at(context, name))
    )


@router.delete("/schedules/{name:name}/backfill", AccessRole.OPERATOR, response_model=BackfillStatusResponse)
async def cancel_backfill(name: NamePath, context: Context) -> BackfillStatusResponse:
    """Enqueue no more of it; what it has enqueued stays."""
    await context.schedule(name)
    since = await _asked_at(context, name)
    before = await backfill_status(context.store, name, since)
    await context.tickwise.schedules.cancel_backfill(name)
    await context.audit("schedule.backfill.cancel", name, {"made": before.made, "left": before.left}, None)
    return BackfillStatusResponse.model_validate(await backfill_status(context.store, name, since))


async def _asked_at(context: RequestContext, name: str) -> int:
    """When the last one was asked for here; the beginning of time if not here."""
    page = await context.store.access.audit(name, limit=_LOOKED_AT)
    return next((int(row.after.get("since", row.at)) for row in page.items if row.action == _ASKED), 0)
