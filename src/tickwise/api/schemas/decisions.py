"""Decisions and their reasons."""

from datetime import datetime
from typing import Self

from pydantic import Field

from ...app.records import DecisionRow
from ...core.reasons import Reason
from .common import ResponseModel, second, to_moment


class DecisionResponse(ResponseModel):
    """A recorded verdict on a slot, or on a range of slots in a row."""

    schedule: str
    verdict: str = Field(examples=["skipped"])
    reason: str = Field(examples=["overlap"])
    text: str
    advice: str
    first: datetime
    last: datetime
    count: int
    detail: str
    made_at: datetime
    extended_at: datetime

    @classmethod
    def of(cls, row: DecisionRow) -> Self:
        return cls.model_validate(
            {
                "schedule": row.schedule, "verdict": str(row.reason.verdict), "reason": row.reason.code,
                "text": row.reason.explain(row.detail), "advice": row.reason.advice, "first": second(row.first),
                "last": second(row.last), "count": row.count, "detail": row.detail,
                "made_at": to_moment(row.made_at), "extended_at": to_moment(row.extended_at),
            }
        )  # fmt: skip


class ReasonResponse(ResponseModel):
    code: str
    verdict: str
    text: str
    advice: str

    @classmethod
    def of(cls, reason: Reason) -> Self:
        return cls(code=reason.code, verdict=str(reason.verdict), text=reason.text, advice=reason.advice)


class ReasonsResponse(ResponseModel):
    items: list[ReasonResponse]
