"""`/attention`: what needs a person, in one sentence and one by one."""

from typing import Annotated

from fastapi import Query

from ...app.records import AccessRole
from ..context import Context
from ..problems import zone_of
from ..routing import Router
from ..schemas.attention import AttentionResponse, status_response
from ..schemas.queries import AttentionQuery

router = Router("attention")


@router.get("/attention", AccessRole.VIEWER, response_model=AttentionResponse)
async def get_attention(context: Context, query: Annotated[AttentionQuery, Query()]) -> AttentionResponse:
    """What needs a person, the worst first, each with what can be done about it."""
    sees = context.identity.sees if context.identity.scopes else None
    return status_response(await context.operations.status(sees, query.limit, zone_of(query.zone)))
