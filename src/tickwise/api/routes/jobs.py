"""`/jobs`: list, get and delete, and cancel all runs."""

from typing import Annotated

from fastapi import Query, Request, Response

from ...app.records import AccessRole, JobRow
from ...app.run_params import run_params
from ...core.mask import masked
from ..context import Context
from ..routing import Router
from ..schemas.common import NamePath, PageResponse, page_of, to_moment
from ..schemas.jobs import CancelAllRequest, CancelAllResponse, JobDetailResponse, JobResponse
from ..schemas.queries import PageQuery

router = Router("jobs")
_RUNNING_ONLY = CancelAllRequest()


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


@router.delete("/jobs/{name:name}", AccessRole.ADMIN, status_code=204)
async def delete_job(name: NamePath, context: Context) -> Response:
    """Delete a job that the API has defined, with its schedules. Queued runs are cancelled, running ones go on."""
    stored = await context.view.stored_job(name)
    await context.operations.remove_job(stored.row)
    await context.audit("job.delete", name, stored.fields(name), None)
    return Response(status_code=204)


@router.post("/jobs/{name:name}:cancel", AccessRole.OPERATOR, response_model=CancelAllResponse)
async def cancel_runs_of_job(
    name: NamePath, context: Context, body: CancelAllRequest = _RUNNING_ONLY
) -> CancelAllResponse:
    """Ask all its running runs to end, and end the queued ones if asked (S66)."""
    await context.view.job(name)
    runs = list(await context.tickwise.runs.cancel_all(name, queued=body.queued))
    await context.audit("job.cancel", name, None, {"runs": runs, "queued": body.queued})
    return CancelAllResponse(runs=runs)


def _job_fields(row: JobRow) -> dict[str, object]:
    job = row.definition
    return {
        "name": job.name, "description": job.description, "labels": dict(job.labels), "enabled": job.enabled,
        "queue": job.queue, "priority": job.priority, "source": row.source, "version": row.version,
        "schedules": list(row.schedules), "steps": [step.name for step in job.steps],
        "created_at": to_moment(row.created_at), "updated_at": to_moment(row.updated_at),
        "unreadable": row.unreadable,
    }  # fmt: skip
