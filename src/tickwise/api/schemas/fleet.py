"""The fleet and the whole: workers, queues, the pause of everything, the overview, tokens and the audit."""

from datetime import datetime
from typing import Annotated, Any

from pydantic import Field

from ...app.records import AccessRole
from .blackouts import BlackoutResponse
from .common import RequestModel, ResponseModel, When
from .schedules import PauseResponse


class WorkerResponse(ResponseModel):
    """A process."""

    id: str
    roles: list[str]
    host: str
    pid: int
    version: str
    queues: list[str]
    capacity: int
    busy: int
    live: bool
    problems: list[str] = Field(description="What its sources could not read.")
    sources: list[str] = Field(description="Folders and apps whose definitions it writes.")
    undelivered: list[str] = Field(description="Notification channels whose last send failed, and why.")
    claims_fail: str = Field(description="Why the claims of its ticker fail; empty if they succeed.")
    started_at: datetime
    seen_at: datetime
    passed_at: datetime | None = Field(description="When its ticker last completed a pass.")


class WorkersResponse(ResponseModel):
    items: list[WorkerResponse]


class QueueResponse(ResponseModel):
    name: str
    concurrency: int | None
    starts_per_second: float | None
    paused: PauseResponse | None = Field(description="Why nothing of it is started.")
    waiting: int
    running: int
    workers: int


class QueuesResponse(ResponseModel):
    items: list[QueueResponse]


class LimitRequest(RequestModel):
    """Both null lifts the limits."""

    concurrency: int | None = Field(default=None, ge=1, le=1_000_000)
    starts_per_second: float | None = Field(default=None, gt=0, le=1_000_000, strict=False)


class GlobalPauseResponse(ResponseModel):
    at: datetime
    by: str
    reason: str
    until: datetime | None = Field(description="When it ended.")
    resumes_at: datetime | None = Field(description="When it ends by itself, if it does.")


class PauseStatusResponse(ResponseModel):
    paused: GlobalPauseResponse | None
    history: list[GlobalPauseResponse]


class WarningResponse(ResponseModel):
    text: str
    advice: str


class MinuteResponse(ResponseModel):
    start: datetime
    fired: int
    skipped: int
    failed: int


class CountsResponse(ResponseModel):
    jobs: int
    schedules: int
    paused: int
    runs: dict[str, int] = Field(description="Queued and running, and ended in the last hour, by state.")
    waiting: dict[str, int] = Field(description="Queued runs by queue.")
    held: dict[str, int] = Field(description="Jobs whose slots are held for want of a worker, by queue.")
    overdue: int


class OverviewResponse(ResponseModel):
    now: datetime
    counts: CountsResponse
    workers: int
    tickers: int
    oldest_waiting_at: datetime | None
    paused: bool
    blackouts: list[BlackoutResponse] = Field(description="Those that are on.")
    warnings: list[WarningResponse]
    minutes: list[MinuteResponse] = Field(description="The last hour.")


_Pattern = Annotated[str, Field(pattern=r"^((viewer|operator):)?[A-Za-z0-9._*?\-]{1,100}$", examples=["etl-*"])]


class TokenRequest(RequestModel):
    name: str = Field(pattern=r"^[A-Za-z0-9][A-Za-z0-9 ._@\-]{0,99}$", examples=["ci"])
    role: Annotated[AccessRole, Field(strict=False)]
    scopes: list[_Pattern] = Field(default=[], max_length=100, description="Jobs that it may see; none: all.")
    expires: When | None = Field(default=None, description="An instant, or a duration from now.")


class LinkRequest(RequestModel):
    role: Annotated[AccessRole, Field(strict=False)] = Field(
        default=AccessRole.ADMIN, description="Of whoever opens the link."
    )


class LinkResponse(ResponseModel):
    """A link for one browser: `/#/signin?code=CODE` of the dashboard."""

    code: str = Field(description="Told only now, and good for one browser.")
    role: str
    expires_at: datetime


class TokenResponse(ResponseModel):
    id: str
    name: str
    role: str
    scopes: list[str]
    created_at: datetime
    expires_at: datetime | None
    revoked_at: datetime | None
    used_at: datetime | None


class TokensResponse(ResponseModel):
    items: list[TokenResponse]


class NewTokenResponse(TokenResponse):
    secret: str = Field(description="Told only now.")


class IdentityResponse(ResponseModel):
    """The identity that the request came with."""

    name: str
    role: str
    scopes: list[str]


class AuditEntryResponse(ResponseModel):
    id: str
    at: datetime
    who: str
    action: str = Field(examples=["schedule.pause"])
    subject: str
    before: Any
    after: Any


class ChannelTestRequest(RequestModel):
    channel: str | None = Field(
        default=None, max_length=60, description="Null: all channels.", examples=["webhook"]
    )


class ChannelTestResponse(ResponseModel):
    """Whether a test notice arrived."""

    channel: str = Field(examples=["webhook"])
    arrived: bool
    problem: str = Field(description="Why it did not arrive.")


class ChannelTestsResponse(ResponseModel):
    items: list[ChannelTestResponse]
