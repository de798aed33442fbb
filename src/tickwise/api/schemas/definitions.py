"""A job file that is not saved yet, and what it would mean."""

from typing import Any

from pydantic import Field

from .common import NameText, RequestModel, ResponseModel
from .times import PreviewResponse

_LONGEST = 1 << 18  # characters


class DefinitionCheckRequest(RequestModel):
    yaml: str = Field(max_length=_LONGEST, examples=['schedule: "0 3 * * *"\ncommand: ./backup\n'])
    name: NameText | None = Field(default=None, description="The job's name, if the text has none.")


class DefinitionProblemResponse(ResponseModel):
    """One error."""

    line: int | None = Field(description="From 1; null if it is about the whole text.")
    column: int | None
    field: str = Field(description="The path to the value: `steps.2.command`.")
    text: str
    nearest: str | None = Field(description="What may have been meant.")


class PlannedScheduleResponse(PreviewResponse):
    """A schedule as it would be."""

    name: str
    kind: str


class DefinitionCheckResponse(ResponseModel):
    problems: list[DefinitionProblemResponse]
    name: str | None
    definition: dict[str, Any] | None = Field(description="Its fields as `POST /schedules` takes them.")
    schedules: list[PlannedScheduleResponse]
