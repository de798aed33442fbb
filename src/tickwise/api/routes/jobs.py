"""`/jobs`: what there is to do."""

from typing import Annotated

from fastapi import Query, Request, Response

from ...app.editing import fields_with, whole_job
from ...stores.records import AccessRole, JobRow
from ..bodies.base import NamePath, Page, moment
from ..bodies.jobs import JobBody, JobDetail
from ..bodies.queries import PageWanted
from ..doors import Doors
from ..links import page_of
from ..masking import masked
from ..visit import Visiting

doors = Doors("jobs")


@doors.get("/jobs", AccessRole.VIEWER, response_model=Page[JobBody])
async def list_jobs(
    request: Request, response: Response, visit: Visiting, asked: Annotated[PageWanted, Query()]
) -> Page[JobBody]:
    """In order of their names."""
    page = await visit.page(
        visit.store.insights.jobs, lambda row: visit.who.sees(row.definition.name), asked.after, asked.limit
    )
    return page_of(request, response, [JobBody.model_validate(_told(row)) for row in page.items], page.after)


@doors.get("/jobs/{name:name}", AccessRole.VIEWER, response_model=JobDetail)
async def get_job(name: NamePath, visit: Visiting) -> JobDetail:
    """One job, with its definition; secrets are hidden."""
    row = await visit.job(name)
    job = await whole_job(visit.store, name)
    fields = fields_with(job, name if name in row.schedules else next(iter(row.schedules), name))
    return JobDetail.model_validate({**_told(row), "definition": masked(fields)})


def _told(row: JobRow) -> dict[str, object]:
    job = row.definition
    return {
        "name": job.name, "description": job.description, "labels": dict(job.labels), "enabled": job.enabled,
        "queue": job.queue, "priority": job.priority, "source": row.source, "version": row.version,
        "schedules": list(row.schedules), "steps": [step.name for step in job.steps],
        "created_at": moment(row.created_at), "updated_at": moment(row.updated_at), "unreadable": row.unreadable,
    }  # fmt: skip
