"""`/runs`: list, create, get, cancel, retry, why, attempts and steps."""

from collections.abc import Mapping
from dataclasses import replace
from datetime import timedelta
from typing import Annotated, Any

from fastapi import Query, Request, Response

from ...app.approvals import approval_info
from ...app.records import MICRO, AccessRole, Enqueue, RunFilter, StepReport
from ...app.values import as_second
from ...core.definition import ApprovalAnswer, JobCall, Step
from ...core.model import Trigger
from ...core.payload import shown
from ...core.step_outputs import item_of
from ...core.step_waits import StepWait, is_answer
from ...core.timeparse import parse_duration, to_datetime
from ...trace_context import current_traceparent
from ..context import Context
from ..problems import Refusal, about_field, zone_of
from ..routing import Router
from ..schemas.common import PageResponse, RunPath, micro_of, page_of, resource_path, to_moment
from ..schemas.queries import RunsQuery, ZoneQuery
from ..schemas.runs import (
    AnswerRequest,
    AnswerResponse,
    ApprovalResponse,
    AttemptResponse,
    AttemptsResponse,
    CancelResponse,
    RetryRequest,
    RunRequest,
    RunResponse,
    StepResponse,
    StepsResponse,
    run_response,
)
from ..schemas.schedules import WhyResponse

router = Router("runs")
_FROM_FAILED = RetryRequest()
_ONLY_STEP = AnswerRequest()
_EXISTING: dict[int | str, dict[str, Any]] = {
    200: {"model": RunResponse, "description": "The run that has the key."}
}


@router.get("/runs", AccessRole.VIEWER, response_model=PageResponse[RunResponse])
async def list_runs(
    request: Request, response: Response, context: Context, query: Annotated[RunsQuery, Query()]
) -> PageResponse[RunResponse]:
    """The newest first."""
    filters = RunFilter(
        job=query.job, schedule=query.schedule, states=frozenset(query.state),
        triggers=frozenset(query.trigger), queue=query.queue,
        text=query.text, since=micro_of(query.since), until=micro_of(query.until),
    )  # fmt: skip
    page = await context.view.find_runs(query.q, filters, query.after, query.limit, query.sort)
    return page_of(request, response, [run_response(run) for run in page.items], page.after)


