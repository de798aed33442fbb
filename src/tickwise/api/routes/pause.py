"""`/pause`: everything at once."""

from ...stores.records import AccessRole, PauseInterval
from ..context import Context, RequestContext
from ..routing import Router
from ..schemas.common import second
from ..schemas.fleet import GlobalPauseResponse, PauseStatusResponse
from ..schemas.schedules import PauseRequest

doors = Router("everything")
_SHOWN = 100
_PLAIN = PauseRequest()


@doors.get("/pause", AccessRole.VIEWER, response_model=PauseStatusResponse)
async def pause_of_everything(visit: Context) -> PauseStatusResponse:
    """Whether everything is paused, and when it was."""
    return await _told(visit)


@doors.put("/pause", AccessRole.OPERATOR, whole=True, response_model=PauseStatusResponse)
async def pause_everything(visit: Context, body: PauseRequest = _PLAIN) -> PauseStatusResponse:
    """Decide no slot of any schedule until resumed (S29)."""
    await visit.tickwise.pause(reason=body.reason, by=visit.who.name)
    await visit.audit("everything.pause", "everything", None, {"reason": body.reason})
    return await _told(visit)


@doors.delete("/pause", AccessRole.OPERATOR, whole=True, response_model=PauseStatusResponse)
async def resume_everything(visit: Context) -> PauseStatusResponse:
    """Go on."""
    await visit.tickwise.resume()
    await visit.audit("everything.resume", "everything")
    return await _told(visit)


async def _told(visit: RequestContext) -> PauseStatusResponse:
    pauses = [_pause(one) for one in (await visit.store.insights.pauses())[:_SHOWN]]
    return PauseStatusResponse(paused=next((one for one in pauses if one.until is None), None), history=pauses)


def _pause(one: PauseInterval) -> GlobalPauseResponse:
    return GlobalPauseResponse.model_validate({**one._asdict(), "at": second(one.at), "until": second(one.until)})
