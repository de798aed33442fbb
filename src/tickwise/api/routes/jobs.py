"""`/jobs`: list and get."""

from typing import Annotated

from fastapi import Query, Request, Response

from ...app.records import AccessRole, JobRow
from ...app.run_params import run_params
from ...core.mask import masked
from ..context import Context
from ..routing import Router
from ..schemas.common import NamePath, PageResponse, page_of, to_moment
from ..schemas.jobs import JobDetailResponse, JobResponse
from ..schemas.queries import PageQuery

router = Router("jobs")


@router.get("/jobs", AccessRole.VIEWER, response_model=PageResponse[JobResponse])
async def list_jobs(
    request: Request, response: Response, context: Context, query: Annotated[PageQuery, Query()]
) -> PageResponse[JobResponse]:
    """In order of their names."""
    page = await context.view.jobs(query.after, query.limit)
    return page_of(
        request, response, [JobResponse.model_validate(_job_fields(row)) for row in page.items], page.after
    )


@router.get("/jobs/{name:name}", AccessRole.VIEWER, response_model=JobDetailResponse)
async def get_job(name: NamePath, context: Context) -> JobDetailResponse:
    """One job, with its definition; secrets are hidden."""
    stored = await context.view.stored_job(name)
    row = stored.row
    fields = stored.fields(name if name in row.schedules else next(iter(row.schedules), name))
    return JobDetailResponse.model_validate(
        {
            **_job_fields(row), "definition": masked(fields), "parameters": row.definition.known_parameters,
            "params": list(run_params(row.definition)),
        }
    )  # fmt: skip


def _job_fields(row: JobRow) -> dict[str, object]:
    job = row.definition
    return {
        "name": job.name, "description": job.description, "labels": dict(job.labels), "enabled": job.enabled,
        "queue": job.queue, "priority": job.priority, "source": row.source, "version": row.version,
        "schedules": list(row.schedules), "steps": [step.name for step in job.steps],
        "created_at": to_moment(row.created_at), "updated_at": to_moment(row.updated_at),
        "unreadable": row.unreadable,
    }  # fmt: skip
