"""How likely the next deadlines are to be missed."""

from datetime import datetime
from typing import Literal

from pydantic import Field

from ...core.deadline_forecast import CauseKind, DeadlineForecast
from ...core.reasons import Reason
from ...core.timeparse import to_datetime
from .common import ResponseModel


class ForecastCauseResponse(ResponseModel):
    kind: CauseKind
    name: str = Field(description="A schedule or a job; with no_run, the code of the reason.")
    share: float = Field(description="Of the misses.")
    text: str = Field(examples=["extract runs late"])


class DeadlineForecastResponse(ResponseModel):
    """The next deadline of a schedule, `start` or `finish`, if it comes within a day."""

    schedule: str
    job: str
    slot: datetime
    deadline: Literal["start", "finish"]
    at: datetime = Field(description="When the deadline is.")
    limit: str = Field(description="As people write it.", examples=["06:00 Europe/Berlin"])
    warn: float | None = Field(description="From which probability on it is told beforehand.")
    probability: float | None = Field(description="That it is missed; null if that is not known.")
    unknown: str = Field(description="Why it is not known.")
    causes: list[ForecastCauseResponse] = Field(description="Of the misses, the most frequent first.")
    text: str = Field(description="Goes on after the schedule's name.")


class DeadlineForecastsResponse(ResponseModel):
    items: list[DeadlineForecastResponse] = Field(description="In order of time.")


def forecast_response(found: DeadlineForecast) -> DeadlineForecastResponse:
    causes = [
        ForecastCauseResponse(kind=one.kind, name=one.name, share=one.share, text=one.text) for one in found.causes
    ]
    return DeadlineForecastResponse(
        schedule=found.schedule, job=found.job, slot=to_datetime(found.slot),
        deadline="start" if found.reason is Reason.LATE_START else "finish", at=to_datetime(found.at),
        limit=found.limit, warn=found.warn, probability=found.probability, unknown=found.unknown, causes=causes,
        text=found.text,
    )  # fmt: skip
