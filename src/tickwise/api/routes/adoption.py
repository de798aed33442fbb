"""`:adopt`: whether the store or the nodes' own index finds the slots of a schedule."""

from ...app.managers import Adoption
from ...app.records import AccessRole, ScheduleRow
from ...core.errors import TickwiseError
from ..context import Context, RequestContext
from ..problems import problem_content
from ..routing import Router
from ..schemas.common import NamePath
from ..schemas.schedules import (
    AdoptionResponse,
    AdoptRequest,
    BulkAdoptionItemResponse,
    BulkAdoptionResponse,
    BulkAdoptRequest,
)

router = Router("schedules")


@router.post("/schedules:adopt", AccessRole.OPERATOR, response_model=BulkAdoptionResponse)
async def adopt_many(body: BulkAdoptRequest, context: Context) -> BulkAdoptionResponse:
    """Adopt each, or all that are on the other side."""
    names = list(dict.fromkeys(body.names)) if body.names is not None else await _other_side(context, body)
    items = []
    for name in names:
        try:
            adoption = await _adopt(context, await context.view.schedule(name), body)
        except TickwiseError as error:
            items.append(BulkAdoptionItemResponse(name=name, done=False, problem=problem_content(error)))
        else:
            done = not body.dry_run
            items.append(BulkAdoptionItemResponse(name=name, done=done, was=adoption.was, now=adoption.now))
    return BulkAdoptionResponse(dry_run=body.dry_run, items=items)


@router.post("/schedules/{name:name}:adopt", AccessRole.OPERATOR, response_model=AdoptionResponse)
async def adopt_schedule(name: NamePath, body: AdoptRequest, context: Context) -> AdoptionResponse:
    """Have the store find its slots, or the nodes; each slot still runs once."""
    return AdoptionResponse.model_validate(await _adopt(context, await context.view.schedule(name), body))


async def _other_side(context: RequestContext, body: AdoptRequest) -> list[str]:
    schedules = await context.tickwise.schedules.adoptable(body.ticking)
    return [one.name for one in schedules if context.identity.sees(one.job)]


async def _adopt(context: RequestContext, row: ScheduleRow, body: AdoptRequest) -> Adoption:
    name = row.schedule.name
    adoption = await context.tickwise.schedules.adopt(name, body.ticking, dry_run=body.dry_run)
    if not body.dry_run:
        await context.audit("schedule.adopt", name, {"ticking": adoption.was}, {"ticking": adoption.now})
    return adoption
