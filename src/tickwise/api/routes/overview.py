"""`/overview` and `/me`: how things are, and who asks."""

from ...app.overview import overview
from ...stores.records import AccessRole
from ..bodies.fleet import OverviewBody, WhoBody
from ..doors import Doors
from ..visit import Visiting

doors = Doors("overview")


@doors.get("/overview", AccessRole.VIEWER, response_model=OverviewBody)
async def get_overview(visit: Visiting) -> OverviewBody:
    """Counts, what is wrong and what to do about it, and the last hour by minute."""
    return OverviewBody.model_validate(await overview(visit.store, visit.who.sees if visit.who.scopes else None))


@doors.get("/me", AccessRole.VIEWER, response_model=WhoBody)
async def who_am_i(visit: Visiting) -> WhoBody:
    """Your name here, and what you may do."""
    return WhoBody(name=visit.who.name, role=str(visit.who.role), scopes=list(visit.who.scopes))
