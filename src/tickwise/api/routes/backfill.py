"""`/schedules/{name}/backfill`: slots of the past (S32)."""

from ...app.managers import backfill_status
from ...stores.records import AccessRole
from ..context import Context, RequestContext
from ..routing import Router
from ..schemas.common import NamePath
from ..schemas.schedules import BackfillRequest, BackfillResponse, BackfillStatusResponse

doors = Router("schedules")
_ASKED = "schedule.backfill"
_LOOKED_AT = 100  # entries of the audit


@doors.post("/schedules/{name:name}:backfill", AccessRole.OPERATOR, response_model=BackfillResponse)
async def backfill(name: NamePath, body: BackfillRequest, visit: Context) -> BackfillResponse:
    """Enqueue the slots of [start, end) that have no run, oldest first; a dry run lists them only."""
    await visit.schedule(name)
    since = await visit.store.now()  # the first runs may be made before it is recorded that they were asked for
    slots = await visit.tickwise.schedules.backfill(name, **body.model_dump())
    if not body.dry_run:
        await visit.audit(_ASKED, name, None, {**body.model_dump(), "slots": len(slots), "since": since})
    return BackfillResponse(slots=list(slots), dry_run=body.dry_run)


@doors.get("/schedules/{name:name}/backfill", AccessRole.VIEWER, response_model=BackfillStatusResponse)
async def backfill_progress(name: NamePath, visit: Context) -> BackfillStatusResponse:
    """How far the last one is, in slots."""
    await visit.schedule(name)
    return BackfillStatusResponse.model_validate(
        await backfill_status(visit.store, name, await _asked_at(visit, name))
    )


@doors.delete("/schedules/{name:name}/backfill", AccessRole.OPERATOR, response_model=BackfillStatusResponse)
async def cancel_backfill(name: NamePath, visit: Context) -> BackfillStatusResponse:
    """Enqueue no more of it; what it has enqueued stays."""
    await visit.schedule(name)
    since = await _asked_at(visit, name)
    before = await backfill_status(visit.store, name, since)
    await visit.tickwise.schedules.cancel_backfill(name)
    await visit.audit("schedule.backfill.cancel", name, {"made": before.made, "left": before.left}, None)
    return BackfillStatusResponse.model_validate(await backfill_status(visit.store, name, since))


async def _asked_at(visit: RequestContext, name: str) -> int:
    """When the last one was asked for here; the beginning of time if not here."""
    page = await visit.store.access.audit(name, limit=_LOOKED_AT)
    return next((int(row.after.get("since", row.at)) for row in page.items if row.action == _ASKED), 0)
