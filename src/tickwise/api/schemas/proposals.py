"""Proposals of agents, and decisions about them."""

from datetime import datetime
from typing import Annotated, Any

from pydantic import Field

from ...core.proposal import ProposalState, ProposedAct
from .common import Reason, RequestModel, ResponseModel


class ProposalRequest(RequestModel):
    """What is asked for; `arguments` are those of the route that does it."""

    act: Annotated[ProposedAct, Field(strict=False)]
    target: str = Field(min_length=1, max_length=100, description="The name of a schedule, or the id of a run.")
    arguments: dict[str, Any] = Field(default={}, max_length=50, examples=[{"until": "2h"}])
    reason: Reason = ""
    expires: str = Field(
        default="1h", max_length=20, description="After that it cannot be approved; a day at most."
    )


class ApproveRequest(RequestModel):
    anyway: bool = Field(default=False, description="Although its effect is another by now.")


class RejectRequest(RequestModel):
    reason: Reason = ""


class EffectResponse(ResponseModel):
    """What it would do, as it was when it was proposed."""

    text: str
    appear: list[datetime] = Field(description="Starts to come that it adds, up to `until`.")
    vanish: list[datetime] = Field(description="Starts to come that it takes away, up to `until`.")
    facts: list[str] = Field(description="What else it depends on.")
    until: datetime | None


class ProposalResponse(ResponseModel):
    id: str
    act: ProposedAct
    target: str
    job: str
    arguments: dict[str, Any]
    reason: str
    effect: EffectResponse
    by: str
    created_at: datetime
    expires_at: datetime
    state: ProposalState
    decided_by: str | None
    decided_at: datetime | None
    note: str = Field(description="The reason of a rejection, or what came of it.")


class ProposalsResponse(ResponseModel):
    items: list[ProposalResponse] = Field(description="The newest first.")
