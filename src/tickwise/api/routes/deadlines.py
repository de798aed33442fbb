"""`/deadlines`: how likely the next deadlines are to be missed, and why."""

from ...app.records import AccessRole
from ..context import Context
from ..routing import Router
from ..schemas.deadlines import DeadlineForecastsResponse, forecast_response

router = Router("deadlines")


@router.get("/deadlines", AccessRole.VIEWER, response_model=DeadlineForecastsResponse)
async def list_deadlines(context: Context) -> DeadlineForecastsResponse:
    """The next deadline of each schedule that has one within a day, with the probability that it is missed."""
    found = await context.operations.deadline_forecasts()
    seen = (one for one in found if context.identity.sees(one.job))
    return DeadlineForecastsResponse(items=[forecast_response(one) for one in seen])
