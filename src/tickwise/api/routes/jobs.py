"""`/jobs`: what there is to do."""

from typing import Annotated

from fastapi import Query, Request, Response

from ...app.definitions import fields_with, whole_job
from ...stores.records import AccessRole, JobRow
from ..context import Context
from ..links import page_of
from ..masking import masked
from ..routing import Router
from ..schemas.common import NamePath, PageResponse, to_moment
from ..schemas.jobs import JobDetailResponse, JobResponse
from ..schemas.queries import PageQuery

doors = Router("jobs")


@doors.get("/jobs", AccessRole.VIEWER, response_model=PageResponse[JobResponse])
async def list_jobs(
    request: Request, response: Response, visit: Context, asked: Annotated[PageQuery, Query()]
) -> PageResponse[JobResponse]:
    """In order of their names."""
    page = await visit.page(
        visit.store.insights.jobs, lambda row: visit.who.sees(row.definition.name), asked.after, asked.limit
    )
    return page_of(request, response, [JobResponse.model_validate(_told(row)) for row in page.items], page.after)


@doors.get("/jobs/{name:name}", AccessRole.VIEWER, response_model=JobDetailResponse)
async def get_job(name: NamePath, visit: Context) -> JobDetailResponse:
    """One job, with its definition; secrets are hidden."""
    row = await visit.job(name)
    job = await whole_job(visit.store, name)
    fields = fields_with(job, name if name in row.schedules else next(iter(row.schedules), name))
    return JobDetailResponse.model_validate({**_told(row), "definition": masked(fields)})


def _told(row: JobRow) -> dict[str, object]:
    job = row.definition
    return {
        "name": job.name, "description": job.description, "labels": dict(job.labels), "enabled": job.enabled,
        "queue": job.queue, "priority": job.priority, "source": row.source, "version": row.version,
        "schedules": list(row.schedules), "steps": [step.name for step in job.steps],
        "created_at": to_moment(row.created_at), "updated_at": to_moment(row.updated_at),
        "unreadable": row.unreadable,
    }  # fmt: skip
