"""Jobs."""

from datetime import datetime
from typing import Any

from pydantic import Field

from .common import RequestModel, ResponseModel


class ParametersResponse(ResponseModel):
    """The params that a run may be given."""

    names: list[str]
    required: list[str] = Field(description="Those that a run must be given.")
    takes_any: bool = Field(description="Whether it takes others as well.")


class ParamResponse(ResponseModel):
    """A param that a run may be given."""

    name: str
    type: str = Field(
        description="Of the default: boolean, integer, number, string, object or array; any without."
    )
    default: Any = Field(description="What a run gets that is not given it; null: nothing, or it is hidden.")
    required: bool = Field(description="A run must be given it.")
    secret: bool = Field(description="The default is hidden; a run that is not given another gets it.")


class JobResponse(ResponseModel):
    name: str
    description: str
    labels: dict[str, str]
    enabled: bool
    queue: str
    priority: int
    source: str
    version: int
    schedules: list[str]
    steps: list[str] = Field(description="None of them: a function that workers know by the job's name.")
    created_at: datetime
    updated_at: datetime
    unreadable: str = Field(description="Why its definition cannot be read, if so.")


class JobDetailResponse(JobResponse):
    definition: dict[str, Any]
    parameters: ParametersResponse | None = Field(description="Null: not known.")
    params: list[ParamResponse] = Field(description="Those that are known, for a form.")


class CancelAllRequest(RequestModel):
    queued: bool = Field(default=False, description="End its queued runs, too.")


class CancelAllResponse(ResponseModel):
    runs: list[str] = Field(description="Those that were running, or queued if that was asked; newest first.")
