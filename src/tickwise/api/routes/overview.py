"""`/overview` and `/me`: the state of everything, and the identity of the caller."""

from ...app.records import AccessRole
from ..context import Context
from ..routing import Router
from ..schemas.fleet import IdentityResponse, OverviewResponse

router = Router("overview")


@router.get("/overview", AccessRole.VIEWER, response_model=OverviewResponse)
async def get_overview(context: Context) -> OverviewResponse:
    """Counts, what is wrong and what to do about it, and the last hour by minute."""
    return OverviewResponse.model_validate(
        await context.operations.overview(context.identity.sees if context.identity.scopes else None)
    )


@router.get("/me", AccessRole.VIEWER, response_model=IdentityResponse)
async def who_am_i(context: Context) -> IdentityResponse:
    """Your name here, and what you may do."""
    return IdentityResponse(
        name=context.identity.name, role=str(context.identity.role), scopes=list(context.identity.granted)
    )
