"""Runs: requests about them, and responses that show them with their secrets masked."""

from datetime import datetime
from typing import Any

from pydantic import Field

from ...app.values import RunInfo
from ...core.mask import masked
from .common import NameText, Params, RequestModel, ResponseModel, When


class HandOverResponse(ResponseModel):
    """Where an attempt is that an engine executes."""

    engine: str = Field(examples=["gpu"])
    reference: str = Field(description="The engine's own id.", examples=["1204.1"])
    state: str = Field(description="intended, accepted, begun or ending.", examples=["begun"])
    address: str = Field(description="Where the engine shows it; empty if it does not.")
    accepted_at: datetime | None = Field(description="When the engine said that it has it.")
    unheard_at: datetime | None = Field(
        description="When the engine last said that it never heard of it: then it is sent again."
    )
    begun_at: datetime | None
    alive_at: datetime | None = Field(description="The last sign of life of the work.")
    silent_since: datetime | None = Field(description="Since when the engine does not answer.")
    silence: str


class RunResponse(ResponseModel):
    """A run as it stands."""

    id: str
    job: str
    schedule: str | None
    slot: datetime | None
    trigger: str = Field(examples=["schedule"])
    trigger_label: str = Field(examples=["schedule:0 3 * * *"])
    state: str = Field(examples=["succeeded"])
    queue: str
    priority: int
    attempt: int
    created_at: datetime
    due_at: datetime
    started_at: datetime | None
    finished_at: datetime | None
    worker: str | None
    params: dict[str, Any]
    events: list[Any] = Field(default=[], description="That it runs for: key, at, source and data of each.")
    result: Any
    error: str
    key: str | None
    cancelling: bool
    by: str
    waits: list[str] = Field(description="Why a queued run has not started; empty in lists.")
    waits_for: str = Field(
        default="", description="What its steps wait for, while it is queued and needs no worker."
    )
    traceparent: str = Field(default="", description="Of the caller that asked for it (W3C Trace Context).")
    hand_over: HandOverResponse | None = Field(default=None, description="Of a run that an engine executes.")
    timezone: str | None = Field(default=None, description="The schedule's; null in lists.")


class RunRequest(RequestModel):
    job: NameText
    params: Params = None
    at: When | None = None
    key: str | None = Field(
        default=None, min_length=1, max_length=200, description="Unique among the job's live runs."
    )
    key_ttl: str | None = Field(
        default=None,
        max_length=40,
        examples=["1h"],
        description="How long a success keeps the key; null: for ever.",
    )
    queue: NameText | None = Field(default=None, description="For this run, instead of the job's.")
    priority: int | None = Field(default=None, ge=-1_000, le=1_000, description="The same.")
    auto_remove: bool = Field(default=False, description="Forget the run once it has succeeded.")


class RetryRequest(RequestModel):
    from_failed: bool = Field(
        default=True, description="Go on from the failed step; false: a new run of all steps."
    )
    from_step: str | None = Field(
        default=None, max_length=200,
        description="Repeat this step, and all that depend on it; others that succeeded are not repeated.",
    )  # fmt: skip
    in_blackout: bool = Field(default=False, description="A new run, although the job rests by a blackout (S62).")


class AnswerRequest(RequestModel):
    step: str | None = Field(
        default=None, max_length=200, description="Which step; null: the only one that waits for an approval."
    )
    reason: str = Field(default="", max_length=1_000, description="The words that the audit keeps.")


class AnswerResponse(ResponseModel):
    """The answer that counts, from which on the run goes on."""

    run: str
    step: str
    answer: str = Field(description="approve or reject.", examples=["approve"])
    by: str
    reason: str
    at: datetime


class ApprovalResponse(ResponseModel):
    """How a step stands that waits for a person's answer."""

    role: str = Field(description="Whoever answers has this role, or more.", examples=["operator"])
    since: datetime | None = Field(description="When it was asked for; null if it was not yet.")
    until: datetime | None = Field(description="How long an answer is waited for; null: for ever.")
    answer: str | None = Field(description="approve or reject; null while it is waited for.")
    by: str = Field(description="Who has answered; empty if nobody has in time.")
    reason: str
    answered_at: datetime | None


class CancelResponse(ResponseModel):
    state: str = Field(
        description="A queued run is cancelled at once; a running one ends when its worker hears of it."
    )


class AttemptResponse(ResponseModel):
    number: int
    event: str
    started_at: datetime | None
    finished_at: datetime
    worker: str | None
    error: str


class StepResponse(ResponseModel):
    """A step of the definition, and how far the run is with it."""

    name: str
    depends: list[str]
    state: str | None = Field(description="Null if it has not begun.")
    started_at: datetime | None = None
    finished_at: datetime | None = None
    attempt: int = 1
    error: str = ""
    outputs: Any = Field(default={}, description="What it hands on to later steps.")
    job: str | None = Field(default=None, description="Of the child that it is, if it is one.")
    child: str | None = Field(default=None, description="The run that it waits for, or has waited for.")
    approval: ApprovalResponse | None = Field(default=None, description="Of a step that waits for a person.")


class StepsResponse(ResponseModel):
    """In the order of the definition, as it is now."""

    items: list[StepResponse]


class AttemptsResponse(ResponseModel):
    items: list[AttemptResponse]


class LogResponse(ResponseModel):
    """A piece of what a step printed."""

    step: str
    stream: str
    text: str
    at: datetime


def run_response(info: RunInfo) -> RunResponse:
    body = RunResponse.model_validate(info)
    return body.model_copy(update={"params": masked(body.params), "events": masked(body.events)})
