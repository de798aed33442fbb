"""Jobs."""

from datetime import datetime
from typing import Any

from pydantic import Field

from .common import ResponseModel


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
