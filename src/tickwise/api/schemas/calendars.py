"""Calendars: requests about them, and responses that show them."""

from datetime import date, datetime
from typing import Any

from pydantic import ConfigDict, Field

from .common import RequestModel, ResponseModel

_EXAMPLE: dict[str, Any] = {
    "weekdays": ["MON-FRI"], "remove": [{"holidays": {"country": "DE", "subdivision": "BE"}}],
}  # fmt: skip


class CalendarRequest(RequestModel):
    """The fields of a calendar file."""

    model_config = ConfigDict(extra="allow", frozen=True, strict=True, json_schema_extra={"examples": [_EXAMPLE]})


class CalendarPreviewRequest(RequestModel):
    definition: dict[str, Any] = Field(description="The fields of a calendar file.", examples=[_EXAMPLE])
    year: int | None = Field(default=None, ge=1, le=9_999, description="Null: this year.")


class CalendarResponse(ResponseModel):
    """A calendar, and the days of which it is known whether they are in it."""

    name: str
    source: str = Field(examples=["folder:/srv/jobs"])
    description: str
    version: str = Field(description="The same for the same days.")
    first: date
    last: date
    expanded_at: datetime
    settled: bool = Field(description="Whether all jobs that use it have these days.")
    definition: dict[str, Any]


class CalendarDetailResponse(CalendarResponse):
    used_by: list[str] = Field(description="Schedules on its days, and calendars that are made of it.")


class CalendarsResponse(ResponseModel):
    items: list[CalendarResponse]


class CalendarYearResponse(ResponseModel):
    year: int
    days: list[date]
    names: dict[str, str] = Field(description="Names of days by date, such as of holidays; in it or not.")
