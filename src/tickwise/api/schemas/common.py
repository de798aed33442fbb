"""What all bodies share."""

import re
from contextlib import suppress
from datetime import UTC, datetime
from typing import Annotated, Any, Generic, TypeAlias, TypeVar

from fastapi import Path
from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, WithJsonSchema

from ...app.records import MICRO
from ...core.timeparse import to_datetime
from ..names import NAME

T = TypeVar("T")
_NAME = f"^{NAME}$"
MAX_PAGE = 1_000
_YEARS = range(1970, 9_999)
_RFC_3339 = re.compile(r"\d{4}-\d\d-\d\d[Tt ]\d\d:\d\d:\d\d(\.\d{1,9})?([Zz]|[+-]\d\d:\d\d)", re.ASCII)


class ResponseModel(BaseModel):
    """Goes out."""

    model_config = ConfigDict(from_attributes=True, frozen=True)


class RequestModel(BaseModel):
    """Comes in."""

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True)


def _aware(given: Any) -> datetime:
    """An instant with its offset; a text without one could mean any."""
    if isinstance(given, str) and _RFC_3339.fullmatch(given):
        with suppress(ValueError, OverflowError):
            found = datetime.fromisoformat(given).astimezone(UTC)
            if found.year in _YEARS:
                return found
    raise ValueError("write a time from 1970 on with its offset, such as 2026-03-29T01:00:00Z")


_TIME = {"type": "string", "format": "date-time", "examples": ["2026-03-29T01:00:00Z"]}
Instant: TypeAlias = Annotated[datetime, BeforeValidator(_aware), WithJsonSchema(_TIME)]
When: TypeAlias = Annotated[
    str,
    Field(min_length=2, max_length=40, examples=["2026-03-29T01:00:00Z", "15m"]),
]  # an instant, or a duration from now
NameText: TypeAlias = Annotated[str, Field(pattern=_NAME, examples=["nightly-backup"])]
NamePath: TypeAlias = Annotated[str, Path(pattern=_NAME, description="The name of a schedule, job or queue.")]
RunPath: TypeAlias = Annotated[str, Path(pattern=_NAME, description="The id of a run.")]
Reason: TypeAlias = Annotated[str, Field(max_length=1_000, examples=["the database moves tonight"])]
Params: TypeAlias = Annotated[dict[str, Any] | None, Field(max_length=1_000, examples=[{"table": "users"}])]


class PageResponse(ResponseModel, Generic[T]):
    """Some of what was asked for."""

    items: list[T]
    next: str | None = Field(default=None, description="Ask again with `after` set to this; null at the end.")


class Problem(BaseModel):
    """Why not (RFC 9457)."""

    type: str = Field(examples=["urn:tickwise:problem:invalid"])
    title: str
    status: int
    detail: str
    field: str | None = Field(default=None, description="The way to the value that is wrong.")
    position: int | None = Field(default=None, description="Where in its text, counted from 0.")
    nearest: str | None = Field(default=None, description="What was probably meant.")


def to_moment(micro: int | None) -> datetime | None:
    return None if micro is None else datetime.fromtimestamp(micro / MICRO, UTC)


def second(value: int | None) -> datetime | None:
    return None if value is None else to_datetime(value)


def micro_of(given: datetime | None) -> int | None:
    return None if given is None else round(given.timestamp() * MICRO)
