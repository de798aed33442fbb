"""Query parameters: filters and pages. Unknown ones are refused."""

from typing import Annotated, TypeAlias

from pydantic import BaseModel, ConfigDict, Field

from ...app.run_search import RunOrder
from ...core.model import Trigger
from ...core.reasons import Reason
from ...core.run_query import MAX_LENGTH
from ...core.states import RunState
from .common import MAX_PAGE, Instant

_NO_NUL = r"^[^\x00]*$"  # which not every store can look for
_Text: TypeAlias = Annotated[str, Field(max_length=200, pattern=_NO_NUL)] | None


class QueryModel(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class PageQuery(QueryModel):
    after: str | None = Field(
        default=None, max_length=500, pattern=_NO_NUL, description="The `next` of the page before."
    )
    limit: int = Field(default=100, ge=1, le=MAX_PAGE, description="How many at most.")


class LogsQuery(PageQuery):
    limit: int = Field(default=MAX_PAGE, ge=1, le=MAX_PAGE, description="How many parts at most.")


class SchedulesQuery(PageQuery):
    job: _Text = None
    label: _Text = Field(default=None, description="`key`, or `key=value`, of the job.")
    paused: bool | None = None
    text: _Text = Field(default=None, description="A part of the schedule's or the job's name.")
    due_before: Instant | None = None
    source: _Text = None


class RunsQuery(PageQuery):
    job: _Text = None
    schedule: _Text = None
    state: list[RunState] = Field(default=[], max_length=len(RunState), description="Several may be given.")
    trigger: list[Trigger] = Field(default=[], max_length=len(Trigger), description="Several may be given.")
    queue: _Text = None
    since: Instant | None = Field(default=None, description="Made at or after.")
    until: Instant | None = Field(default=None, description="Made before.")
    text: _Text = Field(default=None, description="A part of the job's or the schedule's name, or the id.")
    q: str = Field(
        default="",
        max_length=MAX_LENGTH,
        pattern=_NO_NUL,
        description="A query.",
        examples=["state:failed error:Ledger* label:team=billing last 12h"],
    )
    sort: RunOrder = Field(
        default=RunOrder.NEWEST, description="Others than newest: one page, of the newest 2,000."
    )


class FacetsQuery(QueryModel):
    q: str = Field(default="", max_length=MAX_LENGTH, pattern=_NO_NUL, description="A query.")


class DecisionsQuery(PageQuery):
    schedule: _Text = None
    reason: list[str] = Field(default=[], max_length=len(Reason), description="Several codes may be given.")
    since: Instant | None = Field(default=None, description="About slots at or after.")
    until: Instant | None = Field(default=None, description="About slots before.")


class AuditQuery(PageQuery):
    subject: _Text = None


class ZoneQuery(QueryModel):
    zone: _Text = Field(
        default=None, description="In which times are told; UTC if left out.", examples=["Europe/Berlin"]
    )


class WhatIfQuery(QueryModel):
    slot: Instant | None = None


class SlotQuery(ZoneQuery):
    slot: Instant | None = Field(default=None, description="Without one, the newest that is due.")


class AttentionQuery(QueryModel):
    limit: int = Field(default=100, ge=0, le=MAX_PAGE, description="How many items at most; 0 only counts them.")
    zone: _Text = Field(default=None, description="In which times are told; each schedule's own if left out.")


class SlotsQuery(PageQuery):
    since: Instant | None = Field(default=None, description="The first slot; all if left out.")
    until: Instant | None = Field(default=None, description="Slots before; up to now if left out.")


class RibbonsQuery(PageQuery):
    since: Instant | None = Field(default=None, description="An hour before the end if left out.")
    until: Instant | None = Field(default=None, description="Now if left out; may be ahead.")
    bins: int = Field(default=60, ge=1, le=400, description="How many at most.")
    text: _Text = Field(default=None, description="A part of the schedule's or the job's name.")
    label: _Text = Field(default=None, description="`key`, or `key=value`, of the job.")
    job: _Text = None
    limit: int = Field(default=50, ge=1, le=200, description="How many schedules at most.")


class UpcomingQuery(QueryModel):
    schedule: _Text = Field(default=None, description="Of this one only.")
    start: Instant | None = Field(default=None, description="Now if left out; up to a week ahead.")
    hours: float = Field(default=24, gt=0, le=8_784, description="How far to look ahead of that.")
    limit: int = Field(default=100, ge=1, le=MAX_PAGE, description="How many at most.")


class ForecastQuery(QueryModel):
    hours: int = Field(default=24, ge=1, le=168, description="How far to look ahead.")


class HoursQuery(QueryModel):
    hours: int = Field(default=24, ge=1, le=168, description="How far to look back.")
    schedule: _Text = None


class TimelineQuery(QueryModel):
    start: Instant | None = Field(default=None, description="Half an hour ago if left out.")
    end: Instant | None = Field(default=None, description="An hour after the start if left out.")
    limit: int = Field(default=MAX_PAGE, ge=1, le=MAX_PAGE, description="How many of each at most.")
