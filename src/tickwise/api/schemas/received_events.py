"""Events of schedules: requests and responses. Their data may hold secrets, which are masked."""

from datetime import datetime
from typing import Any

from pydantic import Field

from ...app.events import AcceptedEvent, EventInfo
from ...core.mask import masked
from .common import RequestModel, ResponseModel


class SendEventRequest(RequestModel):
    key: str | None = Field(
        default=None, min_length=1, max_length=200,
        description="The same key within the window is the same event; null: an event of its own.",
    )  # fmt: skip
    data: Any = Field(default=None, description="What the run is to know of it.")


class AcceptedEventResponse(ResponseModel):
    """The event is stored. A repeat gets the same answer."""

    schedule: str
    key: str
    received_at: datetime


class EventResponse(ResponseModel):
    """An event, and what became of it."""

    key: str
    received_at: datetime
    source: str = Field(examples=["webhook"])
    slot: datetime | None = Field(description="Of its run or decision; null while its group is open.")
    state: str = Field(
        description="collecting, or as the state of a slot.", examples=["ran", "waiting", "skipped", "running"]
    )
    reason: str | None
    text: str
    run: str | None
    data: Any


class EventListResponse(ResponseModel):
    items: list[EventResponse]


def accepted_response(event: AcceptedEvent) -> AcceptedEventResponse:
    return AcceptedEventResponse(schedule=event.schedule, key=event.key, received_at=event.received_at)


def event_response(event: EventInfo) -> EventResponse:
    body = EventResponse.model_validate(event)
    return body.model_copy(update={"data": masked(body.data)})