@router.post(
    "/runs", AccessRole.OPERATOR, once=True, status_code=201, response_model=RunResponse, responses=_EXISTING
)
async def enqueue_run(body: RunRequest, request: Request, response: Response, context: Context) -> RunResponse:
    """Queue a run of a job, now or later; a taken key gives the run that has it, with 200 (S48)."""
    with about_field("at"):
        at = None if body.at is None else to_datetime(as_second(body.at, await context.view.now() // MICRO))
    with about_field("key_ttl"):
        ttl = None if body.key_ttl is None else timedelta(seconds=parse_duration(body.key_ttl))
    _, enqueue = await context.tickwise.prepared(
        body.job, body.params, at=at, key=body.key, key_ttl=ttl, queue=body.queue, priority=body.priority,
        auto_remove=body.auto_remove,
    )  # fmt: skip
    run, is_new = await context.enqueue(replace(enqueue, by=context.identity.name), body.model_dump())
    if not is_new:
        response.status_code = 200
    response.headers["Location"] = resource_path(request, f"/runs/{run.id}")
    return run_response(run)


@router.get("/runs/{run:name}", AccessRole.VIEWER, response_model=RunResponse)
async def get_run(run: RunPath, context: Context) -> RunResponse:
    """One run; one that is queued says why it waits."""
    zone = await context.view.zone_of(await context.view.run(run))
    return run_response(await context.tickwise.runs.get(run)).model_copy(update={"timezone": zone})


@router.post("/runs/{run:name}:cancel", AccessRole.OPERATOR, response_model=CancelResponse)
async def cancel_run(run: RunPath, context: Context) -> CancelResponse:
    """End a queued run, or ask a running one to end."""
    before = await context.view.run(run)
    state = await context.tickwise.runs.cancel(run)
    await context.audit("run.cancel", run, {"state": str(before.state)}, {"state": state})
    return CancelResponse(state=state)


@router.post("/runs/{run:name}:retry", AccessRole.OPERATOR, response_model=RunResponse)
async def retry_run(run: RunPath, context: Context, body: RetryRequest = _FROM_FAILED) -> RunResponse:
    """Put a failed, lost or cancelled run back; steps that succeeded are not repeated."""
    if body.from_step is not None and not body.from_failed:
        raise Refusal(422, "from_step: a new run begins with all steps: leave out from_failed", field="from_step")
    before = await context.view.run(run)
    if body.from_failed:
        again = await context.tickwise.runs.retry(run, body.from_step)
    else:
        if not body.in_blackout:
            await context.operations.refuse_in_blackout(before.job)
        enqueue = Enqueue(
            before.job, Trigger.MANUAL, before.params, by=context.identity.name, traceparent=current_traceparent()
        )
        made, _ = await context.operations.enqueue(enqueue)
        again = await context.tickwise.runs.get(made.id)
    step = {} if body.from_step is None else {"from_step": body.from_step}
    await context.audit("run.retry", run, {"state": str(before.state)}, {"run": again.id, **step})
    return run_response(again)


@router.post("/runs/{run:name}:approve", AccessRole.OPERATOR, response_model=AnswerResponse)
async def approve_step(run: RunPath, context: Context, body: AnswerRequest = _ONLY_STEP) -> AnswerResponse:
    """Approve what a step waits for, with the role that it asks for; 409 if somebody was first (S75)."""
    return await _answer_step(context, run, body, ApprovalAnswer.APPROVE)


@router.post("/runs/{run:name}:reject", AccessRole.OPERATOR, response_model=AnswerResponse)
async def reject_step(run: RunPath, context: Context, body: AnswerRequest = _ONLY_STEP) -> AnswerResponse:
    """Reject what a step waits for: the step fails; 409 if somebody was first (S75)."""
    return await _answer_step(context, run, body, ApprovalAnswer.REJECT)


async def _answer_step(context: Context, run: str, body: AnswerRequest, answer: ApprovalAnswer) -> AnswerResponse:
    row = await context.view.run(run)

    def may(role: str) -> bool:
        return context.identity.has(AccessRole(role), row.job)

    who = context.identity.name
    given = await context.operations.answer_step(run, body.step, answer, who, body.reason, may)
    return AnswerResponse.model_validate(given)


@router.get("/runs/{run:name}/why", AccessRole.VIEWER, response_model=WhyResponse)
async def why_of_run(run: RunPath, context: Context, query: Annotated[ZoneQuery, Query()]) -> WhyResponse:
    """Why it happened, in words."""
    return WhyResponse.model_validate(await context.view.why_run(run, zone_of(query.zone)))


@router.get("/runs/{run:name}/attempts", AccessRole.VIEWER, response_model=AttemptsResponse)
async def attempts_of_run(run: RunPath, context: Context) -> AttemptsResponse:
    """The attempts before the last, in order."""
    rows = await context.view.attempts(run)
    return AttemptsResponse(
        items=[
            AttemptResponse.model_validate(
                {
                    "number": row.number, "event": str(row.event), "started_at": to_moment(row.started_at),
                    "finished_at": to_moment(row.finished_at), "worker": row.node, "error": row.error,
                }
            )
            for row in rows
        ]
    )  # fmt: skip


@router.get("/runs/{run:name}/steps", AccessRole.VIEWER, response_model=StepsResponse)
async def steps_of_run(run: RunPath, context: Context) -> StepsResponse:
    """The graph of the job's steps, and how far the run is with each; items stand behind their step."""
    defined, found = await context.view.steps(run)
    steps, reports = {step.name: step for step in defined}, {report.name: report for report in found}
    places = {name: place for place, name in enumerate(steps)}
    known = {*steps, *(name for name in reports if not is_answer(name))}
    names = sorted(known, key=lambda name: _place_of(name, places))
    return StepsResponse(items=[_step_response(name, steps.get(name), reports) for name in names])


def _place_of(name: str, places: Mapping[str, int]) -> tuple[int, int]:
    """Where a step stands in the answer: as in the definition, and what that does not have at the end."""
    step, number = item_of(name) or (name, -1)
    return places.get(step, len(places)), number


def _step_response(name: str, step: Step | None, reports: Mapping[str, StepReport]) -> StepResponse:
    report, depends = reports.get(name), list(step.depends) if step else []
    job = step.action.job if step and isinstance(step.action, JobCall) else None
    info = approval_info(step.action if step else None, report, reports.values())
    approval = None if info is None else ApprovalResponse.model_validate(info)
    if report is None:
        return StepResponse(name=name, depends=depends, state=None, job=job, approval=approval)
    wait = StepWait.of(report.waits_for)
    return StepResponse(
        name=name, depends=depends, state=report.state, job=(wait.job if wait else "") or job,
        child=wait.run or None if wait else None, approval=approval, started_at=to_moment(report.started_at),
        finished_at=to_moment(report.finished_at), attempt=report.attempt, error=report.error,
        outputs=shown(report.outputs or None) or {},
    )  # fmt: skip
