"""Sources: requests about them, and responses that show them."""

from typing import Annotated

from pydantic import Field

from .common import MAX_PAGE, NameText, RequestModel, ResponseModel

_SourceText = Annotated[str, Field(min_length=1, max_length=1_000, examples=["folder:/srv/jobs"])]


class SourceResponse(ResponseModel):
    """A source, and how much it has written."""

    name: str = Field(examples=["folder:/srv/jobs"])
    jobs: int
    schedules: int
    nodes: list[str] = Field(description="Live nodes that have it.")
    orphans: list[str] = Field(description="Jobs that its code does not declare any more.")


class SourcesResponse(ResponseModel):
    items: list[SourceResponse]


class SourceRemoveRequest(RequestModel):
    source: _SourceText
    dry_run: bool = Field(default=False, description="Only say which jobs that concerns.")


class SourceMoveRequest(SourceRemoveRequest):
    to: _SourceText


class OrphansRequest(RequestModel):
    names: Annotated[list[NameText], Field(min_length=1, max_length=MAX_PAGE)] | None = Field(
        default=None, description="Null: all of them."
    )
    dry_run: bool = Field(default=False, description="Only say which jobs that concerns.")


class JobNamesResponse(ResponseModel):
    """The jobs that an action concerned, or would concern."""

    jobs: list[str]
    dry_run: bool
