"""The past, planned again: what would have let a slot run, and replays."""

from datetime import datetime
from typing import Any, Literal

from pydantic import Field

from .common import Instant, RequestModel, ResponseModel


class RemedyResponse(ResponseModel):
    """A change that would have let the slot run, planned again before it is given."""

    fields: dict[str, Any] = Field(description="As a job file has them; null: without the field.")
    circumstances: list[str] = Field(description="`down`, `no_worker`, `paused`, `by_hand`: not there.")
    text: str
    run_at: datetime = Field(description="When the run would have been made.")
    others_gained: int = Field(description="Other slots in the time played that would have run as well.")
    others_lost: int = Field(description="Other slots that would have run no more.")


class WhatIfResponse(ResponseModel):
    schedule: str
    slot: datetime
    status: Literal["found", "nothing", "ran", "no_slot", "future", "pending", "not_stored", "not_reproduced"]
    text: str
    remedies: list[RemedyResponse] = Field(description="The smallest first.")
    since: datetime | None = Field(description="From when on the changed definition was played.")
    until: datetime | None


class ReplayRequest(RequestModel):
    """Which stretch of the past, and what is to be otherwise."""

    start: Instant
    end: Instant | None = Field(default=None, description="Not after now, which is the default.")
    changes: dict[str, Any] = Field(
        default={}, max_length=50, description="Fields of a job file; null takes one away.",
        examples=[{"overlap": "queue", "grace": "5m"}],
    )  # fmt: skip


class FateResponse(ResponseModel):
    """What became of a slot."""

    state: Literal["ran", "skipped", "waiting", "none"] = Field(description="none: it was no slot.")
    reason: str | None
    text: str
    began: datetime | None = Field(description="When its run was made.")
    late: int = Field(description="Seconds from when it was due to that.")


class ReplayedSlotResponse(ResponseModel):
    schedule: str
    slot: datetime
    was: FateResponse
    would: FateResponse
    estimated: bool = Field(description="It had no run then: its run lasts as long as the median of the others.")


class ReplaySumResponse(ResponseModel):
    ran: int
    skipped: int
    waiting: int
    reasons: dict[str, int] = Field(description="Slots without a run, by reason.")
    longest_wait: int = Field(description="Seconds.")
    most_at_once: int = Field(description="Runs of slots under way.")


class ReplayResponse(ResponseModel):
    schedule: str
    start: datetime
    end: datetime
    changes: dict[str, Any]
    was: ReplaySumResponse
    would: ReplaySumResponse
    gained: int = Field(description="Slots that would have run and did not.")
    lost: int = Field(description="Slots that ran and would not have.")
    slots: list[ReplayedSlotResponse]
    notes: list[str]
