"""`/decisions` and `/reasons`: what did not run, and what that can mean."""

from typing import Annotated

from fastapi import Query, Request, Response

from ...core.errors import nearest
from ...core.reasons import Reason
from ...core.timeparse import ceil_second
from ...stores.records import AccessRole, DecisionFilter, DecisionRow
from ..context import Context, RequestContext
from ..links import page_of
from ..problems import Refusal
from ..routing import Router
from ..schemas.common import PageResponse
from ..schemas.decisions import DecisionResponse, ReasonResponse, ReasonsResponse
from ..schemas.queries import DecisionsQuery

doors = Router("decisions")


@doors.get("/decisions", AccessRole.VIEWER, response_model=PageResponse[DecisionResponse])
async def list_decisions(
    request: Request, response: Response, visit: Context, asked: Annotated[DecisionsQuery, Query()]
) -> PageResponse[DecisionResponse]:
    """Newest slots first."""
    wanted = DecisionFilter(
        asked.schedule, frozenset(map(_reason, asked.reason)),
        since=None if asked.since is None else ceil_second(asked.since),
        until=None if asked.until is None else ceil_second(asked.until),
    )  # fmt: skip
    page = await visit.store.insights.decisions(wanted, asked.after, asked.limit)
    rows = [row for row in page.items if not visit.who.scopes or await _sees(visit, row)]
    return page_of(request, response, [DecisionResponse.of(row) for row in rows], page.after)


@doors.get("/reasons", AccessRole.VIEWER, response_model=ReasonsResponse)
async def list_reasons() -> ReasonsResponse:
    """Every reason there can be, what it means and what can be done about it."""
    return ReasonsResponse(items=[ReasonResponse.of(reason) for reason in Reason])


def _reason(code: str) -> Reason:
    codes = [reason.code for reason in Reason]
    if code not in codes:
        raise Refusal(422, f"there is no reason {code[:60]!r}{nearest(code, codes)}", field="reason")
    return Reason.of(code)


async def _sees(visit: RequestContext, row: DecisionRow) -> bool:
    schedule = await visit.store.insights.schedule(row.schedule)
    return schedule is not None and visit.who.sees(schedule.schedule.job)
