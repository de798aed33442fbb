"""Jobs."""

from datetime import datetime
from typing import Any

from pydantic import Field

from .base import Answered


class JobBody(Answered):
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


class JobDetail(JobBody):
    definition: dict[str, Any]
