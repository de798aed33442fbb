"""Attempts that engines execute: what their work asks and is told. Nothing is masked: the work needs all of it."""

from datetime import datetime
from typing import Annotated, Any, Literal, TypeAlias

from fastapi import Path
from pydantic import Field

from ...app.attempts import BegunAttempt
from ...app.records import LogPart, StepReport
from .common import Instant, RequestModel, ResponseModel, micro_of, second

_MAX_SECONDS = 366 * 86_400
_MAX_ITEMS = 2_000  # steps, or parts of a log, in one report
ReferencePath: TypeAlias = Annotated[
    str, Path(pattern=r"^[0-9]{1,19}\.[0-9]{1,9}$", description="`<run>.<attempt>`.", examples=["7.1"])
]
_StepName: TypeAlias = Annotated[str, Field(max_length=200)]


class BeginRequest(RequestModel):
    claim: str = Field(
        pattern=r"^[A-Za-z0-9_\-]{43,200}$",
        description="A secret that the work has made up, of 32 random bytes at least; it opens all that follows.",
    )


class RunFacts(ResponseModel):
    """The run, as commands and functions see it."""

    id: str
    job: str
    schedule: str | None
    slot: datetime | None
    previous_slot: datetime | None
    trigger: str = Field(examples=["schedule"])
    trigger_label: str = Field(examples=["schedule:0 3 * * *"])
    attempt: int
    failures: int = Field(description="Attempts that failed before this one.")
    params: dict[str, Any] = Field(description="Given for this run, over the job's own.")
    events: list[Any] = Field(default=[], description="That it runs for.")
    outputs: dict[str, dict[str, Any]] = Field(
        default={}, description="Of the steps before it, if it is a step of another run, by their names."
    )
    item: Any = Field(default=None, description="Of `foreach`, if it is such a step.")


class BeginResponse(ResponseModel):
    """What to do."""

    run: RunFacts
    definition: str = Field(description="Of the job when the run was enqueued, as it is stored: JSON.")
    done: dict[str, dict[str, Any]] = Field(
        description="Steps that succeeded in earlier attempts and are not repeated, with what they handed on."
    )
    lease: int = Field(description="Seconds: work that could not say for so long that it is alive counts as dead.")


class AliveResponse(ResponseModel):
    cancel: bool = Field(description="End the work, and report it as cancelled.")


class ReportedStep(RequestModel):
    """The state of a step."""

    name: _StepName
    state: str = Field(max_length=100, examples=["succeeded"])
    started_at: Instant | None = None
    finished_at: Instant | None = None
    attempt: int = Field(default=1, ge=1, le=1_000_000)
    error: str = ""
    outputs: str = Field(default="", description="What it hands on: a JSON object, as text.")

    def as_record(self) -> StepReport:
        return StepReport(
            name=self.name, state=self.state, started_at=micro_of(self.started_at),
            finished_at=micro_of(self.finished_at), attempt=self.attempt, error=self.error,
            outputs=self.outputs,
        )  # fmt: skip


class ReportedPart(RequestModel):
    """A piece of what a step printed."""

    step: _StepName = ""
    stream: str = Field(max_length=200, examples=["out"])
    text: str
    at: Instant

    def as_record(self) -> LogPart:
        return LogPart(self.step, self.stream, self.text, micro_of(self.at) or 0)


class ReportRequest(RequestModel):
    steps: list[ReportedStep] = Field(default=[], max_length=_MAX_ITEMS)
    log: list[ReportedPart] = Field(default=[], max_length=_MAX_ITEMS)


class FinishRequest(RequestModel):
    outcome: Literal["succeeded", "failed", "cancelled", "snoozed", "handed_back", "unmet"]
    seconds: int | None = Field(
        default=None,
        ge=0,
        le=_MAX_SECONDS,
        description="When a failure wants to be tried again, or a snooze is over.",
    )
    result: Any = None
    error: str = ""


class FinishResponse(ResponseModel):
    state: str | None = Field(description="Of the run; null if it is not kept any longer.")
    accepted: bool = Field(description="False: the attempt was over before, perhaps by the same report.")


def begin_response(begun: BegunAttempt) -> BeginResponse:
    run = begun.run
    facts = RunFacts(
        id=run.id, job=run.job, schedule=run.schedule, slot=second(run.slot),
        previous_slot=second(run.previous_slot), trigger=str(run.trigger), trigger_label=run.trigger_label,
        attempt=run.attempt, failures=run.failures, params=dict(run.params),
        events=[dict(event) for event in run.events],
        outputs={step: dict(values) for step, values in run.outputs.items()}, item=run.item,
    )  # fmt: skip
    return BeginResponse(
        run=facts,
        definition=begun.definition,
        done={name: dict(outputs) for name, outputs in begun.done.items()},
        lease=begun.lease,
    )
