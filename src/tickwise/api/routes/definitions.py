"""`/definitions`: what a job file may say, and what one that is not saved yet would mean."""

from collections.abc import AsyncIterator
from typing import Any

from fastapi.responses import JSONResponse

from ...app.definition_fields import fields_of
from ...app.records import AccessRole
from ...core.definition import JobDefinition
from ...core.errors import InputError
from ...sources.spec.error import DefinitionError
from ...sources.yaml import json_schema
from ...sources.yaml.reader import read_definition
from ..context import Context, RequestContext
from ..routing import Router
from ..schemas.definitions import (
    DefinitionCheckRequest,
    DefinitionCheckResponse,
    DefinitionProblemResponse,
    PlannedScheduleResponse,
)
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


async def _planned(job: JobDefinition, context: RequestContext) -> AsyncIterator[PlannedScheduleResponse]:
    for one in job.schedules:
        preview: dict[str, Any] = (await preview_of(one.times, one.label, one.name, context)).model_dump()
        yield PlannedScheduleResponse(name=one.name, kind=str(one.kind), **preview)


def _problem(error: DefinitionError) -> DefinitionProblemResponse:
    return DefinitionProblemResponse(
        line=error.line, column=error.column, field=error.field, text=error.problem, nearest=error.nearest
    )
