"""`/definitions`: what a job file may say, and what one that is not saved yet would mean or do."""

from collections.abc import AsyncIterator
from typing import Any

from fastapi import Request, Response
from fastapi.responses import JSONResponse

from ...app.definition_fields import fields_of
from ...app.records import AccessRole, Enqueue
from ...core.definition import JobDefinition
from ...core.errors import InputError, NotFoundError
from ...core.model import Trigger
from ...sources.spec.error import DefinitionError
from ...sources.yaml import json_schema
from ...sources.yaml.reader import read_definition
from ..context import Context, RequestContext
from ..problems import Refusal
from ..routing import Router
from ..schemas.common import resource_path
from ..schemas.definitions import (
    DefinitionCheckRequest,
    DefinitionCheckResponse,
    DefinitionProblemResponse,
    PlannedScheduleResponse,
)
from ..schemas.runs import RunResponse, run_response
from ..schemas.schedules import DefinitionRequest
from ..unmask import unmasked
from .preview import preview_of

router = Router("planning")


@router.get("/definitions/schema", AccessRole.VIEWER)
async def definition_schema() -> JSONResponse:
    """The JSON Schema of a job file, for editors."""
    return JSONResponse(json_schema())


@router.post("/definitions:check", AccessRole.VIEWER, response_model=DefinitionCheckResponse)
async def check_definition(body: DefinitionCheckRequest, context: Context) -> DefinitionCheckResponse:
    """Read one job as a job file is read: all its errors with their places, or its fields and its next times.

    What depends on other jobs (that a schedule of `after` exists) is checked when it is saved.
    """
    job, errors = read_definition(body.yaml, body.name, context.tickwise.schedules.defaults())
    try:
        job = await context.operations.bound_job(job) if job else None
    except InputError as error:
        job, errors = None, [DefinitionError(str(error), file="", field=error.field or "", nearest=error.nearest)]
    return DefinitionCheckResponse(
        problems=[_problem(error) for error in errors],
        name=job.name if job else None,
        definition=fields_of(job) if job else None,
        schedules=[one async for one in _planned(job, context)] if job else [],
    )


@router.post("/definitions:try", AccessRole.ADMIN, once=True, status_code=201, response_model=RunResponse)
async def try_definition(
    body: DefinitionRequest, request: Request, response: Response, context: Context
) -> RunResponse:
    """Run a job once, now, by the fields of a job file, without saving it: it is stored as NAME.try (S30)."""
    name = str(body.root.get("name") or "")
    if not name:
        raise Refusal(422, "name: is missing: give the job a name", field="name")
    fields = unmasked(body.root, await _stored_fields(name, context))
    job = await context.operations.store_try(fields)
    await context.audit("definition.try", job.name, None, fields)
    request_of_run = Enqueue(job.name, Trigger.MANUAL, by=context.identity.name)
    run, _ = await context.enqueue(request_of_run, {"job": job.name})
    response.headers["Location"] = resource_path(request, f"/runs/{run.id}")
    return run_response(run)


async def _stored_fields(name: str, context: RequestContext) -> dict[str, Any] | None:
    """The fields of a stored job, for values that came back hidden; none if there is no such job."""
    try:
        return (await context.view.stored_job(name)).fields(name)
    except NotFoundError:
        return None


async def _planned(job: JobDefinition, context: RequestContext) -> AsyncIterator[PlannedScheduleResponse]:
    for one in job.schedules:
        preview: dict[str, Any] = (await preview_of(one.times, one.label, one.name, context)).model_dump()
        yield PlannedScheduleResponse(name=one.name, kind=str(one.kind), **preview)


def _problem(error: DefinitionError) -> DefinitionProblemResponse:
    return DefinitionProblemResponse(
        line=error.line, column=error.column, field=error.field, text=error.problem, nearest=error.nearest
    )
