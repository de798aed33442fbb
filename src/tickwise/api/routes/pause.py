"""`/pause`: everything at once."""

from ...app.records import AccessRole, PauseInterval
from ..context import Context, RequestContext
from ..routing import Router
from ..schemas.common import second
from ..schemas.fleet import GlobalPauseResponse, PauseStatusResponse
from ..schemas.schedules import PauseRequest

router = Router("everything")
_SHOWN = 100
_PLAIN = PauseRequest()


@router.get("/pause", AccessRole.VIEWER, response_model=PauseStatusResponse)
async def pause_of_everything(context: Context) -> PauseStatusResponse:
    """Whether everything is paused, and when it was."""
    return await _told(context)


@router.put("/pause", AccessRole.OPERATOR, whole=True, response_model=PauseStatusResponse)
async def pause_everything(context: Context, body: PauseRequest = _PLAIN) -> PauseStatusResponse:
    """Decide no slot of any schedule until resumed (S29)."""
    await context.tickwise.pause(reason=body.reason, by=context.identity.name)
    await context.audit("everything.pause", "everything", None, {"reason": body.reason})
    return await _told(context)


@router.delete("/pause", AccessRole.OPERATOR, whole=True, response_model=PauseStatusResponse)
async def resume_everything(context: Context) -> PauseStatusResponse:
    """Go on."""
    await context.tickwise.resume()
    await context.audit("everything.resume", "everything")
    return await _told(context)


async def _told(context: RequestContext) -> PauseStatusResponse:
    pauses = [_pause(one) for one in (await context.store.insights.pauses())[:_SHOWN]]
    return PauseStatusResponse(paused=next((one for one in pauses if one.until is None), None), history=pauses)


def _pause(one: PauseInterval) -> GlobalPauseResponse:
    return GlobalPauseResponse.model_validate({**one._asdict(), "at": second(one.at), "until": second(one.until)})
