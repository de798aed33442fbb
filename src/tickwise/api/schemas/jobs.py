"""Jobs."""

from datetime import datetime
from typing import Any

from pydantic import Field

from .common import ResponseModel


class ParametersResponse(ResponseModel):
    """The params that a run may be given."""

    names: list[str]
    required: list[str] = Field(description="Those that a run must be given.")
    takes_any: bool = Field(description="Whether it takes others as well.")


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
