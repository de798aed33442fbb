"""What runs have in common, and one act on all that match."""

from datetime import datetime
from typing import Any

from pydantic import Field

from ...app.run_search import ErrorSummary, RunFacets
from ...core.run_query import MAX_LENGTH
from .common import RequestModel, ResponseModel, to_moment


class ErrorSummaryResponse(ResponseModel):
    """Runs of a job that failed alike."""

    job: str
    error: str = Field(description="The first line of the newest.")
    count: int
    first_at: datetime
    last_at: datetime
    run: str = Field(description="The newest of them.")
    q: str = Field(description="A query that finds them.")


class FacetsResponse(ResponseModel):
    """Counts by value, the most frequent first."""

    count: int
    exact: bool = Field(description="False: more match than were counted.")
    state: dict[str, int]
    trigger: dict[str, int]
    queue: dict[str, int]
    job: dict[str, int]
    schedule: dict[str, int]
    errors: list[ErrorSummaryResponse] = Field(description="Numbers and ids in errors are taken as equal.")


class BulkRunsRequest(RequestModel):
    q: str = Field(
        min_length=1, max_length=MAX_LENGTH, pattern=r"^[^\x00]*$", examples=["state:failed job:etl last 1h"]
    )
    dry_run: bool = Field(default=False, description="Only say which runs would be hit.")
    confirm: str | None = Field(default=None, max_length=100, description="What a dry run answered.")


class BulkRunFailureResponse(ResponseModel):
    run: str
    done: bool = False
    problem: dict[str, Any]


class BulkRunsResponse(ResponseModel):
    count: int
    confirm: str | None = Field(description="Send it back to do it to exactly these.")
    runs: list[str] = Field(description="The first of them.")
    left_out: int = Field(description="Runs that match, and to which it cannot be done.")
    done: int | None
    items: list[BulkRunFailureResponse] = Field(description="Those to which it could not be done after all.")


def facets_response(found: RunFacets) -> FacetsResponse:
    return FacetsResponse(
        count=found.count, exact=found.exact, state=found.state, trigger=found.trigger, queue=found.queue,
        job=found.job, schedule=found.schedule, errors=[_summary(error) for error in found.errors],
    )  # fmt: skip


def _summary(error: ErrorSummary) -> ErrorSummaryResponse:
    return ErrorSummaryResponse.model_validate(
        {
            "job": error.job, "error": error.error, "count": error.count, "run": error.run, "q": error.q,
            "first_at": to_moment(error.first_at), "last_at": to_moment(error.last_at),
        }
    )  # fmt: skip
