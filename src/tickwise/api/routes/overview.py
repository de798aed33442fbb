"""`/overview` and `/me`: how things are, and who asks."""

from ...app.overview import overview
from ...stores.records import AccessRole
from ..context import Context
from ..routing import Router
from ..schemas.fleet import IdentityResponse, OverviewResponse

doors = Router("overview")


@doors.get("/overview", AccessRole.VIEWER, response_model=OverviewResponse)
async def get_overview(visit: Context) -> OverviewResponse:
    """Counts, what is wrong and what to do about it, and the last hour by minute."""
    return OverviewResponse.model_validate(
        await overview(visit.store, visit.who.sees if visit.who.scopes else None)
    )


@doors.get("/me", AccessRole.VIEWER, response_model=IdentityResponse)
async def who_am_i(visit: Context) -> IdentityResponse:
    """Your name here, and what you may do."""
    return IdentityResponse(name=visit.who.name, role=str(visit.who.role), scopes=list(visit.who.scopes))
