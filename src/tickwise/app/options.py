"""The keyword arguments of the public API, so that type checkers and editors know them.

`JobOptions` has the fields of a job file but for its action; `JobFields` has all of them. Values are checked when
they are read (`sources.spec`): a type here says what people may write.
"""

from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta
from typing import Any, Literal, Required, TypeAlias, TypedDict

from ..core.errors import InputError, did_you_mean, nearest_word
from ..core.timeparse import parse_duration

When: TypeAlias = datetime | timedelta | str  # an instant, or how long from now
Duration: TypeAlias = str | timedelta
Moment: TypeAlias = str | datetime
Times: TypeAlias = str | Mapping[str, Any] | Sequence[str | Mapping[str, Any]]


class EnqueueOptions(TypedDict, total=False):
    """What may be said about one run."""

    at: When | None
    key: str | None
    key_ttl: Duration | None
    queue: str | None
    priority: int | None
    auto_remove: bool


class RetryFields(TypedDict, total=False):
    limit: int
    interval: Duration
    backoff: float
    max_interval: Duration
    jitter: float


class KeepFields(TypedDict, total=False):
    days: int
    runs: int


class AfterFields(TypedDict, total=False):
    schedule: str
    job: str
    within: Required[Duration]


class OnEventFields(TypedDict, total=False):
    hook: Mapping[str, str] | None
    file: Mapping[str, Any] | None
    job: str | None
    jobs: Sequence[str] | None
    state: Literal["success", "failure", "any"] | None
    at_least: int | None
    within: Duration | None
    coalesce: Mapping[str, Duration] | None
    window: Duration


class MaxStartsFields(TypedDict):
    count: int
    per: Duration


class DeadlineFields(TypedDict, total=False):
    start: Duration
    finish: Duration
    cancel: bool
    warn: float


class JobOptions(TypedDict, total=False):
    """The fields of a job file that say when and how it runs."""

    description: str | None
    labels: Mapping[str, str] | None
    enabled: bool | None
    on_event: OnEventFields | None
    on_start: bool | None
    timezone: str | None
    catchup: Literal["skip", "once", "all"] | None
    catchup_window: Duration | Literal[0] | None
    max_catchup: int | None
    overlap: Literal["skip", "queue", "all", "latest", "allow", "replace"] | None
    max_active_runs: int | None
    grace: Duration | None
    skip_if_successful: bool | None
    jitter: Duration | None
    from_: Moment | None
    days: Mapping[str, str] | None
    roll: Literal["forward", "back"] | None
    nth: Sequence[int] | None
    until: Moment | None
    max_runs: int | None
    max_starts: MaxStartsFields | None
    after: Sequence[AfterFields] | None
    wait_for: Duration | None
    expires: Duration | None
    auto_remove: bool | None
    ticking: Literal["store", "local"] | None
    pause_after: Mapping[str, int] | None
    blackout: Literal["pause", "skip"] | None
    deadline: DeadlineFields | None
    shadow: bool | None
    engine: str | Mapping[str, Any] | None
    queue: str | None
    priority: int | None
    params: Mapping[str, Any] | None
    env: Mapping[str, str] | None
    env_file: str | None
    dir: str | None
    preconditions: Sequence[Mapping[str, Any]] | None
    retry: RetryFields | None
    timeout: Duration | None
    at_most_once: bool | None
    on: Mapping[str, Any] | None
    keep: KeepFields | None


class FunctionOptions(JobOptions, total=False):
    """The same for a function."""

    pool: Literal["thread", "process"]


class JobFields(JobOptions, total=False):
    """All fields of a job file but its name."""

    schedule: Times | None
    command: str | Sequence[str] | None
    script: str | None
    python: str | None
    http: str | Mapping[str, Any] | None
    steps: Sequence[Mapping[str, Any]] | None
    param_types: Mapping[str, str] | None


def as_job_fields(options: Mapping[str, Any]) -> dict[str, Any]:
    """Keyword arguments as fields of a job file: `from` is a word of Python, so here it is `from_`."""
    return {"from" if name == "from_" else name: value for name, value in options.items()}


def check_enqueue_options(options: Mapping[str, Any]) -> None:
    """Refuse options that `enqueue` does not have: probably params that stand outside their mapping."""
    known = EnqueueOptions.__annotations__
    for name in options:
        if name not in known:
            near = nearest_word(name, known)
            problem = (
                f"enqueue has no option {name[:60]}{did_you_mean(near)}: params are given together, as "
                f"enqueue(job, {{{name[:60]!r}: …}})"
            )
            raise InputError(problem, field=name, nearest=near)


def as_seconds(duration: Any, what: str) -> int:
    """A duration as people give it, in whole seconds."""
    if isinstance(duration, timedelta):
        return round(duration.total_seconds())
    if isinstance(duration, str):
        return parse_duration(duration)
    raise InputError(
        f"{what}: {duration!r:.60} is no duration: give a timedelta, or a text such as 1h", field=what
    )
