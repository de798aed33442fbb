"""What all requests and responses share."""

import re
from contextlib import suppress
from datetime import UTC, datetime
from typing import Annotated, Any, Generic, TypeAlias, TypeVar

from fastapi import Path, Request, Response
from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, WithJsonSchema

from ...app.records import MICRO
from ...core.timeparse import to_datetime

T = TypeVar("T")
NAME_PATTERN = r"[A-Za-z0-9][A-Za-z0-9._\-]{0,99}"  # of a name or an id
_NAME = f"^{NAME_PATTERN}$"
MAX_PAGE = 1_000
_YEARS = range(1970, 9_999)
_RFC_3339 = re.compile(r"\d{4}-\d\d-\d\d[Tt ]\d\d:\d\d:\d\d(\.\d{1,9})?([Zz]|[+-]\d\d:\d\d)", re.ASCII)


class ResponseModel(BaseModel):
    """Base of responses."""

    model_config = ConfigDict(from_attributes=True, frozen=True)


class RequestModel(BaseModel):
    """Base of requests."""

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True)


def _aware(given: Any) -> datetime:
    """An instant with its offset; without one it would be ambiguous."""
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
    """One page of a list."""

    items: list[T]
    next: str | None = Field(default=None, description="Ask again with `after` set to this; null at the end.")


def resource_path(request: Request, path: str) -> str:
    """The path of a resource, under the root path that a proxy serves the API at."""
    return f"{request.scope.get('root_path', '')}/api/v1{path}"


def page_of(request: Request, response: Response, items: list[T], after: str | None) -> PageResponse[T]:
    """A page with the link to the next, in its body and as a `Link` header."""
    if after is not None:
        following = request.url.include_query_params(after=after)
        response.headers["Link"] = f'<{following.path}?{following.query}>; rel="next"'
    return PageResponse(items=items, next=after)


class Problem(BaseModel):
    """A refusal (RFC 9457)."""

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
