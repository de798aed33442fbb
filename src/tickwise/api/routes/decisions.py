"""`/decisions` and `/reasons`: why slots did not run, and every reason there is."""

from typing import Annotated

from fastapi import Query, Request, Response

from ...app.records import AccessRole, DecisionFilter
from ...core.reasons import Reason
from ...core.timeparse import ceil_second
from ..context import Context
from ..problems import unknown_name
from ..routing import Router
from ..schemas.common import PageResponse, page_of
from ..schemas.decisions import DecisionResponse, ReasonResponse, ReasonsResponse
from ..schemas.queries import DecisionsQuery

router = Router("decisions")


@router.get("/decisions", AccessRole.VIEWER, response_model=PageResponse[DecisionResponse])
async def list_decisions(
    request: Request, response: Response, context: Context, query: Annotated[DecisionsQuery, Query()]
) -> PageResponse[DecisionResponse]:
    """Newest slots first."""
    filters = DecisionFilter(
        query.schedule, frozenset(map(_reason, query.reason)),
        since=None if query.since is None else ceil_second(query.since),
        until=None if query.until is None else ceil_second(query.until),
    )  # fmt: skip
    page = await context.view.decisions(filters, query.after, query.limit)
    return page_of(request, response, [DecisionResponse.of(row) for row in page.items], page.after)


@router.get("/reasons", AccessRole.VIEWER, response_model=ReasonsResponse)
async def list_reasons() -> ReasonsResponse:
    """Every reason there can be, what it means and what can be done about it."""
    return ReasonsResponse(items=[ReasonResponse.of(reason) for reason in Reason])


def _reason(code: str) -> Reason:
    codes = [reason.code for reason in Reason]
    if code not in codes:
        raise unknown_name(422, "reason", code, codes, field="reason")
    return Reason.of(code)
