"""`/decisions` and `/reasons`: what did not run, and what that can mean."""

from typing import Annotated

from fastapi import Query, Request, Response

from ...core.errors import nearest
from ...core.instant import ceil_second
from ...core.reasons import Reason
from ...stores.records import AccessRole, DecisionFilter, DecisionRow
from ..bodies.base import Page
from ..bodies.decisions import DecisionBody, ReasonBody, ReasonsBody
from ..bodies.queries import DecisionsWanted
from ..doors import Doors
from ..links import page_of
from ..problems import Refusal
from ..visit import Visit, Visiting

doors = Doors("decisions")


@doors.get("/decisions", AccessRole.VIEWER, response_model=Page[DecisionBody])
async def list_decisions(
    request: Request, response: Response, visit: Visiting, asked: Annotated[DecisionsWanted, Query()]
) -> Page[DecisionBody]:
    """Newest slots first."""
    wanted = DecisionFilter(
        asked.schedule, frozenset(map(_reason, asked.reason)),
        since=None if asked.since is None else ceil_second(asked.since),
        until=None if asked.until is None else ceil_second(asked.until),
    )  # fmt: skip
    page = await visit.store.insights.decisions(wanted, asked.after, asked.limit)
    rows = [row for row in page.items if not visit.who.scopes or await _sees(visit, row)]
    return page_of(request, response, [DecisionBody.of(row) for row in rows], page.after)


@doors.get("/reasons", AccessRole.VIEWER, response_model=ReasonsBody)
async def list_reasons() -> ReasonsBody:
    """Every reason there can be, what it means and what can be done about it."""
    return ReasonsBody(items=[ReasonBody.of(reason) for reason in Reason])


def _reason(code: str) -> Reason:
    codes = [reason.code for reason in Reason]
    if code not in codes:
        raise Refusal(422, f"there is no reason {code[:60]!r}{nearest(code, codes)}", field="reason")
    return Reason.of(code)


async def _sees(visit: Visit, row: DecisionRow) -> bool:
    schedule = await visit.store.insights.schedule(row.schedule)
    return schedule is not None and visit.who.sees(schedule.schedule.job)
