"""`/runs:facets`, `/runs:retry` and `/runs:cancel`: what matches a query, and one act on exactly these."""

from collections.abc import Awaitable, Callable
from typing import Annotated, Any

from fastapi import Query

from ...app.records import AccessRole, RunFilter
from ...app.run_search import BulkAct
from ...core.errors import TickwiseError
from ..context import Context, RequestContext
from ..problems import Refusal, problem_content
from ..routing import Router
from ..schemas.queries import FacetsQuery
from ..schemas.run_search import (
    BulkRunFailureResponse,
    BulkRunsRequest,
    BulkRunsResponse,
    FacetsResponse,
    facets_response,
)

router = Router("runs")
_MAX_SHOWN = 20


@router.get("/runs:facets", AccessRole.VIEWER, response_model=FacetsResponse)
async def count_runs(context: Context, query: Annotated[FacetsQuery, Query()]) -> FacetsResponse:
    """What the runs that match have in common, and their errors; of very many, the newest."""
    return facets_response(await context.view.search.facets(query.q, RunFilter()))


@router.post("/runs:retry", AccessRole.OPERATOR, response_model=BulkRunsResponse)
async def retry_runs(body: BulkRunsRequest, context: Context) -> BulkRunsResponse:
    """Put back all failed, lost and cancelled runs that match: first a dry run, then what that has confirmed."""
    return await _act_on_all(context, body, BulkAct.RETRY, context.tickwise.runs.retry)


@router.post("/runs:cancel", AccessRole.OPERATOR, response_model=BulkRunsResponse)
async def cancel_runs(body: BulkRunsRequest, context: Context) -> BulkRunsResponse:
    """Cancel all queued and running runs that match: first a dry run, then what that has confirmed."""
    return await _act_on_all(context, body, BulkAct.CANCEL, context.tickwise.runs.cancel)


async def _act_on_all(
    context: RequestContext, body: BulkRunsRequest, act: BulkAct, do: Callable[[str], Awaitable[Any]]
) -> BulkRunsResponse:
    if body.dry_run == (body.confirm is not None):
        raise Refusal(
            422, "confirm: ask with dry_run first, then with the confirm that it answers", field="confirm"
        )
    chosen = await context.view.search.select(body.q, act, body.confirm)
    ids = [row.id for row in chosen.rows]
    if body.dry_run:
        return BulkRunsResponse(
            count=len(ids), confirm=chosen.confirm, runs=ids[:_MAX_SHOWN], left_out=chosen.left_out, done=None,
            items=[],
        )  # fmt: skip
    failures = []
    for run in ids:
        try:
            await do(run)
        except TickwiseError as error:
            failures.append(BulkRunFailureResponse(run=run, problem=problem_content(error)))
    await context.audit(
        f"runs.{act}", "runs", {"q": body.q}, {"runs": ids, "failed": [one.run for one in failures]}
    )
    return BulkRunsResponse(
        count=len(ids), confirm=None, runs=[], left_out=0, done=len(ids) - len(failures), items=failures
    )
