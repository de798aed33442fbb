"""Schedules in shadow: fires of another scheduler, how they compare, and the cut-over."""

from datetime import datetime

from pydantic import Field

from ...core.parity import Agreement
from .common import Instant, RequestModel, ResponseModel
from .queries import QueryModel
from .schedules import ShadowStateResponse

_MAX_AGE = 366 * 86_400


class SeenRequest(RequestModel):
    """That another scheduler has started the job: some seconds ago, or at an instant."""

    age: float = Field(default=0, ge=0, le=_MAX_AGE, description="Seconds ago; the server's own clock counts.")
    at: Instant | None = Field(default=None, description="In place of `age`.")
    key: str | None = Field(
        default=None, min_length=1, max_length=200, examples=["web1/4711/1773018000"],
        description="Fires of one key are noted once.",
    )  # fmt: skip
    unless_adopted: bool = Field(default=False, description="Note nothing if Tickwise starts the job itself.")


class SeenResponse(ResponseModel):
    schedule: str
    in_shadow: bool
    run: bool = Field(description="Whether the other scheduler is to start the job.")


class ShadowStatusResponse(ShadowStateResponse):
    """A schedule in shadow, and how the fires of the other scheduler compare with its slots."""

    schedule: str
    job: str
    fires: int = Field(description="That were compared.")
    both: int = Field(description="Slots that the other scheduler has started, and Tickwise would have.")
    theirs: int = Field(description="Fires that Tickwise would not have made.")
    ours: int = Field(description="Slots that only Tickwise would have started.")


class ShadowListResponse(ResponseModel):
    items: list[ShadowStatusResponse]


class ShadowSlotResponse(ResponseModel):
    """A slot, a fire, or a slot with its fire."""

    agreement: Agreement
    slot: datetime | None
    fire: datetime | None
    reason: str | None = Field(examples=["paused", "no_slot"])
    text: str


class ShadowReportResponse(ResponseModel):
    status: ShadowStatusResponse = Field(description="With the numbers of this report.")
    begin: datetime
    end: datetime
    tolerance: int = Field(description="Seconds that a fire may come after its slot.")
    rows: list[ShadowSlotResponse] = Field(description="In order of time; at most the newest 1,000 slots.")


class ShadowQuery(QueryModel):
    since: Instant | None = None
    until: Instant | None = None
    tolerance: int | None = Field(
        default=None,
        ge=0,
        le=86_400,
        description="Seconds that a fire may be late; the schedule's grace if left out.",
    )


class ShadowAdoptRequest(RequestModel):
    stopped: bool = Field(default=False, description="The other scheduler starts nothing more.")
    dry_run: bool = Field(default=False, description="Only say what would happen.")


class ShadowAdoptionResponse(ResponseModel):
    schedule: str
    cursor: datetime = Field(description="Tickwise goes on after this.")
    pending: list[datetime] = Field(description="Slots that nobody has started: catch-up decides. At most 100.")
    next_slot: datetime | None = Field(description="The other scheduler must not start this one.")
    dry_run: bool
