"""`/blackouts`: windows in which schedules rest (S62)."""

from ...app.blackouts import BlackoutInfo
from ...app.records import AccessRole
from ..context import Context, RequestContext
from ..routing import Router
from ..schemas.blackouts import BlackoutRequest, BlackoutResponse, BlackoutsResponse, NewBlackoutRequest
from ..schemas.common import NamePath

router = Router("blackouts")
_OPERATOR = AccessRole.OPERATOR


@router.get("/blackouts", AccessRole.VIEWER, whole=True, response_model=BlackoutsResponse)
async def list_blackouts(context: Context) -> BlackoutsResponse:
    """All of them, also those that ended within a week, with the window that is on or comes next."""
    known = await context.tickwise.blackouts.list()
    return BlackoutsResponse(items=[BlackoutResponse.model_validate(each) for each in known])


@router.get("/blackouts/{name:name}", AccessRole.VIEWER, whole=True, response_model=BlackoutResponse)
async def get_blackout(name: NamePath, context: Context) -> BlackoutResponse:
    """One of them."""
    return BlackoutResponse.model_validate(await context.tickwise.blackouts.get(name))


@router.post("/blackouts", _OPERATOR, whole=True, status_code=201, response_model=BlackoutResponse)
async def add_blackout(body: NewBlackoutRequest, context: Context) -> BlackoutResponse:
    """Let jobs rest in a window, once or again and again; 409 if there is one of the name."""
    return await _write(context, body.name, body, replace=False)


@router.put("/blackouts/{name:name}", _OPERATOR, whole=True, response_model=BlackoutResponse)
async def replace_blackout(name: NamePath, body: BlackoutRequest, context: Context) -> BlackoutResponse:
    """Add it, or put another in its place: a window that is on ends, and the new one counts from now."""
    return await _write(context, name, body, replace=True)


@router.delete("/blackouts/{name:name}", _OPERATOR, whole=True, response_model=BlackoutResponse)
async def remove_blackout(name: NamePath, context: Context) -> BlackoutResponse:
    """End it now: what rests by it goes on (S29)."""
    was = await context.tickwise.blackouts.remove(name)
    await context.audit("blackout.remove", name, _audited(was))
    return BlackoutResponse.model_validate(was)


async def _write(context: RequestContext, name: str, body: BlackoutRequest, *, replace: bool) -> BlackoutResponse:
    fields = body.model_dump(exclude={"name"})
    made = await context.tickwise.blackouts.add(name, **fields, by=context.identity.name, replace=replace)
    await context.audit("blackout.replace" if replace else "blackout.add", name, None, _audited(made))
    return BlackoutResponse.model_validate(made)


def _audited(one: BlackoutInfo) -> dict[str, object]:
    times = {"cron": one.cron} if one.cron else {"start": one.start and f"{one.start:%Y-%m-%dT%H:%M:%SZ}"}
    return {
        "jobs": list(one.jobs),
        "labels": list(one.labels),
        **times,
        "length": one.length,
        "reason": one.reason,
    }
