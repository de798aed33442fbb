"""Blackouts: windows in which schedules rest."""

from datetime import datetime
from typing import Annotated

from pydantic import Field

from .common import NameText, Reason, RequestModel, ResponseModel, When

_Pattern = Annotated[str, Field(pattern=r"^[A-Za-z0-9._*?\-]{1,100}$", examples=["etl-*"])]
_Label = Annotated[str, Field(min_length=1, max_length=200, examples=["team=data"])]


class BlackoutRequest(RequestModel):
    """A window from `start` to `end` or of a `length`; or one of a `length` whenever `cron` says."""

    start: When | None = Field(default=None, description="Null: now, for a single window.")
    end: When | None = None
    cron: str | None = Field(default=None, max_length=1_000, examples=["0 22 * * FRI"])
    length: str | None = Field(default=None, max_length=40, examples=["60h"])
    timezone: str = Field(default="UTC", max_length=100, examples=["Europe/Berlin"])
    jobs: list[_Pattern] = Field(default=[], max_length=100, description="Patterns of names; `*` is every job.")
    labels: list[_Label] = Field(default=[], max_length=100, description="`key` or `key=value`.")
    reason: Reason = ""


class NewBlackoutRequest(BlackoutRequest):
    name: NameText


class BlackoutResponse(ResponseModel):
    name: str
    jobs: list[str]
    labels: list[str]
    reason: str
    by: str
    cron: str | None = Field(description="When its windows begin; null: there is one window.")
    timezone: str
    length: str = Field(examples=["4h"])
    active: bool = Field(description="A window is on.")
    start: datetime | None = Field(description="Of the window that is on or comes next; null: it is over.")
    end: datetime | None
    since: datetime = Field(description="It was written then; what lies before is in no window.")


class BlackoutsResponse(ResponseModel):
    items: list[BlackoutResponse]
