"""What needs a person, with what can be done about it as requests."""

from datetime import datetime
from typing import Any

from pydantic import Field

from ...app.attention import Status
from ...app.records import AccessRole
from ...core.attention import Attention, Cause, Remedy, Severity
from ...core.timeparse import iso, to_datetime
from .common import ResponseModel, second


class SubjectResponse(ResponseModel):
    kind: str = Field(description="schedule, step, queue, file, channel, proposals or fleet.")
    name: str
    job: str | None = None


class ActionResponse(ResponseModel):
    """Something to do: a request if it has a method, else something to open."""

    do: str = Field(examples=["resume"])
    label: str = Field(examples=["Resume"])
    method: str | None = None
    path: str | None = Field(default=None, description="Under /api/v1.")
    body: dict[str, Any] | None = None
    role: AccessRole | None = Field(default=None, description="Who may.")
    schedule: str | None = None
    run: str | None = None
    slot: datetime | None = None
    field: str | None = Field(default=None, description="Of the definition.")
    command: str | None = Field(default=None, description="For a shell.")


class AttentionItemResponse(ResponseModel):
    """One thing that needs a person."""

    kind: Cause
    severity: Severity
    subject: SubjectResponse
    text: str = Field(description="Goes on after the subject's name.")
    detail: str
    since: datetime | None
    counts: dict[str, int]
    actions: list[ActionResponse]


class AttentionResponse(ResponseModel):
    now: datetime
    summary: str = Field(examples=["6 things need you."])
    schedules: int
    well: int = Field(description="Schedules that have no item.")
    count: int = Field(description="How many things need a person.")
    items: list[AttentionItemResponse] = Field(description="The worst of them first, at most `limit`.")
    more: bool = Field(description="Whether there are more than these.")


def status_response(found: Status) -> AttentionResponse:
    return AttentionResponse(
        now=to_datetime(found.now), summary=found.summary, schedules=found.schedules, well=found.well,
        count=found.count, items=[_item(item) for item in found.items], more=found.more,
    )  # fmt: skip


def _item(item: Attention) -> AttentionItemResponse:
    return AttentionItemResponse(
        kind=item.kind, severity=item.severity, subject=SubjectResponse.model_validate(item.subject),
        text=item.text, detail=item.detail, since=second(item.since), counts=dict(item.counts),
        actions=[_action(remedy) for remedy in item.remedies],
    )  # fmt: skip


_REQUESTS: dict[str, tuple[str, AccessRole]] = {  # by what is done: a path, and who may
    "resume": ("/schedules/{schedule}:resume", AccessRole.OPERATOR),
    "run": ("/schedules/{schedule}:trigger", AccessRole.OPERATOR),
    "retry": ("/runs/{run}:retry", AccessRole.OPERATOR),
    "backfill": ("/schedules/{schedule}:backfill", AccessRole.OPERATOR),
    "resume_all": ("/pause", AccessRole.OPERATOR),
    "test_channel": ("/notifications:test", AccessRole.ADMIN),
}


def _action(remedy: Remedy) -> ActionResponse:
    known: dict[str, Any] = {
        "do": remedy.do, "label": remedy.label, "schedule": remedy.schedule, "run": remedy.run,
        "slot": second(remedy.slot), "field": remedy.field, "command": remedy.command,
    }  # fmt: skip
    if remedy.do in _REQUESTS:
        path, role = _REQUESTS[remedy.do]
        known |= {"path": path.format(schedule=remedy.schedule, run=remedy.run), "role": role}
        known |= {"method": "DELETE" if remedy.do == "resume_all" else "POST", "body": _body(remedy)}
    return ActionResponse.model_validate(known)


def _body(remedy: Remedy) -> dict[str, Any] | None:
    if remedy.do == "resume_all":
        return None
    if remedy.do == "backfill" and remedy.slot is not None:
        return {"start": iso(remedy.slot), "end": iso(remedy.slot + 1)}
    return {"channel": remedy.field} if remedy.do == "test_channel" else {}
