"""`/proposals`: what an agent asks for, and what a person decides about it (ADR 84)."""

from dataclasses import replace
from typing import Annotated

from fastapi import Path

from ...app.proposals import NewProposal, Proposal, ProposalBook
from ...app.records import MICRO, AccessRole
from ...core.errors import NotFoundError, TickwiseError
from ...core.proposal import ProposalState
from ...core.timeparse import parse_duration
from ..context import Context, RequestContext
from ..identity import Identity
from ..problems import Refusal, about_field
from ..proposed_acts import foreseen, perform, same_future, settled_arguments
from ..routing import Router
from ..schemas.common import NAME_PATTERN
from ..schemas.proposals import (
    ApproveRequest,
    ProposalRequest,
    ProposalResponse,
    ProposalsResponse,
    RejectRequest,
)

router = Router("proposals")
_ProposalPath = Annotated[str, Path(pattern=f"^{NAME_PATTERN}$", description="The id of a proposal.")]
_APPROVE, _REJECT = ApproveRequest(), RejectRequest()


@router.get("/proposals", AccessRole.VIEWER, response_model=ProposalsResponse)
async def list_proposals(context: Context) -> ProposalsResponse:
    """What was proposed of late, the newest first."""
    found = [one for one in await (await _book(context)).list() if context.identity.sees(one.job)]
    return ProposalsResponse(items=[_response(one) for one in found])


@router.post("/proposals", AccessRole.VIEWER, status_code=201, response_model=ProposalResponse)
async def propose(body: ProposalRequest, context: Context) -> ProposalResponse:
    """Ask for an act: it is kept with what it would do, until a person decides, or a rule of the settings."""
    now = await context.view.now() // MICRO
    arguments = settled_arguments(body.act, body.arguments, now)
    effect = await foreseen(context, body.act, body.target, arguments)
    with about_field("expires"):
        life = parse_duration(body.expires)
    new = NewProposal(
        body.act, body.target, effect.job, arguments, body.reason, effect.as_json(), life
    )  # fmt: skip
    book = await _book(context)
    proposal = await book.add(context.identity.name, new)
    by_rule = body.act in context.tickwise.settings.mcp and _may_operate(context.identity, effect.job)
    return _response(await _carry_out(context, book, proposal, "[mcp] approve") if by_rule else proposal)


@router.get("/proposals/{proposal:name}", AccessRole.VIEWER, response_model=ProposalResponse)
async def get_proposal(proposal: _ProposalPath, context: Context) -> ProposalResponse:
    """One proposal, and how it stands."""
    return _response(await _seen(context, await _book(context), proposal))


@router.post("/proposals/{proposal:name}:approve", AccessRole.OPERATOR, response_model=ProposalResponse)
async def approve_proposal(
    proposal: _ProposalPath, context: Context, body: ApproveRequest = _APPROVE
) -> ProposalResponse:
    """Carry it out, once, with the role of the identity that approves. 409 if its effect is another by now."""
    book = await _book(context)
    found = await _seen(context, book, proposal)
    if found.state is ProposalState.OPEN and not body.anyway:
        await _check_unchanged(context, found)
    return _response(await _carry_out(context, book, found, ""))


@router.post("/proposals/{proposal:name}:reject", AccessRole.OPERATOR, response_model=ProposalResponse)
async def reject_proposal(
    proposal: _ProposalPath, context: Context, body: RejectRequest = _REJECT
) -> ProposalResponse:
    """Decide that it is not done."""
    book = await _book(context)
    found = await _seen(context, book, proposal)
    await book.take(found, context.identity.name)
    return _response(await book.close(found, context.identity.name, ProposalState.REJECTED, body.reason))


def _may_operate(identity: Identity, job: str) -> bool:
    """Whether the identity has, for a job, the role that acts need: here it was narrowed to what may propose."""
    operator = replace(identity, scopes=identity.granted or identity.scopes).narrowed(AccessRole.OPERATOR)
    return operator is not None and operator.sees(job)


async def _book(context: RequestContext) -> ProposalBook:
    return ProposalBook(context.access, await context.view.now() // MICRO)


async def _seen(context: RequestContext, book: ProposalBook, proposal: str) -> Proposal:
    found = await book.get(proposal)
    if not context.identity.sees(found.job):
        raise NotFoundError(f"there is no proposal {proposal!r}")
    return found


async def _check_unchanged(context: RequestContext, found: Proposal) -> None:
    now = await context.view.now() // MICRO
    effect = await foreseen(context, found.act, found.target, found.arguments)
    if not same_future(found.effect, effect, now):
        raise Refusal(
            409,
            f"the world has changed since it was proposed. Then: {found.effect['text']}. Now: {effect.text}. "
            "Approve with anyway to do it all the same",
        )


async def _carry_out(context: RequestContext, book: ProposalBook, found: Proposal, rule: str) -> Proposal:
    """Take it, do it, and record what came of it."""
    by = context.identity.name
    await book.take(found, by)
    try:
        await perform(context, found.act, found.target, found.arguments)
    except TickwiseError as refused:
        await book.close(found, by, ProposalState.FAILED, str(refused))
        raise
    return await book.close(found, by, ProposalState.APPROVED, f"by the rule {rule}" if rule else "")


def _response(proposal: Proposal) -> ProposalResponse:
    return ProposalResponse.model_validate(proposal, from_attributes=True)
