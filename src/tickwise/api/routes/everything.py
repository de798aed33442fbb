"""`/pause`: everything at once."""

from ...stores.records import AccessRole, PauseInterval
from ..bodies.base import second
from ..bodies.fleet import EverythingBody, WholePause
from ..bodies.schedules import PauseAsked
from ..doors import Doors
from ..visit import Visit, Visiting

doors = Doors("everything")
_SHOWN = 100
_PLAIN = PauseAsked()


@doors.get("/pause", AccessRole.VIEWER, response_model=EverythingBody)
async def pause_of_everything(visit: Visiting) -> EverythingBody:
    """Whether everything is paused, and when it was."""
    return await _told(visit)


@doors.put("/pause", AccessRole.OPERATOR, whole=True, response_model=EverythingBody)
async def pause_everything(visit: Visiting, body: PauseAsked = _PLAIN) -> EverythingBody:
    """Decide no slot of any schedule until resumed (S29)."""
    await visit.tickwise.pause(reason=body.reason, by=visit.who.name)
    await visit.audit("everything.pause", "everything", None, {"reason": body.reason})
    return await _told(visit)


@doors.delete("/pause", AccessRole.OPERATOR, whole=True, response_model=EverythingBody)
async def resume_everything(visit: Visiting) -> EverythingBody:
    """Go on."""
    await visit.tickwise.resume()
    await visit.audit("everything.resume", "everything")
    return await _told(visit)


async def _told(visit: Visit) -> EverythingBody:
    pauses = [_pause(one) for one in (await visit.store.insights.pauses())[:_SHOWN]]
    return EverythingBody(paused=next((one for one in pauses if one.until is None), None), history=pauses)


def _pause(one: PauseInterval) -> WholePause:
    return WholePause.model_validate({**one._asdict(), "at": second(one.at), "until": second(one.until)})
