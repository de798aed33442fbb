"""Schedules: requests about them, and responses that show them."""

from datetime import datetime
from typing import Annotated, Any

from pydantic import Field, RootModel

from ...core.definition import Ticking
from ...core.slot_history import SlotState
from .common import MAX_PAGE, NameText, Params, Reason, RequestModel, ResponseModel, When

_EXAMPLE = {"name": "nightly", "schedule": "0 3 * * *", "timezone": "Europe/Berlin", "command": "./backup --all"}
_PATCH = {"schedule": "30 3 * * *", "catchup": "all", "jitter": None}


class PauseResponse(ResponseModel):
    at: datetime
    by: str
    reason: str
    until: datetime | None = Field(description="When it ends by itself; null: when it is resumed.")


class SlotSkipResponse(ResponseModel):
    slot: datetime
    by: str
    reason: str


class ShadowStateResponse(ResponseModel):
    in_shadow: bool = Field(description="Its slots are decided and never run: another scheduler starts the job.")
    since: datetime
    adopted_at: datetime | None = Field(description="Since when Tickwise starts the job.")
    adopted_by: str
    last_fire: datetime | None = Field(description="When the other scheduler was last heard.")


class ScheduleResponse(ResponseModel):
    """A schedule as it stands."""

    name: str
    job: str
    kind: str = Field(examples=["start"])
    times: str = Field(description="As written.", examples=["0 3 * * *"])
    timezone: str
    means: str = Field(description="The times in words.")
    source: str = Field(description="The source that wrote it, which alone may change it.")
    paused: PauseResponse | None
    cursor: datetime = Field(description="Every slot up to here has been decided.")
    next_run_at: datetime | None
    last_run_at: datetime | None
    last_run_id: str | None
    last_state: str | None
    last_enqueued_at: datetime | None
    created_at: datetime
    updated_at: datetime
    finished: bool
    waits_for_events: bool = Field(description="It runs on events, so no time is its next.")
    waits: str = Field(description="What its oldest pending slot waits for.")
    moved_to: datetime | None = Field(description="Where the next fire was moved by hand.")
    skips: list[SlotSkipResponse] = Field(description="Slots to come that are not to run.")
    blackouts: list[str] = Field(description="The names of those that are for its job and not over.")
    backfilling: bool
    ticking: str | None = Field(
        description="What finds its slots: the store, or the nodes' own index (local); null: as the nodes are set."
    )
    adopted: bool = Field(description="Whether a person has said so, and not its definition.")
    shadow: ShadowStateResponse | None = Field(description="Of one that is, or was, in shadow.")
    unreadable: str = Field(description="Why it cannot be read, if so: then its times and state are not known.")


class SlotMarkResponse(ResponseModel):
    """What became of a slot, in short."""

    slot: datetime
    state: SlotState
    reason: str | None = Field(examples=["overlap"])
    run: str | None
    late: bool = Field(default=False, description="Whether it missed a deadline.")


class ScheduleItemResponse(ScheduleResponse):
    """A schedule in a list, with how its last runs went."""

    recent: list[str] = Field(description="States of the runs of its newest slots, the oldest first.")
    slots: list[SlotMarkResponse] = Field(description="What became of its newest slots, the oldest first.")
    late_ms: float | None = Field(description="How long after its time the last run began.")


class ScheduleDetailResponse(ScheduleResponse):
    """A schedule with its definition, as the fields of a job file; secrets are hidden."""

    definition: dict[str, Any]
    warnings: list[str] = Field(description="What may not have been meant so.")


class DefinitionRequest(RootModel[dict[str, Any]]):
    """The fields of a job file, as JSON; with `job`, one more schedule of that job, whatever its source."""

    root: Annotated[dict[str, Any], Field(min_length=1, max_length=100, examples=[_EXAMPLE])]


class PatchRequest(RootModel[dict[str, Any]]):
    """Fields to change; null removes one (RFC 7396)."""

    root: Annotated[dict[str, Any], Field(max_length=100, examples=[_PATCH])]


class PauseRequest(RequestModel):
    reason: Reason = ""
    until: When | None = Field(default=None, description="When it resumes by itself; null: when it is resumed.")


class SkipRequest(RequestModel):
    slot: When
    reason: Reason = ""
    undo: bool = Field(default=False, description="Let the marked slot run after all.")


class ResumeRequest(RequestModel):
    run_missed: bool | None = Field(
        default=None, description="Whether the slots of the pause run; null: as catchup says."
    )


class TriggerRequest(RequestModel):
    params: Params = None
    allow_overlap: bool = Field(default=False, description="Although the job is active.")
    in_blackout: bool = Field(default=False, description="Although the job rests by a blackout (S62).")


class RescheduleRequest(RequestModel):
    to: When


class BackfillRequest(RequestModel):
    start: When
    end: When
    overlap: str = Field(default="queue", max_length=20, examples=["queue"])
    limit: int = Field(default=1_000, ge=1, le=10_000, description="Runs at most.")
    again: bool = Field(default=False, description="Also before the time from which runs are kept.")
    dry_run: bool = Field(default=False, description="Only say which slots would run.")


class BackfillResponse(ResponseModel):
    slots: list[datetime]
    dry_run: bool


class BackfillStatusResponse(ResponseModel):
    active: bool
    asked: int
    made: int
    left: int


class AdoptRequest(RequestModel):
    ticking: Annotated[
        Ticking, Field(strict=False, description="Where its slots are found: in the store, or by the nodes.")
    ]
    dry_run: bool = Field(default=False, description="Only say what would be moved.")


class AdoptionResponse(ResponseModel):
    """Where the slots of a schedule were found, and where they are found now."""

    schedule: str
    was: str = Field(examples=["local"])
    now: str = Field(examples=["store"])


_Names = Annotated[list[NameText], Field(min_length=1, max_length=MAX_PAGE)]


class BulkPauseRequest(PauseRequest):
    names: _Names


class BulkResumeRequest(ResumeRequest):
    names: _Names


class BulkTriggerRequest(TriggerRequest):
    names: _Names


class BulkAdoptRequest(AdoptRequest):
    names: _Names | None = Field(default=None, description="Null: all that are on the other side.")


class BulkItemResponse(ResponseModel):
    """What became of one of them."""

    name: str
    done: bool
    run: str | None = None
    problem: dict[str, Any] | None = None


class BulkResponse(ResponseModel):
    items: list[BulkItemResponse]


class BulkAdoptionItemResponse(ResponseModel):
    """What became of one of them."""

    name: str
    done: bool
    was: str | None = None
    now: str | None = None
    problem: dict[str, Any] | None = None


class BulkAdoptionResponse(ResponseModel):
    dry_run: bool
    items: list[BulkAdoptionItemResponse]


class ReasonStepResponse(ResponseModel):
    """One reason on the way from the definition to the worker."""

    what: str
    text: str
    mark: str = Field(description="yes, no, wait or do.")


class WhyResponse(ResponseModel):
    """What became of a slot, why, and what can be done about it."""

    schedule: str
    slot: datetime | None
    verdict: str
    reason: str
    text: str
    advice: str
    run: str | None
    notes: list[str]
    chain: list[ReasonStepResponse] = Field(default=[], description="The same as a way of reasons.")
