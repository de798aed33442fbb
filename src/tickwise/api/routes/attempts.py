"""`/attempts/{reference}`: what the work of a handed-over attempt asks and says (S53, S56).

No person uses these. The work shows its attempt's ticket to begin, and then the claim that it has made up.
"""

from typing import Annotated

from fastapi import Depends, Request

from ...app.attempts import AttemptSecret, HandedAttempt
from ...core.work_report import outcome_of
from ..routing import Router
from ..schemas.attempts import (
    AliveResponse,
    BeginRequest,
    BeginResponse,
    FinishRequest,
    FinishResponse,
    ReferencePath,
    ReportRequest,
    begin_response,
)

router = Router("attempts")


async def _opened_attempt(request: Request, reference: ReferencePath) -> HandedAttempt:
    found: HandedAttempt = request.state.attempt  # the router has opened it by its secret
    del reference
    return found


Attempt = Annotated[HandedAttempt, Depends(_opened_attempt)]


@router.post("/attempts/{reference:name}/begin", AttemptSecret.TICKET, response_model=BeginResponse)
async def begin_attempt(body: BeginRequest, attempt: Attempt) -> BeginResponse:
    """Ask whether to begin, and what to do. 409 tells the work to leave: it began elsewhere, or was cancelled."""
    return begin_response(await attempt.begin(body.claim))


@router.post("/attempts/{reference:name}/alive", AttemptSecret.CLAIM, response_model=AliveResponse)
async def renew_attempt(attempt: Attempt) -> AliveResponse:
    """Say that the work goes on, and learn whether it was asked to end."""
    return AliveResponse(cancel=await attempt.alive())


@router.post("/attempts/{reference:name}/report", AttemptSecret.CLAIM, status_code=204)
async def report_attempt(body: ReportRequest, attempt: Attempt) -> None:
    """Keep the states of steps, and what they printed."""
    await attempt.report([step.as_record() for step in body.steps], [part.as_record() for part in body.log])


@router.post("/attempts/{reference:name}/finish", AttemptSecret.CLAIM, response_model=FinishResponse)
async def finish_attempt(body: FinishRequest, attempt: Attempt) -> FinishResponse:
    """End the attempt. The same report again changes nothing, and is no error."""
    ended = await attempt.finish(outcome_of(body.outcome, body.seconds), body.result, body.error)
    return FinishResponse(state=None if ended.state is None else str(ended.state), accepted=ended.accepted)
