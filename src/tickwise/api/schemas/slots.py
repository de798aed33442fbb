"""Slots: of one schedule, and of many in bins."""

from collections import Counter
from datetime import datetime

from pydantic import Field

from ...app.ribbons import RibbonPage, ScheduleRibbon
from ...core.slot_history import Bins, SlotState
from ...core.timeparse import to_datetime
from .common import ResponseModel


class SlotRecordResponse(ResponseModel):
    """What became of a slot."""

    slot: datetime
    state: SlotState
    reason: str | None = Field(examples=["overlap"])
    text: str = Field(description="The reason in words.")
    run: str | None
    due_at: datetime | None
    started_at: datetime | None
    finished_at: datetime | None
    attempt: int | None
    count: int = Field(description="More than 1: a decision about so many slots, of which only the last is known.")
    late: bool = Field(default=False, description="Whether it missed a deadline.")


class RibbonResponse(ResponseModel):
    """The slots of a schedule in bins."""

    name: str
    job: str
    means: str
    timezone: str
    paused: bool
    in_shadow: bool = Field(description="Another scheduler starts the job.")
    totals: dict[SlotState, int]
    good: float | None = Field(description="The share of decided slots that ran.")
    bins: list[tuple[int, dict[SlotState, int]]] = Field(description="Those that have slots.")
    reasons: dict[str, int] = Field(description="Of the skipped slots.")
    labels: dict[str, str] = Field(description="Of the job.")


class RibbonsResponse(ResponseModel):
    since: datetime
    until: datetime
    now: datetime
    step: int = Field(description="Seconds of a bin.")
    bins: int
    items: list[RibbonResponse] = Field(description="The worst first.")
    totals: dict[SlotState, int] = Field(description="Of this page.")
    next: str | None = Field(default=None, description="Ask again with `after` set to this; null at the end.")


def ribbons_response(page: RibbonPage, bins: Bins) -> RibbonsResponse:
    totals = Counter[str]()
    for item in page.items:
        totals += item.ribbon.totals
    return RibbonsResponse.model_validate(
        {
            "since": to_datetime(bins.since), "until": to_datetime(bins.until), "now": to_datetime(page.now),
            "step": bins.step, "bins": bins.number, "items": [_ribbon(item) for item in page.items],
            "totals": totals, "next": page.after,
        }
    )  # fmt: skip


def _ribbon(item: ScheduleRibbon) -> RibbonResponse:
    schedule, ribbon = item.row.schedule, item.ribbon
    times = schedule.definition.times
    return RibbonResponse.model_validate(
        {
            "name": schedule.name, "job": schedule.job, "timezone": times.zone.name,
            "means": "cannot be read" if item.row.unreadable else times.explain(),
            "paused": schedule.paused is not None, "in_shadow": schedule.in_shadow,
            "totals": ribbon.totals, "good": item.good,
            "bins": sorted(ribbon.bins.items()), "reasons": ribbon.reasons, "labels": dict(item.labels),
        }
    )  # fmt: skip
