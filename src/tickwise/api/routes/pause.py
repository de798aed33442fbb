"""`/pause`: the pause of everything."""

from ...app.records import AccessRole, PauseInterval
from ..context import Context, RequestContext
from ..routing import Router
from ..schemas.common import second
from ..schemas.fleet import GlobalPauseResponse, PauseStatusResponse
from ..schemas.schedules import PauseRequest

router = Router("everything")
_MAX_HISTORY = 100
_NO_REASON = PauseRequest()


@router.get("/pause", AccessRole.VIEWER, response_model=PauseStatusResponse)
async def pause_of_everything(context: Context) -> PauseStatusResponse:
    """Whether everything is paused, and when it was."""
    return await _pause_status(context)


@router.put("/pause", AccessRole.OPERATOR, whole=True, response_model=PauseStatusResponse)
async def pause_everything(context: Context, body: PauseRequest = _NO_REASON) -> PauseStatusResponse:
    """Decide no slot of any schedule until resumed, or until a time (S29, S66)."""
    await context.tickwise.pause(reason=body.reason, by=context.identity.name, until=body.until)
    await context.audit("everything.pause", "everything", None, {"reason": body.reason, "until": body.until})
    return await _pause_status(context)


@router.delete("/pause", AccessRole.OPERATOR, whole=True, response_model=PauseStatusResponse)
async def resume_everything(context: Context) -> PauseStatusResponse:
    """Go on."""
    await context.tickwise.resume()
    await context.audit("everything.resume", "everything")
    return await _pause_status(context)


async def _pause_status(context: RequestContext) -> PauseStatusResponse:
    pauses = [_pause_response(one) for one in (await context.view.pauses())[:_MAX_HISTORY]]
    return PauseStatusResponse(paused=next((one for one in pauses if one.until is None), None), history=pauses)


def _pause_response(one: PauseInterval) -> GlobalPauseResponse:
    times = {"at": second(one.at), "until": second(one.until), "resumes_at": second(one.resumes_at)}
    return GlobalPauseResponse.model_validate({**one._asdict(), **times})
