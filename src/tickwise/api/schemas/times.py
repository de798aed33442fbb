"""What is to come, and what was: upcoming, forecast, timeline, preview, simulation, templates."""

from datetime import datetime
from typing import Any, Self

from pydantic import Field, model_validator

from .common import Instant, NameText, RequestModel, ResponseModel
from .runs import RunResponse

_LONGEST = 1_000


class UpcomingRunResponse(ResponseModel):
    at: datetime = Field(description="When it really starts, jitter included.")
    schedule: str
    job: str
    slot: datetime
    kind: str
    timezone: str = Field(description="The schedule's.")


class UpcomingResponse(ResponseModel):
    items: list[UpcomingRunResponse]
    more: bool = Field(False, description="Further runs of these hours are not listed: raise `limit`.")


class CrowdedMinuteResponse(ResponseModel):
    """A minute in which many schedules start at once."""

    minute: datetime
    count: int
    schedules: list[str]
    instead_of: str = Field(examples=["0 * * * *"])
    suggestion: str = Field(examples=["H * * * *"])


class ForecastResponse(ResponseModel):
    """How many runs start in each step, from `start` on."""

    start: datetime
    end: datetime = Field(description="Complete up to here.")
    step: int = Field(description="Seconds.", examples=[60])
    counts: list[int]
    at_once: list[int] | None = Field(
        description="Under way at the busiest second of each step, by how long past runs took; null if none ended."
    )
    capacity: int | None = Field(
        description="How many the live workers take at once; null if you do not see all jobs."
    )
    crowded_minutes: list[CrowdedMinuteResponse]


class TimelineResponse(ResponseModel):
    start: datetime
    end: datetime
    runs: list[RunResponse] = Field(description="Under way in that time, in order of their start.")
    upcoming: list[UpcomingRunResponse]


class HourResponse(ResponseModel):
    """An hour of one schedule: what ran, how late and how long, and what did not run and why."""

    schedule: str
    hour: datetime
    runs: dict[str, int] = Field(description="By state.")
    triggers: dict[str, int] = Field(description="The same runs by what made them.")
    decided: dict[str, int] = Field(description="Slots without a run, by reason.")
    claim_ms: float | None = Field(description="Mean, from due to made.")
    late_ms: float | None = Field(description="Mean, from due to started.")
    run_ms: float | None = Field(description="Mean, from started to finished.")


class HoursResponse(ResponseModel):
    items: list[HourResponse]
    truncated: bool = Field(description="Whether there are more than these: ask for one schedule, or fewer hours.")


class PreviewRequest(RequestModel):
    expression: str = Field(min_length=1, max_length=_LONGEST, examples=["*/5 9-17 * * MON-FRI"])
    timezone: str = Field(default="UTC", max_length=100, examples=["Europe/Berlin"])
    name: NameText | None = Field(default=None, description="What H is hashed from: the schedule's name.")


class PreviewResponse(ResponseModel):
    expression: str
    timezone: str
    means: str
    next: list[datetime]
    warnings: list[str]
    suggestion: str | None = Field(description="Another expression, where many schedules start at the same time.")


class Interval(RequestModel):
    start: Instant
    end: Instant


class SimulateRequest(RequestModel):
    """What to play through: a definition, or a schedule that there is."""

    definition: dict[str, Any] | None = Field(default=None, max_length=100)
    schedule: NameText | None = None
    start: Instant
    end: Instant
    down: list[Interval] = Field(default=[], max_length=100)
    run_time: str | None = Field(
        default=None, max_length=20, description="How long each run takes.", examples=["20m"]
    )
    fail: bool = Field(default=False, description="Whether each run fails.")

    @model_validator(mode="after")
    def _one_of_both(self) -> Self:
        if (self.definition is None) == (self.schedule is None):
            raise ValueError("give a definition or the name of a schedule, and not both")
        return self


class SimulatedRunResponse(ResponseModel):
    trigger: str
    started_at: datetime | None
    finished_at: datetime | None
    outcome: str | None


class SlotResponse(ResponseModel):
    schedule: str
    slot: datetime
    verdict: str
    reason: str
    detail: str
    run: SimulatedRunResponse | None


class SimulationResponse(ResponseModel):
    items: list[SlotResponse]


class TemplateResponse(ResponseModel):
    name: str
    expression: str
    description: str


class TemplatesResponse(ResponseModel):
    items: list[TemplateResponse]
